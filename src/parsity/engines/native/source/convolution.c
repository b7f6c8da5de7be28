/* Dense convolutions, as gathers: what is prepared here are the tables. */
#include "gather.h"
#include "layers.h"
#include "winners.h"

#define MAXIMUM_TAPS 1024

/* Columns of one phase: every stride-th position of a row, with what the kernel overlaps at the end. */
static int phase_columns(const struct layer *layer) {
    return layer->full_width + (layer->kernel_width - 1) / layer->stride_width;
}
static int phase_rows(const struct layer *layer) {
    return (layer->full_height - 1) * layer->stride_height + layer->kernel_height;
}

/* A stride along the row would tear vectors apart, so the rows are split into their phases: [y][phase][x][image]. */
static void split_phases(const struct pass *pass, const struct layer *layer, float *phases) {
    const struct plane *in = &pass->network->values[layer->input].activation;
    const int images = pass->images, rows = phase_rows(layer), columns = phase_columns(layer);
    for (int c = 0; c < in->channels; c++)
        for (int r = 0; r < rows; r++)
            for (int phase = 0; phase < layer->stride_width; phase++)
                for (int p = 0; p < columns; p++, phases += images) {
                    int y = r - layer->top, x = p * layer->stride_width + phase - layer->left;
                    if (y < 0 || y >= in->height || x < 0 || x >= in->width)
                        memset(phases, 0, (size_t)images * sizeof(float));
                    else
                        memcpy(phases, at(in, images, c, y, x), (size_t)images * sizeof(float));
                }
}

/* The tables of the forward direction, which the weight gradient shares; the output is the caller's. */
static struct gather forward_tables(const struct pass *pass, const struct layer *layer, struct tap *taps) {
    struct network *network = pass->network;
    const struct plane *in = &network->values[layer->input].activation;
    const int images = pass->images, kernel = layer->kernel_height * layer->kernel_width;
    struct gather job = {.in_channels = in->channels,
                         .rows = layer->full_height,
                         .row_floats = layer->full_width * images,
                         .weights = pass->weights + layer->weights,
                         .weight_in = kernel,
                         .weight_out = (ptrdiff_t)kernel * in->channels,
                         .taps = taps,
                         .tap_count = kernel};
    ptrdiff_t row, phase = 0;
    if (layer->stride_width == 1) {
        row = row_pitch(in, images);
        job.in = at(in, images, 0, -layer->top, -layer->left);
        job.in_channel = channel_pitch(in, images);
    } else {
        phase = (ptrdiff_t)phase_columns(layer) * images;
        row = phase * layer->stride_width;
        job.in = network->scratch;
        job.in_channel = row * phase_rows(layer);
    }
    job.in_row = row * layer->stride_height;
    for (int y = 0; y < layer->kernel_height; y++)
        for (int x = 0; x < layer->kernel_width; x++) {
            int i = y * layer->kernel_width + x;
            taps[i].in = y * row + x % layer->stride_width * phase + (ptrdiff_t)(x / layer->stride_width) * images;
            taps[i].weight = i;
        }
    return job;
}

/* Rows to compute before pooling them: they should still be in the first cache, and fill a tile. */
static int pooled_block(const struct layer *layer, int images) {
    int rows = 3072 / (layer->full_width * images) & ~1;
    return rows < 2 ? 2 : rows;
}

void convolution_forward(const struct pass *pass, int index) {
    const struct network *network = pass->network;
    const struct layer *layer = &network->layers[index];
    const struct plane *out = &network->values[layer->output].activation;
    const int images = pass->images;
    struct tap taps[MAXIMUM_TAPS];
    struct gather job = forward_tables(pass, layer, taps);
    if (layer->stride_width > 1) split_phases(pass, layer, network->scratch);
    job.bias = layer->bias < 0 ? NULL : pass->weights + layer->bias;
    if (!layer->pooled) {
        job.rectified = layer->rectified;
        job.out = at(out, images, 0, 0, 0);
        job.out_channel = channel_pitch(out, images), job.out_row = row_pitch(out, images);
        gather_rows(&job, out->channels, 0, job.rows);
        return;
    }
    const int block = pooled_block(layer, images);
    struct gather part = job;
    part.out = network->packed;
    part.out_row = job.row_floats, part.out_channel = (ptrdiff_t)block * job.row_floats;
    for (int y = 0; y < 2 * out->height; y += block) {
        int rows = 2 * out->height - y < block ? 2 * out->height - y : block;
        part.in = job.in + y * job.in_row;
        for (int o = 0; o < out->channels; o += 4) {
            int channels = out->channels - o < 4 ? out->channels - o : 4;
            part.weights = job.weights + o * job.weight_out;
            part.bias = job.bias ? job.bias + o : NULL;
            gather_rows(&part, channels, 0, rows);
            for (int c = 0; c < channels; c++)
                for (int r = 0; r < rows; r += 2) {
                    const float *upper = part.out + c * part.out_channel + r * part.out_row;
                    ptrdiff_t pooled_row = (ptrdiff_t)(o + c) * out->height + (y + r) / 2;
                    pool_pair(upper, upper + part.out_row, network->pooled_rows[index], out->width, images, layer->rectified,
                              at(out, images, o + c, (y + r) / 2, 0),
                              network->codes[index] + pooled_row * out->width * images);
                }
        }
    }
}

void bias_gradient(const float *gradient, ptrdiff_t channel, ptrdiff_t row, int channels, int rows, int floats,
                   float *sums) {
    const int whole = floats / LANES * LANES;
    for (int c = 0; c < channels; c++) {
        vec sum = {0};
        for (int y = 0; y < rows; y++) {
            const float *from = gradient + c * channel + y * row;
            for (int i = 0; i < whole; i += LANES) sum += load(from + i);
            if (whole < floats) sum += load_lanes(from + whole, floats - whole);
        }
        sums[c] += sum_lanes(sum);
    }
}

/* The plane of the gradient before a fused pooling, with the border that the input's gradient needs. */
static struct plane full_plane(const struct network *network, const struct layer *layer) {
    struct plane full = network->values[layer->output].gradient;
    full.height = layer->full_height, full.width = layer->full_width;
    if (!network->values[layer->input].wanted) full.top = full.left = 0;
    full.rows = full.height + 2 * full.top, full.columns = full.width + 2 * full.left;
    full.data = network->packed;
    return full;
}

static void unpool(const struct pass *pass, int index, const struct plane *full, int channel, int channels) {
    const struct network *network = pass->network;
    const struct layer *layer = &network->layers[index];
    const struct value *out = &network->values[layer->output];
    const int images = pass->images;
    for (int c = 0; c < channels; c++)
        for (int y = 0; y < layer->full_height; y++) {
            float *to = at(full, images, c, y, 0);
            if (y / 2 >= out->gradient.height) {
                memset(to, 0, (size_t)layer->full_width * images * sizeof(float));
                continue;
            }
            ptrdiff_t pooled_row = (ptrdiff_t)(channel + c) * out->gradient.height + y / 2;
            unpool_row(at(&out->gradient, images, channel + c, y / 2, 0),
                       network->codes[index] + pooled_row * out->gradient.width * images,
                       network->full_rows[index], out->gradient.width, layer->full_width, images, y % 2 * 2, to);
        }
}

/* in.gradient (+)= the transposed convolution of `full`: for every phase of the strides a gather of its own, with the
 * taps that reach it. */
static void input_gradient(const struct pass *pass, int index, const struct plane *full) {
    const struct network *network = pass->network;
    const struct layer *layer = &network->layers[index];
    const struct plane *in = &network->values[layer->input].gradient;
    const int images = pass->images, kernel = layer->kernel_height * layer->kernel_width;
    const int stride_y = layer->stride_height, stride_x = layer->stride_width;
    const ptrdiff_t row = row_pitch(full, images);
    const bool adds = network->adds[index];
    struct tap taps[MAXIMUM_TAPS];
    int first_tap[in->height], end_tap[in->height];
    for (int from_y = 0; from_y < stride_y && from_y < in->height; from_y++)
        for (int from_x = 0; from_x < stride_x && from_x < in->width; from_x++) {
            const int y0 = from_y + layer->top, x0 = from_x + layer->left;
            const int rows = (in->height - from_y + stride_y - 1) / stride_y;
            const int columns = (in->width - from_x + stride_x - 1) / stride_x;
            struct gather job = {.in_channels = full->channels,
                                 .in = at(full, images, 0, y0 / stride_y, x0 / stride_x),
                                 .in_channel = channel_pitch(full, images),
                                 .in_row = row,
                                 .rows = rows,
                                 .row_floats = columns * images,
                                 .weights = pass->weights + layer->weights,
                                 .weight_in = (ptrdiff_t)kernel * in->channels,
                                 .weight_out = kernel,
                                 .taps = taps,
                                 .first_tap = first_tap,
                                 .end_tap = end_tap};
            for (int q = 0; q < rows; q++) first_tap[q] = MAXIMUM_TAPS, end_tap[q] = 0;
            for (int y = y0 % stride_y; y < layer->kernel_height; y += stride_y)
                for (int x = x0 % stride_x; x < layer->kernel_width; x += stride_x) {
                    for (int q = 0; q < rows; q++) {
                        int from = y0 / stride_y + q - y / stride_y; /* the row of the gradient this tap meets */
                        if (from < 0 || from >= full->height) continue;
                        if (job.tap_count < first_tap[q]) first_tap[q] = job.tap_count;
                        end_tap[q] = job.tap_count + 1;
                    }
                    taps[job.tap_count].in = -(y / stride_y) * row - (ptrdiff_t)(x / stride_x) * images;
                    taps[job.tap_count++].weight = y * layer->kernel_width + x;
                }
            for (int q = 0; q < rows; q++)
                if (first_tap[q] > end_tap[q]) first_tap[q] = end_tap[q];
            if (stride_x == 1) {
                job.out = at(in, images, 0, from_y, 0);
                job.out_channel = channel_pitch(in, images);
                job.out_row = row_pitch(in, images) * stride_y;
                job.adds = adds;
                gather_rows(&job, in->channels, 0, rows);
                continue;
            }
            job.out = network->scratch;
            job.out_row = job.row_floats, job.out_channel = (ptrdiff_t)rows * job.row_floats;
            gather_rows(&job, in->channels, 0, rows);
            const float *part = network->scratch;
            for (int c = 0; c < in->channels; c++)
                for (int q = 0; q < rows; q++)
                    for (int p = 0; p < columns; p++, part += images) {
                        float *to = at(in, images, c, from_y + q * stride_y, from_x + p * stride_x);
                        for (int n = 0; n < images; n++) to[n] = adds ? to[n] + part[n] : part[n];
                    }
        }
}

void convolution_backward(const struct pass *pass, int index) {
    const struct network *network = pass->network;
    const struct layer *layer = &network->layers[index];
    const struct value *out = &network->values[layer->output];
    const int images = pass->images, channels = out->gradient.channels;
    const bool wanted = network->values[layer->input].wanted;
    if (layer->rectified) mask_gradient(out, images);
    if (network->winners[index].weights) {
        if (layer->bias >= 0)
            bias_gradient(at(&out->gradient, images, 0, 0, 0), channel_pitch(&out->gradient, images),
                          row_pitch(&out->gradient, images), channels, out->gradient.height,
                          out->gradient.width * images, pass->gradient + layer->bias);
        winners_backward(pass, index);
        return;
    }

    struct plane full = layer->pooled ? full_plane(network, layer) : out->gradient;
    if (layer->pooled && wanted) {
        clear_border(&full, images);
        unpool(pass, index, &full, 0, channels);
    }
    struct tap taps[MAXIMUM_TAPS];
    struct gather job = forward_tables(pass, layer, taps);
    if (layer->stride_width > 1) split_phases(pass, layer, network->scratch);
    job.out_channel = channel_pitch(&full, images), job.out_row = row_pitch(&full, images);
    float *gradient = pass->gradient + layer->weights;
    float *bias = layer->bias < 0 ? NULL : pass->gradient + layer->bias;
    /* Nobody needs the whole gradient before the pooling of a first layer: four channels at a time stay in cache. */
    const int block = layer->pooled && !wanted ? 4 : channels;
    for (int o = 0; o < channels; o += block) {
        int count = channels - o < block ? channels - o : block;
        if (layer->pooled && !wanted) unpool(pass, index, &full, o, count);
        job.out = at(&full, images, 0, 0, 0);
        gather_weight_gradient(&job, count, gradient + o * job.weight_out);
        if (bias)
            bias_gradient(job.out, job.out_channel, job.out_row, count, job.rows, job.row_floats, bias + o);
    }
    if (wanted) input_gradient(pass, index, &full);
}

size_t convolution_scratch(const struct network *network, int index) {
    const struct layer *layer = &network->layers[index];
    const struct value *in = &network->values[layer->input], *out = &network->values[layer->output];
    size_t phases = (size_t)in->activation.channels * phase_rows(layer) * phase_columns(layer) * layer->stride_width;
    size_t part = (size_t)in->activation.channels * in->activation.height * in->activation.width;
    size_t full = (size_t)out->gradient.channels * (layer->full_height + 2 * out->gradient.top) *
                  (layer->full_width + 2 * out->gradient.left);
    size_t most = layer->stride_width > 1 ? (phases > part ? phases : part) : 0;
    size_t pooled = !layer->pooled                ? 0
                    : winners_suit(network, index) ? winners_plane(network, index)
                                                   : full;
    return most > pooled ? most : pooled;
}
