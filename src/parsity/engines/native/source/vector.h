/* Vectors of floats as wide as the machine's registers, in the compilers' portable notation.
 *
 * The same source is compiled once for each instruction set; this header is the only place that knows which. */
#ifndef PARSITY_VECTOR_H
#define PARSITY_VECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__AVX512F__) || defined(__AVX2__)
#include <immintrin.h>
#endif

/* TILE_VECTORS x 4 accumulators, the vectors they are fed from and a broadcast weight must fit the registers. */
#if defined(__AVX512F__)
#define LANES 16
#define TILE_VECTORS 6
#elif defined(__AVX2__)
#define LANES 8
#define TILE_VECTORS 3
#elif defined(__aarch64__)
#define LANES 4
#define TILE_VECTORS 6
#else
#define LANES 4
#define TILE_VECTORS 3
#endif

typedef float vec __attribute__((vector_size(LANES * 4)));
typedef int32_t ivec __attribute__((vector_size(LANES * 4)));
typedef uint8_t bytes __attribute__((vector_size(LANES)));
typedef float loose_vec __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
typedef int32_t loose_ivec __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
typedef uint8_t loose_bytes __attribute__((vector_size(LANES), aligned(1), may_alias));

#define INLINE static inline __attribute__((always_inline))

INLINE vec load(const float *from) { return *(const loose_vec *)from; }
INLINE void store(float *to, vec value) { *(loose_vec *)to = value; }
INLINE vec splat(float value) { return value - (vec){0}; }

/* The same, in a register: without this a compiler may repeat a load as an operand of every instruction using it. */
INLINE vec held(vec value) {
#if defined(__AVX512F__)
    __asm__("" : "+v"(value));
#elif defined(__SSE2__)
    __asm__("" : "+x"(value));
#elif defined(__aarch64__)
    __asm__("" : "+w"(value));
#endif
    return value;
}

/* Likewise a pointer: vectors near it are then addressed from it, and not each by an index of its own. */
INLINE const float *held_pointer(const float *pointer) {
    __asm__("" : "+r"(pointer));
    return pointer;
}

/* The first `lanes` floats and zeros after them; nothing beyond them is read. */
INLINE vec load_lanes(const float *from, int lanes) {
    if (lanes >= LANES) return load(from);
#if defined(__AVX512F__)
    return (vec)_mm512_maskz_loadu_ps((__mmask16)((1u << lanes) - 1), from);
#else
    vec value = {0};
    memcpy(&value, from, (size_t)lanes * sizeof(float));
    return value;
#endif
}

INLINE void store_lanes(float *to, vec value, int lanes) {
    if (lanes >= LANES) {
        store(to, value);
        return;
    }
#if defined(__AVX512F__)
    _mm512_mask_storeu_ps(to, (__mmask16)((1u << lanes) - 1), (__m512)value);
#else
    memcpy(to, &value, (size_t)lanes * sizeof(float));
#endif
}

/* `value` where the mask is set, zero elsewhere. */
INLINE vec keep(ivec mask, vec value) { return (vec)((ivec)value & mask); }
INLINE vec choose(ivec mask, vec yes, vec no) { return (vec)(((ivec)yes & mask) | ((ivec)no & ~mask)); }

/* Which lanes have a bit set, in the form in which the machine blends by it. */
#if defined(__AVX512F__)
typedef __mmask16 choice;
INLINE choice bit_of(ivec value, int bit) {
    return _mm512_test_epi32_mask((__m512i)value, _mm512_set1_epi32(1 << bit));
}
INLINE vec blend(choice set, vec yes, vec no) { return (vec)_mm512_mask_blend_ps(set, (__m512)no, (__m512)yes); }
/* Higher, or not a number. */
INLINE choice exceeds(vec a, vec b) {
    return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_GT_OQ) | _mm512_cmp_ps_mask((__m512)a, (__m512)a, _CMP_UNORD_Q);
}
#else
typedef ivec choice;
INLINE choice bit_of(ivec value, int bit) { return (value & 1 << bit) != 0; }
INLINE choice exceeds(vec a, vec b) { return (a > b) | (a != a); }
#if defined(__AVX2__)
INLINE vec blend(choice set, vec yes, vec no) { return (vec)_mm256_blendv_ps((__m256)no, (__m256)yes, (__m256)set); }
#else
INLINE vec blend(choice set, vec yes, vec no) { return choose(set, yes, no); }
#endif
#endif

/* Not-a-number is not below zero, so it stays. */
INLINE vec rectify(vec value) { return keep(~(value < (vec){0}), value); }

/* Is any lane other than zero? */
INLINE bool any_lane(ivec value) {
    int32_t lane[LANES], any = 0;
    memcpy(lane, &value, sizeof lane);
    for (int i = 0; i < LANES; i++) any |= lane[i];
    return any != 0;
}

/* Lane i is lane index[i] of `low` and, above it, `high`. */
INLINE vec pick(vec low, vec high, ivec index) {
#if defined(__AVX512F__)
    return (vec)_mm512_permutex2var_ps((__m512)low, (__m512i)index, (__m512)high);
#elif defined(__AVX2__)
    vec from_low = (vec)_mm256_permutevar8x32_ps((__m256)low, (__m256i)index);
    vec from_high = (vec)_mm256_permutevar8x32_ps((__m256)high, (__m256i)index);
    return choose(index >= LANES, from_high, from_low);
#else
    vec both[2] = {low, high}, value;
    for (int i = 0; i < LANES; i++) value[i] = ((const float *)both)[index[i]];
    return value;
#endif
}

/* Small numbers kept as bytes. (GCC 12 converts portable vectors of bytes one by one.) */
INLINE ivec load_bytes(const uint8_t *from) {
#if defined(__AVX512F__)
    return (ivec)_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)from));
#elif defined(__AVX2__)
    return (ivec)_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)from));
#else
    return __builtin_convertvector(*(const loose_bytes *)from, ivec);
#endif
}
INLINE void store_bytes(uint8_t *to, ivec value, int lanes) {
#if defined(__AVX512F__)
    const bytes narrow = (bytes)_mm512_cvtepi32_epi8((__m512i)value);
#else
    const bytes narrow = __builtin_convertvector(value, bytes);
#endif
    if (lanes >= LANES)
        *(loose_bytes *)to = narrow;
    else
        memcpy(to, &narrow, (size_t)lanes);
}

typedef float vec4 __attribute__((vector_size(16)));
typedef float loose_vec4 __attribute__((vector_size(16), aligned(4), may_alias));

/* LANES floats to four, by halves. */
INLINE vec4 fold(const float *lanes) {
    vec4 sum = *(const loose_vec4 *)lanes;
    if (LANES == 8) sum += *(const loose_vec4 *)(lanes + 4);
    if (LANES == 16)
        sum = (sum + *(const loose_vec4 *)(lanes + 8)) +
              (*(const loose_vec4 *)(lanes + 4) + *(const loose_vec4 *)(lanes + 12));
    return sum;
}

/* The sums of the lanes of four vectors, always in the same order of additions. */
INLINE vec4 sum_four(const float *vectors) {
    vec4 a = fold(vectors), b = fold(vectors + LANES), c = fold(vectors + 2 * LANES), d = fold(vectors + 3 * LANES);
    vec4 ab = __builtin_shufflevector(a, b, 0, 4, 1, 5) + __builtin_shufflevector(a, b, 2, 6, 3, 7);
    vec4 cd = __builtin_shufflevector(c, d, 0, 4, 1, 5) + __builtin_shufflevector(c, d, 2, 6, 3, 7);
    return __builtin_shufflevector(ab, cd, 0, 1, 4, 5) + __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
}

INLINE float sum_lanes(vec value) {
    float lane[LANES];
    memcpy(lane, &value, sizeof lane);
    vec4 sum = fold(lane);
    return (sum[0] + sum[2]) + (sum[1] + sum[3]);
}

#endif
