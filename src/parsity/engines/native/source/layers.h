/* The layers: each goes forward over a slice of images, and backward from its output's gradient. */
#ifndef PARSITY_LAYERS_H
#define PARSITY_LAYERS_H

#include "native.h"
#include "plan.h"

/* What a pass works on: a slice of `images` images, with the weights and where their gradient is summed. */
struct pass {
    struct network *network;
    const struct plan *plan;
    int images;
    int widest; /* images of the batch's widest slice: what is decided once for the batch is decided by it */
    const float *weights;
    float *gradient;
};

/* A layer's weights and gradient, whole or survivors only: one is a part of the replica's vectors, the other a copy
 * that is kept for the time of a batch. */
INLINE const float *weights_of(const struct pass *pass, int layer, bool survivors) {
    const struct layer_plan *plan = &pass->plan->layers[layer];
    return plan->packed == survivors ? pass->weights + plan->weights
                                     : pass->network->copied_weights + pass->network->layers[layer].weights;
}
INLINE float *gradient_of(const struct pass *pass, int layer, bool survivors) {
    const struct layer_plan *plan = &pass->plan->layers[layer];
    return plan->packed == survivors ? pass->gradient + plan->weights
                                     : pass->network->copied_gradient + pass->network->layers[layer].weights;
}

INLINE struct passes passes_of(const struct pass *pass, int layer) {
    return plan_passes(pass->network, pass->plan, layer, pass->widest);
}

/* Around a batch: what a layer prepares from the weights, and what it adds to the gradient at the end. */
void convolution_begin(const struct pass *pass, int layer, bool backward);
void convolution_end(const struct pass *pass, int layer);

/* Pixels between neighbours in what a convolution reads. */
struct pitches {
    int channel, row, phase;
};
struct pitches convolution_pitches(const struct network *network, const struct layer *layer);
/* The plane of a convolution's gradient before a fused pooling, with the border that the input's gradient needs. */
struct plane convolution_full_plane(const struct network *network, const struct layer *layer);

void convolution_forward(const struct pass *pass, int layer);
void convolution_backward(const struct pass *pass, int layer);
void linear_forward(const struct pass *pass, int layer);
void linear_backward(const struct pass *pass, int layer);
void relu_forward(const struct pass *pass, int layer);
void relu_backward(const struct pass *pass, int layer);
void max_pool_forward(const struct pass *pass, int layer);
void max_pool_backward(const struct pass *pass, int layer);
void average_pool_forward(const struct pass *pass, int layer);
void average_pool_backward(const struct pass *pass, int layer);
void addition_forward(const struct pass *pass, int layer);
void addition_backward(const struct pass *pass, int layer);
void padding_forward(const struct pass *pass, int layer);
void padding_backward(const struct pass *pass, int layer);
void mean_forward(const struct pass *pass, int layer);
void mean_backward(const struct pass *pass, int layer);

/* Set a gradient to zero where its ReLU gave zero, and say of each channel, unless `alive` is NULL, whether anything is
 * left of it. */
void mask_gradient(const struct value *value, int images, bool *alive);
/* A gradient that begins at zero, unless a later layer has written to it already and this one adds. */
void begin_gradient(const struct plane *plane, int images, bool adds);

/* The 2 x 2 max-pool that follows a convolution, on rows that are still warm. */
void pool_pair(const float *upper, const float *lower, const struct lane_map *maps, int width, int images,
               bool rectified, float *out, uint8_t *codes);
/* The two rows of the gradient before the pooling that a row of `gradient` goes back to. */
void unpool_pair(const float *gradient, const uint8_t *codes, const struct lane_map *maps, int width, int full_width,
                 int images, float *upper, float *lower);
/* Fill the maps of a pooled row (for pool_pair) and of the row before it (for unpool_pair). */
void map_pooled_row(struct lane_map *maps, int width, int images);
void map_full_row(struct lane_map *maps, int width, int images);

/* The zeros around an image, for a slice of this many images. */
void clear_border(const struct plane *plane, int images);

/* Floats a layer needs for itself while it works. */
size_t convolution_scratch(const struct network *network, int layer);
size_t linear_scratch(const struct network *network, int layer);

#endif
