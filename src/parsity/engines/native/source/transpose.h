/* Squares of LANES x LANES floats, in registers. */
#ifndef PARSITY_TRANSPOSE_H
#define PARSITY_TRANSPOSE_H

#include "vector.h"

#if LANES == 16
#define ZIP_LOW 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define ZIP_HIGH 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#elif LANES == 8
#define ZIP_LOW 0, 8, 1, 9, 2, 10, 3, 11
#define ZIP_HIGH 4, 12, 5, 13, 6, 14, 7, 15
#else
#define ZIP_LOW 0, 4, 1, 5
#define ZIP_HIGH 2, 6, 3, 7
#endif

/* Zipping each row of the upper half with its fellow of the lower, as often as halves can be halved, is a transpose. */
INLINE void transpose(vec rows[LANES]) {
#pragma GCC unroll 4
    for (int size = LANES; size > 1; size /= 2) {
        vec zipped[LANES];
#pragma GCC unroll 16
        for (int i = 0; i < LANES / 2; i++) {
            zipped[2 * i] = __builtin_shufflevector(rows[i], rows[i + LANES / 2], ZIP_LOW);
            zipped[2 * i + 1] = __builtin_shufflevector(rows[i], rows[i + LANES / 2], ZIP_HIGH);
        }
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++) rows[i] = zipped[i];
    }
}

#endif
