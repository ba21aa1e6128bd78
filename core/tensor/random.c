/* SPDX-License-Identifier: MIT
 *
 * Random numbers from a counter: Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random
 * numbers: as easy as 1, 2, 3", SC 2011). Each block depends on seed and counter only. What follows
 * uses additions, multiplications, divisions and square roots alone, which IEEE 754 defines to the
 * last bit, and no fused ones: the same numbers come out everywhere.
 */
#include "tensor/random.h"

#include <math.h>

#include "tensor/kernels.h"
#include "tensor/number.h"

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF /* gcc does not contract with -std=c11 */
#endif

#define ROUNDS 10
#define MULTIPLIER_0 0xD2511F53u
#define MULTIPLIER_1 0xCD9E8D57u
#define WEYL_0 0x9E3779B9u /* the golden ratio's fraction */
#define WEYL_1 0xBB67AE85u /* the fraction of the square root of 3 */

void symm__philox(const uint32_t counter[4], const uint32_t key[2], uint32_t words_out[4]) {
    uint32_t key0 = key[0], key1 = key[1];
    uint32_t w0 = counter[0], w1 = counter[1], w2 = counter[2], w3 = counter[3];
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t product0 = (uint64_t)MULTIPLIER_0 * w0, product1 = (uint64_t)MULTIPLIER_1 * w2;
        w0 = (uint32_t)(product1 >> 32) ^ w1 ^ key0;
        w1 = (uint32_t)product1;
        w2 = (uint32_t)(product0 >> 32) ^ w3 ^ key1;
        w3 = (uint32_t)product0;
        key0 += WEYL_0;
        key1 += WEYL_1;
    }
    words_out[0] = w0;
    words_out[1] = w1;
    words_out[2] = w2;
    words_out[3] = w3;
}

static void halves_of(uint64_t seed, uint64_t block, uint64_t halves_out[2]) {
    const uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), 0, 0};
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    uint32_t words[4];
    symm__philox(counter, key, words);
    halves_out[0] = words[0] | (uint64_t)words[1] << 32;
    halves_out[1] = words[2] | (uint64_t)words[3] << 32;
}

/* ---- a normal pair ---- */

/* The natural logarithm of a number in (0, 1]: ln(2^e m) with m around 1, by the series of
 * 2 artanh((m - 1) / (m + 1)). Good to some 1e-15. */
static double log_of(double x) {
    int exponent = 0;
    double m = frexp(x, &exponent);
    if (m < 0.70710678118654752) {
        m *= 2;
        exponent -= 1;
    }
    double s = (m - 1) / (m + 1), square = s * s, sum = 0;
    for (int k = 21; k >= 1; k -= 2) sum = sum * square + 1.0 / k;
    return exponent * 0.69314718055994531 + 2 * s * sum;
}

/* Sine and cosine of 2 pi x for x in [0, 1): series on an eighth of the circle, then symmetry. */
static void sincos_of_turn(double x, double *sine_out, double *cosine_out) {
    int quarter = (int)(x * 4 + 0.5); /* the nearest multiple of a quarter turn: 0 to 4 */
    double angle = (x - quarter * 0.25) * 6.28318530717958648, square = angle * angle;
    double sine = 1, cosine = 1;
    for (int k = 19; k >= 3; k -= 2) sine = 1 - sine * square / (k * (k - 1));
    for (int k = 18; k >= 2; k -= 2) cosine = 1 - cosine * square / (k * (k - 1));
    sine *= angle;
    switch (quarter % 4) {
    case 0: *sine_out = sine, *cosine_out = cosine; break;
    case 1: *sine_out = cosine, *cosine_out = -sine; break;
    case 2: *sine_out = -sine, *cosine_out = -cosine; break;
    default: *sine_out = -cosine, *cosine_out = sine;
    }
}

static void normal_pair(const uint64_t halves[2], double pair_out[2]) {
    double sine = 0, cosine = 0;
    double radius = sqrt(-2 * log_of((double)((halves[0] >> 11) + 1) * 0x1p-53)); /* never of 0 */
    sincos_of_turn((double)(halves[1] >> 11) * 0x1p-53, &sine, &cosine);
    pair_out[0] = radius * cosine;
    pair_out[1] = radius * sine;
}

/* ---- filling ---- */

static void put(symm_dtype dtype, void *data, int64_t i, double value) {
    switch (dtype) {
    case SYMM_DTYPE_float64: ((double *)data)[i] = value; break;
    case SYMM_DTYPE_float32: ((float *)data)[i] = (float)value; break;
    case SYMM_DTYPE_float16:
        ((uint16_t *)data)[i] = symm__float_to_half(symm__double_to_float_odd(value));
        break;
    default: ((uint16_t *)data)[i] = symm__float_to_bfloat(symm__double_to_float_odd(value));
    }
}

/* Bits that a number below 1 has in every float of that dtype. */
static int uniform_bits(symm_dtype dtype) {
    switch (dtype) {
    case SYMM_DTYPE_float64: return 53;
    case SYMM_DTYPE_float32: return 24;
    case SYMM_DTYPE_float16: return 11;
    default: return 8;
    }
}

static void fill_uniform(symm_tensor *tensor, const symm_generator *generator) {
    void *data = symm_tensor_data(tensor);
    int bits = uniform_bits(tensor->dtype);
    double unit = ldexp(1, -bits);
    uint64_t halves[2] = {0, 0};
    for (int64_t i = 0; i < tensor->numel; i++) {
        if (i % 2 == 0) halves_of(generator->seed, generator->block + (uint64_t)i / 2, halves);
        put(tensor->dtype, data, i, (double)(halves[i % 2] >> (64 - bits)) * unit);
    }
}

static void fill_normal(symm_tensor *tensor, const symm_generator *generator) {
    void *data = symm_tensor_data(tensor);
    uint64_t halves[2];
    double pair[2] = {0, 0};
    for (int64_t i = 0; i < tensor->numel; i++) {
        if (i % 2 == 0) {
            halves_of(generator->seed, generator->block + (uint64_t)i / 2, halves);
            normal_pair(halves, pair);
        }
        put(tensor->dtype, data, i, pair[i % 2]);
    }
}

/* Fills in row-major order, whatever the layout. */
static int generate(const char *op, symm_tensor *tensor, symm_generator *generator,
                    void (*fill)(symm_tensor *tensor, const symm_generator *generator)) {
    symm_tensor *packed = NULL;
    int rc = symm__check_host(op, tensor);
    if (rc < 0) return rc;
    if (symm_dtype_kind_of(tensor->dtype) != SYMM_KIND_FLOAT) {
        return symm__fail_at(SYMM__IN(op), SYMM_EUNSUPPORTED, "%s makes floats, not %s", op,
                             symm_dtype_name(tensor->dtype));
    }
    if (symm_tensor_is_contiguous(tensor)) {
        fill(tensor, generator);
    } else {
        rc = symm__check_writable(op, tensor);
        if (rc == SYMM_OK) rc = symm__tensor_like(tensor, tensor->dtype, &packed);
        if (rc < 0) return rc;
        fill(packed, generator);
        rc = symm_tensor_copy(tensor, packed);
        symm_tensor_release(packed);
    }
    if (rc == SYMM_OK) generator->block += ((uint64_t)tensor->numel + 1) / 2;
    return rc;
}

int symm_tensor_rand(symm_tensor *tensor, symm_generator *generator) {
    return generate("rand", tensor, generator, fill_uniform);
}

int symm_tensor_randn(symm_tensor *tensor, symm_generator *generator) {
    return generate("randn", tensor, generator, fill_normal);
}
