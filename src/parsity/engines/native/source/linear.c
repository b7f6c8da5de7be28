/* Linear layers: dot products along the features, so that one image is as well served as sixteen.
 *
 * The features of an activation, in channel, row, column order, are transposed into one row for each image. */
#include "layers.h"

#define BLOCK 4

static int features_of(const struct plane *plane) { return plane->channels * plane->height * plane->width; }
/* Rows of features are padded with zeros to whole vectors. */
static ptrdiff_t feature_pitch(const struct plane *plane) {
    return (features_of(plane) + LANES - 1) / LANES * (ptrdiff_t)LANES;
}

static void transpose_in(const struct plane *plane, int images, float *rows) {
    const ptrdiff_t pitch = feature_pitch(plane);
    const int features = features_of(plane);
    for (int n = 0; n < images; n++)
        for (ptrdiff_t f = features; f < pitch; f++) rows[n * pitch + f] = 0;
    for (int c = 0, f = 0; c < plane->channels; c++)
        for (int y = 0; y < plane->height; y++) {
            const float *from = at(plane, images, c, y, 0);
            for (int x = 0; x < plane->width; x++, f++, from += images)
                for (int n = 0; n < images; n++) rows[n * pitch + f] = from[n];
        }
}

static void transpose_out(const struct plane *plane, int images, const float *rows, bool adds) {
    const ptrdiff_t pitch = feature_pitch(plane);
    for (int c = 0, f = 0; c < plane->channels; c++)
        for (int y = 0; y < plane->height; y++) {
            float *to = at(plane, images, c, y, 0);
            for (int x = 0; x < plane->width; x++, f++, to += images)
                for (int n = 0; n < images; n++) to[n] = (adds ? to[n] : 0) + rows[n * pitch + f];
        }
}

/* `outputs` x `images` dot products; both are constants wherever this is inlined. */
INLINE void dots(const float *weights, const float *rows, int features, ptrdiff_t pitch, float *sums, int outputs,
                 int images) {
    vec sum[BLOCK][BLOCK];
#pragma GCC unroll 4
    for (int o = 0; o < outputs; o++)
#pragma GCC unroll 4
        for (int n = 0; n < images; n++) sum[o][n] = (vec){0};
    for (int f = 0; f < features; f += LANES) {
        int lanes = features - f < LANES ? features - f : LANES;
        vec row[BLOCK];
#pragma GCC unroll 4
        for (int n = 0; n < images; n++) row[n] = load(rows + n * pitch + f);
#pragma GCC unroll 4
        for (int o = 0; o < outputs; o++) {
            vec weight = load_lanes(weights + (ptrdiff_t)o * features + f, lanes);
#pragma GCC unroll 4
            for (int n = 0; n < images; n++) sum[o][n] += weight * row[n];
        }
    }
#pragma GCC unroll 4
    for (int o = 0; o < outputs; o++)
#pragma GCC unroll 4
        for (int n = 0; n < images; n++) sums[o * BLOCK + n] = sum_lanes(sum[o][n]);
}

static void dots_of(const float *weights, const float *rows, int features, ptrdiff_t pitch, float *sums, int outputs,
                    int images) {
    if (outputs == BLOCK && images == BLOCK)
        dots(weights, rows, features, pitch, sums, BLOCK, BLOCK);
    else if (outputs == BLOCK && images == 2)
        dots(weights, rows, features, pitch, sums, BLOCK, 2);
    else
        for (int o = 0; o < outputs; o++)
            for (int n = 0; n < images; n++)
                dots(weights + (ptrdiff_t)o * features, rows + n * pitch, features, pitch, sums + o * BLOCK + n, 1, 1);
}

void linear_forward(const struct pass *pass, int index) {
    const struct network *network = pass->network;
    const struct layer *layer = &network->layers[index];
    const struct plane *in = &network->values[layer->input].activation;
    const struct plane *out = &network->values[layer->output].activation;
    const int images = pass->images, features = features_of(in), outputs = out->channels;
    const ptrdiff_t pitch = feature_pitch(in);
    const int64_t bias = pass->plan->layers[index].bias;
    float *rows = network->scratch;
    transpose_in(in, images, rows);
    for (int o = 0; o < outputs; o += BLOCK)
        for (int n = 0; n < images; n += BLOCK) {
            int os = outputs - o < BLOCK ? outputs - o : BLOCK, ns = images - n < BLOCK ? images - n : BLOCK;
            float sums[BLOCK * BLOCK];
            dots_of(dense_weights(pass, index) + (ptrdiff_t)o * features, rows + n * pitch, features, pitch, sums,
                    os, ns);
            for (int i = 0; i < os; i++)
                for (int j = 0; j < ns; j++) {
                    float value = sums[i * BLOCK + j];
                    if (bias >= 0) value += pass->weights[bias + o + i];
                    if (layer->rectified) value = value < 0 ? 0 : value;
                    at(out, images, o + i, 0, 0)[n + j] = value;
                }
        }
}

void linear_backward(const struct pass *pass, int index) {
    const struct network *network = pass->network;
    const struct layer *layer = &network->layers[index];
    const struct value *in = &network->values[layer->input], *out = &network->values[layer->output];
    const int images = pass->images, features = features_of(&in->activation), outputs = out->gradient.channels;
    const ptrdiff_t pitch = feature_pitch(&in->activation);
    if (layer->rectified) mask_gradient(out, images);
    float *rows = network->scratch, *before = network->packed;
    transpose_in(&in->activation, images, rows);

    const float *gradient = at(&out->gradient, images, 0, 0, 0);
    const ptrdiff_t channel = channel_pitch(&out->gradient, images);
    const int64_t bias = pass->plan->layers[index].bias;
    const float *weights = dense_weights(pass, index);
    float *sums = dense_gradient(pass, index);
    for (int o = 0; o < outputs; o++)
        for (int f = 0; f < features; f += LANES) {
            int lanes = features - f < LANES ? features - f : LANES;
            float *to = sums + (ptrdiff_t)o * features + f;
            vec sum = load_lanes(to, lanes);
            for (int n = 0; n < images; n++) sum += splat(gradient[o * channel + n]) * load(rows + n * pitch + f);
            store_lanes(to, sum, lanes);
        }
    if (bias >= 0)
        for (int o = 0; o < outputs; o++)
            for (int n = 0; n < images; n++) pass->gradient[bias + o] += gradient[o * channel + n];
    if (!in->wanted) return;
    for (int n = 0; n < images; n++)
        for (int f = 0; f < features; f += LANES) {
            int lanes = features - f < LANES ? features - f : LANES;
            vec sum = {0};
            for (int o = 0; o < outputs; o++)
                sum += splat(gradient[o * channel + n]) * load_lanes(weights + (ptrdiff_t)o * features + f, lanes);
            store(before + n * pitch + f, sum);
        }
    transpose_out(&in->gradient, images, before, network->adds[index]);
}

size_t linear_scratch(const struct network *network, int index) {
    return (size_t)feature_pitch(&network->values[network->layers[index].input].activation);
}
