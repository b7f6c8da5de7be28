/* The layers: each goes forward over a slice of images, and backward from its output's gradient. */
#ifndef PARSITY_LAYERS_H
#define PARSITY_LAYERS_H

#include "native.h"

/* What a pass works on: a slice of `images` images, with the weights and where their gradient is summed. */
struct pass {
    struct network *network;
    int images;
    const float *weights;
    float *gradient;
};

void convolution_forward(const struct pass *pass, int layer);
void convolution_backward(const struct pass *pass, int layer);
/* The sums of a gradient's channels. */
void bias_gradient(const float *gradient, ptrdiff_t channel, ptrdiff_t row, int channels, int rows, int floats,
                   float *sums);
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

/* Set a gradient to zero where its ReLU gave zero. */
void mask_gradient(const struct value *value, int images);

/* The 2 x 2 max-pool that follows a convolution, on rows that are still warm. */
void pool_pair(const float *upper, const float *lower, const struct lane_map *maps, int width, int images,
               bool rectified, float *out, uint8_t *codes);
/* One row of the gradient before the pooling: `which` is 0 for a window's upper row and 2 for its lower. */
void unpool_row(const float *gradient, const uint8_t *codes, const struct lane_map *maps, int width, int full_width,
                int images, int which, float *out);
/* Fill the maps of a pooled row (for pool_pair) and of the row before it (for unpool_row). */
void map_pooled_row(struct lane_map *maps, int width, int images);
void map_full_row(struct lane_map *maps, int width, int images);

/* The zeros around an image, for a slice of this many images. */
void clear_border(const struct plane *plane, int images);

/* Floats a layer needs for itself while it works. */
size_t convolution_scratch(const struct network *network, int layer);
size_t linear_scratch(const struct network *network, int layer);

#endif
