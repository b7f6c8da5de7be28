/* Making a network from its description: borders, flags and one block of memory for all it needs while it runs. */
#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

#include "layers.h"
#include "winners.h"

#define ALIGNMENT 64
/* A vector may be read (never used) a little beyond the last row. */
#define SLACK (4 * LANES)

static int most(int a, int b) { return a > b ? a : b; }

/* The zeros a convolution's input and the gradient of its output need around them. Output x meets input
 * x * stride + k - pad for every k of the kernel, in both directions. */
static void widen(struct plane *in, struct plane *gradient, const struct layer *layer) {
    int bottom = (layer->full_height - 1) * layer->stride_height + layer->kernel_height - layer->top - in->height;
    int right = (layer->full_width - 1) * layer->stride_width + layer->kernel_width - layer->left - in->width;
    if (layer->stride_width == 1) { /* else the rows are copied, with their borders, when they are split */
        int below = most(in->rows - in->height - in->top, most(bottom, 0));
        int beside = most(in->columns - in->width - in->left, most(right, 0));
        in->top = most(in->top, layer->top), in->left = most(in->left, layer->left);
        in->rows = in->top + in->height + below, in->columns = in->left + in->width + beside;
    }
    /* The gradient's border is the same all around; kernel / stride positions are always enough. */
    gradient->top = most(gradient->top, (layer->kernel_height - 1) / layer->stride_height + 1);
    gradient->left = most(gradient->left, (layer->kernel_width - 1) / layer->stride_width + 1);
    gradient->top = most(gradient->top, (layer->top + in->height - 1) / layer->stride_height + 1 - layer->full_height);
    gradient->left = most(gradient->left, (layer->left + in->width - 1) / layer->stride_width + 1 - layer->full_width);
    gradient->rows = gradient->height + 2 * gradient->top;
    gradient->columns = gradient->width + 2 * gradient->left;
}

static void mark(struct network *network) {
    bool *written = calloc((size_t)network->value_count, sizeof *written);
    for (int i = 0; i < network->layer_count; i++) {
        const struct layer *layer = &network->layers[i];
        struct value *values = network->values;
        bool other = layer->kind == ADDITION && values[layer->other].wanted;
        values[layer->output].wanted =
            layer->kind == CONVOLUTION || layer->kind == LINEAR || values[layer->input].wanted || other;
    }
    for (int i = network->layer_count - 1; written && i >= 0; i--) {
        const struct layer *layer = &network->layers[i];
        network->adds[i] = written[layer->input];
        written[layer->input] = true;
        if (layer->kind != ADDITION) continue;
        network->adds_other[i] = written[layer->other];
        written[layer->other] = true;
    }
    free(written);
}

/* Hands out pieces of one block; without a block it only counts. */
struct arena {
    char *memory;
    size_t used;
};
static void *take(struct arena *arena, size_t bytes) {
    void *piece = arena->memory ? arena->memory + arena->used : NULL;
    arena->used += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
#if defined(__SANITIZE_ADDRESS__)
    /* Between the pieces lies forbidden ground, so that running from one into the next is seen. */
    if (piece) __asan_poison_memory_region((char *)piece + bytes, ALIGNMENT);
    arena->used += ALIGNMENT;
#endif
    return piece;
}
static float *take_floats(struct arena *arena, size_t count) {
    return take(arena, (count + SLACK) * sizeof(float));
}

static void lay_out(struct network *network, struct arena *arena) {
    const size_t slice = (size_t)network->slice;
    size_t scratch = 4096 * 4;
    for (int i = 0; i < network->value_count; i++) {
        struct value *value = &network->values[i];
        struct plane *planes[2] = {&value->activation, value->wanted ? &value->gradient : NULL};
        for (int j = 0; j < 2; j++)
            if (planes[j])
                planes[j]->data =
                    take_floats(arena, (size_t)planes[j]->channels * planes[j]->rows * planes[j]->columns * slice);
    }
    for (int i = 0; i < network->layer_count; i++) {
        const struct layer *layer = &network->layers[i];
        const struct plane *out = &network->values[layer->output].activation;
        if (layer->pooled || layer->kind == MAX_POOL)
            network->codes[i] = take(arena, (size_t)out->channels * out->height * out->width * slice + SLACK);
        if (layer->pooled) {
            size_t vectors = (size_t)out->width * slice / LANES + 1;
            network->pooled_rows[i] = take(arena, vectors * sizeof(struct lane_map));
            network->full_rows[i] = take(arena, 2 * vectors * sizeof(struct lane_map));
            if (scratch < 8 * (size_t)layer->full_width) scratch = 8 * (size_t)layer->full_width;
            const struct plane full = convolution_full_plane(network, layer);
            if (network->values[layer->input].wanted)
                network->full[i] = take_floats(arena, (size_t)full.channels * full.rows * full.columns * slice);
        }
        size_t own = layer->kind == CONVOLUTION ? convolution_scratch(network, i)
                     : layer->kind == LINEAR    ? linear_scratch(network, i)
                                                : 0;
        if (own > scratch) scratch = own;
    }
    size_t lists = 0, runs = 0, channels = 0;
    for (int i = 0; i < network->layer_count; i++) {
        if (winners_suit(network, i) && winners_lists(network, i) > lists) lists = winners_lists(network, i);
        if (network->layers[i].kind != CONVOLUTION) continue;
        const size_t outputs = (size_t)network->values[network->layers[i].output].activation.channels;
        if (outputs > channels) channels = outputs;
        if (transposed_runs(network, i) > runs) runs = transposed_runs(network, i);
    }
    network->scratch = take_floats(arena, scratch * slice);
    network->packed = take_floats(arena, scratch * slice);
    network->copied_weights = take_floats(arena, (size_t)network->parameter_count);
    network->copied_gradient = take_floats(arena, (size_t)network->parameter_count);
    network->transposed = take_floats(arena, (size_t)network->parameter_count);
    network->alive = take(arena, channels * sizeof(bool));
    network->living_start = take(arena, (runs + 1) * sizeof(int32_t));
    network->living_position = take(arena, ((size_t)network->parameter_count + 1) * sizeof(int32_t));
    network->living_before = take(arena, ((size_t)network->parameter_count + 1) * sizeof(int32_t));
    network->living_weights = take_floats(arena, (size_t)network->parameter_count);
    struct winner *winners = take(arena, lists * (2 * slice + 1) * sizeof *winners);
    for (int i = 0; i < network->layer_count; i++) {
        if (!winners_suit(network, i)) continue;
        int outputs = network->values[network->layers[i].output].activation.channels;
        network->winners[i] = (struct winners){.weights = take_floats(arena, winners_weights(network, i)),
                                               .gradient = take_floats(arena, winners_weights(network, i)),
                                               .in = network->scratch,
                                               .in_gradient = network->packed,
                                               .lists = winners,
                                               .counts = take(arena, slice * (size_t)outputs * sizeof(int32_t))};
    }
}

void network_free(struct network *network) {
    if (!network) return;
    free(network->memory);
    free(network->layers), free(network->values), free(network->codes), free(network->adds);
    free(network->adds_other), free(network->pooled_rows), free(network->full_rows);
    free(network->winners), free(network->full);
    free(network);
}

struct network *network_new(const struct layer *layers, int32_t layer_count, const struct shape *shapes,
                            int32_t value_count, int64_t parameter_count, int32_t slice) {
    struct network *network = calloc(1, sizeof *network);
    if (!network) return NULL;
    size_t count = (size_t)layer_count;
    network->layer_count = layer_count, network->value_count = value_count;
    network->parameter_count = parameter_count, network->slice = slice;
    network->layers = malloc(count * sizeof *network->layers);
    network->values = calloc((size_t)value_count, sizeof *network->values);
    network->codes = calloc(count, sizeof *network->codes);
    network->adds = calloc(count, sizeof *network->adds);
    network->adds_other = calloc(count, sizeof *network->adds_other);
    network->pooled_rows = calloc(count, sizeof *network->pooled_rows);
    network->full_rows = calloc(count, sizeof *network->full_rows);
    network->full = calloc(count, sizeof *network->full);
    network->winners = calloc(count, sizeof *network->winners);
    if (!network->layers || !network->values || !network->codes || !network->adds || !network->adds_other ||
        !network->pooled_rows || !network->full_rows || !network->winners || !network->full) {
        network_free(network);
        return NULL;
    }
    memcpy(network->layers, layers, count * sizeof *layers);
    for (int i = 0; i < value_count; i++) {
        struct plane plane = {.channels = shapes[i].channels, .height = shapes[i].height, .width = shapes[i].width,
                              .rows = shapes[i].height, .columns = shapes[i].width};
        network->values[i] = (struct value){.activation = plane, .gradient = plane};
    }
    mark(network);
    for (int i = 0; i < layer_count; i++)
        if (layers[i].kind == CONVOLUTION)
            widen(&network->values[layers[i].input].activation, &network->values[layers[i].output].gradient,
                  &layers[i]);
    struct arena arena = {0};
    lay_out(network, &arena);
    size_t bytes = arena.used;
    network->memory = aligned_alloc(ALIGNMENT, bytes);
    if (!network->memory) {
        network_free(network);
        return NULL;
    }
    memset(network->memory, 0, bytes);
    network->memory_bytes = bytes;
    arena = (struct arena){.memory = network->memory};
    lay_out(network, &arena);
    return network;
}

int64_t network_bytes(const struct network *network) { return (int64_t)network->memory_bytes; }

void network_prepare(struct network *network, int images) {
    if (network->images == images) return;
    network->images = images;
    for (int i = 0; i < network->value_count; i++) {
        clear_border(&network->values[i].activation, images);
        if (network->values[i].wanted) clear_border(&network->values[i].gradient, images);
    }
    for (int i = 0; i < network->layer_count; i++)
        if (network->layers[i].pooled) {
            int width = network->values[network->layers[i].output].activation.width;
            map_pooled_row(network->pooled_rows[i], width, images);
            map_full_row(network->full_rows[i], width, images);
            const struct plane full = convolution_full_plane(network, &network->layers[i]);
            if (full.data) clear_border(&full, images);
        }
}
