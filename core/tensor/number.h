/* SPDX-License-Identifier: MIT
 *
 * Numbers: what the element types mean. Every conversion is exact where the target can hold the
 * value, and else
 *     to a float     rounds to nearest even, overflows to infinity, keeps subnormals and the upper
 *                    bits of a NaN (a NaN stays one)
 *     float to int   drops the fraction; NaN gives 0, what is out of range the nearest bound
 *     int to int     keeps the low bits
 *     to bool        is "not 0"; NaN is true
 * One rounding only: float64 and the long integers reach the 16-bit floats by way of "round to
 * odd", which leaves the last rounding what it would have been from the exact value. The code
 * relies on the default rounding mode and on subnormals not being flushed.
 */
#ifndef SYMM_TENSOR_NUMBER_H
#define SYMM_TENSOR_NUMBER_H

#include <math.h>
#include <string.h>
#include <symm/dtype.h>

static inline float symm__bits_to_float(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t symm__float_to_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* ---- float16: 1 sign, 5 exponent, 10 fraction bits ---- */

static inline float symm__half_to_float(uint16_t half) {
    uint32_t magnitude = (uint32_t)(half & 0x7fffu) << 13, sign = (uint32_t)(half & 0x8000u) << 16;
    /* In place, the fields are those of a float whose exponent is 112 too small; multiplying by
     * 2^112 is exact and makes normal numbers of float16's subnormals. */
    uint32_t finite =
        symm__float_to_bits(symm__bits_to_float(magnitude) * symm__bits_to_float(0x77800000u));
    uint32_t special = magnitude | 0x7f800000u;
    return symm__bits_to_float((magnitude < 0x0f800000u ? finite : special) | sign);
}

static inline uint16_t symm__float_to_half(float value) {
    uint32_t bits = symm__float_to_bits(value), magnitude = bits & 0x7fffffffu;
    /* Below 2^-14: adding 0.5 puts the last place of a subnormal float16 at the sum's last place.
     */
    uint32_t tiny = symm__float_to_bits(symm__bits_to_float(magnitude) + 0.5f) - 0x3f000000u;
    uint32_t normal = (magnitude - 0x38000000u + 0x0fffu + ((magnitude >> 13) & 1u)) >> 13;
    uint32_t payload = (magnitude >> 13) & 0x3ffu;
    uint32_t nan = 0x7c00u | (payload ? payload : 0x200u);
    uint32_t result = magnitude < 0x38800000u ? tiny : normal;
    result = result < 0x7c00u ? result : 0x7c00u;
    result = magnitude < 0x47800000u ? result : 0x7c00u;
    result = magnitude > 0x7f800000u ? nan : result;
    return (uint16_t)(result | ((bits >> 16) & 0x8000u));
}

/* ---- bfloat16: the upper half of a float ---- */

static inline float symm__bfloat_to_float(uint16_t bfloat) {
    return symm__bits_to_float((uint32_t)bfloat << 16);
}

static inline uint16_t symm__float_to_bfloat(float value) {
    uint32_t bits = symm__float_to_bits(value), upper = bits >> 16;
    uint32_t rounded = (bits + 0x7fffu + (upper & 1u)) >> 16;
    uint32_t nan = (upper & 0x7fu) ? upper : upper | 0x40u;
    return (uint16_t)((bits & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
}

/* ---- round to odd: if it is not exact, the last bit is 1 ---- */

static inline float symm__double_to_float_odd(double value) {
    float nearest = (float)value;
    if ((double)nearest == value || isnan(value)) return nearest;
    uint32_t bits = symm__float_to_bits(nearest);
    if (fabs((double)nearest) > fabs(value))
        bits -= 1; /* towards zero; infinity becomes the largest */
    return symm__bits_to_float(bits | 1u);
}

static inline double symm__uint64_to_double_odd(uint64_t value) {
    if (value >> 53 == 0) return (double)value;
    uint64_t dropped = value & 0x7ffu;
    return (double)((value - dropped) | (dropped ? 0x800u : 0u)); /* 53 bits remain: exact */
}

static inline double symm__int64_to_double_odd(int64_t value) {
    double magnitude =
        symm__uint64_to_double_odd(value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
    return value < 0 ? -magnitude : magnitude;
}

/* ---- floats to integers ---- */

#define SYMM__SATURATE(name, type, low, high_plus_one, lowest, highest) \
    static inline type symm__double_to_##name(double value) {           \
        if (value >= (high_plus_one)) return highest;                   \
        if (value <= (low)) return lowest;                              \
        return isnan(value) ? (type)0 : (type)value;                    \
    }
SYMM__SATURATE(int64, int64_t, -9223372036854775808.0, 9223372036854775808.0, INT64_MIN, INT64_MAX)
SYMM__SATURATE(int32, int32_t, -2147483648.0, 2147483648.0, INT32_MIN, INT32_MAX)
SYMM__SATURATE(int16, int16_t, -32768.0, 32768.0, INT16_MIN, INT16_MAX)
SYMM__SATURATE(int8, int8_t, -128.0, 128.0, INT8_MIN, INT8_MAX)
SYMM__SATURATE(uint8, uint8_t, 0.0, 256.0, 0, UINT8_MAX)
SYMM__SATURATE(uint32, uint32_t, 0.0, 4294967296.0, 0, UINT32_MAX)
SYMM__SATURATE(uint64, uint64_t, 0.0, 18446744073709551616.0, 0, UINT64_MAX)
#undef SYMM__SATURATE

/* ---- by dtype: `symm__get_NAME` to the type it is computed in, `symm__put_NAME` back ---- */

#define SYMM__COMPUTE_float64 double
#define SYMM__COMPUTE_float32 float
#define SYMM__COMPUTE_float16 float
#define SYMM__COMPUTE_bfloat16 float
#define SYMM__COMPUTE_int64 int64_t
#define SYMM__COMPUTE_int32 int32_t
#define SYMM__COMPUTE_int16 int16_t
#define SYMM__COMPUTE_int8 int8_t
#define SYMM__COMPUTE_uint8 uint8_t
#define SYMM__COMPUTE_uint32 uint32_t
#define SYMM__COMPUTE_uint64 uint64_t
#define SYMM__COMPUTE_bool uint8_t

#define SYMM__PLAIN(name, type)                                       \
    static inline type symm__get_##name(type value) { return value; } \
    static inline type symm__put_##name(type value) { return value; }
SYMM__PLAIN(float64, double)
SYMM__PLAIN(float32, float)
SYMM__PLAIN(int64, int64_t)
SYMM__PLAIN(int32, int32_t)
SYMM__PLAIN(int16, int16_t)
SYMM__PLAIN(int8, int8_t)
SYMM__PLAIN(uint8, uint8_t)
SYMM__PLAIN(uint32, uint32_t)
SYMM__PLAIN(uint64, uint64_t)
#undef SYMM__PLAIN

static inline float symm__get_float16(uint16_t value) { return symm__half_to_float(value); }
static inline uint16_t symm__put_float16(float value) { return symm__float_to_half(value); }
static inline float symm__get_bfloat16(uint16_t value) { return symm__bfloat_to_float(value); }
static inline uint16_t symm__put_bfloat16(float value) { return symm__float_to_bfloat(value); }
/* A byte that somebody else wrote may be other than 0 and 1. */
static inline uint8_t symm__get_bool(uint8_t value) { return value != 0; }
static inline uint8_t symm__put_bool(uint8_t value) { return value != 0; }

#endif
