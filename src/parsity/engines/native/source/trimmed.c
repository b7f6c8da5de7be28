#include "trimmed.h"

/* Vectors of a row that are held in registers, and rows of them. */
#define WIDTH 12
#if defined(__AVX512F__) || defined(__aarch64__)
#define ROWS 2
#else
#define ROWS 1
#endif

int trimmed_rows(void) { return ROWS; }

bool trim_columns(int columns, int width, int from, int images, int count, struct trim *trims) {
    const int vectors = (columns * images + LANES - 1) / LANES;
    int total = 0;
    if (count > TRIMMED_COLUMNS) return false;
    for (int k = 0; k < count; k++) {
        int first = k - from, end = k - from + width;
        if (first < 0) first = 0;
        if (end > columns) end = columns;
        trims[k] = (struct trim){first * images / LANES, (end * images + LANES - 1) / LANES};
        if (end <= first) trims[k] = (struct trim){0, 0};
        total += trims[k].end - trims[k].first;
    }
    return 4 * total <= 3 * count * vectors;
}

/* One kernel column's survivors, on `count` vectors of each row from vector `first` on. */
INLINE void add_run(vec *sum, const struct visit *visit, const float *in, int32_t from, int32_t to, int rows, int first,
                    int count) {
    const ptrdiff_t images = visit->images, in_row = visit->in_row;
    const int32_t *position = visit->position;
    const float *weights = visit->weights;
    in += first * LANES;
    for (int32_t i = from; i < to; i++) {
        const float *seen = in + position[i] * images;
        const vec weight = splat(weights[i]);
#pragma GCC unroll 2
        for (int r = 0; r < rows; r++, seen = held_pointer(seen + in_row))
#pragma GCC unroll 16
            for (int v = 0; v < count; v++) sum[r * WIDTH + first + v] += weight * load(seen + v * LANES);
    }
}

/* The sums stay in registers while the kernel's columns go by, each with vectors of its own. */
#define RUN(A, N)                                                                \
    case (A) * 32 + (N):                                                         \
        if ((A) + (N) <= WIDTH) add_run(sum, visit, in, from, to, rows, (A), (N)); \
        break;
#define RUNS(A)                                                 \
    RUN(A, 1) RUN(A, 2) RUN(A, 3) RUN(A, 4) RUN(A, 5) RUN(A, 6) \
    RUN(A, 7) RUN(A, 8) RUN(A, 9) RUN(A, 10) RUN(A, 11) RUN(A, 12)

INLINE void tile(const struct visit *visit, const int32_t *start, float *out, const float *in, int vectors,
                 int last_lanes, int columns, int list_rows, int kernel_rows, const struct trim *trims, bool adds,
                 int rows) {
    vec sum[ROWS * WIDTH];
#pragma GCC unroll 2
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 16
        for (int v = 0; v < WIDTH; v++) {
            const float *before = out + r * visit->out_row + v * LANES;
            sum[r * WIDTH + v] = (vec){0};
            if (adds && v < vectors) sum[r * WIDTH + v] = load_lanes(before, v == vectors - 1 ? last_lanes : LANES);
        }
    for (int k = 0; k < columns; k++) {
        const int32_t from = start[k * list_rows], to = start[k * list_rows + kernel_rows];
        if (from == to) continue;
        switch (trims[k].first * 32 + trims[k].end - trims[k].first) {
            RUNS(0) RUNS(1) RUNS(2) RUNS(3) RUNS(4) RUNS(5) RUNS(6) RUNS(7) RUNS(8) RUNS(9) RUNS(10) RUNS(11)
        }
    }
#pragma GCC unroll 2
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 16
        for (int v = 0; v < WIDTH; v++)
            if (v < vectors)
                store_lanes(out + r * visit->out_row + v * LANES, sum[r * WIDTH + v],
                            v == vectors - 1 ? last_lanes : LANES);
}

typedef void tile_function(const struct visit *, const int32_t *, float *, const float *, int, int, int, int, int,
                           const struct trim *, bool);
#define TILE(R)                                                                                                     \
    static void tile_##R(const struct visit *visit, const int32_t *start, float *out, const float *in, int vectors, \
                         int last, int columns, int list_rows, int kernel_rows, const struct trim *trims, bool adds) { \
        tile(visit, start, out, in, vectors, last, columns, list_rows, kernel_rows, trims, adds, R);                \
    }
TILE(1)
#if ROWS == 2
TILE(2)
static tile_function *const tiles[ROWS] = {tile_1, tile_2};
#else
static tile_function *const tiles[ROWS] = {tile_1};
#endif

void visit_trimmed(const struct visit *visit, int row, int rows, int part, int columns, int list_rows, int from, int to,
                   const struct trim *trims, bool first) {
    const int vectors = (visit->row_floats + LANES - 1) / LANES, pieces = (vectors + WIDTH - 1) / WIDTH;
    for (int piece = 0; piece < pieces; piece++) {
        const int begin = vectors * piece / pieces, end = vectors * (piece + 1) / pieces;
        const int last_lanes = end == vectors ? visit->row_floats - (vectors - 1) * LANES : LANES;
        struct trim here[TRIMMED_COLUMNS];
        for (int k = 0; k < columns; k++) {
            const int low = trims[k].first < begin ? begin : trims[k].first;
            const int high = trims[k].end < end ? trims[k].end : end;
            here[k] = low < high ? (struct trim){low - begin, high - begin} : (struct trim){0, 0};
        }
        for (int o = 0; o < visit->outputs; o++)
            tiles[rows - 1](visit, visit->start + (ptrdiff_t)o * visit->pitch + part + from,
                            visit->out + o * visit->out_channel + row * visit->out_row + begin * LANES,
                            visit->in + row * visit->in_row + begin * LANES, end - begin, last_lanes, columns,
                            list_rows, to - from, here, !first || visit->adds);
    }
}
