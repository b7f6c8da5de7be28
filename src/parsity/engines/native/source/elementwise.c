/* Layers that touch each number once. All of them go row by row, for the border's sake. */
#include "layers.h"

void clear_border(const struct plane *plane, int images) {
    if (plane->rows == plane->height && plane->columns == plane->width) return;
    const size_t pitch = (size_t)row_pitch(plane, images);
    const size_t left = (size_t)plane->left * images;
    const size_t right = (size_t)(plane->columns - plane->left - plane->width) * images;
    for (int c = 0; c < plane->channels; c++)
        for (int y = -plane->top; y < plane->rows - plane->top; y++) {
            float *row = at(plane, images, c, y, -plane->left);
            if (y < 0 || y >= plane->height) {
                memset(row, 0, pitch * sizeof(float));
            } else {
                memset(row, 0, left * sizeof(float));
                memset(row + pitch - right, 0, right * sizeof(float));
            }
        }
}

void begin_gradient(const struct plane *plane, int images, bool adds) {
    if (adds) return;
    for (int c = 0; c < plane->channels; c++)
        for (int y = 0; y < plane->height; y++)
            memset(at(plane, images, c, y, 0), 0, (size_t)plane->width * images * sizeof(float));
}

void mask_gradient(const struct value *value, int images, bool *alive) {
    const struct plane *out = &value->activation, *gradient = &value->gradient;
    const int floats = out->width * images;
    for (int c = 0; c < out->channels; c++) {
        ivec any = {0};
        for (int y = 0; y < out->height; y++) {
            const float *passed = at(out, images, c, y, 0);
            float *to = at(gradient, images, c, y, 0);
            for (int i = 0; i < floats; i += LANES) {
                const int lanes = floats - i < LANES ? floats - i : LANES;
                const vec left = keep(~(load_lanes(passed + i, lanes) <= (vec){0}), load_lanes(to + i, lanes));
                any |= (ivec)left;
                store_lanes(to + i, left, lanes);
            }
        }
        /* All but the sign: not-a-number is something, and minus zero is nothing. */
        if (alive) alive[c] = any_lane(any & INT32_MAX);
    }
}

void relu_forward(const struct pass *pass, int index) {
    const struct layer *layer = &pass->network->layers[index];
    const struct plane *in = &pass->network->values[layer->input].activation;
    const struct plane *out = &pass->network->values[layer->output].activation;
    const int images = pass->images, floats = in->width * images;
    for (int c = 0; c < in->channels; c++)
        for (int y = 0; y < in->height; y++) {
            const float *from = at(in, images, c, y, 0);
            float *to = at(out, images, c, y, 0);
            for (int i = 0; i < floats; i += LANES) {
                int lanes = floats - i < LANES ? floats - i : LANES;
                store_lanes(to + i, rectify(load_lanes(from + i, lanes)), lanes);
            }
        }
}

void relu_backward(const struct pass *pass, int index) {
    const struct layer *layer = &pass->network->layers[index];
    const struct value *in = &pass->network->values[layer->input], *out = &pass->network->values[layer->output];
    const int images = pass->images, floats = in->gradient.width * images;
    for (int c = 0; c < in->gradient.channels; c++)
        for (int y = 0; y < in->gradient.height; y++) {
            const float *passed = at(&out->activation, images, c, y, 0);
            const float *from = at(&out->gradient, images, c, y, 0);
            float *to = at(&in->gradient, images, c, y, 0);
            for (int i = 0; i < floats; i += LANES) {
                int lanes = floats - i < LANES ? floats - i : LANES;
                vec value = keep(~(load_lanes(passed + i, lanes) <= (vec){0}), load_lanes(from + i, lanes));
                if (pass->network->adds[index]) value += load_lanes(to + i, lanes);
                store_lanes(to + i, value, lanes);
            }
        }
}

void addition_forward(const struct pass *pass, int index) {
    const struct layer *layer = &pass->network->layers[index];
    const struct plane *one = &pass->network->values[layer->input].activation;
    const struct plane *two = &pass->network->values[layer->other].activation;
    const struct plane *out = &pass->network->values[layer->output].activation;
    const int images = pass->images, floats = out->width * images;
    for (int c = 0; c < out->channels; c++)
        for (int y = 0; y < out->height; y++) {
            const float *a = at(one, images, c, y, 0), *b = at(two, images, c, y, 0);
            float *to = at(out, images, c, y, 0);
            for (int i = 0; i < floats; i++) to[i] = a[i] + b[i];
        }
}

/* to (+)= a part of `from`: the part of `to` that begins at (front, top, left). */
static void pass_on(const struct plane *from, const struct plane *to, int front, int top, int left, int images,
                    bool adds) {
    for (int c = 0; c < to->channels; c++)
        for (int y = 0; y < to->height; y++) {
            const float *source = at(from, images, c + front, y + top, left);
            float *target = at(to, images, c, y, 0);
            if (adds)
                for (int i = 0; i < to->width * images; i++) target[i] += source[i];
            else
                memcpy(target, source, (size_t)to->width * images * sizeof(float));
        }
}

void addition_backward(const struct pass *pass, int index) {
    const struct network *network = pass->network;
    const struct layer *layer = &network->layers[index];
    const struct plane *out = &network->values[layer->output].gradient;
    const struct value *one = &network->values[layer->input], *two = &network->values[layer->other];
    if (one->wanted) pass_on(out, &one->gradient, 0, 0, 0, pass->images, network->adds[index]);
    if (two->wanted) pass_on(out, &two->gradient, 0, 0, 0, pass->images, network->adds_other[index]);
}

void padding_forward(const struct pass *pass, int index) {
    const struct layer *layer = &pass->network->layers[index];
    const struct plane *in = &pass->network->values[layer->input].activation;
    const struct plane *out = &pass->network->values[layer->output].activation;
    const int images = pass->images;
    for (int c = 0; c < out->channels; c++)
        for (int y = 0; y < out->height; y++) {
            int from_c = c - layer->front, from_y = y - layer->top;
            float *to = at(out, images, c, y, 0);
            memset(to, 0, (size_t)out->width * images * sizeof(float));
            if (from_c >= 0 && from_c < in->channels && from_y >= 0 && from_y < in->height)
                memcpy(to + layer->left * images, at(in, images, from_c, from_y, 0),
                       (size_t)in->width * images * sizeof(float));
        }
}

void padding_backward(const struct pass *pass, int index) {
    const struct network *network = pass->network;
    const struct layer *layer = &network->layers[index];
    pass_on(&network->values[layer->output].gradient, &network->values[layer->input].gradient, layer->front,
            layer->top, layer->left, pass->images, network->adds[index]);
}

void mean_forward(const struct pass *pass, int index) {
    const struct layer *layer = &pass->network->layers[index];
    const struct plane *in = &pass->network->values[layer->input].activation;
    const struct plane *out = &pass->network->values[layer->output].activation;
    const int images = pass->images;
    const float factor = 1 / (float)(in->height * in->width);
    for (int c = 0; c < in->channels; c++) {
        float *to = at(out, images, c, 0, 0);
        memset(to, 0, (size_t)images * sizeof(float));
        for (int y = 0; y < in->height; y++)
            for (int x = 0; x < in->width; x++) {
                const float *from = at(in, images, c, y, x);
                for (int n = 0; n < images; n += LANES) {
                    const int lanes = images - n < LANES ? images - n : LANES;
                    store_lanes(to + n, load_lanes(to + n, lanes) + load_lanes(from + n, lanes), lanes);
                }
            }
        for (int n = 0; n < images; n++) to[n] *= factor;
    }
}

void mean_backward(const struct pass *pass, int index) {
    const struct network *network = pass->network;
    const struct layer *layer = &network->layers[index];
    const struct plane *in = &network->values[layer->input].gradient;
    const struct plane *out = &network->values[layer->output].gradient;
    const int images = pass->images;
    const float factor = 1 / (float)(in->height * in->width);
    const bool adds = network->adds[index];
    for (int c = 0; c < in->channels; c++) {
        const float *from = at(out, images, c, 0, 0);
        for (int y = 0; y < in->height; y++)
            for (int x = 0; x < in->width; x++) {
                float *to = at(in, images, c, y, x);
                for (int n = 0; n < images; n += LANES) {
                    const int lanes = images - n < LANES ? images - n : LANES;
                    const vec value = load_lanes(from + n, lanes) * factor;
                    store_lanes(to + n, adds ? load_lanes(to + n, lanes) + value : value, lanes);
                }
            }
    }
}
