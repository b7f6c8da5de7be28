/* The gradient of a convolution's input: the transposed convolution of its output's gradient. */
#include "input_gradient.h"

#include "convolution.h"
#include "sparse.h"
#include "strided.h"
#include "trimmed.h"

/* Leaving out the dead costs a twentieth of visiting all survivors with slices of 16 images, more with narrow ones; so
 * this part of the channels should be dead. */
#define WORTH_LEAVING_OUT 8

bool leaves_out_the_dead(const struct pass *pass, int index) {
    const struct network *network = pass->network;
    const int outputs = network->values[network->layers[index].output].gradient.channels;
    int dead = 0;
    if (!passes_of(pass, index).input) return false;
    for (int o = 0; o < outputs; o++) dead += !network->alive[o];
    return dead * WORTH_LEAVING_OUT >= outputs;
}

/* The transposed lists of a layer. */
struct lists {
    const int32_t *start, *position;
    const float *weights;
};

/* The layer's own, or what is left of them without the survivors that would meet a gradient of zero. */
static struct lists lists_of(const struct pass *pass, int index) {
    const struct network *network = pass->network;
    const struct layer *layer = &network->layers[index];
    const struct transposed *all = &pass->plan->layers[index].transposed;
    const float *weights = network->transposed + layer->weights;
    if (!leaves_out_the_dead(pass, index)) return (struct lists){all->start, all->position, weights};
    const int runs = layer->stride_height * layer->stride_width * network->values[layer->input].gradient.channels *
                     all->blocks * all->columns * all->rows;
    int32_t left = 0;
    /* In one go and not run by run: runs are short, and their ends hard to foresee. */
    for (int32_t i = 0; i < all->start[runs]; i++) {
        network->living_before[i] = left;
        network->living_position[left] = all->position[i];
        network->living_weights[left] = weights[i];
        left += network->alive[all->output[i]];
    }
    network->living_before[all->start[runs]] = left;
    for (int run = 0; run <= runs; run++) network->living_start[run] = network->living_before[all->start[run]];
    return (struct lists){network->living_start, network->living_position, network->living_weights};
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

static void sparse_phase(const struct pass *pass, int index, const struct plane *full, const struct phase *phase,
                         const struct lists *lists) {
    const struct layer *layer = &pass->network->layers[index];
    const struct transposed *list = &pass->plan->layers[index].transposed;
    const int inputs = pass->network->values[layer->input].activation.channels, images = pass->images;
    const int part = list->columns * list->rows, pitch = list->blocks * part;
    const ptrdiff_t number = (ptrdiff_t)phase->from_y * layer->stride_width + phase->from_x;
    const struct visit visit = {.in = at(full, images, 0, phase->y, phase->x),
                                .in_row = row_pitch(full, images),
                                .images = images,
                                .out = phase->out,
                                .out_channel = phase->out_channel,
                                .out_row = phase->out_row,
                                .outputs = inputs,
                                .row_floats = phase->columns * images,
                                .weights = lists->weights,
                                .position = lists->position,
                                .start = lists->start + number * inputs * pitch,
                                .pitch = pitch,
                                .adds = phase->adds};
    struct trim trims[TRIMMED_COLUMNS];
    const bool trimmed = list->columns > 1 &&
                         trim_columns(phase->columns, full->width, phase->x, images, list->columns, trims);
    const int most = trimmed ? trimmed_rows() : transposed_rows(visit.row_floats, inputs);
    const int tiles = (phase->rows + most - 1) / most;
    for (int tile = 0; tile < tiles; tile++) {
        const int row = phase->rows * tile / tiles, end = phase->rows * (tile + 1) / tiles;
        /* Kernel rows that would meet nothing but the border are left out. */
        int from = phase->y + row - (full->height - 1), to = phase->y + end;
        if (from < 0) from = 0;
        if (to > list->rows) to = list->rows;
        if (to < from) to = from = 0;
        if (trimmed) {
            for (int block = 0; block < list->blocks; block++)
                visit_trimmed(&visit, row, end - row, block * part, list->columns, list->rows, from, to, trims,
                              block == 0);
            continue;
        }
        /* Rows of one column lie together: with several columns only all of them make one run. */
        if (list->columns > 1) from = 0, to = part;
        for (int piece = 0; piece < visit_pieces(visit.row_floats); piece++)
            for (int block = 0; block < list->blocks; block++)
                visit_tile(&visit, row, end - row, piece, block * part + from, block * part + to, block == 0,
                           block == list->blocks - 1);
    }
}

void input_gradient(const struct pass *pass, int index, const struct plane *full) {
    const struct network *network = pass->network;
    const struct layer *layer = &network->layers[index];
    const struct plane *in = &network->values[layer->input].gradient;
    const bool sparse = passes_of(pass, index).input;
    const struct lists lists = sparse ? lists_of(pass, index) : (struct lists){0};
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
            if (sparse)
                sparse_phase(pass, index, full, &phase, &lists);
            else
                dense_phase(pass, index, full, &phase);
            if (stride_x == 1) continue;
            for (int c = 0; c < in->channels; c++)
                for (int q = 0; q < phase.rows; q++)
                    strided(at(in, images, c, from_y + q * stride_y, from_x), (ptrdiff_t)stride_x * images,
                            phase.out + c * phase.out_channel + q * phase.out_row, images, phase.columns, images,
                            network->adds[index], 1);
        }
}
