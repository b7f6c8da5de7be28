#include "gather.h"

#define TILE_CHANNELS 4

/* One tile: `channels` output channels x `rows` rows x `vectors` vectors of each row, held in registers while all
 * input channels and taps stream by. The three are constants wherever this is inlined. Outputs share every input
 * vector, vectors share every broadcast weight: at 4 x 6, ten loads feed 24 multiply-adds. */
INLINE void tile(const struct gather *job, int channel, int row, ptrdiff_t start, int last_lanes, int channels, int rows,
                 int vectors) {
    vec sum[TILE_CHANNELS][TILE_VECTORS];
    float *out = job->out + channel * job->out_channel + row * job->out_row + start;
#pragma GCC unroll 8
    for (int o = 0; o < channels; o++)
#pragma GCC unroll 8
        for (int i = 0; i < rows * vectors; i++) sum[o][i] = splat(job->bias ? job->bias[channel + o] : 0);

    int first = 0, end = job->tap_count;
    if (job->first_tap) {
        first = job->first_tap[row], end = job->end_tap[row];
        for (int r = 1; r < rows; r++) {
            if (job->first_tap[row + r] < first) first = job->first_tap[row + r];
            if (job->end_tap[row + r] > end) end = job->end_tap[row + r];
        }
    }
    const float *in = job->in + row * job->in_row + start;
    const float *weights = job->weights + channel * job->weight_out;
    const ptrdiff_t in_row = job->in_row, weight_out = job->weight_out;
    for (int c = 0; c < job->in_channels; c++, in += job->in_channel, weights += job->weight_in)
        for (const struct tap *tap = job->taps + first; tap < job->taps + end; tap++) {
            vec input[TILE_VECTORS];
#pragma GCC unroll 8
            for (int r = 0; r < rows; r++)
#pragma GCC unroll 8
                for (int v = 0; v < vectors; v++)
                    input[r * vectors + v] = load(in + tap->in + r * in_row + v * LANES);
#pragma GCC unroll 8
            for (int o = 0; o < channels; o++) {
                vec weight = splat(weights[tap->weight + o * weight_out]);
#pragma GCC unroll 8
                for (int i = 0; i < rows * vectors; i++) sum[o][i] += weight * input[i];
            }
        }

#pragma GCC unroll 8
    for (int o = 0; o < channels; o++)
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++)
#pragma GCC unroll 8
            for (int v = 0; v < vectors; v++) {
                float *to = out + o * job->out_channel + r * job->out_row + v * LANES;
                int lanes = v == vectors - 1 ? last_lanes : LANES;
                vec value = sum[o][r * vectors + v];
                if (job->adds) value += load_lanes(to, lanes);
                store_lanes(to, job->rectified ? rectify(value) : value, lanes);
            }
}

typedef void tile_function(const struct gather *job, int channel, int row, ptrdiff_t start, int last_lanes);

#define TILE(C, R, V)                                                                                           \
    static void tile_##C##_##R##_##V(const struct gather *job, int channel, int row, ptrdiff_t start, int last) { \
        tile(job, channel, row, start, last, C, R, V);                                                          \
    }
/* Every shape of at most TILE_VECTORS vectors; where the rows are short a tile takes several. */
#if TILE_VECTORS == 6
#define SHAPES(X, C) \
    X(C, 1, 1) X(C, 1, 2) X(C, 1, 3) X(C, 1, 4) X(C, 1, 5) X(C, 1, 6) \
    X(C, 2, 1) X(C, 3, 1) X(C, 4, 1) X(C, 5, 1) X(C, 6, 1) X(C, 2, 2) X(C, 3, 2) X(C, 2, 3)
#else
#define SHAPES(X, C) X(C, 1, 1) X(C, 1, 2) X(C, 1, 3) X(C, 2, 1) X(C, 3, 1)
#endif
SHAPES(TILE, 1)
SHAPES(TILE, 2)
SHAPES(TILE, 3)
SHAPES(TILE, 4)

#define ENTRY(C, R, V) [C - 1][R - 1][V - 1] = tile_##C##_##R##_##V,
static tile_function *const tiles[TILE_CHANNELS][TILE_VECTORS][TILE_VECTORS] = {
    SHAPES(ENTRY, 1) SHAPES(ENTRY, 2) SHAPES(ENTRY, 3) SHAPES(ENTRY, 4)};

void gather_rows(const struct gather *job, int channels, int first, int end) {
    int vectors = (job->row_floats + LANES - 1) / LANES;
    int tail = job->row_floats - (vectors - 1) * LANES;
    int across = (vectors + TILE_VECTORS - 1) / TILE_VECTORS;          /* tiles along a row, of nearly equal width */
    int down_rows = vectors >= TILE_VECTORS ? 1 : TILE_VECTORS / vectors; /* rows a tile can take */
    int down = (end - first + down_rows - 1) / down_rows;
    for (int j = 0; j < down; j++) {
        int row = first + (int)((long)(end - first) * j / down);
        int rows = first + (int)((long)(end - first) * (j + 1) / down) - row;
        for (int i = 0; i < across; i++) {
            int from = vectors * i / across, to = vectors * (i + 1) / across;
            int last_lanes = to == vectors ? tail : LANES;
            for (int o = 0; o < channels; o += TILE_CHANNELS) {
                int count = channels - o < TILE_CHANNELS ? channels - o : TILE_CHANNELS;
                tiles[count - 1][rows - 1][to - from - 1](job, o, row, (ptrdiff_t)from * LANES, last_lanes);
            }
        }
    }
}

static __attribute__((noinline)) void add_sums(const float *sums, float *const *gradients, ptrdiff_t stride,
                                               int channels, int count) {
    for (int first = 0; first < channels * count; first += 4) {
        vec4 four = sum_four(sums + first * LANES);
        for (int i = 0; i < 4 && first + i < channels * count; i++)
            gradients[(first + i) / channels][(first + i) % channels * stride] += four[i];
    }
}

/* `channels` x `count` sums along the rows, one for each pair of an output channel and an input at a tap. */
INLINE void reduction(const struct gather *job, int channel, const float *const *inputs, int first, int end,
                      float *const *gradients, int channels, int count) {
    vec sum[TILE_CHANNELS][TILE_VECTORS];
#pragma GCC unroll 8
    for (int o = 0; o < channels; o++)
#pragma GCC unroll 8
        for (int t = 0; t < count; t++) sum[o][t] = (vec){0};
    const int whole = job->row_floats / LANES * LANES, tail = job->row_floats - whole;
    for (int row = first; row < end; row++) {
        const float *out = job->out + channel * job->out_channel + row * job->out_row;
        const float *in[TILE_VECTORS];
#pragma GCC unroll 8
        for (int t = 0; t < count; t++) in[t] = inputs[t] + row * job->in_row;
        for (int i = 0; i < whole; i += LANES) {
            vec gradient[TILE_CHANNELS];
#pragma GCC unroll 8
            for (int o = 0; o < channels; o++) gradient[o] = load(out + o * job->out_channel + i);
#pragma GCC unroll 8
            for (int t = 0; t < count; t++) {
                vec input = held(load(in[t] + i));
#pragma GCC unroll 8
                for (int o = 0; o < channels; o++) sum[o][t] += gradient[o] * input;
            }
        }
        if (tail)
#pragma GCC unroll 8
            for (int t = 0; t < count; t++) {
                vec input = load_lanes(in[t] + whole, tail);
#pragma GCC unroll 8
                for (int o = 0; o < channels; o++)
                    sum[o][t] += load_lanes(out + o * job->out_channel + whole, tail) * input;
            }
    }
    float sums[TILE_CHANNELS * TILE_VECTORS * LANES];
#pragma GCC unroll 8
    for (int o = 0; o < channels; o++)
#pragma GCC unroll 8
        for (int t = 0; t < count; t++) store(sums + (t * channels + o) * LANES, sum[o][t]);
    add_sums(sums, gradients, job->weight_out, channels, count);
}

typedef void reduction_function(const struct gather *job, int channel, const float *const *inputs, int first, int end,
                                float *const *gradients);

#define REDUCTION(C, T, UNUSED)                                                                                   \
    static void reduction_##C##_##T(const struct gather *job, int channel, const float *const *inputs, int first, \
                                    int end, float *const *gradients) {                                           \
        reduction(job, channel, inputs, first, end, gradients, C, T);                                             \
    }
#if TILE_VECTORS == 6
#define COUNTS(X, C) X(C, 1, ) X(C, 2, ) X(C, 3, ) X(C, 4, ) X(C, 5, ) X(C, 6, )
#else
#define COUNTS(X, C) X(C, 1, ) X(C, 2, ) X(C, 3, )
#endif
COUNTS(REDUCTION, 1)
COUNTS(REDUCTION, 2)
COUNTS(REDUCTION, 3)
COUNTS(REDUCTION, 4)

#define REDUCTION_ENTRY(C, T, UNUSED) [C - 1][T - 1] = reduction_##C##_##T,
static reduction_function *const reductions[TILE_CHANNELS][TILE_VECTORS] = {
    COUNTS(REDUCTION_ENTRY, 1) COUNTS(REDUCTION_ENTRY, 2) COUNTS(REDUCTION_ENTRY, 3) COUNTS(REDUCTION_ENTRY, 4)};

/* Rows of `out` to take at once: four channels of them should stay in the first cache beside the inputs. */
#define BLOCK_BYTES 16384

void gather_weight_gradient(const struct gather *job, int channels, float *gradient) {
    int block = BLOCK_BYTES / (TILE_CHANNELS * (int)sizeof(float) * (job->row_floats > 0 ? job->row_floats : 1));
    if (block < 1) block = 1;
    int total = job->in_channels * job->tap_count;
    int groups = (total + TILE_VECTORS - 1) / TILE_VECTORS;
    for (int o = 0; o < channels; o += TILE_CHANNELS) {
        int count = channels - o < TILE_CHANNELS ? channels - o : TILE_CHANNELS;
        for (int first = 0; first < job->rows; first += block) {
            int end = first + block < job->rows ? first + block : job->rows;
            for (int group = 0; group < groups; group++) {
                int from = (int)((long)total * group / groups), to = (int)((long)total * (group + 1) / groups);
                const float *inputs[TILE_VECTORS];
                float *gradients[TILE_VECTORS];
                for (int i = from; i < to; i++) {
                    int c = i / job->tap_count;
                    const struct tap *tap = job->taps + i % job->tap_count;
                    inputs[i - from] = job->in + c * job->in_channel + tap->in;
                    gradients[i - from] = gradient + o * job->weight_out + c * job->weight_in + tap->weight;
                }
                reductions[count - 1][to - from - 1](job, o, inputs, first, end, gradients);
            }
        }
    }
}
