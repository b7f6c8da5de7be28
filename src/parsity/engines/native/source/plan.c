#include "plan.h"

#include <stdlib.h>

#include "layers.h"
#include "sparse.h"
#include "trimmed.h"
#include "winners.h"
#include "winners_by_lane.h"

/* Densities below which visiting survivors beats the dense kernels, measured on Simple-CNN and ResNet-8 with slices
 * that fill whole vectors. Behind a max-pool the dense backward pass does a quarter of the work. */
#define SPARSE_FORWARD 0.75
#define SPARSE_INPUT 0.6
#define SPARSE_WEIGHT 0.75
#define SPARSE_BEHIND_POOL 0.22
#define SPARSE_BY_LANE 0.2
/* Slices of less than half a vector tear vectors across lines of the cache, which costs a visit twice and a dense tile
 * little, and share the copying of a batch among few images: the densities above times this. */
static double narrowing(int images) { return 2 * images >= LANES ? 1 : 4 * images >= LANES ? 0.75 : 0.65; }

/* Below this, survivors alone are kept and updated; above it, copies for narrow slices would cost more than that. */
#define PACKED 0.2

/* A tile of rows of every input's gradient, and what it sees of a block of outputs, mostly stay in the first cache; or,
 * trimmed, in the second, since more blocks make shorter runs. Measured. */
#define CACHE_BYTES 98304
#define TRIMMED_CACHE_BYTES 393216
#define TILE_BYTES 12288

static int ceiling(int a, int b) { return (a + b - 1) / b; }

int transposed_rows(int row_floats, int inputs) {
    const int piece = ceiling(row_floats, visit_pieces(row_floats)) * inputs * (int)sizeof(float);
    const int most = visit_rows(row_floats), fitting = TILE_BYTES / piece;
    return fitting < 1 ? 1 : fitting < most ? fitting : most;
}

void plan_free(struct plan *plan) {
    if (!plan) return;
    for (int i = 0; plan->layers && i < plan->layer_count; i++) {
        free(plan->layers[i].survivors.start), free(plan->layers[i].survivors.position);
        free(plan->layers[i].survivors.entry), free(plan->layers[i].transposed.start);
        free(plan->layers[i].transposed.position), free(plan->layers[i].transposed.source);
        free(plan->layers[i].transposed.output);
    }
    free(plan->layers);
    free(plan->index);
    free(plan);
}

static bool list_survivors(const struct network *network, int index, const uint8_t *mask, struct layer_plan *plan) {
    const struct layer *layer = &network->layers[index];
    const struct plane *in = &network->values[layer->input].activation;
    const int outputs = network->values[layer->output].activation.channels;
    const int taps = layer->kernel_height * layer->kernel_width;
    const struct pitches pitch = convolution_pitches(network, layer);
    struct survivors *list = &plan->survivors;
    list->start = malloc(((size_t)outputs * in->channels + 1) * sizeof(int32_t));
    list->position = malloc((size_t)(plan->count + 1) * sizeof(int32_t));
    list->entry = malloc((size_t)(plan->count + 1) * sizeof(int32_t));
    if (!list->start || !list->position || !list->entry) return false;
    int32_t found = 0;
    for (int pair = 0; pair < outputs * in->channels; pair++) {
        list->start[pair] = found;
        for (int t = 0; t < taps; t++) {
            if (!mask[pair * taps + t]) continue;
            const int y = t / layer->kernel_width, x = t % layer->kernel_width;
            list->position[found] = pair % in->channels * pitch.channel + y * pitch.row +
                                    x % layer->stride_width * pitch.phase + x / layer->stride_width;
            list->entry[found++] = pair * taps + t;
        }
    }
    list->start[outputs * in->channels] = found;
    return true;
}

size_t transposed_runs(const struct network *network, int index) {
    const struct layer *layer = &network->layers[index];
    return (size_t)layer->stride_height * layer->stride_width * network->values[layer->input].activation.channels *
           network->values[layer->output].activation.channels * ceiling(layer->kernel_height, layer->stride_height) *
           ceiling(layer->kernel_width, layer->stride_width);
}

static bool list_transposed(const struct network *network, int index, struct layer_plan *plan) {
    const struct layer *layer = &network->layers[index];
    const struct plane *in = &network->values[layer->input].gradient;
    const struct plane full = convolution_full_plane(network, layer);
    const int stride_y = layer->stride_height, stride_x = layer->stride_width;
    struct transposed *list = &plan->transposed;
    list->rows = ceiling(layer->kernel_height, stride_y);
    const int columns = ceiling(in->width, stride_x), row_floats = columns * network->slice;
    struct trim trims[TRIMMED_COLUMNS];
    list->columns = ceiling(layer->kernel_width, stride_x);
    if (!trim_columns(columns, full.width, layer->left / stride_x, network->slice, list->columns, trims))
        list->columns = 1;
    const bool trimmed = list->columns > 1;
    const int pieces = trimmed ? 1 : visit_pieces(row_floats);
    const int rows = trimmed ? trimmed_rows() : transposed_rows(row_floats, in->channels);
    const int tile = rows * row_floats / pieces * in->channels;
    const int seen = (rows + list->rows - 1) * network->slice *
                     (trimmed ? full.width : full.columns - columns + columns / pieces);
    list->block = ((trimmed ? TRIMMED_CACHE_BYTES : CACHE_BYTES) / (int)sizeof(float) - tile) / seen;
    if (list->block < 1) list->block = 1;
    if (list->block > full.channels) list->block = full.channels;
    list->blocks = ceiling(full.channels, list->block);
    const size_t runs = (size_t)stride_y * stride_x * in->channels * list->blocks * list->columns * list->rows;
    list->start = calloc(runs + 2, sizeof(int32_t));
    list->position = malloc((size_t)(plan->count + 1) * sizeof(int32_t));
    list->source = malloc((size_t)(plan->count + 1) * sizeof(int32_t));
    list->output = malloc((size_t)(plan->count + 1) * sizeof(int32_t));
    if (!list->start || !list->position || !list->source || !list->output) return false;

    /* A counting sort: sizes of the runs, where they begin, then each survivor to its place. */
    const int taps = layer->kernel_height * layer->kernel_width;
    for (int pass = 0; pass < 2; pass++) {
        for (int32_t i = 0; i < plan->count; i++) {
            const int entry = plan->survivors.entry[i], o = entry / taps / in->channels;
            const int c = entry / taps % in->channels, y = entry % taps / layer->kernel_width;
            const int x = entry % taps % layer->kernel_width;
            /* The first row and column of the input that this tap meets tell its phase. */
            const int from_y = ((y - layer->top) % stride_y + stride_y) % stride_y;
            const int from_x = ((x - layer->left) % stride_x + stride_x) % stride_x;
            const int column = list->columns > 1 ? x / stride_x : 0;
            const size_t part =
                ((size_t)(from_y * stride_x + from_x) * in->channels + c) * list->blocks + o / list->block;
            const size_t run = (part * list->columns + column) * list->rows + y / stride_y;
            if (pass == 0) {
                list->start[run + 2]++;
                continue;
            }
            const int32_t place = list->start[run + 1]++;
            list->position[place] = o * full.rows * full.columns - y / stride_y * full.columns - x / stride_x;
            list->source[place] = i, list->output[place] = o;
        }
        if (pass == 0)
            for (size_t run = 2; run < runs + 2; run++) list->start[run] += list->start[run - 1];
    }
    return true;
}

static void decide(const struct network *network, int index, const uint8_t *mask, struct layer_plan *plan) {
    const struct layer *layer = &network->layers[index];
    const int64_t size = (int64_t)network->values[layer->output].activation.channels *
                         network->values[layer->input].activation.channels * layer->kernel_height *
                         layer->kernel_width;
    int64_t alive = 0;
    for (int64_t i = 0; i < size; i++) alive += mask[layer->weights + i] != 0;
    const double density = (double)alive / (double)size;
    plan->density = density;
    plan->listed = density < SPARSE_FORWARD;
    plan->packed = density < PACKED;
    plan->count = alive;
}

struct passes plan_passes(const struct network *network, const struct plan *plan, int index, int images) {
    const struct layer_plan *layer = &plan->layers[index];
    const bool winners = network->winners[index].weights;
    const double weight = winners                                ? SPARSE_BEHIND_POOL
                          : winners_by_lane_suit(network, index) ? SPARSE_BY_LANE
                                                                 : SPARSE_WEIGHT;
    const double narrow = images < network->slice && images < LANES ? narrowing(images) : 1;
    if (!layer->listed) return (struct passes){false, false, false};
    return (struct passes){
        .forward = layer->density < SPARSE_FORWARD * narrow,
        .input = network->values[network->layers[index].input].wanted &&
                 layer->density < (winners ? SPARSE_BEHIND_POOL : SPARSE_INPUT) * narrow,
        .weight = layer->density < weight * narrow,
    };
}

/* SNIP, for one, prunes all biases, since they begin at zero. */
static bool biased(const struct network *network, const struct layer *layer, const uint8_t *mask) {
    if (layer->bias < 0 || !mask) return layer->bias >= 0;
    for (int i = 0; i < network->values[layer->output].activation.channels; i++)
        if (mask[layer->bias + i]) return true;
    return false;
}

struct plan *plan_new(const struct network *network, const uint8_t *mask) {
    struct plan *plan = calloc(1, sizeof *plan);
    const int64_t parameters = network->parameter_count;
    if (!plan) return NULL;
    plan->layer_count = network->layer_count;
    plan->layers = calloc((size_t)network->layer_count, sizeof *plan->layers);
    plan->index = malloc((size_t)(parameters + 1) * sizeof *plan->index);
    int64_t *place = malloc((size_t)(parameters + 1) * sizeof *place);
    bool fine = plan->layers && plan->index && place;

    for (int64_t i = 0; fine && i < parameters; i++) place[i] = 1;
    for (int i = 0; fine && mask && i < network->layer_count; i++) {
        const struct layer *layer = &network->layers[i];
        if (layer->kind != CONVOLUTION) continue;
        struct layer_plan *own = &plan->layers[i];
        decide(network, i, mask, own);
        if (!own->listed) continue;
        const int64_t size = (int64_t)network->values[layer->output].activation.channels *
                             network->values[layer->input].activation.channels * layer->kernel_height *
                             layer->kernel_width;
        for (int64_t j = 0; own->packed && j < size; j++) place[layer->weights + j] = mask[layer->weights + j] != 0;
        fine = list_survivors(network, i, mask + layer->weights, own);
        if (fine && network->values[layer->input].wanted) fine = list_transposed(network, i, own);
    }
    for (int64_t i = 0; fine && i < parameters; i++) {
        bool kept = place[i];
        place[i] = plan->count;
        if (kept) plan->index[plan->count++] = i;
    }
    for (int i = 0; fine && i < network->layer_count; i++) {
        const struct layer *layer = &network->layers[i];
        if (layer->kind != CONVOLUTION && layer->kind != LINEAR) continue;
        plan->layers[i].weights = place[layer->weights];
        plan->layers[i].bias = biased(network, layer, mask) ? place[layer->bias] : -1;
    }
    free(place);
    if (fine) return plan;
    plan_free(plan);
    return NULL;
}

int64_t plan_count(const struct plan *plan) { return plan->count; }

/* For each number of the replica's vector, which of the network's parameters it is. */
void plan_index(const struct plan *plan, int64_t *index) {
    memcpy(index, plan->index, (size_t)plan->count * sizeof *index);
}
