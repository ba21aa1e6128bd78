/* SPDX-License-Identifier: MIT
 *
 * Reductions: of every dtype along every dimension, in a fixed order. Sums are of whole numbers,
 * exact in any order, except where the order is what is tested.
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

static double number(symm_scalar value) {
    switch (value.kind) {
    case SYMM_KIND_FLOAT: return value.value.f;
    case SYMM_KIND_INT: return (double)value.value.i;
    default: return (double)value.value.u;
    }
}

static double whole(symm_reduction op, const symm_tensor *t, symm_dtype want) {
    symm_tensor *result = NULL;
    symm_scalar value = symm_scalar_int(-77);
    if (!CHECK_OK(symm_tensor_reduce(op, t, SYMM_ALL_DIMS, 0, &result))) return -77;
    CHECK_INT(symm_tensor_dtype(result), want);
    CHECK_INT(symm_tensor_ndim(result), 0);
    CHECK_OK(symm_tensor_item(result, &value));
    symm_tensor_release(result);
    return number(value);
}

/* Whole numbers from -2 to 3 (0 to 3 for unsigned dtypes, 0 and 1 for bool). */
static symm_tensor *random_whole(symm_dtype dtype, int ndim, const int64_t *shape) {
    symm_tensor *t = NULL, *typed = NULL;
    int low =
        symm_dtype_kind_of(dtype) == SYMM_KIND_INT || symm_dtype_kind_of(dtype) == SYMM_KIND_FLOAT
            ? -2
            : 0;
    CHECK_OK(symm_tensor_empty(shape, ndim, SYMM_DTYPE_float64, NULL, &t));
    double *data = symm_tensor_data(t);
    for (int64_t i = 0; i < symm_tensor_numel(t); i++) data[i] = low + rand() % (4 - low);
    CHECK_OK(symm_tensor_to(t, dtype, &typed));
    symm_tensor_release(t);
    return typed;
}

static double fold(symm_reduction op, double a, double b) {
    switch (op) {
    case SYMM_REDUCTION_sum:
    case SYMM_REDUCTION_mean: return a + b;
    case SYMM_REDUCTION_prod: return a * b;
    case SYMM_REDUCTION_max: return a > b ? a : b;
    case SYMM_REDUCTION_min: return a < b ? a : b;
    case SYMM_REDUCTION_all: return a != 0 && b != 0;
    default: return a != 0 || b != 0;
    }
}

/* The reduction of column (i, *, k), element by element. */
static double expected(symm_reduction op, const symm_tensor *t, int dim, int64_t index[3]) {
    double result = op == SYMM_REDUCTION_max ? -1e9
                    : op == SYMM_REDUCTION_min
                        ? 1e9
                        : op == SYMM_REDUCTION_prod || op == SYMM_REDUCTION_all;
    int64_t size = symm_tensor_shape(t)[dim];
    for (index[dim] = 0; index[dim] < size; index[dim]++) {
        symm_scalar value = symm_scalar_int(0);
        CHECK_OK(symm_tensor_get(t, index, 3, &value));
        result = fold(op, result, number(value));
    }
    return op == SYMM_REDUCTION_mean ? result / (double)size : result;
}

/* The nearest number of a dtype. */
static double rounded(double value, symm_dtype dtype) {
    symm_tensor *t = NULL;
    symm_scalar nearest = symm_scalar_int(-77);
    CHECK_OK(symm_tensor_full(NULL, 0, symm_scalar_float(value), dtype, NULL, &t));
    CHECK_OK(symm_tensor_item(t, &nearest));
    symm_tensor_release(t);
    return number(nearest);
}

static void check_along(symm_reduction op, const symm_tensor *t, int dim) {
    symm_tensor *result = NULL;
    int wrong = 0;
    if (!CHECK_OK(symm_tensor_reduce(op, t, dim, 1, &result))) return;
    const int64_t *shape = symm_tensor_shape(result);
    CHECK_INT(shape[dim], 1);
    for (int64_t i = 0; i < shape[0]; i++) {
        for (int64_t j = 0; j < shape[1]; j++) {
            for (int64_t k = 0; k < shape[2]; k++) {
                int64_t index[] = {i, j, k};
                symm_scalar got = symm_scalar_int(0);
                CHECK_OK(symm_tensor_get(result, index, 3, &got));
                wrong +=
                    number(got) != rounded(expected(op, t, dim, index), symm_tensor_dtype(result));
            }
        }
    }
    if (!CHECK_INT(wrong, 0)) CHECK_STR(symm_dtype_name(symm_tensor_dtype(t)), "");
    symm_tensor_release(result);
}

TEST(every_reduction_of_every_dtype_along_every_dimension) {
    for (int op = 0; op < SYMM_REDUCTION_COUNT; op++) {
        for (int dtype = 0; dtype < SYMM_DTYPE_COUNT; dtype++) {
            /* powers of 2 make exact means; 4 elements make small products */
            symm_tensor *t = random_whole((symm_dtype)dtype, 3, (int64_t[]){4, 4, 8}),
                        *turned = NULL;
            if (op == SYMM_REDUCTION_prod) {
                symm_tensor *few = NULL;
                CHECK_OK(symm_tensor_narrow(t, 2, 1, 4, &few));
                symm_tensor_release(t);
                t = few;
            }
            CHECK_OK(symm_tensor_permute(t, (int[]){2, 0, 1}, 3, &turned));
            for (int dim = 0; dim < 3; dim++) {
                check_along((symm_reduction)op, t, dim);
                check_along((symm_reduction)op, turned, dim);
            }
            symm_tensor_release(turned);
            symm_tensor_release(t);
        }
    }
}

TEST(long_reductions_of_every_layout) {
    for (int dtype = 0; dtype < SYMM_DTYPE_COUNT; dtype++) {
        symm_tensor *t = random_whole((symm_dtype)dtype, 3, (int64_t[]){1, 300, 530}),
                    *turned = NULL, *half = NULL;
        check_along(SYMM_REDUCTION_sum, t, 1);
        check_along(SYMM_REDUCTION_sum, t, 2);
        CHECK_OK(symm_tensor_transpose(t, 1, 2, &turned));
        check_along(SYMM_REDUCTION_max, turned, 1);
        CHECK_OK(symm_tensor_slice(turned, 1, 1, 530, 2, &half));
        check_along(SYMM_REDUCTION_sum, half, 1);
        check_along(SYMM_REDUCTION_sum, half, 2);
        symm_tensor_release(half);
        symm_tensor_release(turned);
        symm_tensor_release(t);
    }
}

TEST(dtypes_of_results) {
    struct {
        symm_dtype dtype, sum, mean;
    } cases[] = {{SYMM_DTYPE_float64, SYMM_DTYPE_float64, SYMM_DTYPE_float64},
                 {SYMM_DTYPE_float32, SYMM_DTYPE_float32, SYMM_DTYPE_float32},
                 {SYMM_DTYPE_float16, SYMM_DTYPE_float16, SYMM_DTYPE_float16},
                 {SYMM_DTYPE_bfloat16, SYMM_DTYPE_bfloat16, SYMM_DTYPE_bfloat16},
                 {SYMM_DTYPE_int8, SYMM_DTYPE_int64, SYMM_DTYPE_float64},
                 {SYMM_DTYPE_uint32, SYMM_DTYPE_int64, SYMM_DTYPE_float64},
                 {SYMM_DTYPE_uint64, SYMM_DTYPE_uint64, SYMM_DTYPE_float64},
                 {SYMM_DTYPE_bool, SYMM_DTYPE_int64, SYMM_DTYPE_float64}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        symm_tensor *t = NULL;
        CHECK_OK(symm_tensor_full((int64_t[]){4}, 1, symm_scalar_int(1), cases[i].dtype, NULL, &t));
        CHECK_DOUBLE(whole(SYMM_REDUCTION_sum, t, cases[i].sum), 4);
        CHECK_DOUBLE(whole(SYMM_REDUCTION_prod, t, cases[i].sum), 1);
        CHECK_DOUBLE(whole(SYMM_REDUCTION_mean, t, cases[i].mean), 1);
        CHECK_DOUBLE(whole(SYMM_REDUCTION_max, t, cases[i].dtype), 1);
        CHECK_DOUBLE(whole(SYMM_REDUCTION_min, t, cases[i].dtype), 1);
        CHECK_DOUBLE(whole(SYMM_REDUCTION_all, t, SYMM_DTYPE_bool), 1);
        CHECK_DOUBLE(whole(SYMM_REDUCTION_any, t, SYMM_DTYPE_bool), 1);
        symm_tensor_release(t);
    }
}

TEST(reductions_of_nothing) {
    symm_tensor *t = NULL, *result = NULL;
    CHECK_OK(symm_tensor_empty((int64_t[]){3, 0}, 2, SYMM_DTYPE_float32, NULL, &t));
    CHECK_DOUBLE(whole(SYMM_REDUCTION_sum, t, SYMM_DTYPE_float32), 0);
    CHECK_DOUBLE(whole(SYMM_REDUCTION_prod, t, SYMM_DTYPE_float32), 1);
    CHECK_DOUBLE(whole(SYMM_REDUCTION_all, t, SYMM_DTYPE_bool), 1);
    CHECK_DOUBLE(whole(SYMM_REDUCTION_any, t, SYMM_DTYPE_bool), 0);
    CHECK(isnan(whole(SYMM_REDUCTION_mean, t, SYMM_DTYPE_float32)));
    CHECK_FAILS(symm_tensor_reduce(SYMM_REDUCTION_max, t, SYMM_ALL_DIMS, 0, &result), SYMM_EINVALID,
                "max of no elements");
    CHECK_FAILS(symm_tensor_reduce(SYMM_REDUCTION_min, t, 1, 0, &result), SYMM_EINVALID,
                "min of no elements");
    CHECK_OK(symm_tensor_reduce(SYMM_REDUCTION_max, t, 0, 0, &result)); /* nothing is asked for */
    CHECK_INT(symm_tensor_numel(result), 0);
    symm_tensor_release(result);
    CHECK_OK(symm_tensor_reduce(SYMM_REDUCTION_sum, t, 1, 0, &result));
    CHECK_INT(symm_tensor_shape(result)[0], 3);
    CHECK_INT(((float *)symm_tensor_data(result))[2] == 0, 1);
    symm_tensor_release(result);
    CHECK_FAILS(symm_tensor_reduce(SYMM_REDUCTION_sum, t, 2, 0, &result), SYMM_EINVALID,
                "no dimension 2");
    CHECK_FAILS(symm_tensor_reduce((symm_reduction)7, t, 0, 0, &result), SYMM_EINVALID,
                "no reduction 7");
    symm_tensor_release(t);
}

TEST(kept_dimensions) {
    symm_tensor *t = NULL, *result = NULL;
    CHECK_OK(
        symm_tensor_full((int64_t[]){2, 3, 4}, 3, symm_scalar_int(1), SYMM_DTYPE_int32, NULL, &t));
    CHECK_OK(symm_tensor_reduce(SYMM_REDUCTION_sum, t, -2, 0, &result));
    CHECK_INT(symm_tensor_ndim(result), 2);
    CHECK_INT(symm_tensor_shape(result)[1], 4);
    symm_tensor_release(result);
    CHECK_OK(symm_tensor_reduce(SYMM_REDUCTION_sum, t, SYMM_ALL_DIMS, 1, &result));
    CHECK_INT(symm_tensor_ndim(result), 3);
    CHECK_INT(symm_tensor_numel(result), 1);
    CHECK_INT(*(int64_t *)symm_tensor_data(result), 24);
    symm_tensor_release(result);
    symm_tensor_release(t);
}

TEST(nan_goes_through_max_and_min) {
    for (int place = 0; place < 19; place++) {
        float data[19];
        symm_tensor *t = NULL;
        for (int i = 0; i < 19; i++) data[i] = (float)(i - 9);
        data[place] = NAN;
        CHECK_OK(symm_tensor_from_memory(data, (int64_t[]){19}, NULL, 1, SYMM_DTYPE_float32, NULL,
                                         NULL, NULL, &t));
        CHECK(isnan(whole(SYMM_REDUCTION_max, t, SYMM_DTYPE_float32)));
        CHECK(isnan(whole(SYMM_REDUCTION_min, t, SYMM_DTYPE_float32)));
        symm_tensor_release(t);
    }
}

TEST(extremes_of_extremes) {
    int64_t lowest = INT64_MIN;
    uint64_t highest = UINT64_MAX;
    float minus = -INFINITY;
    symm_tensor *t = NULL, *result = NULL;
    CHECK_OK(
        symm_tensor_from_memory(&lowest, NULL, NULL, 0, SYMM_DTYPE_int64, NULL, NULL, NULL, &t));
    CHECK_OK(symm_tensor_reduce(SYMM_REDUCTION_max, t, SYMM_ALL_DIMS, 0, &result));
    CHECK_INT(*(int64_t *)symm_tensor_data(result), INT64_MIN);
    symm_tensor_release(result);
    symm_tensor_release(t);
    CHECK_OK(
        symm_tensor_from_memory(&highest, NULL, NULL, 0, SYMM_DTYPE_uint64, NULL, NULL, NULL, &t));
    CHECK_OK(symm_tensor_reduce(SYMM_REDUCTION_min, t, SYMM_ALL_DIMS, 0, &result));
    CHECK_UINT(*(uint64_t *)symm_tensor_data(result), UINT64_MAX);
    symm_tensor_release(result);
    symm_tensor_release(t);
    CHECK_OK(
        symm_tensor_from_memory(&minus, NULL, NULL, 0, SYMM_DTYPE_float32, NULL, NULL, NULL, &t));
    CHECK_DOUBLE(whole(SYMM_REDUCTION_max, t, SYMM_DTYPE_float32), -(double)INFINITY);
    symm_tensor_release(t);
}

TEST(sums_wrap_around) {
    int64_t data[] = {INT64_MAX, 1, INT64_MAX};
    symm_tensor *t = NULL, *result = NULL;
    CHECK_OK(symm_tensor_from_memory(data, (int64_t[]){3}, NULL, 1, SYMM_DTYPE_int64, NULL, NULL,
                                     NULL, &t));
    CHECK_OK(symm_tensor_reduce(SYMM_REDUCTION_sum, t, 0, 0, &result));
    CHECK_INT(*(int64_t *)symm_tensor_data(result), -1);
    symm_tensor_release(result);
    CHECK_OK(symm_tensor_reduce(SYMM_REDUCTION_prod, t, 0, 0, &result));
    CHECK_INT(*(int64_t *)symm_tensor_data(result), 1);
    symm_tensor_release(result);
    symm_tensor_release(t);
}

/* 5000 ones would stay at 2048 in float16, at 256 in bfloat16. */
TEST(short_floats_are_summed_in_float32) {
    symm_tensor *t = NULL;
    CHECK_OK(
        symm_tensor_full((int64_t[]){5000}, 1, symm_scalar_int(1), SYMM_DTYPE_float16, NULL, &t));
    CHECK_DOUBLE(whole(SYMM_REDUCTION_sum, t, SYMM_DTYPE_float16), 5000);
    CHECK_DOUBLE(whole(SYMM_REDUCTION_mean, t, SYMM_DTYPE_float16), 1);
    symm_tensor_release(t);
    CHECK_OK(
        symm_tensor_full((int64_t[]){4992}, 1, symm_scalar_int(1), SYMM_DTYPE_bfloat16, NULL, &t));
    CHECK_DOUBLE(whole(SYMM_REDUCTION_sum, t, SYMM_DTYPE_bfloat16), 4992);
    symm_tensor_release(t);
    CHECK_OK(symm_tensor_full((int64_t[]){4, 30000}, 2, symm_scalar_int(3), SYMM_DTYPE_float16,
                              NULL, &t));
    CHECK_DOUBLE(whole(SYMM_REDUCTION_mean, t, SYMM_DTYPE_float16), 3); /* the sum would not fit */
    symm_tensor_release(t);
}

/* Eight lanes, joined as the header says, by hand. */
TEST(the_order_of_additions_is_the_documented_one) {
    enum { COUNT = 1003 };
    double data[COUNT], lane[8] = {0};
    symm_tensor *t = NULL;
    for (int i = 0; i < COUNT; i++) {
        data[i] = ldexp(rand() / (double)RAND_MAX, rand() % 40);
        lane[i % 8] += data[i];
    }
    double want =
        ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
    CHECK_OK(symm_tensor_from_memory(data, (int64_t[]){COUNT}, NULL, 1, SYMM_DTYPE_float64, NULL,
                                     NULL, NULL, &t));
    CHECK_DOUBLE(whole(SYMM_REDUCTION_sum, t, SYMM_DTYPE_float64), want);
    symm_tensor_release(t);
}

TEST(the_order_does_not_depend_on_the_layout) {
    symm_tensor *t = NULL, *turned = NULL, *packed = NULL, *a = NULL, *b = NULL;
    symm_generator generator = {.seed = (uint64_t)rand(), .block = 0};
    const symm_dtype dtypes[] = {SYMM_DTYPE_float64, SYMM_DTYPE_float32, SYMM_DTYPE_float16};
    for (int d = 0; d < 3; d++) {
        CHECK_OK(symm_tensor_empty((int64_t[]){50, 7, 33}, 3, dtypes[d], NULL, &t));
        CHECK_OK(symm_tensor_randn(t, &generator));
        CHECK_OK(symm_tensor_permute(t, (int[]){2, 0, 1}, 3, &turned));
        CHECK_OK(symm_tensor_clone(turned, &packed));
        for (int dim = -1; dim < 3; dim++) {
            int along = dim < 0 ? SYMM_ALL_DIMS : dim, equal = 0;
            CHECK_OK(symm_tensor_reduce(SYMM_REDUCTION_sum, turned, along, 0, &a));
            CHECK_OK(symm_tensor_reduce(SYMM_REDUCTION_sum, packed, along, 0, &b));
            CHECK_OK(symm_tensor_equal(a, b, &equal));
            CHECK_INT(equal, 1);
            symm_tensor_release(a);
            symm_tensor_release(b);
        }
        symm_tensor_release(packed);
        symm_tensor_release(turned);
        symm_tensor_release(t);
    }
}
