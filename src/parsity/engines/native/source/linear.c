/* Linear layers: dot products along the features, so that one image is as well served as sixteen.
 *
 * The features of an activation, in channel, row, column order, are transposed into one row for each image. */
#include "layers.h"
#include "transpose.h"

#define BLOCK 4

static int features_of(const struct plane *plane) { return plane->channels * plane->height * plane->width; }
/* Rows of features are padded with zeros to whole vectors, and one more: rows that lie a power of two apart would
 * share a few lines of the first cache. */
static ptrdiff_t feature_pitch(const struct plane *plane) {
    return ((features_of(plane) + LANES - 1) / LANES + 1) * (ptrdiff_t)LANES;
}

/* Where LANES features from `feature` on lie; NULL for those beyond the last. */
static void locate(const struct plane *plane, int images, int feature, float **places) {
    const int area = plane->height * plane->width, features = features_of(plane);
    int c = feature / area, y = feature % area / plane->width, x = feature % plane->width;
    for (int i = 0; i < LANES; i++) {
        places[i] = feature + i < features ? at(plane, images, c, y, x) : NULL;
        if (++x == plane->width) x = 0, y++;
        if (y == plane->height) y = 0, c++;
    }
}

static void transpose_in(const struct plane *plane, int images, float *rows) {
    const ptrdiff_t pitch = feature_pitch(plane);
    for (int f = 0; f < features_of(plane); f += LANES) {
        float *places[LANES];
        locate(plane, images, f, places);
        for (int n = 0; n < images; n += LANES) {
            const int lanes = images - n < LANES ? images - n : LANES;
            vec square[LANES];
            for (int i = 0; i < LANES; i++) square[i] = places[i] ? load_lanes(places[i] + n, lanes) : (vec){0};
            transpose(square);
            for (int i = 0; i < lanes; i++) store(rows + (n + i) * pitch + f, square[i]);
        }
    }
}

static void transpose_out(const struct plane *plane, int images, const float *rows, bool adds) {
    const ptrdiff_t pitch = feature_pitch(plane);
    for (int f = 0; f < features_of(plane); f += LANES) {
        float *places[LANES];
        locate(plane, images, f, places);
        for (int n = 0; n < images; n += LANES) {
            const int lanes = images - n < LANES ? images - n : LANES;
            vec square[LANES];
            for (int i = 0; i < LANES; i++) square[i] = i < lanes ? load(rows + (n + i) * pitch + f) : (vec){0};
            transpose(square);
            for (int i = 0; i < LANES && places[i]; i++)
                store_lanes(places[i] + n, adds ? square[i] + load_lanes(places[i] + n, lanes) : square[i], lanes);
        }
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
            dots_of(weights_of(pass, index, false) + (ptrdiff_t)o * features, rows + n * pitch, features, pitch, sums,
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

/* sums[o][f] += sum over images of gradient[o] x row[f], for `outputs` neighbours: a constant wherever this is inlined.
 * Their chains of additions run side by side. */
INLINE void add_products(const float *gradient, ptrdiff_t channel, const float *rows, ptrdiff_t pitch, int features,
                         int images, float *sums, int outputs) {
    for (int f = 0; f < features; f += LANES) {
        const int lanes = features - f < LANES ? features - f : LANES;
        vec sum[BLOCK];
#pragma GCC unroll 4
        for (int o = 0; o < outputs; o++) sum[o] = load_lanes(sums + (ptrdiff_t)o * features + f, lanes);
        for (int n = 0; n < images; n++) {
            const vec row = held(load(rows + n * pitch + f));
#pragma GCC unroll 4
            for (int o = 0; o < outputs; o++) sum[o] += splat(gradient[o * channel + n]) * row;
        }
#pragma GCC unroll 4
        for (int o = 0; o < outputs; o++) store_lanes(sums + (ptrdiff_t)o * features + f, sum[o], lanes);
    }
}

/* One image's gradient of `vectors` neighbouring vectors of features, again side by side. */
INLINE void weigh(const float *gradient, ptrdiff_t channel, const float *weights, int features, int outputs, float *to,
                  int lanes, int vectors) {
    vec sum[BLOCK];
#pragma GCC unroll 4
    for (int i = 0; i < vectors; i++) sum[i] = (vec){0};
    for (int o = 0; o < outputs; o++, weights += features) {
        const vec factor = splat(gradient[o * channel]);
#pragma GCC unroll 4
        for (int i = 0; i < vectors; i++)
            sum[i] += factor * load_lanes(weights + i * LANES, i == vectors - 1 ? lanes : LANES);
    }
#pragma GCC unroll 4
    for (int i = 0; i < vectors; i++) store(to + i * LANES, sum[i]);
}

void linear_backward(const struct pass *pass, int index) {
    const struct network *network = pass->network;
    const struct layer *layer = &network->layers[index];
    const struct value *in = &network->values[layer->input], *out = &network->values[layer->output];
    const int images = pass->images, features = features_of(&in->activation), outputs = out->gradient.channels;
    const ptrdiff_t pitch = feature_pitch(&in->activation);
    if (layer->rectified) mask_gradient(out, images, NULL);
    float *rows = network->scratch, *before = network->packed;
    transpose_in(&in->activation, images, rows);

    const float *gradient = at(&out->gradient, images, 0, 0, 0);
    const ptrdiff_t channel = channel_pitch(&out->gradient, images);
    const int64_t bias = pass->plan->layers[index].bias;
    const float *weights = weights_of(pass, index, false);
    float *sums = gradient_of(pass, index, false);
    for (int o = 0; o + BLOCK <= outputs; o += BLOCK)
        add_products(gradient + o * channel, channel, rows, pitch, features, images, sums + (ptrdiff_t)o * features, BLOCK);
    for (int o = outputs / BLOCK * BLOCK; o < outputs; o++)
        add_products(gradient + o * channel, channel, rows, pitch, features, images, sums + (ptrdiff_t)o * features, 1);
    if (bias >= 0)
        for (int o = 0; o < outputs; o++)
            for (int n = 0; n < images; n++) pass->gradient[bias + o] += gradient[o * channel + n];
    if (!in->wanted) return;
    const int blocks = features / (BLOCK * LANES) * BLOCK * LANES;
    for (int n = 0; n < images; n++) {
        for (int f = 0; f < blocks; f += BLOCK * LANES)
            weigh(gradient + n, channel, weights + f, features, outputs, before + n * pitch + f, LANES, BLOCK);
        for (int f = blocks; f < features; f += LANES)
            weigh(gradient + n, channel, weights + f, features, outputs, before + n * pitch + f,
                  features - f < LANES ? features - f : LANES, 1);
    }
    transpose_out(&in->gradient, images, before, network->adds[index]);
}

size_t linear_scratch(const struct network *network, int index) {
    return (size_t)feature_pitch(&network->values[network->layers[index].input].activation);
}
