/* From the data set to a slice: normalised and transposed on the way. */
#include "images.h"

/* In the order of operations of Dataset.normalise, so that the pixels are the same to the last bit. */
static float normalised(const struct source *source, float pixel, int channel) {
    return source->identity ? pixel : (pixel / source->scale - source->mean[channel]) / source->std[channel];
}

void gather_images(const struct source *source, const int64_t *which, int images, const struct plane *plane) {
    const ptrdiff_t area = (ptrdiff_t)plane->height * plane->width, size = area * plane->channels;
    for (int c = 0; c < plane->channels; c++) {
        float table[256];
        if (!source->is_float)
            for (int i = 0; i < 256; i++) table[i] = normalised(source, (float)i, c);
        for (int y = 0; y < plane->height; y++) {
            float *row = at(plane, images, c, y, 0);
            const ptrdiff_t offset = c * area + (ptrdiff_t)y * plane->width;
            for (int n = 0; n < images; n++) {
                if (source->is_float) {
                    const float *from = (const float *)source->pixels + which[n] * size + offset;
                    for (int x = 0; x < plane->width; x++) row[x * images + n] = normalised(source, from[x], c);
                } else {
                    const uint8_t *from = (const uint8_t *)source->pixels + which[n] * size + offset;
                    for (int x = 0; x < plane->width; x++) row[x * images + n] = table[from[x]];
                }
            }
        }
    }
}
