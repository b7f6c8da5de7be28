#include "winners.h"

#include "transpose.h"

#define MAXIMUM_WIDTH 7
#define MAXIMUM_ROWS 5
/* Accumulators or weights a kernel may hold in registers. */
#if defined(__AVX512F__) || defined(__aarch64__)
#define HELD 25
#else
#define HELD 12
#endif
/* The transposed inputs of a group of images should stay in the first cache. */
#define GROUP_BYTES 40000

static int blocks_of(int channels) { return (channels + LANES - 1) / LANES; }
static int taps_of(const struct layer *layer) { return layer->kernel_height * layer->kernel_width; }
static ptrdiff_t block_pitch(const struct plane *in) { return (ptrdiff_t)in->rows * in->columns * LANES; }
static ptrdiff_t image_pitch(const struct plane *in) { return block_pitch(in) * blocks_of(in->channels); }
static int group_size(const struct plane *in, int images) {
    const int fitting = (int)(GROUP_BYTES / (block_pitch(in) * (ptrdiff_t)sizeof(float)));
    return fitting < 1 ? 1 : fitting < images ? fitting : images;
}

bool winners_suit(const struct network *network, int index) {
    const struct layer *layer = &network->layers[index];
    const struct value *in = &network->values[layer->input];
    return layer->kind == CONVOLUTION && layer->pooled && in->wanted && layer->stride_height == 1 &&
           layer->stride_width == 1 && layer->kernel_width <= MAXIMUM_WIDTH &&
           3 * in->activation.channels >= LANES && image_pitch(&in->activation) * network->slice < INT32_MAX;
}
size_t winners_weights(const struct network *network, int index) {
    const struct layer *layer = &network->layers[index];
    return (size_t)network->values[layer->output].activation.channels *
           blocks_of(network->values[layer->input].activation.channels) * taps_of(layer) * LANES;
}
size_t winners_plane(const struct network *network, int index) {
    return (size_t)image_pitch(&network->values[network->layers[index].input].activation);
}
size_t winners_lists(const struct network *network, int index) {
    const struct plane *out = &network->values[network->layers[index].output].activation;
    return (size_t)out->channels * out->height * out->width;
}

/* One square of the weights: LANES input channels x LANES taps, from or to [channel][tap]. */
void winners_begin(const struct pass *pass, int index) {
    const struct layer *layer = &pass->network->layers[index];
    const int channels = pass->network->values[layer->input].activation.channels, taps = taps_of(layer);
    const int outputs = pass->network->values[layer->output].activation.channels;
    float *to = pass->network->winners[index].weights;
    for (int o = 0; o < outputs; o++)
        for (int block = 0; block < channels; block += LANES, to += (ptrdiff_t)taps * LANES)
            for (int t = 0; t < taps; t += LANES) {
                const int lanes = taps - t < LANES ? taps - t : LANES;
                vec square[LANES];
                for (int i = 0; i < LANES; i++) {
                    const float *from = weights_of(pass, index, false) + ((ptrdiff_t)o * channels + block + i) * taps;
                    square[i] = block + i < channels ? load_lanes(from + t, lanes) : (vec){0};
                }
                transpose(square);
                for (int i = 0; i < lanes; i++) store(to + (t + i) * LANES, square[i]);
            }
    memset(pass->network->winners[index].gradient, 0, winners_weights(pass->network, index) * sizeof(float));
}

void winners_end(const struct pass *pass, int index) {
    const struct layer *layer = &pass->network->layers[index];
    const int channels = pass->network->values[layer->input].activation.channels, taps = taps_of(layer);
    const int outputs = pass->network->values[layer->output].activation.channels;
    const float *from = pass->network->winners[index].gradient;
    for (int o = 0; o < outputs; o++)
        for (int block = 0; block < channels; block += LANES, from += (ptrdiff_t)taps * LANES)
            for (int t = 0; t < taps; t += LANES) {
                const int lanes = taps - t < LANES ? taps - t : LANES;
                vec square[LANES];
                for (int i = 0; i < LANES; i++) square[i] = i < lanes ? load(from + (t + i) * LANES) : (vec){0};
                transpose(square);
                for (int i = 0; i < LANES && block + i < channels; i++) {
                    float *to = gradient_of(pass, index, false) + ((ptrdiff_t)o * channels + block + i) * taps + t;
                    store_lanes(to, load_lanes(to, lanes) + square[i], lanes);
                }
            }
}

/* [channel][row][column][image] to [image][block][row][column][lane]. */
static void transpose_in(const struct plane *in, int images, float *to) {
    const int floats = in->columns * images;
    const ptrdiff_t channel = channel_pitch(in, images), pitch = image_pitch(in);
    for (int block = 0; block < blocks_of(in->channels); block++)
        for (int y = 0; y < in->rows; y++) {
            const float *row = in->data + block * LANES * channel + (ptrdiff_t)y * floats;
            float *to_row = to + block * block_pitch(in) + (ptrdiff_t)y * in->columns * LANES;
            int n = 0;
            for (int i = 0; i < floats; i += LANES) {
                vec square[LANES];
                for (int c = 0; c < LANES; c++)
                    square[c] = block * LANES + c < in->channels ? load(row + c * channel + i) : (vec){0};
                transpose(square);
                for (int lane = 0; lane < LANES && i + lane < floats; lane++) {
                    store(to_row + n * pitch, square[lane]);
                    if (++n == images) n = 0, to_row += LANES;
                }
            }
        }
}

/* And back again, without the border. `in` has the geometry of `from`. */
static void transpose_out(const struct plane *in, const struct plane *gradient, int images, const float *from,
                          bool adds) {
    const int floats = in->width * images;
    const ptrdiff_t pitch = image_pitch(in);
    for (int block = 0; block < blocks_of(in->channels); block++)
        for (int y = 0; y < in->height; y++) {
            const float *row =
                from + block * block_pitch(in) + ((ptrdiff_t)(y + in->top) * in->columns + in->left) * LANES;
            int n = 0;
            for (int i = 0; i < floats; i += LANES) {
                const int lanes = floats - i < LANES ? floats - i : LANES;
                vec square[LANES];
                for (int lane = 0; lane < LANES; lane++) {
                    square[lane] = lane < lanes ? load(row + n * pitch) : (vec){0};
                    if (++n == images) n = 0, row += LANES;
                }
                transpose(square);
                for (int c = 0; c < LANES && block * LANES + c < in->channels; c++) {
                    float *to = at(gradient, images, block * LANES + c, y, 0) + i;
                    store_lanes(to, adds ? load_lanes(to, lanes) + square[c] : square[c], lanes);
                }
            }
        }
}

/* Who won, for every output channel and group of images. A gradient of zero has nothing to say. */
static void list_winners(const struct pass *pass, int index, int group) {
    const struct network *network = pass->network;
    const struct layer *layer = &network->layers[index];
    const struct plane *in = &network->values[layer->input].activation;
    const struct plane *out = &network->values[layer->output].gradient;
    const struct winners *winners = &network->winners[index];
    const int images = pass->images, windows = out->height * out->width, groups = (images + group - 1) / group;
    const int pitch = (int)image_pitch(in), column = LANES, row = in->columns * LANES;
    const int corner[4] = {0, column, row, row + column};
    const uint8_t *code = network->codes[index];
    struct winner *lists[groups];
    for (int o = 0; o < out->channels; o++) {
        if (!network->alive[o]) {
            for (int g = 0; g < groups; g++) winners->counts[g * out->channels + o] = 0;
            code += (ptrdiff_t)windows * images;
            continue;
        }
        for (int g = 0; g < groups; g++)
            lists[g] = winners->lists + ((ptrdiff_t)g * out->channels + o) * group * windows;
        for (int y = 0; y < out->height; y++) {
            const float *gradient = at(out, images, o, y, 0);
            int window = (2 * y - layer->top + in->top) * row + (in->left - layer->left) * column;
            for (int x = 0; x < out->width; x++, window += 2 * column)
                for (int g = 0, n = 0; g < groups; g++) {
                    struct winner *next = lists[g];
                    for (int end = n + group < images ? n + group : images; n < end; n++, gradient++, code++) {
                        *next = (struct winner){window + corner[*code] + n * pitch, *gradient};
                        next += *gradient != 0;
                    }
                    lists[g] = next;
                }
        }
        for (int g = 0; g < groups; g++)
            winners->counts[g * out->channels + o] =
                (int32_t)(lists[g] - (winners->lists + ((ptrdiff_t)g * out->channels + o) * group * windows));
    }
}

/* gradient[tap] += winner's gradient x what it saw; the sums stay in registers. */
INLINE void sum_inputs(const struct winner *list, int count, const float *in, ptrdiff_t row, float *gradient, int rows,
                       int width) {
    vec sum[HELD];
#pragma GCC unroll 32
    for (int t = 0; t < rows * width; t++) sum[t] = load(gradient + t * LANES);
    for (const struct winner *winner = list; winner < list + count; winner++) {
        const float *seen = in + winner->offset;
        vec factor = splat(winner->gradient);
#pragma GCC unroll 8
        for (int y = 0; y < rows; y++)
#pragma GCC unroll 8
            for (int x = 0; x < width; x++) sum[y * width + x] += factor * load(seen + y * row + x * LANES);
    }
#pragma GCC unroll 32
    for (int t = 0; t < rows * width; t++) store(gradient + t * LANES, sum[t]);
}

/* What a winner saw += its gradient x weights[tap]; the weights stay in registers. */
INLINE void scatter(const struct winner *list, int count, float *in, ptrdiff_t row, const float *weights, int rows,
                    int width) {
    vec weight[HELD];
#pragma GCC unroll 32
    for (int t = 0; t < rows * width; t++) weight[t] = held(load(weights + t * LANES));
    for (const struct winner *winner = list; winner < list + count; winner++) {
        float *seen = in + winner->offset;
        vec factor = splat(winner->gradient);
#pragma GCC unroll 8
        for (int y = 0; y < rows; y++)
#pragma GCC unroll 8
            for (int x = 0; x < width; x++) {
                float *to = seen + y * row + x * LANES;
                store(to, load(to) + factor * weight[y * width + x]);
            }
    }
}

typedef void sum_function(const struct winner *, int, const float *, ptrdiff_t, float *);
typedef void scatter_function(const struct winner *, int, float *, ptrdiff_t, const float *);

#define KERNELS(R, W)                                                                                             \
    static void sum_##R##_##W(const struct winner *list, int count, const float *in, ptrdiff_t row, float *gradient) { \
        sum_inputs(list, count, in, row, gradient, R, W);                                                         \
    }                                                                                                             \
    static void scatter_##R##_##W(const struct winner *list, int count, float *in, ptrdiff_t row,                 \
                                  const float *weights) {                                                         \
        scatter(list, count, in, row, weights, R, W);                                                             \
    }
#if HELD == 25
#define WIDTHS(X, R_UP_TO_5) \
    X(1, 1) X(2, 1) X(3, 1) X(4, 1) X(5, 1) X(1, 2) X(2, 2) X(3, 2) X(4, 2) X(5, 2) X(1, 3) X(2, 3) X(3, 3) X(4, 3) \
    X(5, 3) X(1, 4) X(2, 4) X(3, 4) X(4, 4) X(5, 4) X(1, 5) X(2, 5) X(3, 5) X(4, 5) X(5, 5) X(1, 6) X(2, 6) X(3, 6) \
    X(4, 6) X(1, 7) X(2, 7) X(3, 7)
#else
#define WIDTHS(X, R_UP_TO_5) \
    X(1, 1) X(2, 1) X(3, 1) X(4, 1) X(5, 1) X(1, 2) X(2, 2) X(3, 2) X(4, 2) X(5, 2) X(1, 3) X(2, 3) X(3, 3) X(4, 3) \
    X(1, 4) X(2, 4) X(3, 4) X(1, 5) X(2, 5) X(1, 6) X(2, 6) X(1, 7)
#endif
WIDTHS(KERNELS, )
#define SUM_ENTRY(R, W) [R - 1][W - 1] = sum_##R##_##W,
#define SCATTER_ENTRY(R, W) [R - 1][W - 1] = scatter_##R##_##W,
static sum_function *const sums[MAXIMUM_ROWS][MAXIMUM_WIDTH] = {WIDTHS(SUM_ENTRY, )};
static scatter_function *const scatters[MAXIMUM_ROWS][MAXIMUM_WIDTH] = {WIDTHS(SCATTER_ENTRY, )};

void winners_backward(const struct pass *pass, int index) {
    const struct network *network = pass->network;
    const struct layer *layer = &network->layers[index];
    const struct value *in = &network->values[layer->input], *out = &network->values[layer->output];
    const struct winners *winners = &network->winners[index];
    const int images = pass->images, outputs = out->activation.channels, taps = taps_of(layer);
    const int group = group_size(&in->activation, images), groups = (images + group - 1) / group;
    const int windows = out->activation.height * out->activation.width;
    const int width = layer->kernel_width, most = HELD / width < MAXIMUM_ROWS ? HELD / width : MAXIMUM_ROWS;
    const int blocks = blocks_of(in->activation.channels);
    const ptrdiff_t row = (ptrdiff_t)in->activation.columns * LANES;

    transpose_in(&in->activation, images, winners->in);
    memset(winners->in_gradient, 0, (size_t)image_pitch(&in->activation) * images * sizeof(float));
    list_winners(pass, index, group);
    for (int g = 0; g < groups; g++)
        for (int block = 0; block < blocks; block++) {
            const float *seen = winners->in + block * block_pitch(&in->activation);
            float *to = winners->in_gradient + block * block_pitch(&in->activation);
            for (int y = 0; y < layer->kernel_height; y += most) {
                const int rows = layer->kernel_height - y < most ? layer->kernel_height - y : most;
                const ptrdiff_t first = (ptrdiff_t)y * width * LANES;
                const struct winner *list = winners->lists + (ptrdiff_t)g * outputs * group * windows;
                for (int o = 0; o < outputs; o++, list += group * windows)
                    sums[rows - 1][width - 1](list, winners->counts[g * outputs + o], seen + y * row, row,
                                              winners->gradient + ((ptrdiff_t)o * blocks + block) * taps * LANES + first);
                list = winners->lists + (ptrdiff_t)g * outputs * group * windows;
                for (int o = 0; o < outputs; o++, list += group * windows)
                    scatters[rows - 1][width - 1](list, winners->counts[g * outputs + o], to + y * row, row,
                                                  winners->weights + ((ptrdiff_t)o * blocks + block) * taps * LANES + first);
            }
        }
    transpose_out(&in->activation, &in->gradient, images, winners->in_gradient, network->adds[index]);
}
