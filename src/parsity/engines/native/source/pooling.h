/* Windows of a 2 x 2 max-pool in registers. */
#ifndef PARSITY_POOLING_H
#define PARSITY_POOLING_H

#include "vector.h"

/* The highest of each lane's four corners, and which it is: the first of several. Not-a-number wins, so that it is seen
 * at the end. */
INLINE vec highest_of(const vec corner[4], ivec *code) {
    vec highest = corner[0];
    ivec which = {0};
#pragma GCC unroll 4
    for (int j = 1; j < 4; j++) {
        const choice higher = exceeds(corner[j], highest);
        highest = blend(higher, corner[j], highest);
        which = (ivec)blend(higher, (vec)((ivec){0} + j), (vec)which);
    }
    *code = which;
    return highest;
}

#endif
