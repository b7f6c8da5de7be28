/* What a network is to the native engine.
 *
 * An activation is kept as channels, height, width, image, with the images of one slice innermost: a row of
 * width x images floats is contiguous, so that arithmetic runs along positions and images alike and two images fill
 * the registers as well as sixteen. Around the rows lies a border of zeros where a convolution pads. */
#ifndef PARSITY_NATIVE_H
#define PARSITY_NATIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "vector.h"

enum kind { CONVOLUTION = 0, LINEAR = 1, RELU = 2, MAX_POOL = 3, AVERAGE_POOL = 4, ADDITION = 5, PADDING = 6, MEAN = 7 };

/* As the Python side describes a layer; `Layer` in library.py is its twin. */
struct layer {
    int32_t kind, input, other, output;
    int32_t kernel_height, kernel_width, stride_height, stride_width;
    int32_t top, left;               /* zeros before the first row and column; PADDING: also channels in `front` */
    int32_t front;
    int32_t rectified;               /* a ReLU follows at once */
    int32_t pooled;                  /* and then a 2 x 2 max-pool */
    int32_t full_height, full_width; /* a convolution's own output, before the pooling */
    int32_t unused;
    int64_t weights, bias;           /* where they begin in the parameter vector; -1: no bias */
};

struct shape {
    int32_t channels, height, width;
};

/* Memory of one tensor of a slice: rows x columns per channel, the image proper beginning at (top, left). */
struct plane {
    int channels, height, width;
    int top, left, rows, columns;
    float *data;
};

struct value {
    struct plane activation, gradient;
    bool wanted; /* does any parameter lie before it, so that its gradient is needed? */
};

/* Where the lanes of one vector of a row lie in a row twice or half as wide: lane i at base + index[i]. */
struct lane_map {
    ptrdiff_t base;
    ivec index, column; /* column: which column of its pooling window a lane is */
};

struct network {
    int layer_count, value_count;
    struct layer *layers;
    struct value *values;
    uint8_t **codes; /* per layer: which of a pooling window was the highest */
    struct lane_map **pooled_rows, **full_rows; /* per layer with a fused pooling */
    float **full;    /* per pooled layer whose input's gradient is wanted: its gradient before the pooling */
    struct winners *winners;                    /* per layer, for those they suit */
    bool *adds;      /* per layer: its input's gradient has been written by a later layer, so add to it */
    bool *adds_other;
    int64_t parameter_count;
    int slice;       /* images in a slice at most */
    int images;      /* images the borders were last cleared for */
    float *scratch;  /* for one layer at a time */
    float *packed;   /* a second such */
    float *copied_weights, *copied_gradient; /* of layers some passes of which are sparse and others not */
    float *transposed;                       /* weights of sparse layers in the order of their transposed lists */
    bool *alive;     /* per channel, of the layer a backward pass is at: is any of its gradient other than zero? */
    int32_t *living_start, *living_position; /* transposed lists of one slice, without the dead */
    int32_t *living_before;                  /* how many there are before each survivor */
    float *living_weights;
    void *memory; /* all of the above live in it */
    size_t memory_bytes;
};

/* Where pixels and labels come from. */
struct source {
    const void *pixels;
    const int64_t *labels;
    int64_t count;
    int32_t is_float;
    int32_t identity;
    float scale;
    const float *mean, *std;
};

INLINE float *at(const struct plane *plane, int images, int channel, int y, int x) {
    ptrdiff_t position = ((ptrdiff_t)channel * plane->rows + y + plane->top) * plane->columns + x + plane->left;
    return plane->data + position * images;
}
INLINE ptrdiff_t row_pitch(const struct plane *plane, int images) { return (ptrdiff_t)plane->columns * images; }
INLINE ptrdiff_t channel_pitch(const struct plane *plane, int images) {
    return (ptrdiff_t)plane->rows * plane->columns * images;
}

#endif
