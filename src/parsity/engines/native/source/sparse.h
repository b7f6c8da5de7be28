/* Kernels that visit surviving weights only. */
#ifndef PARSITY_SPARSE_H
#define PARSITY_SPARSE_H

#include "native.h"

/* out[o][y][.] (+)= bias[o] + sum over o's survivors of weight * in[y][. + position], for rows [first, end). */
struct visit {
    const float *in;
    ptrdiff_t in_row;
    int images;
    float *out;
    ptrdiff_t out_channel, out_row;
    int outputs, row_floats;
    const float *weights;
    const int32_t *position, *start; /* survivors of output o in part p of its list: [start[o * pitch + p], ...) */
    int pitch;
    const float *bias;
    bool adds, rectified;
    /* A 2 x 2 max-pool of whole windows follows at once (or NULL): its output, rectified or not, and who won. */
    float *pooled;
    uint8_t *codes;
    ptrdiff_t pooled_channel, pooled_row, code_channel, code_row;
};

/* Can a tile pool what it has summed? If a vector is one column of positions, and no window is torn apart. */
bool visit_pools(int row_floats, int images);

/* Tiles are at most so many rows high, and pieces of a row so many vectors wide. */
int visit_rows(int row_floats);
int visit_pieces(int row_floats);
/* Add part [from, to) of the lists to one piece of at most visit_rows rows; the first part sets, the last
 * rectifies and pools. */
void visit_tile(const struct visit *visit, int row, int rows, int piece, int from, int to, bool first, bool last);

/* gradient[i] += sum over rows and floats of out[y][.] * in[y][. + position[i]] for `count` survivors of an output. */
void visit_weight_gradient(const float *out, ptrdiff_t out_row, const float *in, ptrdiff_t in_row, int rows,
                           int row_floats, int images, const int32_t *position, int count, float *gradient);

#endif
