/* Convolutions, backward. */
#include "convolution.h"
#include "input_gradient.h"
#include "sparse.h"
#include "winners.h"
#include "winners_by_lane.h"

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

static void bias_gradient(const struct plane *gradient, int images, const bool *alive, float *sums) {
    const int floats = gradient->width * images, whole = floats / LANES * LANES;
    for (int c = 0; c < gradient->channels; c++) {
        if (!alive[c]) continue;
        vec sum = {0};
        for (int y = 0; y < gradient->height; y++) {
            const float *from = at(gradient, images, c, y, 0);
            for (int i = 0; i < whole; i += LANES) sum += load(from + i);
            if (whole < floats) sum += load_lanes(from + whole, floats - whole);
        }
        sums[c] += sum_lanes(sum);
    }
}

/* Rows [first, end) of some channels' gradient before the pooling; `first` is even. The dead are left out unless
 * `all` are asked for. */
static void unpool(const struct pass *pass, int index, int channel, int channels, bool all, int first, int end,
                   float *to, ptrdiff_t to_channel, ptrdiff_t to_row) {
    const struct network *network = pass->network;
    const struct layer *layer = &network->layers[index];
    const struct plane *pooled = &network->values[layer->output].gradient;
    const int images = pass->images;
    for (int c = 0; c < channels; c++)
        for (int y = first; y < end && (all || network->alive[channel + c]); y += 2) {
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

/* Add what rows [first, end) of output channels [output, output + outputs) say; `job->out` holds just these. The dead
 * have nothing to say. */
static void weight_gradient(const struct pass *pass, int index, const struct gather *job, int output, int outputs,
                            int first, int end) {
    const struct layer_plan *plan = &pass->plan->layers[index];
    struct gather part = *job;
    part.in += first * job->in_row;
    part.rows = end - first;
    const bool *alive = pass->network->alive + output;
    if (!passes_of(pass, index).weight) {
        for (int o = 0, beyond; o < outputs; o = beyond) {
            for (beyond = o; beyond < outputs && alive[beyond] == alive[o]; beyond++) continue;
            part.out = job->out + o * job->out_channel;
            float *gradient = gradient_of(pass, index, false) + (output + o) * job->weight_out;
            if (alive[o]) gather_weight_gradient(&part, beyond - o, gradient);
        }
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
                if (!alive[o]) continue;
                const int32_t *start = survivors->start + (ptrdiff_t)(output + o) * job->in_channels;
                const int beyond = c + block < job->in_channels ? c + block : job->in_channels;
                visit_weight_gradient(part.out + o * job->out_channel + from * job->out_row, job->out_row,
                                      part.in + from * job->in_row, job->in_row, to - from, job->row_floats,
                                      pass->images, survivors->position + start[c], start[beyond] - start[c],
                                      gradient_of(pass, index, true) + start[c]);
            }
    }
}

void convolution_backward(const struct pass *pass, int index) {
    const struct network *network = pass->network;
    const struct layer *layer = &network->layers[index];
    const struct layer_plan *plan = &pass->plan->layers[index];
    const struct value *out = &network->values[layer->output];
    const int images = pass->images, channels = out->gradient.channels;
    const bool wanted = network->values[layer->input].wanted;
    bool *alive = network->alive, any = false;
    memset(alive, true, channels * sizeof *alive);
    if (layer->rectified) mask_gradient(out, images, alive);
    for (int o = 0; o < channels; o++) any |= alive[o];
    if (!any) {
        if (wanted) begin_gradient(&network->values[layer->input].gradient, images, network->adds[index]);
        return;
    }
    if (plan->bias >= 0) bias_gradient(&out->gradient, images, alive, pass->gradient + plan->bias);
    if (uses_winners(pass, index)) {
        winners_backward(pass, index);
        return;
    }
    if (winners_by_lane_suit(network, index) && !passes_of(pass, index).weight) {
        winners_by_lane(pass, index);
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
                unpool(pass, index, o, count, false, y, end, job.out, job.out_channel, job.out_row);
                weight_gradient(pass, index, &job, o, count, y, end);
            }
        return;
    }
    job.out = at(&full, images, 0, 0, 0);
    job.out_channel = channel_pitch(&full, images), job.out_row = row_pitch(&full, images);
    if (layer->pooled) {
        const bool all = !leaves_out_the_dead(pass, index);
        unpool(pass, index, 0, channels, all, 0, layer->full_height, job.out, job.out_channel, job.out_row);
    }
    weight_gradient(pass, index, &job, 0, channels, 0, layer->full_height);
    if (wanted) input_gradient(pass, index, &full);
}
