/* Backward through a convolution that a 2 x 2 max-pool follows: at most one position in four has a gradient, and only
 * these winners are visited, image by image, with the lanes along input channels. */
#ifndef PARSITY_WINNERS_H
#define PARSITY_WINNERS_H

#include "layers.h"

struct winner {
    int32_t offset; /* of the first input it saw, in floats */
    float gradient;
};

/* What a layer keeps for it. Channels come in blocks of LANES: weights are [output][block][tap][lane]. */
struct winners {
    float *weights, *gradient; /* transposed; the gradient is summed over a batch's slices */
    float *in, *in_gradient;   /* [image][block][row][column][lane] */
    struct winner *lists;      /* [group of images][output] */
    int32_t *counts;
};

bool winners_suit(const struct network *network, int layer);
/* Floats of the pieces above, for the layer's own and for what layers share. */
size_t winners_weights(const struct network *network, int layer);
size_t winners_plane(const struct network *network, int layer);
size_t winners_lists(const struct network *network, int layer);

/* Around a batch: transpose the weights; add the transposed gradient to the proper one. */
void winners_begin(const struct pass *pass, int layer);
void winners_end(const struct pass *pass, int layer);
void winners_backward(const struct pass *pass, int layer);

#endif
