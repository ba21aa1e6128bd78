/* SPDX-License-Identifier: MIT
 *
 * Conversions between numbers, against values worked out another way: by ldexp and by neighbours.
 */
#include "tensor/number.h"

#include <stdlib.h>

#include "tensor/scalar.h"
#include "tests/support/check.h"

/* What a binary16 pattern is worth, from the standard's words. */
static double half_value(uint16_t half) {
    int exponent = half >> 10 & 31, fraction = half & 1023;
    double magnitude = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
    return half & 0x8000 ? -magnitude : magnitude;
}

static int is_special(uint16_t half) { return (half & 0x7c00) == 0x7c00; }

TEST(every_float16_to_float_and_back) {
    int wrong = 0;
    for (uint32_t h = 0; h < 65536; h++) {
        float value = symm__half_to_float((uint16_t)h);
        if (!is_special((uint16_t)h)) {
            wrong += (double)value != half_value((uint16_t)h);
            wrong += !signbit(value) != !(h & 0x8000);
        } else {
            wrong += h & 0x3ff ? !isnan(value) : !isinf(value);
        }
        wrong += symm__float_to_half(value) != h; /* payloads of NaNs too */
    }
    CHECK_INT(wrong, 0);
    CHECK_INT(symm__float_to_bits(symm__half_to_float(0x8000)), 0x80000000);
}

TEST(float_to_float16_rounds_to_nearest_even) {
    int wrong = 0;
    for (uint32_t h = 0; h < 0x7bff; h++) { /* each finite one and the one above it */
        double low = half_value((uint16_t)h), high = half_value((uint16_t)(h + 1));
        float middle = (float)((low + high) / 2); /* exact: one bit more */
        uint16_t even = (uint16_t)(h & 1 ? h + 1 : h);
        wrong += symm__float_to_half(middle) != even;
        wrong += symm__float_to_half(-middle) != (even | 0x8000);
        wrong += symm__float_to_half(nextafterf(middle, 0)) != h;
        wrong += symm__float_to_half(nextafterf(middle, INFINITY)) != h + 1;
    }
    CHECK_INT(wrong, 0);
}

TEST(the_ends_of_float16) {
    CHECK_INT(symm__float_to_half(65504.0f), 0x7bff);
    CHECK_INT(symm__float_to_half(65519.996f), 0x7bff);
    CHECK_INT(symm__float_to_half(65520.0f), 0x7c00);
    CHECK_INT(symm__float_to_half(1e30f), 0x7c00);
    CHECK_INT(symm__float_to_half(-INFINITY), 0xfc00);
    CHECK_INT(symm__float_to_half(0x1p-24f), 1);
    CHECK_INT(symm__float_to_half(0x1p-25f), 0);
    CHECK_INT(symm__float_to_half(nextafterf(0x1p-25f, 1)), 1);
    CHECK_INT(symm__float_to_half(-1e-45f), 0x8000);
    CHECK(isnan(symm__half_to_float(symm__float_to_half(NAN))));
    CHECK(isnan(symm__half_to_float(symm__float_to_half(symm__bits_to_float(0x7f800001)))));
}

TEST(every_bfloat16_to_float_and_back) {
    int wrong = 0;
    for (uint32_t b = 0; b < 65536; b++) {
        float value = symm__bfloat_to_float((uint16_t)b);
        wrong += symm__float_to_bits(value) != b << 16;
        wrong += symm__float_to_bfloat(value) != b;
    }
    CHECK_INT(wrong, 0);
}

TEST(float_to_bfloat16_rounds_to_nearest_even) {
    int wrong = 0;
    for (uint32_t b = 0; b < 0x7f7f; b++) {
        uint32_t middle = b << 16 | 0x8000;
        wrong += symm__float_to_bfloat(symm__bits_to_float(middle)) != (b & 1 ? b + 1 : b);
        wrong += symm__float_to_bfloat(symm__bits_to_float(middle - 1)) != b;
        wrong += symm__float_to_bfloat(symm__bits_to_float(middle + 1)) != b + 1;
    }
    CHECK_INT(wrong, 0);
    CHECK_INT(symm__float_to_bfloat(symm__bits_to_float(0x7f7fffff)), 0x7f80); /* to infinity */
    CHECK(isnan(symm__bfloat_to_float(symm__float_to_bfloat(symm__bits_to_float(0x7f800001)))));
}

/* Halfway cases that only the bits beyond float's 24 decide. */
TEST(float64_reaches_the_short_floats_with_one_rounding) {
    double tie16 = 1 + 0x1p-11, tie_bf = 1 + 0x1p-8;
    CHECK_INT(symm__float_to_half(symm__double_to_float_odd(tie16)), 0x3c00);
    CHECK_INT(symm__float_to_half(symm__double_to_float_odd(tie16 + 0x1p-50)), 0x3c01);
    CHECK_INT(symm__float_to_half(symm__double_to_float_odd(-tie16 - 0x1p-50)), 0xbc01);
    CHECK_INT(symm__float_to_half(symm__double_to_float_odd(1 + 3 * 0x1p-11 - 0x1p-50)), 0x3c01);
    CHECK_INT(symm__float_to_bfloat(symm__double_to_float_odd(tie_bf)), 0x3f80);
    CHECK_INT(symm__float_to_bfloat(symm__double_to_float_odd(tie_bf + 0x1p-50)), 0x3f81);
    CHECK_INT(symm__float_to_half(symm__double_to_float_odd(0x1p-25 + 0x1p-70)), 1);
    CHECK_INT(symm__float_to_half(symm__double_to_float_odd(1e300)), 0x7c00);
    CHECK_INT(symm__float_to_bfloat(symm__double_to_float_odd(-1e300)), 0xff80);
    CHECK_INT(symm__float_to_bfloat(symm__double_to_float_odd(1e-300)), 0);
    CHECK(isnan(symm__double_to_float_odd((double)NAN)));
}

TEST(long_integers_reach_the_short_floats_with_one_rounding) {
    int64_t tie = (INT64_C(1) << 62) + (INT64_C(1) << 54); /* halfway between two bfloat16 */
    uint16_t even = symm__float_to_bfloat(0x1p62f);
    CHECK_INT(symm__float_to_bfloat(symm__double_to_float_odd(symm__int64_to_double_odd(tie))),
              even);
    CHECK_INT(symm__float_to_bfloat(symm__double_to_float_odd(symm__int64_to_double_odd(tie + 1))),
              even + 1);
    CHECK_INT(symm__float_to_bfloat(symm__double_to_float_odd(symm__int64_to_double_odd(-tie - 1))),
              (even + 1) | 0x8000);
    CHECK_DOUBLE(symm__int64_to_double_odd(INT64_MIN), -0x1p63);
    CHECK_DOUBLE(symm__uint64_to_double_odd(UINT64_MAX), 0x1p64 - 0x1p11);
    CHECK_DOUBLE(symm__int64_to_double_odd(-5), -5);
}

TEST(floats_to_integers_saturate) {
    CHECK_INT(symm__double_to_int8(127.9), 127);
    CHECK_INT(symm__double_to_int8(128), 127);
    CHECK_INT(symm__double_to_int8(-128.9), -128);
    CHECK_INT(symm__double_to_int8(-129), -128);
    CHECK_INT(symm__double_to_int8(-1.9), -1);
    CHECK_INT(symm__double_to_int8((double)NAN), 0);
    CHECK_INT(symm__double_to_uint8(-0.9), 0);
    CHECK_INT(symm__double_to_uint8(-1e9), 0);
    CHECK_INT(symm__double_to_uint8(255.9), 255);
    CHECK_INT(symm__double_to_uint8(256), 255);
    CHECK_INT(symm__double_to_int64(0x1p63), INT64_MAX);
    CHECK_INT(symm__double_to_int64(-0x1p63), INT64_MIN);
    CHECK_INT(symm__double_to_int64(-INFINITY), INT64_MIN);
    CHECK_UINT(symm__double_to_uint64(0x1p64), UINT64_MAX);
    CHECK_UINT(symm__double_to_uint64(0x1p63), UINT64_C(1) << 63);
    CHECK_UINT(symm__double_to_uint64((double)INFINITY), UINT64_MAX);
    CHECK_INT(symm__double_to_int32(2147483647.5), INT32_MAX);
    CHECK_UINT(symm__double_to_uint32(4294967295.5), UINT32_MAX);
}

/* ---- numbers of the caller ---- */

static int store(symm_scalar value, symm_dtype dtype, symm_scalar *out) {
    _Alignas(8) char element[8];
    int rc = symm__scalar_store("test", value, dtype, element);
    if (rc == SYMM_OK) *out = symm__scalar_load(dtype, element);
    return rc;
}

TEST(a_number_for_an_integer_dtype_must_be_one) {
    symm_scalar out = symm_scalar_int(-77);
    CHECK_OK(store(symm_scalar_int(-128), SYMM_DTYPE_int8, &out));
    CHECK_INT(out.value.i, -128);
    CHECK_OK(store(symm_scalar_float(127.0), SYMM_DTYPE_int8, &out));
    CHECK_INT(out.value.i, 127);
    CHECK_FAILS(store(symm_scalar_int(128), SYMM_DTYPE_int8, &out), SYMM_EINVALID,
                "128 is not a number of int8");
    CHECK_FAILS(store(symm_scalar_int(-129), SYMM_DTYPE_int8, &out), SYMM_EINVALID, "-129");
    CHECK_FAILS(store(symm_scalar_float(0.5), SYMM_DTYPE_int8, &out), SYMM_EINVALID, "0.5");
    CHECK_FAILS(store(symm_scalar_float((double)NAN), SYMM_DTYPE_int64, &out), SYMM_EINVALID,
                "nan");
    CHECK_FAILS(store(symm_scalar_int(-1), SYMM_DTYPE_uint64, &out), SYMM_EINVALID, "-1");
    CHECK_FAILS(store(symm_scalar_uint(UINT64_MAX), SYMM_DTYPE_int64, &out), SYMM_EINVALID,
                "18446744073709551615");
    CHECK_FAILS(store(symm_scalar_float(0x1p63), SYMM_DTYPE_int64, &out), SYMM_EINVALID, "int64");
    CHECK_OK(store(symm_scalar_float(0x1p63), SYMM_DTYPE_uint64, &out));
    CHECK_UINT(out.value.u, UINT64_C(1) << 63);
    CHECK_FAILS(store(symm_scalar_float(0x1p64), SYMM_DTYPE_uint64, &out), SYMM_EINVALID, "uint64");
    CHECK_OK(store(symm_scalar_float(-0x1p63), SYMM_DTYPE_int64, &out));
    CHECK_INT(out.value.i, INT64_MIN);
    CHECK_OK(store(symm_scalar_bool(7), SYMM_DTYPE_int16, &out));
    CHECK_INT(out.value.i, 1);
}

TEST(a_number_for_a_float_or_bool_dtype_may_be_any) {
    symm_scalar out = symm_scalar_int(-77);
    CHECK_OK(store(symm_scalar_float(0.1), SYMM_DTYPE_float32, &out));
    CHECK_DOUBLE(out.value.f, (double)0.1f);
    CHECK_OK(store(symm_scalar_float(1e300), SYMM_DTYPE_float32, &out));
    CHECK_DOUBLE(out.value.f, (double)INFINITY);
    CHECK_OK(store(symm_scalar_int(65520), SYMM_DTYPE_float16, &out));
    CHECK_DOUBLE(out.value.f, (double)INFINITY);
    CHECK_OK(store(symm_scalar_uint(UINT64_MAX), SYMM_DTYPE_float64, &out));
    CHECK_DOUBLE(out.value.f, 0x1p64);
    CHECK_OK(store(symm_scalar_float(1 + 0x1p-8 + 0x1p-40), SYMM_DTYPE_bfloat16, &out));
    CHECK_DOUBLE(out.value.f, 1 + 0x1p-7);
    CHECK_OK(store(symm_scalar_float((double)NAN), SYMM_DTYPE_bool, &out));
    CHECK_UINT(out.value.u, 1);
    CHECK_OK(store(symm_scalar_float(-0.0), SYMM_DTYPE_bool, &out));
    CHECK_UINT(out.value.u, 0);
    CHECK_INT(out.kind, SYMM_KIND_BOOL);
}
