/* Pooling, fused with a convolution or on its own. */
#include "pooling.h"

#include "layers.h"
#include "strided.h"

/* How the lanes of a vector are found in a row: as they lie; by a permutation of two vectors, when the images of a
 * position fill whole fractions of a vector; or, for odd slices, one by one. */
enum reach { ADJACENT, NEAR, SCATTERED };

static enum reach reach_of(int images) {
    return images % LANES == 0 ? ADJACENT : LANES % images == 0 ? NEAR : SCATTERED;
}

INLINE vec lanes_of(const float *row, const struct lane_map *map, enum reach reach) {
    if (reach == ADJACENT) return load(row);
    if (reach == NEAR) return pick(load(row), load(row + LANES), map->index);
    vec value = {0};
    for (int i = 0; i < LANES; i++) value[i] = row[map->index[i]];
    return value;
}

INLINE ivec codes_of(const uint8_t *row, const struct lane_map *map, enum reach reach) {
    if (reach == NEAR) return (ivec)pick((vec)load_bytes(row), (vec)load_bytes(row + LANES), map->index);
    ivec value = {0};
    for (int i = 0; i < LANES; i++) value[i] = row[map->index[i]];
    return value;
}

void map_pooled_row(struct lane_map *maps, int width, int images) {
    for (int i = 0; i < width * images; i++) {
        struct lane_map *map = &maps[i / LANES];
        int from = i / images * 2 * images + i % images;
        if (i % LANES == 0) *map = (struct lane_map){.base = from};
        map->index[i % LANES] = from - (int)map->base;
    }
}

void map_full_row(struct lane_map *maps, int width, int images) {
    for (int first = 0; first < 2 * width * images; first += LANES) {
        struct lane_map *map = &maps[first / LANES];
        int from[LANES];
        *map = (struct lane_map){.base = width * images};
        for (int i = 0; i < LANES; i++) {
            int x = (first + i) / images;
            from[i] = x / 2 * images + (first + i) % images;
            if (from[i] < map->base) map->base = from[i];
            map->column[i] = x % 2;
        }
        for (int i = 0; i < LANES; i++) map->index[i] = from[i] - (int)map->base;
    }
}

void pool_pair(const float *upper, const float *lower, const struct lane_map *maps, int width, int images,
               bool rectified, float *out, uint8_t *codes) {
    const int floats = width * images;
    const enum reach reach = reach_of(images);
    for (int i = 0; i < floats; i += LANES, maps++) {
        const float *left = upper + maps->base, *below = lower + maps->base;
        const vec corner[4] = {lanes_of(left, maps, reach), lanes_of(left + images, maps, reach),
                         lanes_of(below, maps, reach), lanes_of(below + images, maps, reach)};
        ivec code;
        const vec highest = highest_of(corner, &code);
        int lanes = floats - i < LANES ? floats - i : LANES;
        store_lanes(out + i, rectified ? rectify(highest) : highest, lanes);
        store_bytes(codes + i, code, lanes);
    }
}

void unpool_pair(const float *gradient, const uint8_t *codes, const struct lane_map *maps, int width, int full_width,
                 int images, float *upper, float *lower) {
    const int floats = 2 * width * images;
    if (images % LANES == 0) {
        for (int x = 0; x < width; x++)
            for (int n = 0; n < images; n += LANES) {
                const ptrdiff_t from = (ptrdiff_t)x * images + n, to = from + (ptrdiff_t)x * images;
                const vec value = load(gradient + from);
                const ivec code = load_bytes(codes + from);
                store(upper + to, keep(code == 0, value)), store(upper + to + images, keep(code == 1, value));
                store(lower + to, keep(code == 2, value)), store(lower + to + images, keep(code == 3, value));
            }
    } else {
        /* Neighbours stay neighbours, but for a step back where a window's right column begins. */
        const enum reach reach = images < LANES ? NEAR : SCATTERED;
        for (int i = 0; i < floats; i += LANES, maps++) {
            const int lanes = floats - i < LANES ? floats - i : LANES;
            const vec value = lanes_of(gradient + maps->base, maps, reach);
            const ivec code = codes_of(codes + maps->base, maps, reach);
            store_lanes(upper + i, keep(code == maps->column, value), lanes);
            store_lanes(lower + i, keep(code == maps->column + 2, value), lanes);
        }
    }
    const size_t rest = (size_t)(full_width * images - floats) * sizeof(float);
    memset(upper + floats, 0, rest);
    memset(lower + floats, 0, rest);
}

/* A window of a pooling that stands on its own, cut off at the image's border. */
struct window {
    int first_y, end_y, first_x, end_x;
};

static struct window window_at(const struct layer *layer, const struct plane *in, int y, int x) {
    struct window window = {y * layer->stride_height - layer->top, 0, x * layer->stride_width - layer->left, 0};
    window.end_y = window.first_y + layer->kernel_height, window.end_x = window.first_x + layer->kernel_width;
    if (window.first_y < 0) window.first_y = 0;
    if (window.first_x < 0) window.first_x = 0;
    if (window.end_y > in->height) window.end_y = in->height;
    if (window.end_x > in->width) window.end_x = in->width;
    return window;
}

void max_pool_forward(const struct pass *pass, int index) {
    const struct layer *layer = &pass->network->layers[index];
    const struct plane *in = &pass->network->values[layer->input].activation;
    const struct plane *out = &pass->network->values[layer->output].activation;
    const int images = pass->images;
    uint8_t *code = pass->network->codes[index];
    for (int c = 0; c < out->channels; c++)
        for (int y = 0; y < out->height; y++)
            for (int x = 0; x < out->width; x++, code += images) {
                struct window w = window_at(layer, in, y, x);
                float *to = at(out, images, c, y, x);
                bool begun = false;
                for (int i = w.first_y; i < w.end_y; i++)
                    for (int j = w.first_x; j < w.end_x; j++, begun = true) {
                        const float *from = at(in, images, c, i, j);
                        uint8_t here = (uint8_t)((i - w.first_y) * layer->kernel_width + j - w.first_x);
                        for (int n = 0; n < images; n++) {
                            bool higher = !begun || from[n] > to[n] || from[n] != from[n];
                            to[n] = higher ? from[n] : to[n];
                            code[n] = higher ? here : code[n];
                        }
                    }
            }
}

void max_pool_backward(const struct pass *pass, int index) {
    const struct layer *layer = &pass->network->layers[index];
    const struct plane *in = &pass->network->values[layer->input].gradient;
    const struct plane *out = &pass->network->values[layer->output].gradient;
    const int images = pass->images;
    const uint8_t *code = pass->network->codes[index];
    begin_gradient(in, images, pass->network->adds[index]);
    for (int c = 0; c < out->channels; c++)
        for (int y = 0; y < out->height; y++)
            for (int x = 0; x < out->width; x++, code += images) {
                struct window w = window_at(layer, in, y, x);
                const float *from = at(out, images, c, y, x);
                for (int n = 0; n < images; n++)
                    at(in, images, c, w.first_y + code[n] / layer->kernel_width,
                       w.first_x + code[n] % layer->kernel_width)[n] += from[n];
            }
}

/* One row of a pooling whose windows lie within the image: the sum of a window stays in a register. */
static void average_row(const struct layer *layer, const float *from, ptrdiff_t row, float *to, int width, int images,
                        float factor) {
    for (int n = 0; n < images; n += LANES) {
        const int lanes = images - n < LANES ? images - n : LANES;
        for (int x = 0; x < width; x++) {
            const float *window = from + (ptrdiff_t)x * layer->stride_width * images + n;
            vec sum = {0};
            for (int i = 0; i < layer->kernel_height; i++)
                for (int j = 0; j < layer->kernel_width; j++)
                    sum += load_lanes(window + i * row + (ptrdiff_t)j * images, lanes);
            store_lanes(to + (ptrdiff_t)x * images + n, sum * factor, lanes);
        }
    }
}

void average_pool_forward(const struct pass *pass, int index) {
    const struct layer *layer = &pass->network->layers[index];
    const struct plane *in = &pass->network->values[layer->input].activation;
    const struct plane *out = &pass->network->values[layer->output].activation;
    const int images = pass->images;
    const float factor = 1 / (float)(layer->kernel_height * layer->kernel_width);
    for (int c = 0; c < out->channels; c++)
        for (int y = 0; y < out->height; y++) {
            float *to = at(out, images, c, y, 0);
            if (!layer->top && !layer->left) {
                average_row(layer, at(in, images, c, y * layer->stride_height, 0), row_pitch(in, images), to,
                            out->width, images, factor);
                continue;
            }
            memset(to, 0, (size_t)out->width * images * sizeof(float));
            for (int i = 0; i < layer->kernel_height; i++)
                for (int j = 0; j < layer->kernel_width; j++) {
                    const int from_y = y * layer->stride_height + i - layer->top, offset = j - layer->left;
                    const struct range x = inside(out->width, layer->stride_width, offset, in->width);
                    if (from_y < 0 || from_y >= in->height) continue;
                    strided(to + (ptrdiff_t)x.first * images, images,
                            at(in, images, c, from_y, x.first * layer->stride_width + offset),
                            (ptrdiff_t)layer->stride_width * images, x.end - x.first, images, true, factor);
                }
        }
}

void average_pool_backward(const struct pass *pass, int index) {
    const struct layer *layer = &pass->network->layers[index];
    const struct plane *in = &pass->network->values[layer->input].gradient;
    const struct plane *out = &pass->network->values[layer->output].gradient;
    const int images = pass->images;
    const float factor = 1 / (float)(layer->kernel_height * layer->kernel_width);
    /* Windows that tile the image write every number once. */
    const bool tiles = layer->stride_height == layer->kernel_height && layer->stride_width == layer->kernel_width &&
                       in->height == out->height * layer->kernel_height &&
                       in->width == out->width * layer->kernel_width && !layer->top && !layer->left;
    const bool adds = pass->network->adds[index] || !tiles;
    if (!tiles) begin_gradient(in, images, pass->network->adds[index]);
    for (int c = 0; c < out->channels; c++)
        for (int y = 0; y < out->height; y++)
            for (int i = 0; i < layer->kernel_height; i++)
                for (int j = 0; j < layer->kernel_width; j++) {
                    const int to_y = y * layer->stride_height + i - layer->top, offset = j - layer->left;
                    const struct range x = inside(out->width, layer->stride_width, offset, in->width);
                    if (to_y < 0 || to_y >= in->height) continue;
                    strided(at(in, images, c, to_y, x.first * layer->stride_width + offset),
                            (ptrdiff_t)layer->stride_width * images, at(out, images, c, y, x.first), images,
                            x.end - x.first, images, adds, factor);
                }
}
