/* SPDX-License-Identifier: MIT
 *
 * Arithmetic and comparisons of every dtype, and what they refuse.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <symm/error.h>
#include <symm/tensor.h>
#include <symm/wait.h>

#include "tests/support/check.h"

/* Fresh numbers in each run; SYMM_TEST_SEED repeats one, and hands it to each test's process. */
__attribute__((constructor)) static void choose_seed(void) {
    char text[16];
    if (!getenv("SYMM_TEST_SEED")) {
        snprintf(text, sizeof text, "%u", (unsigned)(symm_now_ns() / 1000));
        setenv("SYMM_TEST_SEED", text, 1);
        printf("# SYMM_TEST_SEED=%s\n", text);
        fflush(stdout);
    }
    srand((unsigned)atol(getenv("SYMM_TEST_SEED")));
}

#define I symm_scalar_int
#define F symm_scalar_float

static symm_tensor *of(symm_dtype dtype, int count, const double *values) {
    symm_tensor *doubles = NULL, *t = NULL;
    CHECK_OK(symm_tensor_empty((int64_t[]){count}, 1, SYMM_DTYPE_float64, NULL, &doubles));
    CHECK_OK(symm_tensor_set_bytes(doubles, values, count * (int64_t)sizeof *values));
    CHECK_OK(symm_tensor_to(doubles, dtype, &t));
    symm_tensor_release(doubles);
    return t;
}
#define OF(dtype, ...)                                                 \
    of(dtype, (int)(sizeof((double[]){__VA_ARGS__}) / sizeof(double)), \
       (const double[]){__VA_ARGS__})

static double at(const symm_tensor *t, int64_t i) {
    symm_scalar value = I(-77);
    CHECK_OK(symm_tensor_get(t, &i, 1, &value));
    switch (value.kind) {
    case SYMM_KIND_FLOAT: return value.value.f;
    case SYMM_KIND_INT: return (double)value.value.i;
    default: return (double)value.value.u;
    }
}

static double apply(symm_binary op, double a, double b) {
    switch (op) {
    case SYMM_BINARY_add: return a + b;
    case SYMM_BINARY_sub: return a - b;
    case SYMM_BINARY_mul: return a * b;
    case SYMM_BINARY_div: return a / b;
    case SYMM_BINARY_pow: return pow(a, b);
    case SYMM_BINARY_maximum: return a > b ? a : b;
    case SYMM_BINARY_minimum: return a < b ? a : b;
    case SYMM_BINARY_eq: return a == b;
    case SYMM_BINARY_ne: return a != b;
    case SYMM_BINARY_lt: return a < b;
    case SYMM_BINARY_le: return a <= b;
    case SYMM_BINARY_gt: return a > b;
    default: return a >= b;
    }
}

/* Small numbers, so that every dtype holds every result; exact quotients. */
TEST(every_operation_on_every_dtype) {
    enum { COUNT = 600 };
    double left[COUNT], right[COUNT];
    for (int op = 0; op < SYMM_BINARY_COUNT; op++) {
        for (int dtype = 0; dtype < SYMM_DTYPE_bool; dtype++) {
            for (int i = 0; i < COUNT; i++) {
                right[i] = 1 + rand() % 2;
                left[i] = right[i] * (1 + rand() % 3);
            }
            symm_tensor *a = of((symm_dtype)dtype, COUNT, left),
                        *b = of((symm_dtype)dtype, COUNT, right);
            symm_tensor *c = NULL, *half = NULL, *every_other = NULL;
            CHECK_OK(symm_tensor_binary((symm_binary)op, a, b, &c));
            CHECK_INT(symm_tensor_dtype(c), op >= SYMM_BINARY_eq ? SYMM_DTYPE_bool : dtype);
            int wrong = 0;
            for (int i = 0; i < COUNT; i++) {
                double want = apply((symm_binary)op, left[i], right[i]);
                if (op == SYMM_BINARY_sub &&
                    symm_dtype_kind_of((symm_dtype)dtype) == SYMM_KIND_UINT && want < 0)
                    continue;
                wrong += at(c, i) != want;
            }
            CHECK_INT(wrong, 0);
            symm_tensor_release(c);
            CHECK_OK(symm_tensor_slice(a, 0, 0, COUNT, 2, &half));
            CHECK_OK(symm_tensor_slice(b, 0, 1, COUNT, 2, &every_other));
            CHECK_OK(symm_tensor_binary((symm_binary)op, every_other, half, &c));
            for (int i = 0; i < COUNT / 2; i++) {
                double x = right[2 * i + 1], y = left[2 * i], want = apply((symm_binary)op, x, y);
                if (op == SYMM_BINARY_div && want != floor(want)) continue;
                if (op == SYMM_BINARY_sub && want < 0) continue;
                wrong += at(c, i) != want;
            }
            if (!CHECK_INT(wrong, 0)) CHECK_STR(symm_dtype_name((symm_dtype)dtype), "");
            symm_tensor_release(c);
            symm_tensor_release(every_other);
            symm_tensor_release(half);
            symm_tensor_release(b);
            symm_tensor_release(a);
        }
    }
}

TEST(bool_knows_or_and_and) {
    symm_tensor *a = OF(SYMM_DTYPE_bool, 0, 0, 1, 1), *b = OF(SYMM_DTYPE_bool, 0, 1, 0, 1),
                *c = NULL;
    const struct {
        symm_binary op;
        double want[4];
    } cases[] = {{SYMM_BINARY_add, {0, 1, 1, 1}},     {SYMM_BINARY_mul, {0, 0, 0, 1}},
                 {SYMM_BINARY_maximum, {0, 1, 1, 1}}, {SYMM_BINARY_minimum, {0, 0, 0, 1}},
                 {SYMM_BINARY_eq, {1, 0, 0, 1}},      {SYMM_BINARY_lt, {0, 1, 0, 0}}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        CHECK_OK(symm_tensor_binary(cases[k].op, a, b, &c));
        CHECK_INT(symm_tensor_dtype(c), SYMM_DTYPE_bool);
        for (int i = 0; i < 4; i++) CHECK_DOUBLE(at(c, i), cases[k].want[i]);
        symm_tensor_release(c);
    }
    CHECK_FAILS(symm_tensor_binary(SYMM_BINARY_sub, a, b, &c), SYMM_EUNSUPPORTED,
                "sub has no meaning for bool");
    CHECK_FAILS(symm_tensor_binary(SYMM_BINARY_div, a, b, &c), SYMM_EUNSUPPORTED, "div");
    CHECK_FAILS(symm_tensor_binary(SYMM_BINARY_pow, a, b, &c), SYMM_EUNSUPPORTED, "pow");
    CHECK_FAILS(symm_tensor_unary(SYMM_UNARY_neg, a, &c), SYMM_EUNSUPPORTED, "neg");
    symm_tensor_release(b);
    symm_tensor_release(a);
}

TEST(a_bool_byte_other_than_0_and_1_is_true) {
    symm_tensor *t = NULL, *one = NULL, *equal = NULL, *sum = NULL;
    const unsigned char bytes[] = {0, 1, 2, 255};
    CHECK_OK(symm_tensor_empty((int64_t[]){4}, 1, SYMM_DTYPE_bool, NULL, &t));
    CHECK_OK(symm_tensor_set_bytes(t, bytes, 4));
    CHECK_OK(symm_tensor_full(NULL, 0, symm_scalar_bool(1), SYMM_DTYPE_bool, NULL, &one));
    CHECK_OK(symm_tensor_binary(SYMM_BINARY_eq, t, one, &equal));
    for (int i = 0; i < 4; i++) CHECK_DOUBLE(at(equal, i), i > 0);
    CHECK_OK(symm_tensor_reduce(SYMM_REDUCTION_sum, t, 0, 1, &sum));
    CHECK_DOUBLE(at(sum, 0), 3);
    symm_tensor_release(sum);
    symm_tensor_release(equal);
    symm_tensor_release(one);
    symm_tensor_release(t);
}

TEST(integers_wrap_around) {
    symm_tensor *a = OF(SYMM_DTYPE_int8, 127, -128, -128, 100),
                *b = OF(SYMM_DTYPE_int8, 1, 1, -1, 3), *c = NULL;
    CHECK_OK(symm_tensor_binary(SYMM_BINARY_add, a, b, &c));
    CHECK_DOUBLE(at(c, 0), -128);
    symm_tensor_release(c);
    CHECK_OK(symm_tensor_binary(SYMM_BINARY_sub, a, b, &c));
    CHECK_DOUBLE(at(c, 1), 127);
    symm_tensor_release(c);
    CHECK_OK(symm_tensor_binary(SYMM_BINARY_mul, a, b, &c));
    CHECK_DOUBLE(at(c, 2), -128);
    CHECK_DOUBLE(at(c, 3), 300 - 256);
    symm_tensor_release(c);
    CHECK_OK(symm_tensor_binary(SYMM_BINARY_div, a, b, &c)); /* -128 / -1 does not trap */
    CHECK_DOUBLE(at(c, 2), -128);
    symm_tensor_release(c);
    CHECK_OK(symm_tensor_unary(SYMM_UNARY_neg, a, &c));
    CHECK_DOUBLE(at(c, 1), -128);
    symm_tensor_release(c);
    CHECK_OK(symm_tensor_unary(SYMM_UNARY_abs, a, &c));
    CHECK_DOUBLE(at(c, 1), -128);
    symm_tensor_release(c);
    symm_tensor_release(b);
    symm_tensor_release(a);
    int64_t lowest[] = {INT64_MIN, INT64_MAX}, minus[] = {-1, 2};
    CHECK_OK(symm_tensor_from_memory(lowest, (int64_t[]){2}, NULL, 1, SYMM_DTYPE_int64, NULL, NULL,
                                     NULL, &a));
    CHECK_OK(symm_tensor_from_memory(minus, (int64_t[]){2}, NULL, 1, SYMM_DTYPE_int64, NULL, NULL,
                                     NULL, &b));
    for (int op = SYMM_BINARY_add; op <= SYMM_BINARY_div; op++) {
        CHECK_OK(symm_tensor_binary((symm_binary)op, a, b, &c));
        const int64_t want[][2] = {{INT64_MAX, INT64_MIN + 1},
                                   {INT64_MIN + 1, INT64_MAX - 2},
                                   {INT64_MIN, -2},
                                   {INT64_MIN, INT64_MAX / 2}};
        CHECK_INT(((int64_t *)symm_tensor_data(c))[0], want[op][0]);
        CHECK_INT(((int64_t *)symm_tensor_data(c))[1], want[op][1]);
        symm_tensor_release(c);
    }
    symm_tensor_release(b);
    symm_tensor_release(a);
}

TEST(integers_divide_towards_zero_and_never_by_it) {
    symm_tensor *a = OF(SYMM_DTYPE_int32, 7, -7, 7), *b = OF(SYMM_DTYPE_int32, 2, 2, -2),
                *zero = OF(SYMM_DTYPE_int32, 1, 0, 1);
    symm_tensor *c = NULL;
    CHECK_OK(symm_tensor_binary(SYMM_BINARY_div, a, b, &c));
    CHECK_DOUBLE(at(c, 0), 3);
    CHECK_DOUBLE(at(c, 1), -3);
    CHECK_DOUBLE(at(c, 2), -3);
    CHECK_FAILS(symm_tensor_binary_into(SYMM_BINARY_div, a, zero, c), SYMM_EINVALID,
                "division of int32 by zero");
    CHECK_DOUBLE(at(c, 0), 3); /* nothing was written */
    CHECK_FAILS(symm_tensor_binary_scalar_into(SYMM_BINARY_div, a, I(0), c), SYMM_EINVALID,
                "by zero");
    symm_tensor_release(c);
    symm_tensor_release(zero);
    symm_tensor_release(b);
    symm_tensor_release(a);
    a = OF(SYMM_DTYPE_float32, 1, -1, 0);
    CHECK_OK(symm_tensor_binary_scalar(SYMM_BINARY_div, a, F(0), &c));
    CHECK_DOUBLE(at(c, 0), (double)INFINITY);
    CHECK_DOUBLE(at(c, 1), -(double)INFINITY);
    CHECK(isnan(at(c, 2)));
    symm_tensor_release(c);
    symm_tensor_release(a);
}

TEST(powers_of_integers) {
    symm_tensor *a = OF(SYMM_DTYPE_int16, 2, -3, 0, 7), *b = OF(SYMM_DTYPE_int16, 10, 3, 0, 20),
                *c = NULL;
    CHECK_OK(symm_tensor_binary(SYMM_BINARY_pow, a, b, &c));
    CHECK_DOUBLE(at(c, 0), 1024);
    CHECK_DOUBLE(at(c, 1), -27);
    CHECK_DOUBLE(at(c, 2), 1);
    uint16_t low = 1;
    for (int i = 0; i < 20; i++) low = (uint16_t)(low * 7u);
    CHECK_DOUBLE(at(c, 3), (int16_t)low);
    symm_tensor_release(c);
    CHECK_FAILS(symm_tensor_binary_scalar(SYMM_BINARY_pow, a, I(-1), &c), SYMM_EINVALID,
                "negative power -1");
    symm_tensor_release(b);
    symm_tensor_release(a);
}

TEST(nan_goes_through_maximum_and_minimum) {
    double nan = (double)NAN;
    symm_tensor *a = OF(SYMM_DTYPE_bfloat16, nan, 1, nan),
                *b = OF(SYMM_DTYPE_bfloat16, 1, nan, nan), *c = NULL;
    for (int op = SYMM_BINARY_maximum; op <= SYMM_BINARY_minimum; op++) {
        CHECK_OK(symm_tensor_binary((symm_binary)op, a, b, &c));
        for (int i = 0; i < 3; i++) CHECK(isnan(at(c, i)));
        symm_tensor_release(c);
    }
    CHECK_OK(symm_tensor_binary(SYMM_BINARY_eq, a, a, &c));
    CHECK_DOUBLE(at(c, 0), 0);
    CHECK_DOUBLE(at(c, 1), 1);
    symm_tensor_release(c);
    CHECK_OK(symm_tensor_binary(SYMM_BINARY_ne, a, a, &c));
    CHECK_DOUBLE(at(c, 0), 1);
    symm_tensor_release(c);
    symm_tensor_release(b);
    symm_tensor_release(a);
}

TEST(short_floats_are_computed_in_float32_and_rounded_once) {
    symm_tensor *a = OF(SYMM_DTYPE_float16, 2048, 60000, 1),
                *b = OF(SYMM_DTYPE_float16, 1, 60000, 3), *c = NULL;
    CHECK_OK(symm_tensor_binary(SYMM_BINARY_add, a, b, &c));
    CHECK_DOUBLE(at(c, 0), 2048); /* 2049 lies between 2048 and 2050: to even */
    CHECK_DOUBLE(at(c, 1), (double)INFINITY);
    symm_tensor_release(c);
    CHECK_OK(symm_tensor_binary(SYMM_BINARY_div, a, b, &c));
    CHECK_DOUBLE(at(c, 2), 1365.0 / 4096); /* nearest to a third */
    symm_tensor_release(c);
    symm_tensor_release(b);
    symm_tensor_release(a);
}

TEST(a_number_on_the_right) {
    symm_tensor *a = OF(SYMM_DTYPE_int16, 1, 2, 3), *c = NULL;
    CHECK_OK(symm_tensor_binary_scalar(SYMM_BINARY_mul, a, F(4.0), &c));
    CHECK_DOUBLE(at(c, 2), 12);
    symm_tensor_release(c);
    CHECK_OK(symm_tensor_binary_scalar(SYMM_BINARY_ge, a, I(2), &c));
    CHECK_DOUBLE(at(c, 0), 0);
    CHECK_DOUBLE(at(c, 1), 1);
    symm_tensor_release(c);
    CHECK_FAILS(symm_tensor_binary_scalar(SYMM_BINARY_add, a, F(0.5), &c), SYMM_EINVALID,
                "0.5 is not a number of int16");
    CHECK_STR(symm_last_error()->op, "add");
    CHECK_FAILS(symm_tensor_binary_scalar((symm_binary)99, a, I(1), &c), SYMM_EINVALID,
                "no operation 99");
    symm_tensor_release(a);
}

TEST(operands_must_agree) {
    symm_tensor *a = OF(SYMM_DTYPE_int16, 1, 2, 3), *b = OF(SYMM_DTYPE_int32, 1, 2, 3),
                *two = OF(SYMM_DTYPE_int16, 1, 2), *c = NULL;
    CHECK_FAILS(symm_tensor_binary(SYMM_BINARY_add, a, b, &c), SYMM_EINVALID,
                "the dtypes are int16 and int32");
    CHECK_FAILS(symm_tensor_binary(SYMM_BINARY_eq, a, two, &c), SYMM_EINVALID,
                "{3} and {2} cannot be broadcast");
    CHECK_FAILS(symm_tensor_binary((symm_binary)-1, a, a, &c), SYMM_EINVALID, "no operation");
    CHECK_FAILS(symm_tensor_unary((symm_unary)7, a, &c), SYMM_EINVALID, "no operation 7");
    symm_tensor_release(two);
    symm_tensor_release(b);
    symm_tensor_release(a);
}

TEST(shapes_are_broadcast) {
    symm_tensor *column = NULL, *row = OF(SYMM_DTYPE_int32, 1, 2, 3),
                *ten = OF(SYMM_DTYPE_int32, 10, 20), *c = NULL, *none = NULL;
    CHECK_OK(symm_tensor_view(ten, (int64_t[]){2, 1}, 2, &column));
    CHECK_OK(symm_tensor_binary(SYMM_BINARY_add, column, row, &c));
    CHECK_INT(symm_tensor_ndim(c), 2);
    CHECK_INT(symm_tensor_shape(c)[0], 2);
    CHECK_INT(symm_tensor_shape(c)[1], 3);
    for (int i = 0; i < 6; i++)
        CHECK_INT(((int32_t *)symm_tensor_data(c))[i], 10 * (1 + i / 3) + 1 + i % 3);
    symm_tensor_release(c);
    CHECK_OK(symm_tensor_empty((int64_t[]){0, 3}, 2, SYMM_DTYPE_int32, NULL, &none));
    CHECK_OK(symm_tensor_binary(SYMM_BINARY_div, none, row, &c));
    CHECK_INT(symm_tensor_numel(c), 0);
    symm_tensor_release(c);
    symm_tensor_release(none);
    symm_tensor_release(ten);
    symm_tensor_release(row);
    symm_tensor_release(column);
}

/* ---- results in given tensors ---- */

TEST(a_result_must_have_room) {
    symm_tensor *a = OF(SYMM_DTYPE_float32, 1, 2, 3), *two = OF(SYMM_DTYPE_float32, 0, 0),
                *other = OF(SYMM_DTYPE_float64, 0, 0, 0);
    symm_tensor *wide = NULL, *one = OF(SYMM_DTYPE_float32, 5);
    CHECK_FAILS(symm_tensor_binary_into(SYMM_BINARY_add, a, a, two), SYMM_EINVALID,
                "the result has the shape {3}; the output has {2}");
    CHECK_FAILS(symm_tensor_binary_into(SYMM_BINARY_add, a, a, other), SYMM_EINVALID,
                "the result is float32; the output is float64");
    CHECK_FAILS(symm_tensor_binary_into(SYMM_BINARY_eq, a, a, a), SYMM_EINVALID,
                "the result is bool");
    CHECK_OK(symm_tensor_expand(one, (int64_t[]){3}, 1, &wide));
    CHECK_FAILS(symm_tensor_binary_into(SYMM_BINARY_add, a, a, wide), SYMM_EINVALID,
                "share memory");
    CHECK_FAILS(symm_tensor_unary_into(SYMM_UNARY_neg, a, two), SYMM_EINVALID,
                "the output has {2}");
    CHECK_DOUBLE(at(one, 0), 5);
    symm_tensor_release(wide);
    symm_tensor_release(one);
    symm_tensor_release(other);
    symm_tensor_release(two);
    symm_tensor_release(a);
}

TEST(results_over_operands_are_as_if_those_had_been_read_first) {
    enum { COUNT = 2000 };
    symm_tensor *t = NULL, *low = NULL, *high = NULL, *even = NULL;
    CHECK_OK(symm_tensor_arange(I(0), I(COUNT), I(1), SYMM_DTYPE_int32, NULL, &t));
    CHECK_OK(symm_tensor_narrow(t, 0, 0, COUNT - 1, &low));
    CHECK_OK(symm_tensor_narrow(t, 0, 1, COUNT - 1, &high));
    CHECK_OK(symm_tensor_binary_into(SYMM_BINARY_add, low, high, high)); /* t[i + 1] = 2 i + 1 */
    int wrong = 0;
    for (int64_t i = 0; i < COUNT - 1; i++) wrong += at(t, i + 1) != (double)(2 * i + 1);
    CHECK_INT(wrong, 0);
    CHECK_OK(symm_tensor_unary_into(SYMM_UNARY_neg, high, low));
    for (int64_t i = 0; i < COUNT - 1; i++) wrong += at(t, i) != (double)-(2 * i + 1);
    CHECK_INT(wrong, 0);
    CHECK_OK(symm_tensor_slice(t, 0, 0, COUNT, 2, &even));
    CHECK_OK(symm_tensor_binary_scalar_into(SYMM_BINARY_mul, even, I(0), even));
    for (int64_t i = 0; i < COUNT; i++) wrong += (at(t, i) == 0) != (i % 2 == 0);
    CHECK_INT(wrong, 0);
    symm_tensor_release(even);
    symm_tensor_release(high);
    symm_tensor_release(low);
    symm_tensor_release(t);
}

TEST(in_place_with_a_repeated_operand) {
    symm_tensor *t = NULL, *first = NULL, *row = NULL;
    CHECK_OK(symm_tensor_arange(I(1), I(7), I(1), SYMM_DTYPE_int32, NULL, &row));
    CHECK_OK(symm_tensor_view(row, (int64_t[]){3, 2}, 2, &t));
    CHECK_OK(symm_tensor_narrow(t, 0, 0, 1, &first)); /* {1, 2} is subtracted from itself first */
    CHECK_OK(symm_tensor_binary_into(SYMM_BINARY_sub, t, first, t));
    const int32_t want[] = {0, 0, 2, 2, 4, 4};
    CHECK_INT(memcmp(symm_tensor_data(t), want, sizeof want), 0);
    CHECK_FAILS(symm_tensor_binary_into(SYMM_BINARY_sub, first, t, first), SYMM_EINVALID,
                "the output has {1, 2}");
    symm_tensor_release(first);
    symm_tensor_release(t);
    symm_tensor_release(row);
}

/* ---- equal and allclose ---- */

static int close(const symm_tensor *a, const symm_tensor *b, double rtol, double atol,
                 int equal_nan) {
    int all = -77;
    CHECK_OK(symm_tensor_allclose(a, b, rtol, atol, equal_nan, &all));
    return all;
}

TEST(closeness) {
    double nan = (double)NAN, inf = (double)INFINITY;
    symm_tensor *a = OF(SYMM_DTYPE_float64, 100, -100), *b = OF(SYMM_DTYPE_float64, 101, -101),
                *c = NULL;
    CHECK_INT(close(a, b, 0, 1, 0), 1);
    CHECK_INT(close(a, b, 0, 0.999, 0), 0);
    CHECK_INT(close(a, b, 1 / 101.0, 0, 0), 1); /* relative to the right one */
    CHECK_INT(close(b, a, 1 / 101.0, 0, 0), 0);
    CHECK_FAILS(symm_tensor_allclose(a, b, -1, 0, 0, &(int){0}), SYMM_EINVALID,
                "must not be negative");
    CHECK_FAILS(symm_tensor_allclose(a, b, 0, nan, 0, &(int){0}), SYMM_EINVALID,
                "must not be negative");
    symm_tensor_release(b);
    symm_tensor_release(a);
    a = OF(SYMM_DTYPE_float16, nan, inf, -inf);
    b = OF(SYMM_DTYPE_float16, nan, inf, -inf);
    c = OF(SYMM_DTYPE_float16, nan, inf, inf);
    CHECK_INT(close(a, b, 0, 0, 1), 1);
    CHECK_INT(close(a, b, 1, 1, 0), 0);
    CHECK_INT(close(a, c, inf, inf, 1), 0);
    symm_tensor_release(c);
    symm_tensor_release(b);
    symm_tensor_release(a);
    a = OF(SYMM_DTYPE_uint8, 0, 255);
    b = OF(SYMM_DTYPE_uint8, 2, 253);
    CHECK_INT(close(a, b, 0, 2, 0), 1);
    CHECK_INT(close(a, b, 0, 1.5, 0), 0);
    symm_tensor_release(b);
    symm_tensor_release(a);
}

TEST(equality) {
    symm_tensor *a = OF(SYMM_DTYPE_float32, 1, 2), *b = OF(SYMM_DTYPE_float32, 1, 2),
                *c = OF(SYMM_DTYPE_float32, 1, 2, 3);
    symm_tensor *d = OF(SYMM_DTYPE_int32, 1, 2), *n = OF(SYMM_DTYPE_float32, (double)NAN, 2),
                *e = OF(SYMM_DTYPE_float32, 1, 3);
    int equal = -77;
    CHECK_OK(symm_tensor_equal(a, b, &equal));
    CHECK_INT(equal, 1);
    CHECK_OK(symm_tensor_equal(a, e, &equal));
    CHECK_INT(equal, 0);
    CHECK_OK(symm_tensor_equal(a, c, &equal));
    CHECK_INT(equal, 0);
    CHECK_OK(symm_tensor_equal(n, n, &equal));
    CHECK_INT(equal, 0);
    CHECK_FAILS(symm_tensor_equal(a, d, &equal), SYMM_EINVALID, "float32 and int32");
    int64_t large[] = {INT64_MAX, INT64_MAX - 1}; /* equal as doubles */
    symm_tensor *x = NULL, *y = NULL;
    CHECK_OK(symm_tensor_from_memory(&large[0], (int64_t[]){1}, NULL, 1, SYMM_DTYPE_int64, NULL,
                                     NULL, NULL, &x));
    CHECK_OK(symm_tensor_from_memory(&large[1], (int64_t[]){1}, NULL, 1, SYMM_DTYPE_int64, NULL,
                                     NULL, NULL, &y));
    CHECK_OK(symm_tensor_equal(x, y, &equal));
    CHECK_INT(equal, 0);
    symm_tensor *all[] = {a, b, c, d, n, e, x, y};
    for (int i = 0; i < 8; i++) symm_tensor_release(all[i]);
}
