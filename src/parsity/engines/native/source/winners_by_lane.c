#include "winners_by_lane.h"

#include "strided.h"

/* Sums a kernel holds in registers, beside what a row of them needs: rows x columns of taps. */
#define MAXIMUM_ROWS 5
#if defined(__AVX512F__) || defined(__aarch64__)
#define MAXIMUM_COLUMNS 3
#else
#define MAXIMUM_COLUMNS 1
#endif

/* A channel of the input with the even and the odd pixels of each row apart: [row][parity][column][image]. The pixels
 * that one tap meets in neighbouring windows are then neighbours, whatever the number of images. */
struct halves {
    int rows, columns;
};
static struct halves halves_of(const struct network *network, const struct layer *layer) {
    const struct plane *out = &network->values[layer->output].activation;
    return (struct halves){2 * out->height + layer->kernel_height - 1, out->width + layer->kernel_width / 2};
}

bool winners_by_lane_suit(const struct network *network, int index) {
    const struct layer *layer = &network->layers[index];
    return layer->kind == CONVOLUTION && layer->pooled && !network->values[layer->input].wanted &&
           layer->stride_height == 1 && layer->stride_width == 1;
}

size_t winners_by_lane_scratch(const struct network *network, int index) {
    const struct halves halves = halves_of(network, &network->layers[index]);
    return 2 * (size_t)halves.rows * halves.columns;
}

static void split(const struct pass *pass, const struct layer *layer, int channel, float *to) {
    const struct plane *in = &pass->network->values[layer->input].activation;
    const struct halves halves = halves_of(pass->network, layer);
    const int pooled = pass->network->values[layer->output].activation.width;
    const int images = pass->images, width = 2 * pooled + layer->kernel_width - 1;
    for (int y = 0; y < halves.rows; y++)
        for (int parity = 0; parity < 2; parity++, to += (ptrdiff_t)halves.columns * images)
            strided(to, images, at(in, images, channel, y - layer->top, parity - layer->left), 2 * (ptrdiff_t)images,
                    (width - parity + 1) / 2, images, false, 1);
}

/* Windows of one output channel and the input channel that they see. */
struct windows {
    const float *gradient;
    ptrdiff_t gradient_row;
    const uint8_t *codes;
    const float *in;
    ptrdiff_t in_row, parity;
    int rows, row_floats, images;
};

/* sum[tap] += gradient x what the winner saw, for `lanes` lanes of neighbouring windows. Of two neighbours in a row one
 * is picked by the column that won, then of two such picks one by the row that won. */
INLINE void add_winners(vec *sum, const float *gradient, const uint8_t *codes, const float *in, ptrdiff_t in_row,
                        const ptrdiff_t *column, int lanes, int rows, int columns) {
    const vec value = held(load_lanes(gradient, lanes));
    const ivec code = load_bytes(codes);
    const choice right = bit_of(code, 0), below = bit_of(code, 1);
    vec above[MAXIMUM_COLUMNS];
#pragma GCC unroll 8
    for (int y = 0; y <= rows; y++, in = held_pointer(in + in_row)) {
        vec left = held(load_lanes(in + column[0], lanes));
#pragma GCC unroll 4
        for (int x = 0; x < columns; x++) {
            const vec next = held(load_lanes(in + column[x + 1], lanes)), here = blend(right, next, left);
            if (y > 0) sum[(y - 1) * columns + x] += value * blend(below, here, above[x]);
            above[x] = here, left = next;
        }
    }
}

INLINE void sum_winners(const struct windows *windows, int first, float *sums, int rows, int columns) {
    vec sum[MAXIMUM_ROWS * MAXIMUM_COLUMNS];
    ptrdiff_t column[MAXIMUM_COLUMNS + 1];
#pragma GCC unroll 16
    for (int t = 0; t < rows * columns; t++) sum[t] = (vec){0};
#pragma GCC unroll 4
    for (int x = 0; x <= columns; x++)
        column[x] = (first + x) % 2 * windows->parity + (ptrdiff_t)((first + x) / 2) * windows->images;
    const int whole = windows->row_floats / LANES * LANES, tail = windows->row_floats - whole;
    const float *gradient = windows->gradient, *in = windows->in;
    const uint8_t *codes = windows->codes;
    for (int y = 0; y < windows->rows; y++) {
        for (int i = 0; i < whole; i += LANES)
            add_winners(sum, gradient + i, codes + i, in + i, windows->in_row, column, LANES, rows, columns);
        if (tail)
            add_winners(sum, gradient + whole, codes + whole, in + whole, windows->in_row, column, tail, rows, columns);
        gradient += windows->gradient_row, codes += windows->row_floats, in += 2 * windows->in_row;
    }
#pragma GCC unroll 16
    for (int t = 0; t < rows * columns; t++) store(sums + t * LANES, sum[t]);
}

typedef void sum_function(const struct windows *windows, int first, float *sums);
#define SUM(R, C)                                                                     \
    static void sum_##R##_##C(const struct windows *windows, int first, float *sums) { \
        sum_winners(windows, first, sums, R, C);                                      \
    }
#if MAXIMUM_COLUMNS == 3
#define SHAPES(X)                                                                   \
    X(1, 1) X(2, 1) X(3, 1) X(4, 1) X(5, 1) X(1, 2) X(2, 2) X(3, 2) X(4, 2) X(5, 2) \
    X(1, 3) X(2, 3) X(3, 3) X(4, 3) X(5, 3)
#else
#define SHAPES(X) X(1, 1) X(2, 1) X(3, 1) X(4, 1) X(5, 1)
#endif
SHAPES(SUM)
#define ENTRY(R, C) [R - 1][C - 1] = sum_##R##_##C,
static sum_function *const sums_of[MAXIMUM_ROWS][MAXIMUM_COLUMNS] = {SHAPES(ENTRY)};

/* All taps of one kernel, cut into pieces of nearly equal size. */
static void add_kernel(const struct layer *layer, const struct windows *windows, float *gradient) {
    const int height = layer->kernel_height, width = layer->kernel_width;
    const int down = (height + MAXIMUM_ROWS - 1) / MAXIMUM_ROWS;
    const int across = (width + MAXIMUM_COLUMNS - 1) / MAXIMUM_COLUMNS;
    for (int i = 0; i < down; i++)
        for (int j = 0; j < across; j++) {
            const int y = height * i / down, rows = height * (i + 1) / down - y;
            const int x = width * j / across, columns = width * (j + 1) / across - x;
            float sums[(MAXIMUM_ROWS * MAXIMUM_COLUMNS + 3) * LANES];
            struct windows part = *windows;
            part.in += y * part.in_row;
            sums_of[rows - 1][columns - 1](&part, x, sums);
            for (int t = 0; t < rows * columns; t += 4) {
                const vec4 four = sum_four(sums + t * LANES);
                for (int k = t; k < t + 4 && k < rows * columns; k++)
                    gradient[(y + k / columns) * width + x + k % columns] += four[k - t];
            }
        }
}

void winners_by_lane(const struct pass *pass, int index) {
    const struct network *network = pass->network;
    const struct layer *layer = &network->layers[index];
    const struct plane *out = &network->values[layer->output].gradient;
    const struct layer_plan *plan = &pass->plan->layers[index];
    const struct halves halves = halves_of(network, layer);
    const int images = pass->images, channels = network->values[layer->input].activation.channels;
    const int taps = layer->kernel_height * layer->kernel_width;
    struct windows windows = {.gradient_row = row_pitch(out, images),
                              .parity = (ptrdiff_t)halves.columns * images,
                              .in_row = 2 * (ptrdiff_t)halves.columns * images,
                              .in = network->scratch,
                              .rows = out->height,
                              .row_floats = out->width * images,
                              .images = images};
    for (int c = 0; c < channels; c++) {
        split(pass, layer, c, network->scratch);
        for (int o = 0; o < out->channels; o++) {
            const ptrdiff_t pair = (ptrdiff_t)o * channels + c;
            const int32_t *start = plan->survivors.start;
            if (!network->alive[o] || (plan->listed && start[pair] == start[pair + 1])) continue;
            windows.gradient = at(out, images, o, 0, 0);
            windows.codes = network->codes[index] + (ptrdiff_t)o * out->height * windows.row_floats;
            add_kernel(layer, &windows, gradient_of(pass, index, false) + pair * taps);
        }
    }
}
