/* Convolutions, forward: dense as gathers, sparse as visits to survivors; and the tables both directions share. */
#include "convolution.h"

#include "sparse.h"
#include "strided.h"
#include "winners.h"
#include "winners_by_lane.h"

/* What a tile sees of some input channels should stay in the first cache. */
#define CACHE_BYTES 98304


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
    const int images = pass->images, stride = layer->stride_width, columns = phase_columns(layer);
    const size_t size = (size_t)columns * images;
    for (int c = 0; c < in->channels; c++)
        for (int y = -layer->top; y < phase_rows(layer) - layer->top; y++)
            for (int phase = 0; phase < stride; phase++, phases += size) {
                const struct range x = inside(columns, stride, phase - layer->left, in->width);
                const bool outside = y < 0 || y >= in->height || x.first >= x.end;
                if (outside || x.first > 0 || x.end < columns) memset(phases, 0, size * sizeof(float));
                if (outside) continue;
                strided(phases + (ptrdiff_t)x.first * images, images,
                        at(in, images, c, y, x.first * stride + phase - layer->left), (ptrdiff_t)stride * images,
                        x.end - x.first, images, false, 1);
            }
}

struct pitches convolution_pitches(const struct network *network, const struct layer *layer) {
    const struct plane *in = &network->values[layer->input].activation;
    if (layer->stride_width == 1) return (struct pitches){in->rows * in->columns, in->columns, 0};
    const int phase = phase_columns(layer), row = phase * layer->stride_width;
    return (struct pitches){row * phase_rows(layer), row, phase};
}

/* Where a convolution's reading begins; with a stride along the row, after splitting it. */
static const float *first_input(const struct pass *pass, const struct layer *layer) {
    if (layer->stride_width == 1)
        return at(&pass->network->values[layer->input].activation, pass->images, 0, -layer->top, -layer->left);
    split_phases(pass, layer, pass->network->scratch);
    return pass->network->scratch;
}

struct gather convolution_tables(const struct pass *pass, const struct layer *layer, struct tap *taps) {
    const struct plane *in = &pass->network->values[layer->input].activation;
    const int images = pass->images, kernel = layer->kernel_height * layer->kernel_width;
    const struct pitches pitch = convolution_pitches(pass->network, layer);
    for (int i = 0; i < kernel; i++) {
        const int y = i / layer->kernel_width, x = i % layer->kernel_width;
        taps[i].in = (ptrdiff_t)images * (y * pitch.row + x % layer->stride_width * pitch.phase + x / layer->stride_width);
        taps[i].weight = i;
    }
    return (struct gather){.in = first_input(pass, layer),
                           .in_channels = in->channels,
                           .in_channel = (ptrdiff_t)pitch.channel * images,
                           .in_row = (ptrdiff_t)pitch.row * layer->stride_height * images,
                           .rows = layer->full_height,
                           .row_floats = layer->full_width * images,
                           .weight_in = kernel,
                           .weight_out = (ptrdiff_t)kernel * in->channels,
                           .taps = taps,
                           .tap_count = kernel};
}

/* Rows [first, end) of the output: a tile of rows at a time, and of it as many input channels as the first cache
 * holds, since a lone survivor reuses nothing by itself. */
static void visit_all(const struct visit *visit, const struct layer *layer, int channels, int row_pixels, int end) {
    const int most = visit_rows(visit->row_floats), tiles = (end + most - 1) / most;
    const int seen = (most - 1) * layer->stride_height + layer->kernel_height;
    int block = CACHE_BYTES / (int)((ptrdiff_t)seen * row_pixels * visit->images * sizeof(float));
    if (block < 1) block = 1;
    for (int tile = 0; tile < tiles; tile++) {
        const int row = end * tile / tiles, rows = end * (tile + 1) / tiles - row;
        for (int piece = 0; piece < visit_pieces(visit->row_floats); piece++)
            for (int c = 0; c < channels; c += block) {
                const int to = c + block < channels ? c + block : channels;
                visit_tile(visit, row, rows, piece, c, to, c == 0, to == channels);
            }
    }
}

/* Rows to compute before pooling them: they should still be in the first cache, and fill a tile. */
static int pooled_rows(const struct layer *layer, int images, bool sparse) {
    const int rows = (sparse ? visit_rows(layer->full_width * images) : 3072 / (layer->full_width * images)) & ~1;
    return rows < 2 ? 2 : rows;
}

/* Pool rows [first, first + rows) of `channels` channels. */
static void pool(const struct pass *pass, int index, const struct gather *from, int channel, int channels, int first,
                 int rows) {
    const struct network *network = pass->network;
    const struct layer *layer = &network->layers[index];
    const struct plane *out = &network->values[layer->output].activation;
    const int images = pass->images;
    for (int c = 0; c < channels; c++)
        for (int r = 0; r < rows; r += 2) {
            const float *upper = from->out + c * from->out_channel + r * from->out_row;
            const int o = channel + c, y = (first + r) / 2;
            pool_pair(upper, upper + from->out_row, network->pooled_rows[index], out->width, images, layer->rectified,
                      at(out, images, o, y, 0),
                      network->codes[index] + ((ptrdiff_t)o * out->height + y) * out->width * images);
        }
}

void convolution_forward(const struct pass *pass, int index) {
    const struct network *network = pass->network;
    const struct layer *layer = &network->layers[index];
    const struct layer_plan *plan = &pass->plan->layers[index];
    const struct plane *out = &network->values[layer->output].activation;
    const int images = pass->images, outputs = out->channels;
    const int row_pixels = convolution_pitches(network, layer).row;
    const bool sparse = passes_of(pass, index).forward;
    struct tap taps[MAXIMUM_TAPS];
    struct gather job = convolution_tables(pass, layer, taps);
    job.weights = weights_of(pass, index, sparse);
    job.bias = plan->bias < 0 ? NULL : pass->weights + plan->bias;
    job.rectified = layer->rectified && !layer->pooled;
    if (!layer->pooled) {
        job.out = at(out, images, 0, 0, 0);
        job.out_channel = channel_pitch(out, images), job.out_row = row_pitch(out, images);
    }
    struct visit visit = {.in_row = job.in_row,
                          .images = images,
                          .outputs = outputs,
                          .row_floats = job.row_floats,
                          .weights = job.weights,
                          .position = plan->survivors.position,
                          .start = plan->survivors.start,
                          .pitch = job.in_channels,
                          .bias = job.bias,
                          .rectified = job.rectified};
    const bool pools = sparse && layer->pooled && visit_pools(job.row_floats, images);
    if (pools) {
        visit.rectified = layer->rectified;
        visit.pooled_channel = channel_pitch(out, images), visit.pooled_row = row_pitch(out, images);
        visit.code_row = (ptrdiff_t)out->width * images, visit.code_channel = out->height * visit.code_row;
    }
    const int block = layer->pooled ? pooled_rows(layer, images, sparse) : job.rows;
    const int end = layer->pooled ? 2 * out->height : job.rows;
    const int together = layer->pooled && !sparse ? 4 : outputs; /* channels between two rounds of pooling */
    for (int y = 0; y < end; y += block) {
        const int rows = end - y < block ? end - y : block;
        for (int o = 0; o < outputs; o += together) {
            const int channels = outputs - o < together ? outputs - o : together;
            struct gather part = job;
            part.in = job.in + y * job.in_row;
            part.weights = job.weights + o * job.weight_out;
            part.bias = job.bias ? job.bias + o : NULL;
            if (layer->pooled) {
                part.out = network->packed;
                part.out_row = job.row_floats, part.out_channel = (ptrdiff_t)block * job.row_floats;
            }
            if (sparse) {
                visit.in = part.in, visit.out = part.out;
                visit.out_channel = part.out_channel, visit.out_row = part.out_row;
                if (pools) {
                    visit.pooled = at(out, images, 0, y / 2, 0);
                    visit.codes = network->codes[index] + y / 2 * visit.code_row;
                }
                visit_all(&visit, layer, job.in_channels, row_pixels, rows);
            } else {
                gather_rows(&part, channels, 0, rows);
            }
            if (layer->pooled && !pools) pool(pass, index, &part, o, channels, y, rows);
        }
    }
}

struct plane convolution_full_plane(const struct network *network, const struct layer *layer) {
    struct plane full = network->values[layer->output].gradient;
    full.height = layer->full_height, full.width = layer->full_width;
    if (!layer->pooled) return full;
    if (!network->values[layer->input].wanted) full.top = full.left = 0;
    full.rows = full.height + 2 * full.top, full.columns = full.width + 2 * full.left;
    full.data = network->full[layer - network->layers];
    return full;
}

size_t convolution_scratch(const struct network *network, int index) {
    const struct layer *layer = &network->layers[index];
    const struct value *in = &network->values[layer->input], *out = &network->values[layer->output];
    const size_t phases =
        (size_t)in->activation.channels * phase_rows(layer) * phase_columns(layer) * layer->stride_width;
    const size_t part = (size_t)in->activation.channels * in->activation.height * in->activation.width;
    size_t most = 0;
    if (layer->stride_width > 1) most = phases > part ? phases : part;
    if (!layer->pooled) return most;
    size_t pooled = (size_t)out->activation.channels * (2 * (size_t)layer->full_width + 24 * LANES);
    if (winners_suit(network, index) && winners_plane(network, index) > pooled) pooled = winners_plane(network, index);
    if (winners_by_lane_suit(network, index) && winners_by_lane_scratch(network, index) > pooled)
        pooled = winners_by_lane_scratch(network, index);
    return most > pooled ? most : pooled;
}
