/* Convolutions, backward. */
#include "convolution.h"
#include "sparse.h"
#include "strided.h"
#include "winners.h"

/* Rows of an output's gradient and what they see of some input channels should share the first cache. */
#define CACHE_BYTES 65536
#define ROWS_BYTES 12288

static bool uses_winners(const struct pass *pass, int index) {
    return pass->network->winners[index].weights && !passes_of(pass, index).weight;
}

/* Weights of one form are copied to the other if some pass asks for it; so is the gradient, at the end. */
void convolution_begin(const struct pass *pass, int index, bool backward) {
    const struct network *network = pass->network;
    const struct layer *layer = &network->layers[index];
    const struct layer_plan *plan = &pass->plan->layers[index];
    const int32_t *entry = plan->survivors.entry;
    const struct passes sparse = passes_of(pass, index);
    if (plan->listed) {
        const bool wanted = network->values[layer->input].wanted;
        const bool any = sparse.forward || (backward && (sparse.weight || (sparse.input && wanted)));
        const bool all = sparse.forward && (!backward || (sparse.weight && (sparse.input || !wanted)));
        const size_t size = (size_t)network->values[layer->output].activation.channels *
                            network->values[layer->input].activation.channels * layer->kernel_height *
                            layer->kernel_width;
        const float *own = pass->weights + plan->weights;
        float *copy = network->copied_weights + layer->weights;
        if (plan->packed && !all) {
            memset(copy, 0, size * sizeof(float));
            for (int64_t i = 0; i < plan->count; i++) copy[entry[i]] = own[i];
        } else if (!plan->packed && any) {
            for (int64_t i = 0; i < plan->count; i++) copy[i] = own[entry[i]];
        }
        if (backward && sparse.weight != plan->packed)
            memset(network->copied_gradient + layer->weights, 0, size * sizeof(float));
        if (backward && sparse.input) {
            const float *survivors = weights_of(pass, index, true);
            for (int64_t i = 0; i < plan->count; i++)
                network->transposed[layer->weights + i] = survivors[plan->transposed.source[i]];
        }
    }
    if (backward && uses_winners(pass, index)) winners_begin(pass, index);
}

void convolution_end(const struct pass *pass, int index) {
    const struct layer_plan *plan = &pass->plan->layers[index];
    const int32_t *entry = plan->survivors.entry;
    if (uses_winners(pass, index)) winners_end(pass, index);
    if (!plan->listed || passes_of(pass, index).weight == plan->packed) return;
    float *own = pass->gradient + plan->weights;
    const float *copy = pass->network->copied_gradient + pass->network->layers[index].weights;
    for (int64_t i = 0; i < plan->count; i++) own[plan->packed ? i : entry[i]] += copy[plan->packed ? entry[i] : i];
}

static void bias_gradient(const struct plane *gradient, int images, float *sums) {
    const int floats = gradient->width * images, whole = floats / LANES * LANES;
    for (int c = 0; c < gradient->channels; c++) {
        vec sum = {0};
        for (int y = 0; y < gradient->height; y++) {
            const float *from = at(gradient, images, c, y, 0);
            for (int i = 0; i < whole; i += LANES) sum += load(from + i);
            if (whole < floats) sum += load_lanes(from + whole, floats - whole);
        }
        sums[c] += sum_lanes(sum);
    }
}

/* Rows [first, end) of some channels' gradient before the pooling; `first` is even. */
static void unpool(const struct pass *pass, int index, int channel, int channels, int first, int end, float *to,
                   ptrdiff_t to_channel, ptrdiff_t to_row) {
    const struct network *network = pass->network;
    const struct layer *layer = &network->layers[index];
    const struct plane *pooled = &network->values[layer->output].gradient;
    const int images = pass->images;
    for (int c = 0; c < channels; c++)
        for (int y = first; y < end; y += 2) {
            float *row = to + c * to_channel + (y - first) * to_row;
            const ptrdiff_t code = (ptrdiff_t)(channel + c) * pooled->height + y / 2;
            if (y / 2 < pooled->height)
                unpool_pair(at(pooled, images, channel + c, y / 2, 0),
                            network->codes[index] + code * pooled->width * images, network->full_rows[index],
                            pooled->width, layer->full_width, images, row, row + to_row);
            else /* the odd row at the end, which no window covers */
                memset(row, 0, (size_t)layer->full_width * images * sizeof(float));
        }
}

/* Add what rows [first, end) of output channels [output, output + outputs) say; `job->out` holds just these. */
static void weight_gradient(const struct pass *pass, int index, const struct gather *job, int output, int outputs,
                            int first, int end) {
    const struct layer_plan *plan = &pass->plan->layers[index];
    struct gather part = *job;
    part.in += first * job->in_row;
    part.rows = end - first;
    if (!passes_of(pass, index).weight) {
        gather_weight_gradient(&part, outputs, gradient_of(pass, index, false) + output * job->weight_out);
        return;
    }
    const struct survivors *survivors = &plan->survivors;
    const ptrdiff_t row_bytes = job->in_row * (ptrdiff_t)sizeof(float);
    int rows = (int)(ROWS_BYTES / row_bytes), tall = rows < 1 ? 1 : rows;
    const int blocks = (part.rows + tall - 1) / tall;
    int block = (int)(CACHE_BYTES / (row_bytes * (part.rows < tall ? part.rows : tall)));
    if (block < 1) block = 1;
    for (int i = 0; i < blocks; i++) {
        const int from = part.rows * i / blocks, to = part.rows * (i + 1) / blocks;
        for (int c = 0; c < job->in_channels; c += block)
            for (int o = 0; o < outputs; o++) {
                const int32_t *start = survivors->start + (ptrdiff_t)(output + o) * job->in_channels;
                const int beyond = c + block < job->in_channels ? c + block : job->in_channels;
                visit_weight_gradient(part.out + o * job->out_channel + from * job->out_row, job->out_row,
                                      part.in + from * job->in_row, job->in_row, to - from, job->row_floats,
                                      pass->images, survivors->position + start[c], start[beyond] - start[c],
                                      gradient_of(pass, index, true) + start[c]);
            }
    }
}

/* The positions of an input that one combination of kernel rows and columns meets: every stride-th. Its gradient is a
 * gather of stride one from the output's gradient. */
struct phase {
    int from_y, from_x; /* the first such position */
    int y, x;           /* where the gather begins in the output's gradient */
    int rows, columns;
    float *out;
    ptrdiff_t out_channel, out_row;
    bool adds;
};

static void dense_phase(const struct pass *pass, int index, const struct plane *full, const struct phase *phase) {
    const struct layer *layer = &pass->network->layers[index];
    const int inputs = pass->network->values[layer->input].activation.channels;
    const int images = pass->images, kernel = layer->kernel_height * layer->kernel_width;
    const int stride_y = layer->stride_height, stride_x = layer->stride_width;
    struct tap taps[MAXIMUM_TAPS];
    int first_tap[phase->rows], end_tap[phase->rows], count = 0;
    for (int q = 0; q < phase->rows; q++) first_tap[q] = MAXIMUM_TAPS, end_tap[q] = 0;
    for (int y = (phase->from_y + layer->top) % stride_y; y < layer->kernel_height; y += stride_y)
        for (int x = (phase->from_x + layer->left) % stride_x; x < layer->kernel_width; x += stride_x, count++) {
            for (int q = 0; q < phase->rows; q++) {
                const int met = phase->y + q - y / stride_y;
                if (met < 0 || met >= full->height) continue;
                if (count < first_tap[q]) first_tap[q] = count;
                end_tap[q] = count + 1;
            }
            taps[count].in = -(ptrdiff_t)images * (y / stride_y * full->columns + x / stride_x);
            taps[count].weight = y * layer->kernel_width + x;
        }
    for (int q = 0; q < phase->rows; q++)
        if (first_tap[q] > end_tap[q]) first_tap[q] = end_tap[q];
    const struct gather job = {.in = at(full, images, 0, phase->y, phase->x),
                               .in_channel = channel_pitch(full, images),
                               .in_row = row_pitch(full, images),
                               .in_channels = full->channels,
                               .out = phase->out,
                               .out_channel = phase->out_channel,
                               .out_row = phase->out_row,
                               .rows = phase->rows,
                               .row_floats = phase->columns * images,
                               .weights = weights_of(pass, index, false),
                               .weight_in = (ptrdiff_t)kernel * inputs,
                               .weight_out = kernel,
                               .taps = taps,
                               .tap_count = count,
                               .first_tap = first_tap,
                               .end_tap = end_tap,
                               .adds = phase->adds};
    gather_rows(&job, inputs, 0, phase->rows);
}

static void sparse_phase(const struct pass *pass, int index, const struct plane *full, const struct phase *phase) {
    const struct layer *layer = &pass->network->layers[index];
    const struct transposed *list = &pass->plan->layers[index].transposed;
    const int inputs = pass->network->values[layer->input].activation.channels, images = pass->images;
    const ptrdiff_t pitch = (ptrdiff_t)list->blocks * list->rows;
    const ptrdiff_t number = (ptrdiff_t)phase->from_y * layer->stride_width + phase->from_x;
    const struct visit visit = {.in = at(full, images, 0, phase->y, phase->x),
                                .in_row = row_pitch(full, images),
                                .images = images,
                                .out = phase->out,
                                .out_channel = phase->out_channel,
                                .out_row = phase->out_row,
                                .outputs = inputs,
                                .row_floats = phase->columns * images,
                                .weights = pass->network->transposed + layer->weights,
                                .position = list->position,
                                .start = list->start + number * inputs * pitch,
                                .pitch = (int)pitch,
                                .adds = phase->adds};
    const int most = transposed_rows(visit.row_floats, inputs), tiles = (phase->rows + most - 1) / most;
    for (int tile = 0; tile < tiles; tile++) {
        const int row = phase->rows * tile / tiles, end = phase->rows * (tile + 1) / tiles;
        /* Kernel rows that would meet nothing but the border are left out. */
        int from = phase->y + row - (full->height - 1), to = phase->y + end;
        if (from < 0) from = 0;
        if (to > list->rows) to = list->rows;
        if (to < from) to = from = 0;
        for (int piece = 0; piece < visit_pieces(visit.row_floats); piece++)
            for (int block = 0; block < list->blocks; block++)
                visit_tile(&visit, row, end - row, piece, block * list->rows + from, block * list->rows + to,
                           block == 0, block == list->blocks - 1);
    }
}

/* in.gradient (+)= the transposed convolution of `full`. */
static void input_gradient(const struct pass *pass, int index, const struct plane *full) {
    const struct network *network = pass->network;
    const struct layer *layer = &network->layers[index];
    const struct plane *in = &network->values[layer->input].gradient;
    const bool sparse = passes_of(pass, index).input;
    const int images = pass->images, stride_y = layer->stride_height, stride_x = layer->stride_width;
    for (int from_y = 0; from_y < stride_y && from_y < in->height; from_y++)
        for (int from_x = 0; from_x < stride_x && from_x < in->width; from_x++) {
            struct phase phase = {.from_y = from_y,
                                  .from_x = from_x,
                                  .y = (from_y + layer->top) / stride_y,
                                  .x = (from_x + layer->left) / stride_x,
                                  .rows = (in->height - from_y + stride_y - 1) / stride_y,
                                  .columns = (in->width - from_x + stride_x - 1) / stride_x,
                                  .out = at(in, images, 0, from_y, 0),
                                  .out_channel = channel_pitch(in, images),
                                  .out_row = row_pitch(in, images) * stride_y,
                                  .adds = network->adds[index]};
            if (stride_x > 1) {
                phase.out = network->scratch, phase.adds = false;
                phase.out_row = (ptrdiff_t)phase.columns * images;
                phase.out_channel = phase.rows * phase.out_row;
            }
            (sparse ? sparse_phase : dense_phase)(pass, index, full, &phase);
            if (stride_x == 1) continue;
            for (int c = 0; c < in->channels; c++)
                for (int q = 0; q < phase.rows; q++)
                    strided(at(in, images, c, from_y + q * stride_y, from_x), (ptrdiff_t)stride_x * images,
                            phase.out + c * phase.out_channel + q * phase.out_row, images, phase.columns, images,
                            network->adds[index], 1);
        }
}

void convolution_backward(const struct pass *pass, int index) {
    const struct network *network = pass->network;
    const struct layer *layer = &network->layers[index];
    const struct layer_plan *plan = &pass->plan->layers[index];
    const struct value *out = &network->values[layer->output];
    const int images = pass->images, channels = out->gradient.channels;
    const bool wanted = network->values[layer->input].wanted;
    if (layer->rectified) mask_gradient(out, images);
    if (plan->bias >= 0) bias_gradient(&out->gradient, images, pass->gradient + plan->bias);
    if (uses_winners(pass, index)) {
        winners_backward(pass, index);
        return;
    }
    const struct plane full = convolution_full_plane(network, layer);
    struct tap taps[MAXIMUM_TAPS];
    struct gather job = convolution_tables(pass, layer, taps);
    if (layer->pooled && !wanted) {
        /* Nobody needs this gradient as a whole: four channels and a few rows at a time stay in the first cache. */
        int strip = 1024 / job.row_floats & ~1;
        if (strip < 2) strip = 2;
        job.out = network->packed;
        job.out_row = job.row_floats, job.out_channel = strip * job.out_row;
        for (int o = 0; o < channels; o += 4)
            for (int y = 0; y < layer->full_height; y += strip) {
                const int count = channels - o < 4 ? channels - o : 4;
                const int end = y + strip < layer->full_height ? y + strip : layer->full_height;
                unpool(pass, index, o, count, y, end, job.out, job.out_channel, job.out_row);
                weight_gradient(pass, index, &job, o, count, y, end);
            }
        return;
    }
    job.out = at(&full, images, 0, 0, 0);
    job.out_channel = channel_pitch(&full, images), job.out_row = row_pitch(&full, images);
    if (layer->pooled) {
        clear_border(&full, images);
        unpool(pass, index, 0, channels, 0, layer->full_height, job.out, job.out_channel, job.out_row);
    }
    weight_gradient(pass, index, &job, 0, channels, 0, layer->full_height);
    if (wanted) input_gradient(pass, index, &full);
}
