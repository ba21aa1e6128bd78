/* SPDX-License-Identifier: MIT
 *
 * Matrix products of every dtype and layout, against three loops and against NumPy. Whole numbers,
 * exact in any order.
 */
#include <math.h>
#include <stdlib.h>
#include <symm/error.h>
#include <symm/npy.h>
#include <symm/tensor.h>

#include "tests/support/check.h"

static double number(symm_scalar value) {
    switch (value.kind) {
    case SYMM_KIND_FLOAT: return value.value.f;
    case SYMM_KIND_INT: return (double)value.value.i;
    default: return (double)value.value.u;
    }
}

static double at(const symm_tensor *t, int64_t i, int64_t j) {
    symm_scalar value = symm_scalar_int(-77);
    CHECK_OK(symm_tensor_get(t, (int64_t[]){i, j}, symm_tensor_ndim(t), &value));
    return number(value);
}

/* Numbers from 0 to 3 in one of the layouts: rows, columns, every other element, one repeated row.
 */
enum layout { ROWS, COLUMNS, GAPS, REPEATED, LAYOUTS };

static symm_tensor *matrix(symm_dtype dtype, int64_t rows, int64_t columns, enum layout layout) {
    symm_tensor *t = NULL, *typed = NULL, *view = NULL;
    int64_t shape[] = {rows, columns};
    if (layout == COLUMNS) shape[0] = columns, shape[1] = rows;
    if (layout == GAPS) shape[0] = 2 * rows, shape[1] = 3 * columns;
    if (layout == REPEATED) shape[0] = 1;
    CHECK_OK(symm_tensor_empty(shape, 2, SYMM_DTYPE_int64, NULL, &t));
    int64_t *data = symm_tensor_data(t);
    for (int64_t i = 0; i < symm_tensor_numel(t); i++) data[i] = rand() % 4;
    CHECK_OK(symm_tensor_to(t, dtype, &typed));
    symm_tensor_release(t);
    if (layout == ROWS) return typed;
    if (layout == COLUMNS) CHECK_OK(symm_tensor_transpose(typed, 0, 1, &view));
    if (layout == REPEATED)
        CHECK_OK(symm_tensor_expand(typed, (int64_t[]){rows, columns}, 2, &view));
    if (layout == GAPS) {
        CHECK_OK(symm_tensor_slice(typed, 0, 1, 2 * rows, 2, &t));
        CHECK_OK(symm_tensor_slice(t, 1, 2, 3 * columns, 3, &view));
        symm_tensor_release(t);
    }
    symm_tensor_release(typed);
    return view;
}

static void check_product(const symm_tensor *a, const symm_tensor *b, const symm_tensor *c) {
    int wrong = 0;
    int64_t rows = symm_tensor_shape(a)[0], inner = symm_tensor_shape(a)[1],
            columns = symm_tensor_shape(b)[1];
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < columns; j++) {
            double sum = 0;
            for (int64_t k = 0; k < inner; k++) sum += at(a, i, k) * at(b, k, j);
            wrong += at(c, i, j) != sum;
        }
    }
    if (!CHECK_INT(wrong, 0)) CHECK_STR(symm_dtype_name(symm_tensor_dtype(a)), "");
}

TEST(every_dtype_and_layout) {
    for (int dtype = 0; dtype < SYMM_DTYPE_bool; dtype++) {
        for (int pair = 0; pair < LAYOUTS * LAYOUTS; pair++) {
            symm_tensor *a = matrix((symm_dtype)dtype, 5, 7, (enum layout)(pair / LAYOUTS));
            symm_tensor *b = matrix((symm_dtype)dtype, 7, 4, (enum layout)(pair % LAYOUTS)),
                        *c = NULL;
            if (CHECK_OK(symm_tensor_matmul(a, b, &c))) {
                CHECK_INT(symm_tensor_dtype(c), dtype);
                check_product(a, b, c);
            }
            symm_tensor_release(c);
            symm_tensor_release(b);
            symm_tensor_release(a);
        }
    }
}

TEST(every_layout_of_the_result) {
    const symm_dtype dtypes[] = {SYMM_DTYPE_float64, SYMM_DTYPE_float32, SYMM_DTYPE_bfloat16,
                                 SYMM_DTYPE_int16};
    for (int d = 0; d < 4; d++) {
        for (int layout = ROWS; layout < REPEATED; layout++) {
            symm_tensor *a = matrix(dtypes[d], 6, 3, ROWS), *b = matrix(dtypes[d], 3, 5, COLUMNS);
            symm_tensor *c = matrix(dtypes[d], 6, 5, (enum layout)layout);
            CHECK_OK(symm_tensor_matmul_into(a, b, c));
            check_product(a, b, c);
            symm_tensor_release(c);
            symm_tensor_release(b);
            symm_tensor_release(a);
        }
    }
}

TEST(small_shapes_at_the_edges) {
    const int64_t sizes[] = {1, 2};
    for (int i = 0; i < 8; i++) {
        for (int layout = 0; layout < LAYOUTS; layout++) {
            symm_tensor *a =
                matrix(SYMM_DTYPE_float32, sizes[i & 1], sizes[i >> 1 & 1], (enum layout)layout);
            symm_tensor *b = matrix(SYMM_DTYPE_float32, sizes[i >> 1 & 1], sizes[i >> 2],
                                    (enum layout)layout),
                        *c = NULL;
            CHECK_OK(symm_tensor_matmul(a, b, &c));
            check_product(a, b, c);
            symm_tensor_release(c);
            symm_tensor_release(b);
            symm_tensor_release(a);
        }
    }
}

TEST(vectors) {
    symm_tensor *m = matrix(SYMM_DTYPE_float64, 3, 4, COLUMNS), *v3 = NULL, *v4 = NULL, *c = NULL;
    symm_scalar value;
    CHECK_OK(symm_tensor_select(m, 1, 2, &v3));
    CHECK_OK(symm_tensor_select(m, 0, 1, &v4));
    CHECK_OK(symm_tensor_matmul(v4, v4, &c)); /* inner product */
    CHECK_INT(symm_tensor_ndim(c), 0);
    CHECK_OK(symm_tensor_item(c, &value));
    double want = 0;
    for (int64_t i = 0; i < 4; i++) want += at(v4, i, 0) * at(v4, i, 0);
    CHECK_DOUBLE(value.value.f, want);
    symm_tensor_release(c);
    CHECK_OK(symm_tensor_matmul(m, v4, &c));
    CHECK_INT(symm_tensor_ndim(c), 1);
    for (int64_t i = 0; i < 3; i++) {
        want = 0;
        for (int64_t k = 0; k < 4; k++) want += at(m, i, k) * at(v4, k, 0);
        CHECK_DOUBLE(at(c, i, 0), want);
    }
    symm_tensor_release(c);
    CHECK_OK(symm_tensor_matmul(v3, m, &c));
    CHECK_INT(symm_tensor_shape(c)[0], 4);
    for (int64_t j = 0; j < 4; j++) {
        want = 0;
        for (int64_t k = 0; k < 3; k++) want += at(v3, k, 0) * at(m, k, j);
        CHECK_DOUBLE(at(c, j, 0), want);
    }
    symm_tensor_release(c);
    CHECK_FAILS(symm_tensor_matmul(v3, v4, &c), SYMM_EINVALID, "{3} and {4} do not fit");
    symm_tensor_release(v4);
    symm_tensor_release(v3);
    symm_tensor_release(m);
}

TEST(sums_of_nothing) {
    for (int dtype = 0; dtype < SYMM_DTYPE_bool; dtype++) {
        symm_tensor *a = matrix((symm_dtype)dtype, 2, 0, ROWS),
                    *b = matrix((symm_dtype)dtype, 0, 3, ROWS);
        symm_tensor *c = NULL, *square = matrix((symm_dtype)dtype, 3, 3, ROWS);
        if (CHECK_OK(symm_tensor_matmul(a, b, &c))) {
            CHECK_INT(symm_tensor_numel(c), 6);
            for (int i = 0; i < 6; i++) CHECK_DOUBLE(at(c, i / 3, i % 3), 0);
            symm_tensor_release(c);
        }
        if (CHECK_OK(symm_tensor_matmul(b, square, &c))) {
            CHECK_INT(symm_tensor_numel(c), 0);
            symm_tensor_release(c);
        }
        symm_tensor_release(square);
        symm_tensor_release(b);
        symm_tensor_release(a);
    }
}

TEST(leading_dimensions_against_numpy) {
    symm_tensor *left = NULL, *right = NULL, *want = NULL, *c = NULL, *turned = NULL, *deep = NULL,
                *one = NULL;
    int equal = 0;
    REQUIRE_OK(symm_npy_load("tests/data/npy/matmul_left.npy", &left));
    REQUIRE_OK(symm_npy_load("tests/data/npy/matmul_right.npy", &right));
    REQUIRE_OK(symm_npy_load("tests/data/npy/matmul_product.npy", &want));
    CHECK_OK(symm_tensor_matmul(left, right, &c));
    CHECK_OK(symm_tensor_equal(c, want, &equal));
    CHECK_INT(equal, 1);
    symm_tensor_release(c);
    CHECK_OK(symm_tensor_expand(right, (int64_t[]){2, 1, 23, 11}, 4, &deep));
    CHECK_OK(symm_tensor_matmul(left, deep, &c)); /* {3, 17, 23} x {2, 1, 23, 11} */
    CHECK_INT(symm_tensor_ndim(c), 4);
    CHECK_INT(symm_tensor_shape(c)[0], 2);
    CHECK_INT(symm_tensor_shape(c)[1], 3);
    for (int i = 0; i < 2; i++) {
        CHECK_OK(symm_tensor_select(c, 0, i, &one));
        CHECK_OK(symm_tensor_equal(one, want, &equal));
        CHECK_INT(equal, 1);
        symm_tensor_release(one);
    }
    symm_tensor_release(c);
    CHECK_OK(symm_tensor_transpose(left, 0, 1, &turned)); /* batches that are not packed */
    CHECK_OK(symm_tensor_matmul(turned, right, &c));
    CHECK_OK(symm_tensor_transpose(c, 0, 1, &one));
    CHECK_OK(symm_tensor_equal(one, want, &equal));
    CHECK_INT(equal, 1);
    CHECK_FAILS(symm_tensor_matmul(left, turned, &want), SYMM_EINVALID,
                "columns on the left, rows on the right");
    symm_tensor *all[] = {one, c, turned, deep, want, right, left};
    for (int i = 0; i < 7; i++) symm_tensor_release(all[i]);
}

TEST(short_floats_are_summed_in_float32) {
    symm_tensor *a = NULL, *b = NULL, *c = NULL;
    CHECK_OK(symm_tensor_full((int64_t[]){1, 5000}, 2, symm_scalar_int(1), SYMM_DTYPE_float16, NULL,
                              &a));
    CHECK_OK(symm_tensor_full((int64_t[]){5000, 1}, 2, symm_scalar_int(1), SYMM_DTYPE_float16, NULL,
                              &b));
    CHECK_OK(symm_tensor_matmul(a, b, &c));
    CHECK_DOUBLE(at(c, 0, 0), 5000);
    symm_tensor_release(c);
    symm_tensor_release(b);
    symm_tensor_release(a);
}

TEST(integers_wrap_around) {
    int8_t x[] = {100, 100}, y[] = {3, -1};
    symm_tensor *a = NULL, *b = NULL, *c = NULL;
    symm_scalar value;
    CHECK_OK(
        symm_tensor_from_memory(x, (int64_t[]){2}, NULL, 1, SYMM_DTYPE_int8, NULL, NULL, NULL, &a));
    CHECK_OK(
        symm_tensor_from_memory(y, (int64_t[]){2}, NULL, 1, SYMM_DTYPE_int8, NULL, NULL, NULL, &b));
    CHECK_OK(symm_tensor_matmul(a, b, &c));
    CHECK_OK(symm_tensor_item(c, &value));
    CHECK_INT(value.value.i, 200 - 256);
    symm_tensor_release(c);
    symm_tensor_release(b);
    symm_tensor_release(a);
}

TEST(a_product_over_its_own_operand) {
    symm_tensor *a = matrix(SYMM_DTYPE_float32, 4, 4, ROWS), *copy = NULL;
    CHECK_OK(symm_tensor_clone(a, &copy));
    CHECK_OK(symm_tensor_matmul_into(a, a, a));
    check_product(copy, copy, a);
    symm_tensor_release(copy);
    symm_tensor_release(a);
}

TEST(products_that_cannot_be) {
    symm_tensor *f = matrix(SYMM_DTYPE_float32, 2, 3, ROWS),
                *d = matrix(SYMM_DTYPE_float64, 3, 2, ROWS),
                *b = matrix(SYMM_DTYPE_bool, 2, 2, ROWS);
    symm_tensor *scalar = NULL, *c = NULL, *square = matrix(SYMM_DTYPE_float32, 3, 3, ROWS),
                *deep = NULL, *deeper = NULL;
    CHECK_OK(symm_tensor_empty(NULL, 0, SYMM_DTYPE_float32, NULL, &scalar));
    CHECK_FAILS(symm_tensor_matmul(f, d, &c), SYMM_EINVALID, "float32 and float64");
    CHECK_FAILS(symm_tensor_matmul(b, b, &c), SYMM_EUNSUPPORTED, "bool");
    CHECK_FAILS(symm_tensor_matmul(f, scalar, &c), SYMM_EINVALID, "at least one dimension");
    CHECK_FAILS(symm_tensor_matmul(f, f, &c), SYMM_EINVALID, "{2, 3} and {2, 3} do not fit");
    CHECK_FAILS(symm_tensor_matmul_into(f, square, square), SYMM_EINVALID,
                "the result has the shape {2, 3}; the output has {3, 3}");
    CHECK_OK(symm_tensor_expand(square, (int64_t[]){2, 3, 3}, 3, &deep));
    CHECK_OK(symm_tensor_expand(square, (int64_t[]){3, 3, 3}, 3, &deeper));
    CHECK_FAILS(symm_tensor_matmul(deep, deeper, &c), SYMM_EINVALID, "cannot be broadcast");
    symm_tensor *all[] = {deeper, deep, square, scalar, b, d, f};
    for (int i = 0; i < 7; i++) symm_tensor_release(all[i]);
}
