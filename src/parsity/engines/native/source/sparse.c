#include "sparse.h"

#include "pooling.h"

/* Vectors a tile keeps in registers; each survivor costs one broadcast and as many multiply-adds from memory. */
#if defined(__AVX512F__) || defined(__aarch64__)
#define TILE 24
#else
#define TILE 12
#endif
#define SIDE 8

INLINE void tile(const struct visit *visit, int output, int row, ptrdiff_t begin, int last_lanes, int32_t from,
                 int32_t to, bool first, bool last, int rows, int vectors) {
    vec sum[TILE];
    float *out = visit->out + output * visit->out_channel + row * visit->out_row + begin;
    const bool adds = !first || visit->adds;
    const vec bias = splat(first && visit->bias ? visit->bias[output] : 0);
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 8
        for (int v = 0; v < vectors; v++) {
            const float *before = out + r * visit->out_row + v * LANES;
            sum[r * vectors + v] = adds ? load_lanes(before, v == vectors - 1 ? last_lanes : LANES) + bias : bias;
        }
    const float *in = visit->in + row * visit->in_row + begin;
    const ptrdiff_t in_row = visit->in_row;
    const ptrdiff_t images = visit->images;
    const int32_t *position = visit->position;
    const float *weights = visit->weights;
    for (int32_t i = from; i < to; i++) {
        const float *seen = in + position[i] * images;
        vec weight = splat(weights[i]);
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++, seen = held_pointer(seen + in_row))
#pragma GCC unroll 8
            for (int v = 0; v < vectors; v++) sum[r * vectors + v] += weight * load(seen + v * LANES);
    }
    const bool rectified = last && visit->rectified;
    if (last && visit->pooled && rows % 2 == 0 && vectors % 2 == 0) {
        float *pooled = visit->pooled + output * visit->pooled_channel + row / 2 * visit->pooled_row + begin / 2;
        uint8_t *codes = visit->codes + output * visit->code_channel + row / 2 * visit->code_row + begin / 2;
#pragma GCC unroll 4
        for (int r = 0; r < rows; r += 2, pooled += visit->pooled_row, codes += visit->code_row)
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v += 2) {
                const int upper = r * vectors + v, lower = upper + vectors;
                const vec corner[4] = {sum[upper], sum[upper + 1], sum[lower], sum[lower + 1]};
                ivec code;
                const vec highest = highest_of(corner, &code);
                store(pooled + v / 2 * LANES, rectified ? rectify(highest) : highest);
                store_bytes(codes + v / 2 * LANES, code, LANES);
            }
        return;
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 8
        for (int v = 0; v < vectors; v++) {
            vec value = sum[r * vectors + v];
            store_lanes(out + r * visit->out_row + v * LANES, rectified ? rectify(value) : value,
                        v == vectors - 1 ? last_lanes : LANES);
        }
}

typedef void tile_function(const struct visit *, int, int, ptrdiff_t, int, int32_t, int32_t, bool, bool);

#define TILE_OF(R, V)                                                                                         \
    static void tile_##R##_##V(const struct visit *visit, int output, int row, ptrdiff_t begin, int lanes,   \
                               int32_t from, int32_t to, bool first, bool last) {                             \
        tile(visit, output, row, begin, lanes, from, to, first, last, R, V);                                  \
    }
#if TILE == 24
#define SHAPES(X)                                                                                             \
    X(1, 1) X(2, 1) X(3, 1) X(4, 1) X(5, 1) X(6, 1) X(7, 1) X(8, 1) X(1, 2) X(2, 2) X(3, 2) X(4, 2) X(5, 2)   \
    X(6, 2) X(7, 2) X(8, 2) X(1, 3) X(2, 3) X(3, 3) X(4, 3) X(5, 3) X(6, 3) X(7, 3) X(8, 3) X(1, 4) X(2, 4)   \
    X(3, 4) X(4, 4) X(5, 4) X(6, 4) X(1, 5) X(2, 5) X(3, 5) X(4, 5) X(1, 6) X(2, 6) X(3, 6) X(4, 6) X(1, 7)   \
    X(2, 7) X(3, 7) X(1, 8) X(2, 8) X(3, 8)
#else
#define SHAPES(X)                                                                                             \
    X(1, 1) X(2, 1) X(3, 1) X(4, 1) X(5, 1) X(6, 1) X(7, 1) X(8, 1) X(1, 2) X(2, 2) X(3, 2) X(4, 2) X(5, 2)   \
    X(6, 2) X(1, 3) X(2, 3) X(3, 3) X(4, 3) X(1, 4) X(2, 4) X(3, 4) X(1, 5) X(2, 5) X(1, 6) X(2, 6) X(1, 7) X(1, 8)
#endif
SHAPES(TILE_OF)
#define ENTRY(R, V) [R - 1][V - 1] = tile_##R##_##V,
static tile_function *const tiles[SIDE][SIDE] = {SHAPES(ENTRY)};

int visit_pieces(int row_floats) {
    int vectors = (row_floats + LANES - 1) / LANES;
    return (vectors + SIDE - 1) / SIDE;
}

bool visit_pools(int row_floats, int images) {
    const int vectors = row_floats / LANES, pieces = visit_pieces(row_floats);
    bool whole = images == LANES;
    for (int piece = 1; piece <= pieces; piece++) whole &= vectors * piece / pieces % 2 == 0;
    return whole;
}

int visit_rows(int row_floats) {
    int vectors = (row_floats + LANES - 1) / LANES, pieces = visit_pieces(row_floats);
    int rows = TILE / ((vectors + pieces - 1) / pieces);
    return rows < SIDE ? rows : SIDE;
}

void visit_tile(const struct visit *visit, int row, int rows, int piece, int from, int to, bool first, bool last) {
    /* A row is cut into pieces of nearly equal width. */
    const int vectors = (visit->row_floats + LANES - 1) / LANES, pieces = visit_pieces(visit->row_floats);
    const int begin = vectors * piece / pieces, end = vectors * (piece + 1) / pieces;
    const int last_lanes = end == vectors ? visit->row_floats - (vectors - 1) * LANES : LANES;
    tile_function *add = tiles[rows - 1][end - begin - 1];
    for (int output = 0; output < visit->outputs; output++) {
        const int32_t *start = visit->start + (ptrdiff_t)output * visit->pitch;
        if (start[from] == start[to] && !first && !(last && (visit->rectified || visit->pooled))) continue;
        add(visit, output, row, (ptrdiff_t)begin * LANES, last_lanes, start[from], start[to], first, last);
    }
}

#define TOGETHER 8

/* `count` survivors share every load of the output's gradient. */
INLINE void reduction(const float *out, ptrdiff_t out_row, const float *in, ptrdiff_t in_row, int rows, int row_floats,
                      ptrdiff_t images, const int32_t *position, float *gradient, int count) {
    const float *seen[TOGETHER];
    vec sum[TOGETHER];
#pragma GCC unroll 8
    for (int i = 0; i < count; i++) seen[i] = in + position[i] * images, sum[i] = (vec){0};
    const int whole = row_floats / LANES * LANES, tail = row_floats - whole;
    for (int y = 0; y < rows; y++, out += out_row) {
        for (int x = 0; x < whole; x += LANES) {
            vec from = held(load(out + x));
#pragma GCC unroll 8
            for (int i = 0; i < count; i++) sum[i] += from * load(seen[i] + x);
        }
        if (tail)
#pragma GCC unroll 8
            for (int i = 0; i < count; i++) sum[i] += load_lanes(out + whole, tail) * load_lanes(seen[i] + whole, tail);
#pragma GCC unroll 8
        for (int i = 0; i < count; i++) seen[i] += in_row;
    }
    float lanes[TOGETHER * LANES] = {0};
#pragma GCC unroll 8
    for (int i = 0; i < count; i++) store(lanes + i * LANES, sum[i]);
    for (int first = 0; first < count; first += 4) {
        vec4 four = sum_four(lanes + first * LANES);
        for (int i = 0; i < 4 && first + i < count; i++) gradient[first + i] += four[i];
    }
}

typedef void reduction_function(const float *, ptrdiff_t, const float *, ptrdiff_t, int, int, ptrdiff_t,
                                const int32_t *, float *);
#define REDUCTION(C)                                                                                              \
    static void reduction_##C(const float *out, ptrdiff_t out_row, const float *in, ptrdiff_t in_row, int rows,   \
                              int row_floats, ptrdiff_t images, const int32_t *position, float *gradient) {       \
        reduction(out, out_row, in, in_row, rows, row_floats, images, position, gradient, C);                     \
    }
#define COUNTS(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8)
COUNTS(REDUCTION)
#define REDUCTION_ENTRY(C) [C - 1] = reduction_##C,
static reduction_function *const reductions[TOGETHER] = {COUNTS(REDUCTION_ENTRY)};

void visit_weight_gradient(const float *out, ptrdiff_t out_row, const float *in, ptrdiff_t in_row, int rows,
                           int row_floats, int images, const int32_t *position, int count, float *gradient) {
    while (count > 0) {
        int groups = (count + TOGETHER - 1) / TOGETHER, now = (count + groups - 1) / groups;
        reductions[now - 1](out, out_row, in, in_row, rows, row_floats, images, position, gradient);
        position += now, gradient += now, count -= now;
    }
}
