/* Convolutions as gathers: what both directions of a dense convolution come down to.
 *
 * out[o][y][.] (+)= bias[o] + sum over c and taps of weights[o, c, tap] * in[c][y][. + tap]
 *
 * where [.] runs over the floats of a row: positions x images. A tap is a pair of offsets, into the input and into the
 * weights, so strides, padding, flipped kernels and transposed weights are all in the tables. */
#ifndef PARSITY_GATHER_H
#define PARSITY_GATHER_H

#include "native.h"

struct tap {
    ptrdiff_t in, weight;
};

struct gather {
    const float *in;
    ptrdiff_t in_channel, in_row; /* in_row: between the inputs of two output rows */
    int in_channels;
    float *out;
    ptrdiff_t out_channel, out_row;
    int rows, row_floats;
    const float *weights;
    ptrdiff_t weight_out, weight_in;
    const struct tap *taps;
    int tap_count;
    const int *first_tap, *end_tap; /* per row, or NULL: the taps that meet the image and not its border */
    const float *bias;              /* or NULL */
    bool adds, rectified;
};

/* The first `channels` output channels, rows [first, end). */
void gather_rows(const struct gather *job, int channels, int first, int end);

/* gradient[o, c, tap] += sum over rows and floats of out[o][y][.] * in[c][y][. + tap], for the same tables;
 * `out` is read here. */
void gather_weight_gradient(const struct gather *job, int channels, float *gradient);

#endif
