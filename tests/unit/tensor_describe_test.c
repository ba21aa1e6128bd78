/* SPDX-License-Identifier: MIT
 *
 * Tensors as text.
 */
#include <math.h>
#include <string.h>
#include <symm/error.h>
#include <symm/tensor.h>

#include "tests/support/check.h"

static char text[8192];

static const char *describe(const symm_tensor *t) {
    int64_t length = symm_tensor_describe(t, text, sizeof text);
    CHECK_INT(length, (int64_t)strlen(text));
    return text;
}

static symm_tensor *counting(int ndim, const int64_t *shape, symm_dtype dtype) {
    symm_tensor *range = NULL, *t = NULL;
    int64_t numel = 1;
    for (int i = 0; i < ndim; i++) numel *= shape[i];
    CHECK_OK(symm_tensor_arange(symm_scalar_int(0), symm_scalar_int(numel), symm_scalar_int(1),
                                dtype, NULL, &range));
    CHECK_OK(symm_tensor_view(range, shape, ndim, &t));
    symm_tensor_release(range);
    return t;
}

TEST(small_tensors_are_shown_whole) {
    symm_tensor *t = counting(2, (int64_t[]){2, 3}, SYMM_DTYPE_int32), *turned = NULL;
    CHECK_STR(describe(t), "tensor([[0, 1, 2],\n        [3, 4, 5]], dtype=int32, shape={2, 3})");
    CHECK_OK(symm_tensor_transpose(t, 0, 1, &turned));
    CHECK_STR(describe(turned),
              "tensor([[0, 3],\n        [1, 4],\n        [2, 5]], dtype=int32, shape={3, 2})");
    symm_tensor_release(turned);
    symm_tensor_release(t);
    t = counting(3, (int64_t[]){2, 2, 1}, SYMM_DTYPE_int8);
    CHECK_STR(describe(t), "tensor([[[0],\n         [1]],\n\n        [[2],\n         [3]]], "
                           "dtype=int8, shape={2, 2, 1})");
    symm_tensor_release(t);
}

TEST(tensors_without_dimensions_and_without_elements) {
    symm_tensor *t = NULL;
    CHECK_OK(symm_tensor_full(NULL, 0, symm_scalar_bool(1), SYMM_DTYPE_bool, NULL, &t));
    CHECK_STR(describe(t), "tensor(true, dtype=bool, shape={})");
    symm_tensor_release(t);
    CHECK_OK(symm_tensor_empty((int64_t[]){2, 0}, 2, SYMM_DTYPE_float32, NULL, &t));
    CHECK_STR(describe(t), "tensor([], dtype=float32, shape={2, 0})");
    symm_tensor_release(t);
}

TEST(numbers_of_every_kind) {
    double values[] = {0.5, -1e30, 1.0 / 3, (double)NAN, (double)-NAN, -(double)INFINITY, 3};
    uint64_t large = UINT64_MAX;
    symm_tensor *t = NULL, *half = NULL;
    CHECK_OK(symm_tensor_from_memory(values, (int64_t[]){7}, NULL, 1, SYMM_DTYPE_float64, NULL,
                                     NULL, NULL, &t));
    CHECK_STR(describe(t),
              "tensor([0.5, -1e+30, 0.333333, nan, nan, -inf, 3], dtype=float64, shape={7})");
    CHECK_OK(symm_tensor_to(t, SYMM_DTYPE_float16, &half));
    CHECK_CONTAINS(describe(half), "0.5, -inf, 0.333252, nan");
    symm_tensor_release(half);
    symm_tensor_release(t);
    CHECK_OK(
        symm_tensor_from_memory(&large, NULL, NULL, 0, SYMM_DTYPE_uint64, NULL, NULL, NULL, &t));
    CHECK_STR(describe(t), "tensor(18446744073709551615, dtype=uint64, shape={})");
    symm_tensor_release(t);
}

TEST(long_dimensions_are_cut_short) {
    symm_tensor *t = counting(1, (int64_t[]){100}, SYMM_DTYPE_int64);
    CHECK_CONTAINS(describe(t), "98, 99], dtype");
    CHECK_CONTAINS(describe(t), "[0, 1, 2, 3, 4,");
    symm_tensor_release(t);
    t = counting(1, (int64_t[]){101}, SYMM_DTYPE_int64);
    CHECK_STR(describe(t), "tensor([0, 1, 2, ..., 98, 99, 100], dtype=int64, shape={101})");
    symm_tensor_release(t);
    t = counting(2, (int64_t[]){100, 3}, SYMM_DTYPE_int64);
    CHECK_STR(describe(t),
              "tensor([[0, 1, 2],\n        [3, 4, 5],\n        [6, 7, 8],\n        ...,\n        "
              "[291, 292, 293],\n"
              "        [294, 295, 296],\n        [297, 298, 299]], dtype=int64, shape={100, 3})");
    symm_tensor_release(t);
    t = counting(2, (int64_t[]){2, 51}, SYMM_DTYPE_int64); /* 6 or fewer are never cut */
    CHECK_STR(describe(t), "tensor([[0, 1, 2, ..., 48, 49, 50],\n        [51, 52, 53, ..., 99, "
                           "100, 101]], dtype=int64, shape={2, 51})");
    symm_tensor_release(t);
}

TEST(eight_long_dimensions_are_still_short) {
    symm_tensor *t = NULL;
    CHECK_OK(symm_tensor_full((int64_t[]){5, 5, 5, 5, 5, 5, 5, 5}, 8, symm_scalar_int(0),
                              SYMM_DTYPE_int8, NULL, &t));
    CHECK(symm_tensor_describe(t, NULL, 0) < 12000);
    symm_tensor_release(t);
}

TEST(a_text_is_cut_to_its_room) {
    symm_tensor *t = counting(2, (int64_t[]){2, 3}, SYMM_DTYPE_int32);
    char whole[128], part[128];
    int64_t length = symm_tensor_describe(t, whole, sizeof whole);
    CHECK_INT(symm_tensor_describe(t, NULL, 0), length);
    for (size_t size = 1; size <= (size_t)length + 1; size++) {
        memset(part, '#', sizeof part);
        CHECK_INT(symm_tensor_describe(t, part, size), length);
        CHECK_UINT(strlen(part), size - 1);
        CHECK_INT(memcmp(part, whole, size - 1), 0);
        CHECK_INT(part[size], '#');
    }
    CHECK_FAILS((int)symm_tensor_describe(t, NULL, 5), SYMM_EINVALID, "NULL");
    symm_tensor_release(t);
}
