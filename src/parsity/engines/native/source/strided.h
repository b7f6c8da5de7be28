/* Positions a fixed distance apart: what strides along a row come down to. */
#ifndef PARSITY_STRIDED_H
#define PARSITY_STRIDED_H

#include "vector.h"

/* to[p] (+)= factor x from[p] for `count` positions of `images` floats, `to_step` and `from_step` floats apart. */
INLINE void strided(float *to, ptrdiff_t to_step, const float *from, ptrdiff_t from_step, int count, int images,
                    bool adds, float factor) {
    for (int n = 0; n < images; n += LANES) {
        const int lanes = images - n < LANES ? images - n : LANES;
        float *target = to + n;
        const float *source = from + n;
        if (adds)
            for (int p = 0; p < count; p++, target += to_step, source += from_step)
                store_lanes(target, load_lanes(target, lanes) + load_lanes(source, lanes) * factor, lanes);
        else
            for (int p = 0; p < count; p++, target += to_step, source += from_step)
                store_lanes(target, load_lanes(source, lanes) * factor, lanes);
    }
}

/* The positions [first, end) of `count` whose x = p * stride + offset lies in [0, width). */
struct range {
    int first, end;
};
INLINE struct range inside(int count, int stride, int offset, int width) {
    struct range range = {offset < 0 ? (stride - 1 - offset) / stride : 0,
                          width - 1 < offset ? 0 : (width - 1 - offset) / stride + 1};
    if (range.end > count) range.end = count;
    if (range.first > range.end) range.first = range.end;
    return range;
}

#endif
