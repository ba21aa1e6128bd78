/* SPDX-License-Identifier: MIT
 *
 * Copies: layouts, dtypes, overlap, bytes and single elements.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <symm/error.h>
#include <symm/tensor.h>

#include "tests/support/check.h"

static symm_tensor *counting(int ndim, const int64_t *shape, symm_dtype dtype) {
    symm_tensor *range = NULL, *t = NULL, *shaped = NULL;
    int64_t numel = 1;
    for (int i = 0; i < ndim; i++) numel *= shape[i];
    CHECK_OK(symm_tensor_arange(symm_scalar_int(0), symm_scalar_int(numel), symm_scalar_int(1),
                                SYMM_DTYPE_int64, NULL, &range));
    CHECK_OK(symm_tensor_to(range, dtype, &t));
    CHECK_OK(symm_tensor_view(t, shape, ndim, &shaped));
    symm_tensor_release(range);
    symm_tensor_release(t);
    return shaped;
}
#define SHAPE(...) \
    (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[]) { __VA_ARGS__ }

static double at(const symm_tensor *t, int64_t i, int64_t j) {
    const int64_t index[] = {i, j};
    symm_scalar value = symm_scalar_int(-77);
    CHECK_OK(symm_tensor_get(t, index, symm_tensor_ndim(t), &value));
    switch (value.kind) {
    case SYMM_KIND_FLOAT: return value.value.f;
    case SYMM_KIND_INT: return (double)value.value.i;
    default: return (double)value.value.u;
    }
}

TEST(fill_reaches_every_element_and_no_other) {
    symm_tensor *t = NULL, *v = NULL;
    for (int dtype = 0; dtype < SYMM_DTYPE_COUNT; dtype++) {
        CHECK_OK(symm_tensor_full((int64_t[]){5, 700}, 2, symm_scalar_int(0), (symm_dtype)dtype,
                                  NULL, &t));
        CHECK_OK(symm_tensor_slice(t, 1, 1, 700, 3, &v));
        CHECK_OK(symm_tensor_fill(v, symm_scalar_int(1)));
        int wrong = 0;
        for (int64_t i = 0; i < 5; i++) {
            for (int64_t j = 0; j < 700; j++) wrong += at(t, i, j) != (j % 3 == 1 ? 1 : 0);
        }
        CHECK_INT(wrong, 0);
        symm_tensor_release(v);
        symm_tensor_release(t);
    }
}

TEST(a_number_that_does_not_fit_leaves_the_tensor_as_it_was) {
    symm_tensor *t = counting(SHAPE(3), SYMM_DTYPE_uint8);
    CHECK_FAILS(symm_tensor_fill(t, symm_scalar_int(256)), SYMM_EINVALID,
                "256 is not a number of uint8");
    CHECK_DOUBLE(at(t, 2, 0), 2);
    symm_tensor_release(t);
}

/* Every pair of dtypes, contiguous and strided, against the C conversion of small numbers. */
TEST(every_dtype_to_every_dtype) {
    for (int from = 0; from < SYMM_DTYPE_COUNT; from++) {
        symm_tensor *source = counting(SHAPE(20, 60), SYMM_DTYPE_int64), *typed = NULL,
                    *turned = NULL;
        symm_tensor *few = NULL;
        CHECK_OK(symm_tensor_narrow(source, 0, 0, 2, &few)); /* 0 .. 119: fits all of them */
        CHECK_OK(symm_tensor_to(few, (symm_dtype)from, &typed));
        CHECK_OK(symm_tensor_transpose(typed, 0, 1, &turned));
        for (int to = 0; to < SYMM_DTYPE_COUNT; to++) {
            symm_tensor *direct = NULL, *strided = NULL;
            CHECK_OK(symm_tensor_empty((int64_t[]){2, 60}, 2, (symm_dtype)to, NULL, &direct));
            CHECK_OK(symm_tensor_copy(direct, typed));
            CHECK_OK(symm_tensor_empty((int64_t[]){60, 2}, 2, (symm_dtype)to, NULL, &strided));
            CHECK_OK(symm_tensor_copy(strided, turned));
            int wrong = 0, as_bool = from == SYMM_DTYPE_bool || to == SYMM_DTYPE_bool;
            for (int64_t i = 0; i < 120; i++) {
                double want = as_bool ? i != 0 : (double)i;
                wrong += at(direct, i / 60, i % 60) != want;
                wrong += at(strided, i % 60, i / 60) != want;
            }
            if (!CHECK_INT(wrong, 0))
                CHECK_STR(symm_dtype_name((symm_dtype)from), symm_dtype_name((symm_dtype)to));
            symm_tensor_release(direct);
            symm_tensor_release(strided);
        }
        symm_tensor_release(turned);
        symm_tensor_release(typed);
        symm_tensor_release(few);
        symm_tensor_release(source);
    }
}

TEST(conversions_that_do_not_fit) {
    const double values[] = {(double)NAN, 1e30, -1e30, -1.5, 300.75};
    symm_tensor *t = NULL, *i8 = NULL, *u16 = NULL, *truth = NULL, *i64 = NULL, *u8 = NULL;
    CHECK_OK(symm_tensor_empty((int64_t[]){5}, 1, SYMM_DTYPE_float64, NULL, &t));
    CHECK_OK(symm_tensor_set_bytes(t, values, sizeof values));
    CHECK_OK(symm_tensor_to(t, SYMM_DTYPE_int8, &i8));
    CHECK_OK(symm_tensor_to(t, SYMM_DTYPE_uint32, &u16));
    CHECK_OK(symm_tensor_to(t, SYMM_DTYPE_bool, &truth));
    CHECK_OK(symm_tensor_to(t, SYMM_DTYPE_int64, &i64));
    CHECK_OK(symm_tensor_to(i64, SYMM_DTYPE_uint8, &u8));
    const double as_i8[] = {0, 127, -128, -1, 127}, as_u32[] = {0, 4294967295.0, 0, 0, 300};
    const double as_u8[] = {0, 255, 0, 255, 300 - 256}; /* the low bits of int64 */
    for (int i = 0; i < 5; i++) {
        CHECK_DOUBLE(at(i8, i, 0), as_i8[i]);
        CHECK_DOUBLE(at(u16, i, 0), as_u32[i]);
        CHECK_DOUBLE(at(truth, i, 0), 1);
        CHECK_DOUBLE(at(u8, i, 0), as_u8[i]);
    }
    symm_tensor_release(u8);
    symm_tensor_release(i64);
    symm_tensor_release(truth);
    symm_tensor_release(u16);
    symm_tensor_release(i8);
    symm_tensor_release(t);
}

TEST(a_copy_broadcasts_its_source) {
    symm_tensor *t = NULL, *row = counting(SHAPE(3), SYMM_DTYPE_int16),
                *long_row = counting(SHAPE(4), SYMM_DTYPE_int16);
    CHECK_OK(symm_tensor_empty((int64_t[]){2, 3}, 2, SYMM_DTYPE_float32, NULL, &t));
    CHECK_OK(symm_tensor_copy(t, row));
    CHECK_DOUBLE(at(t, 1, 2), 2);
    CHECK_FAILS(symm_tensor_copy(t, long_row), SYMM_EINVALID,
                "the shape {4} cannot be broadcast to {2, 3}");
    CHECK_FAILS(symm_tensor_copy(row, t), SYMM_EINVALID,
                "the shape {2, 3} cannot be broadcast to {3}");
    symm_tensor_release(long_row);
    symm_tensor_release(row);
    symm_tensor_release(t);
}

/* ---- overlap: as if the source had been read first ---- */

TEST(a_copy_within_one_tensor) {
    symm_tensor *t = counting(SHAPE(1000), SYMM_DTYPE_int32), *low = NULL, *high = NULL;
    CHECK_OK(symm_tensor_narrow(t, 0, 0, 990, &low));
    CHECK_OK(symm_tensor_narrow(t, 0, 10, 990, &high));
    CHECK_OK(symm_tensor_copy(high, low));
    CHECK_DOUBLE(at(t, 5, 0), 5);
    CHECK_DOUBLE(at(t, 10, 0), 0);
    CHECK_DOUBLE(at(t, 999, 0), 989);
    CHECK_OK(symm_tensor_copy(low, high));
    CHECK_DOUBLE(at(t, 0, 0), 0);
    CHECK_DOUBLE(at(t, 989, 0), 989);
    CHECK_DOUBLE(at(t, 995, 0), 985);
    symm_tensor_release(high);
    symm_tensor_release(low);
    symm_tensor_release(t);
}

TEST(a_tensor_turned_onto_itself) {
    symm_tensor *t = counting(SHAPE(37, 37), SYMM_DTYPE_float64), *turned = NULL;
    CHECK_OK(symm_tensor_transpose(t, 0, 1, &turned));
    CHECK_OK(symm_tensor_copy(t, turned));
    int wrong = 0;
    for (int64_t i = 0; i < 37; i++) {
        for (int64_t j = 0; j < 37; j++) wrong += at(t, i, j) != (double)(j * 37 + i);
    }
    CHECK_INT(wrong, 0);
    CHECK_OK(symm_tensor_copy(t, t));
    CHECK_DOUBLE(at(t, 0, 1), 37);
    symm_tensor_release(turned);
    symm_tensor_release(t);
}

TEST(the_same_bytes_as_two_dtypes) {
    int32_t memory[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    symm_tensor *as_int = NULL, *as_long = NULL;
    CHECK_OK(symm_tensor_from_memory(memory, (int64_t[]){4}, NULL, 1, SYMM_DTYPE_int32, NULL, NULL,
                                     NULL, &as_int));
    CHECK_OK(symm_tensor_from_memory(memory, (int64_t[]){4}, NULL, 1, SYMM_DTYPE_int64, NULL, NULL,
                                     NULL, &as_long));
    CHECK_OK(symm_tensor_copy(as_long, as_int));
    for (int i = 0; i < 4; i++) CHECK_DOUBLE(at(as_long, i, 0), i + 1);
    symm_tensor_release(as_long);
    symm_tensor_release(as_int);
}

/* Large enough for tiles, and not a multiple of one. */
TEST(transposed_copies_of_every_element_size) {
    const symm_dtype dtypes[] = {SYMM_DTYPE_uint8, SYMM_DTYPE_int16, SYMM_DTYPE_float32,
                                 SYMM_DTYPE_int64};
    for (int d = 0; d < 4; d++) {
        symm_tensor *numbers = counting(SHAPE(3, 71, 45), SYMM_DTYPE_int64), *t = NULL,
                    *turned = NULL, *copy = NULL;
        CHECK_OK(symm_tensor_to(numbers, dtypes[d], &t));
        CHECK_OK(symm_tensor_transpose(t, 1, 2, &turned));
        CHECK_OK(symm_tensor_clone(turned, &copy));
        int wrong = 0;
        for (int64_t i = 0; i < 3; i++) {
            for (int64_t j = 0; j < 45; j++) {
                for (int64_t k = 0; k < 71; k++) {
                    symm_scalar got, want;
                    CHECK_OK(symm_tensor_get(copy, (int64_t[]){i, j, k}, 3, &got));
                    CHECK_OK(symm_tensor_get(t, (int64_t[]){i, k, j}, 3, &want));
                    wrong += got.value.u != want.value.u;
                }
            }
        }
        CHECK_INT(wrong, 0);
        CHECK_INT(symm_tensor_is_contiguous(copy), 1);
        symm_tensor_release(copy);
        symm_tensor_release(turned);
        symm_tensor_release(t);
        symm_tensor_release(numbers);
    }
}

/* ---- bytes and elements ---- */

TEST(bytes_in_row_major_order) {
    symm_tensor *t = counting(SHAPE(2, 3), SYMM_DTYPE_int16), *turned = NULL;
    char buffer[13]; /* from an odd address */
    const int16_t want[] = {0, 3, 1, 4, 2, 5};
    CHECK_OK(symm_tensor_transpose(t, 0, 1, &turned));
    CHECK_OK(symm_tensor_get_bytes(turned, buffer + 1, 12));
    CHECK_INT(memcmp(buffer + 1, want, 12), 0);
    CHECK_OK(symm_tensor_fill(t, symm_scalar_int(9)));
    CHECK_OK(symm_tensor_set_bytes(turned, buffer + 1, 12));
    CHECK_DOUBLE(at(t, 1, 2), 5);
    CHECK_FAILS(symm_tensor_get_bytes(t, buffer, 11), SYMM_EINVALID, "has 12 bytes, not 11");
    CHECK_FAILS(symm_tensor_set_bytes(t, buffer, 13), SYMM_EINVALID, "has 12 bytes, not 13");
    CHECK_FAILS(symm_tensor_set_bytes(t, NULL, 12), SYMM_EINVALID, "NULL");
    symm_tensor_release(turned);
    symm_tensor_release(t);
}

TEST(single_elements) {
    symm_tensor *t = counting(SHAPE(2, 3), SYMM_DTYPE_float16), *scalar = NULL;
    symm_scalar value = symm_scalar_int(-77);
    CHECK_OK(symm_tensor_set(t, (int64_t[]){-1, 1}, 2, symm_scalar_float(2.5)));
    CHECK_DOUBLE(at(t, 1, -2), 2.5);
    CHECK_FAILS(symm_tensor_get(t, (int64_t[]){2, 0}, 2, &value), SYMM_EINVALID,
                "no index 2 in dimension 0 of size 2");
    CHECK_FAILS(symm_tensor_get(t, (int64_t[]){0, -4}, 2, &value), SYMM_EINVALID, "no index -4");
    CHECK_FAILS(symm_tensor_get(t, (int64_t[]){0}, 1, &value), SYMM_EINVALID,
                "1 indices were given for 2");
    CHECK_FAILS(symm_tensor_item(t, &value), SYMM_EINVALID, "the tensor has 6 elements, not one");
    CHECK_INT(value.value.i, -77);
    CHECK_OK(symm_tensor_full(NULL, 0, symm_scalar_float(7), SYMM_DTYPE_int8, NULL, &scalar));
    CHECK_OK(symm_tensor_item(scalar, &value));
    CHECK_INT(value.value.i, 7);
    CHECK_OK(symm_tensor_get(scalar, NULL, 0, &value));
    symm_tensor_release(scalar);
    symm_tensor_release(t);
}

/* ---- arange ---- */

static int64_t range(symm_scalar start, symm_scalar end, symm_scalar step, symm_dtype dtype,
                     double *last) {
    symm_tensor *t = NULL;
    if (!CHECK_OK(symm_tensor_arange(start, end, step, dtype, NULL, &t))) return -77;
    int64_t count = symm_tensor_numel(t);
    *last = count ? at(t, -1, 0) : -77;
    symm_tensor_release(t);
    return count;
}
#define I symm_scalar_int
#define F symm_scalar_float

TEST(ranges) {
    double last = 0;
    CHECK_INT(range(I(0), I(10), I(3), SYMM_DTYPE_int8, &last), 4);
    CHECK_DOUBLE(last, 9);
    CHECK_INT(range(I(0), I(9), I(3), SYMM_DTYPE_int8, &last), 3);
    CHECK_INT(range(I(5), I(0), I(-2), SYMM_DTYPE_int64, &last), 3);
    CHECK_DOUBLE(last, 1);
    CHECK_INT(range(I(0), I(-1), I(1), SYMM_DTYPE_int64, &last), 0);
    CHECK_INT(range(I(250), I(256), I(1), SYMM_DTYPE_uint8, &last), 6);
    CHECK_INT(range(I(INT64_MAX - 2), I(INT64_MAX), I(1), SYMM_DTYPE_int64, &last), 2);
    CHECK_INT(range(I(INT64_MIN), I(INT64_MAX), I(INT64_MAX), SYMM_DTYPE_int64, &last), 3);
    CHECK_INT(range(symm_scalar_uint(UINT64_MAX - 1), symm_scalar_uint(UINT64_MAX), I(1),
                    SYMM_DTYPE_uint64, &last),
              1);
    CHECK_INT(range(F(0), F(1), F(0.25), SYMM_DTYPE_float32, &last), 4);
    CHECK_DOUBLE(last, 0.75);
    CHECK_INT(range(F(0), F(1.01), F(0.25), SYMM_DTYPE_bfloat16, &last), 5);
    CHECK_INT(range(I(0), I(3), F(0.5), SYMM_DTYPE_float64, &last), 6);
    CHECK_DOUBLE(last, 2.5);
}

TEST(ranges_that_cannot_be) {
    symm_tensor *t = NULL;
    CHECK_FAILS(symm_tensor_arange(I(0), I(4), I(0), SYMM_DTYPE_int8, NULL, &t), SYMM_EINVALID,
                "must not be 0");
    CHECK_FAILS(symm_tensor_arange(F(0), F(4), F(0), SYMM_DTYPE_float32, NULL, &t), SYMM_EINVALID,
                "steps of 0");
    CHECK_FAILS(symm_tensor_arange(F(0), F((double)NAN), F(1), SYMM_DTYPE_float32, NULL, &t),
                SYMM_EINVALID, "nan");
    CHECK_FAILS(symm_tensor_arange(F(0), F((double)INFINITY), F(1), SYMM_DTYPE_float32, NULL, &t),
                SYMM_EINVALID, "too many");
    CHECK_FAILS(symm_tensor_arange(I(0), I(129), I(1), SYMM_DTYPE_int8, NULL, &t), SYMM_EINVALID,
                "128 is not a number of int8");
    CHECK_FAILS(symm_tensor_arange(I(-1), I(3), I(1), SYMM_DTYPE_uint8, NULL, &t), SYMM_EINVALID,
                "-1 is not a number of uint8");
    CHECK_FAILS(symm_tensor_arange(F(0), F(2.5), F(1), SYMM_DTYPE_int8, NULL, &t), SYMM_EINVALID,
                "2.5 is not");
    CHECK_FAILS(symm_tensor_arange(I(INT64_MIN), I(INT64_MAX), I(1), SYMM_DTYPE_int64, NULL, &t),
                SYMM_EINVALID, "too many");
    CHECK_FAILS(symm_tensor_arange(I(0), I(2), I(1), SYMM_DTYPE_bool, NULL, &t), SYMM_EUNSUPPORTED,
                "bool");
    CHECK_NULL(t);
}
