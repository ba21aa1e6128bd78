/* SPDX-License-Identifier: MIT
 *
 * Views: what they show, held against index arithmetic, and where they end.
 */
#include <symm/error.h>
#include <symm/tensor.h>

#include "tensor/loop.h"
#include "tests/support/check.h"

/* 0, 1, 2, ... in row-major order. */
static symm_tensor *counting(int ndim, const int64_t *shape) {
    symm_tensor *t = NULL;
    CHECK_OK(symm_tensor_empty(shape, ndim, SYMM_DTYPE_int32, NULL, &t));
    int32_t *data = symm_tensor_data(t);
    for (int64_t i = 0; i < symm_tensor_numel(t); i++) data[i] = (int32_t)i;
    return t;
}

static int64_t at(const symm_tensor *t, int64_t i, int64_t j, int64_t k) {
    const int64_t index[] = {i, j, k};
    symm_scalar value = symm_scalar_int(-77);
    CHECK_OK(symm_tensor_get(t, index, symm_tensor_ndim(t), &value));
    return value.value.i;
}

static int has_shape(const symm_tensor *t, int ndim, const int64_t *shape) {
    int same = symm_tensor_ndim(t) == ndim;
    for (int i = 0; same && i < ndim; i++) same = symm_tensor_shape(t)[i] == shape[i];
    return same;
}
#define SHAPE(...) \
    (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[]) { __VA_ARGS__ }

TEST(slices) {
    symm_tensor *t = counting(SHAPE(4, 7)), *v = NULL;
    CHECK_OK(symm_tensor_slice(t, 1, 1, 6, 2, &v));
    CHECK(has_shape(v, SHAPE(4, 3)));
    CHECK_INT(at(v, 2, 2, 0), 2 * 7 + 1 + 2 * 2);
    symm_tensor_release(v);
    CHECK_OK(symm_tensor_slice(t, -1, -3, SYMM_SLICE_END, 1, &v));
    CHECK(has_shape(v, SHAPE(4, 3)));
    CHECK_INT(at(v, 0, 0, 0), 4);
    symm_tensor_release(v);
    CHECK_OK(symm_tensor_slice(t, 0, INT64_MIN, INT64_MAX, INT64_MAX, &v));
    CHECK(has_shape(v, SHAPE(1, 7)));
    symm_tensor_release(v);
    CHECK_OK(symm_tensor_slice(t, 0, 3, 1, 1, &v));
    CHECK(has_shape(v, SHAPE(0, 7)));
    symm_tensor_release(v);
    CHECK_OK(symm_tensor_slice(t, 0, 4, 9, 1, &v));
    CHECK(has_shape(v, SHAPE(0, 7)));
    symm_tensor_release(v);
    CHECK_FAILS(symm_tensor_slice(t, 0, 0, 1, 0, &v), SYMM_EINVALID,
                "step must be at least 1, not 0");
    CHECK_FAILS(symm_tensor_slice(t, 0, 0, 1, -1, &v), SYMM_EINVALID, "not -1");
    CHECK_FAILS(symm_tensor_slice(t, 2, 0, 1, 1, &v), SYMM_EINVALID,
                "no dimension 2; the tensor has 0 to 1");
    CHECK_FAILS(symm_tensor_slice(t, -3, 0, 1, 1, &v), SYMM_EINVALID, "no dimension -3");
    symm_tensor_release(t);
}

TEST(selects_and_narrows_are_held_against_their_dimension) {
    symm_tensor *t = counting(SHAPE(3, 5)), *v = NULL, *w = NULL;
    CHECK_OK(symm_tensor_select(t, 1, -1, &v));
    CHECK(has_shape(v, SHAPE(3)));
    CHECK_INT(at(v, 2, 0, 0), 14);
    CHECK_INT(symm_tensor_storage_offset(v), 4);
    CHECK_OK(symm_tensor_select(v, 0, 1, &w));
    CHECK_INT(symm_tensor_ndim(w), 0);
    CHECK_INT(*(int32_t *)symm_tensor_data(w), 9);
    symm_tensor_release(w);
    symm_tensor_release(v);
    CHECK_FAILS(symm_tensor_select(t, 1, 5, &v), SYMM_EINVALID,
                "no index 5 in dimension 1 of size 5");
    CHECK_FAILS(symm_tensor_select(t, 1, -6, &v), SYMM_EINVALID, "no index -6");
    CHECK_OK(symm_tensor_narrow(t, 1, 2, 3, &v));
    CHECK_INT(at(v, 1, 2, 0), 9);
    symm_tensor_release(v);
    CHECK_OK(symm_tensor_narrow(t, 1, 5, 0, &v));
    symm_tensor_release(v);
    CHECK_OK(symm_tensor_narrow(t, 1, -2, 2, &v));
    CHECK_INT(at(v, 0, 0, 0), 3);
    symm_tensor_release(v);
    CHECK_FAILS(symm_tensor_narrow(t, 1, 3, 3, &v), SYMM_EINVALID,
                "3 elements from 3 do not lie in dimension 1 of size 5");
    CHECK_FAILS(symm_tensor_narrow(t, 1, 6, 0, &v), SYMM_EINVALID, "0 elements from 6");
    CHECK_FAILS(symm_tensor_narrow(t, 1, -6, 1, &v), SYMM_EINVALID, "from -6");
    CHECK_FAILS(symm_tensor_narrow(t, 1, 0, -1, &v), SYMM_EINVALID, "-1 elements");
    CHECK_FAILS(symm_tensor_narrow(t, 1, 1, INT64_MAX, &v), SYMM_EINVALID, "do not lie");
    CHECK_FAILS(symm_tensor_narrow(t, 1, INT64_MIN, 1, &v), SYMM_EINVALID, "do not lie");
    symm_tensor_release(t);
}

TEST(views_of_the_same_elements) {
    symm_tensor *t = counting(SHAPE(4, 6)), *v = NULL, *half = NULL, *w = NULL;
    CHECK_OK(symm_tensor_view(t, (int64_t[]){2, -1, 3}, 3, &v));
    CHECK(has_shape(v, SHAPE(2, 4, 3)));
    CHECK_INT(at(v, 1, 2, 1), 12 + 6 + 1);
    CHECK(symm_tensor_data(v) == symm_tensor_data(t));
    symm_tensor_release(v);
    CHECK_OK(symm_tensor_slice(t, 1, 0, 6, 2, &half)); /* 4 x 3, strides 6 and 2 */
    CHECK_OK(symm_tensor_view(half, (int64_t[]){2, 2, 1, 3}, 4, &v));
    CHECK(symm_tensor_data(v) == symm_tensor_data(t));
    CHECK_INT(symm_tensor_stride(v)[0], 12);
    CHECK_INT(symm_tensor_stride(v)[3], 2);
    symm_tensor_release(v);
    CHECK_OK(
        symm_tensor_view(half, (int64_t[]){12}, 1, &v)); /* 6 = 3 * 2: rows follow each other */
    CHECK_INT(at(v, 4, 0, 0), 8);
    symm_tensor_release(v);
    symm_tensor_release(half);
    CHECK_OK(symm_tensor_narrow(t, 1, 0, 4, &half));
    CHECK_FAILS(symm_tensor_view(half, (int64_t[]){16}, 1, &v), SYMM_EINVALID, "use reshape");
    CHECK_FAILS(symm_tensor_view(half, (int64_t[]){8, 2, 1, 1}, 1, &v), SYMM_EINVALID,
                "cannot take");
    CHECK_OK(symm_tensor_reshape(half, (int64_t[]){-1}, 1, &w));
    CHECK(symm_tensor_data(w) != symm_tensor_data(t));
    CHECK_INT(at(w, 5, 0, 0), 7);
    symm_tensor_release(w);
    symm_tensor_release(half);
    symm_tensor_release(t);
}

TEST(shapes_that_do_not_hold_the_elements) {
    symm_tensor *t = counting(SHAPE(4, 6)), *none = counting(SHAPE(0, 6)), *v = NULL;
    CHECK_FAILS(symm_tensor_view(t, (int64_t[]){5, -1}, 2, &v), SYMM_EINVALID,
                "the elements of {4, 6} cannot take the shape {5, -1}");
    CHECK_FAILS(symm_tensor_view(t, (int64_t[]){-1, -1}, 2, &v), SYMM_EINVALID,
                "only one dimension");
    CHECK_FAILS(symm_tensor_view(t, (int64_t[]){-2, 12}, 2, &v), SYMM_EINVALID, "negative size -2");
    CHECK_FAILS(symm_tensor_view(t, (int64_t[]){INT64_MAX, INT64_MAX}, 2, &v), SYMM_EINVALID,
                "63 bits");
    CHECK_FAILS(symm_tensor_view(t, (int64_t[]){0, -1}, 2, &v), SYMM_EINVALID, "cannot take");
    CHECK_FAILS(symm_tensor_view(none, (int64_t[]){0, -1}, 2, &v), SYMM_EINVALID, "cannot take");
    CHECK_OK(symm_tensor_view(none, (int64_t[]){3, -1}, 2, &v));
    CHECK(has_shape(v, SHAPE(3, 0)));
    symm_tensor_release(v);
    CHECK_OK(symm_tensor_view(none, (int64_t[]){7, 0, 2}, 3, &v));
    symm_tensor_release(v);
    symm_tensor_release(none);
    symm_tensor_release(t);
}

TEST(other_orders_of_dimensions) {
    symm_tensor *t = counting(SHAPE(2, 3, 4)), *v = NULL;
    CHECK_OK(symm_tensor_transpose(t, 0, -1, &v));
    CHECK(has_shape(v, SHAPE(4, 3, 2)));
    CHECK_INT(at(v, 3, 1, 1), 12 + 4 + 3);
    symm_tensor_release(v);
    CHECK_OK(symm_tensor_permute(t, (int[]){2, 0, 1}, 3, &v));
    CHECK(has_shape(v, SHAPE(4, 2, 3)));
    CHECK_INT(at(v, 3, 1, 2), 12 + 8 + 3);
    symm_tensor_release(v);
    CHECK_FAILS(symm_tensor_permute(t, (int[]){0, 1}, 2, &v), SYMM_EINVALID,
                "2 dimensions were given; the tensor has 3");
    CHECK_FAILS(symm_tensor_permute(t, (int[]){0, 1, -2}, 3, &v), SYMM_EINVALID,
                "dimension 1 is named twice");
    CHECK_FAILS(symm_tensor_permute(t, (int[]){0, 1, 3}, 3, &v), SYMM_EINVALID, "no dimension 3");
    CHECK_OK(symm_tensor_movedim(t, (int[]){0}, (int[]){2}, 1, &v));
    CHECK(has_shape(v, SHAPE(3, 4, 2)));
    symm_tensor_release(v);
    CHECK_OK(symm_tensor_movedim(t, (int[]){2, 0}, (int[]){0, 1}, 2, &v));
    CHECK(has_shape(v, SHAPE(4, 2, 3)));
    CHECK_INT(at(v, 3, 1, 2), 12 + 8 + 3);
    symm_tensor_release(v);
    CHECK_OK(symm_tensor_movedim(t, NULL, NULL, 0, &v));
    CHECK(has_shape(v, SHAPE(2, 3, 4)));
    symm_tensor_release(v);
    CHECK_FAILS(symm_tensor_movedim(t, (int[]){0, 0}, (int[]){0, 1}, 2, &v), SYMM_EINVALID,
                "twice");
    CHECK_FAILS(symm_tensor_movedim(t, (int[]){0, 1}, (int[]){0, -3}, 2, &v), SYMM_EINVALID,
                "twice");
    CHECK_FAILS(symm_tensor_movedim(t, (int[]){0}, (int[]){3}, 1, &v), SYMM_EINVALID,
                "no dimension 3");
    symm_tensor_release(t);
}

TEST(expanded_dimensions_repeat_and_cannot_be_written) {
    symm_tensor *t = counting(SHAPE(3, 1)), *v = NULL;
    CHECK_OK(symm_tensor_expand(t, (int64_t[]){2, -1, 4}, 3, &v));
    CHECK(has_shape(v, SHAPE(2, 3, 4)));
    CHECK_INT(at(v, 1, 2, 3), 2);
    CHECK_INT(symm_tensor_stride(v)[0], 0);
    CHECK_INT(symm_tensor_stride(v)[2], 0);
    CHECK_FAILS(symm_tensor_fill(v, symm_scalar_int(1)), SYMM_EINVALID, "share memory");
    CHECK_FAILS(symm_tensor_copy(v, t), SYMM_EINVALID, "share memory");
    symm_tensor_release(v);
    CHECK_FAILS(symm_tensor_expand(t, (int64_t[]){4, 4}, 2, &v), SYMM_EINVALID,
                "the shape {3, 1} cannot be broadcast to {4, 4}");
    CHECK_FAILS(symm_tensor_expand(t, (int64_t[]){3}, 1, &v), SYMM_EINVALID,
                "2 dimensions cannot be expanded to 1");
    CHECK_FAILS(symm_tensor_expand(t, (int64_t[]){-1, 3, 1}, 3, &v), SYMM_EINVALID,
                "negative size -1");
    CHECK_FAILS(symm_tensor_expand(t, (int64_t[]){1, 1, 1, 1, 1, 1, 1, 3, 1}, 9, &v), SYMM_EINVALID,
                "expanded to 9");
    CHECK_FAILS(symm_tensor_expand(t, (int64_t[]){INT64_MAX / 4, 3, 1}, 3, &v), SYMM_EINVALID,
                "63 bits");
    symm_tensor_release(t);
}

TEST(dimensions_of_size_one_come_and_go) {
    symm_tensor *t = counting(SHAPE(2, 1, 3)), *v = NULL, *scalar = NULL;
    CHECK_OK(symm_tensor_unsqueeze(t, -1, &v));
    CHECK(has_shape(v, SHAPE(2, 1, 3, 1)));
    symm_tensor_release(v);
    CHECK_OK(symm_tensor_unsqueeze(t, 0, &v));
    CHECK(has_shape(v, SHAPE(1, 2, 1, 3)));
    symm_tensor_release(v);
    CHECK_FAILS(symm_tensor_unsqueeze(t, 4, &v), SYMM_EINVALID, "no dimension 4");
    CHECK_OK(symm_tensor_squeeze(t, SYMM_ALL_DIMS, &v));
    CHECK(has_shape(v, SHAPE(2, 3)));
    symm_tensor_release(v);
    CHECK_OK(symm_tensor_squeeze(t, 0, &v)); /* not of size 1: stays */
    CHECK(has_shape(v, SHAPE(2, 1, 3)));
    symm_tensor_release(v);
    CHECK_OK(symm_tensor_squeeze(t, -2, &v));
    CHECK(has_shape(v, SHAPE(2, 3)));
    symm_tensor_release(v);
    CHECK_OK(symm_tensor_flatten(t, 1, -1, &v));
    CHECK(has_shape(v, SHAPE(2, 3)));
    symm_tensor_release(v);
    CHECK_FAILS(symm_tensor_flatten(t, 2, 1, &v), SYMM_EINVALID,
                "dimension 2 comes after dimension 1");
    symm_tensor_release(t);
    CHECK_OK(symm_tensor_empty(NULL, 0, SYMM_DTYPE_int8, NULL, &scalar));
    CHECK_OK(symm_tensor_flatten(scalar, 0, -1, &v));
    CHECK(has_shape(v, SHAPE(1)));
    symm_tensor_release(v);
    CHECK_FAILS(symm_tensor_select(scalar, 0, 0, &v), SYMM_EINVALID, "the tensor has none");
    symm_tensor_release(scalar);
    t = counting(SHAPE(1, 1, 1, 1, 1, 1, 1, 1));
    CHECK_FAILS(symm_tensor_unsqueeze(t, 0, &v), SYMM_EINVALID, "8 dimensions already");
    symm_tensor_release(t);
}

TEST(chunks) {
    symm_tensor *t = counting(SHAPE(7, 2)), *empty = counting(SHAPE(0, 2)), *out[9] = {NULL};
    int count = -1;
    CHECK_OK(symm_tensor_chunk(t, 3, 0, out, &count));
    CHECK_INT(count, 3);
    CHECK(has_shape(out[0], SHAPE(3, 2)));
    CHECK(has_shape(out[2], SHAPE(1, 2)));
    CHECK_INT(at(out[1], 0, 1, 0), 7);
    for (int i = 0; i < count; i++) symm_tensor_release(out[i]);
    CHECK_OK(symm_tensor_chunk(t, 9, 0, out, &count));
    CHECK_INT(count, 7);
    for (int i = 0; i < count; i++) symm_tensor_release(out[i]);
    CHECK_OK(symm_tensor_chunk(t, 5, 0, out, &count)); /* pieces of 2: 2 2 2 1 */
    CHECK_INT(count, 4);
    for (int i = 0; i < count; i++) symm_tensor_release(out[i]);
    CHECK_OK(symm_tensor_chunk(empty, 4, 0, out, &count));
    CHECK_INT(count, 1);
    symm_tensor_release(out[0]);
    CHECK_FAILS(symm_tensor_chunk(t, 0, 0, out, &count), SYMM_EINVALID, "at least 1, not 0");
    CHECK_FAILS(symm_tensor_chunk(t, -2, 0, out, &count), SYMM_EINVALID, "not -2");
    CHECK_FAILS(symm_tensor_chunk(t, 2, 2, out, &count), SYMM_EINVALID, "no dimension 2");
    CHECK_INT(count, 1);
    symm_tensor_release(empty);
    symm_tensor_release(t);
}

TEST(contiguity) {
    symm_tensor *t = counting(SHAPE(2, 3)), *v = NULL, *c = NULL, *same = NULL;
    CHECK_OK(symm_tensor_transpose(t, 0, 1, &v));
    CHECK_INT(symm_tensor_is_contiguous(v), 0);
    CHECK_OK(symm_tensor_contiguous(v, &c));
    CHECK_INT(symm_tensor_is_contiguous(c), 1);
    CHECK_INT(at(c, 2, 1, 0), 5);
    CHECK_OK(symm_tensor_contiguous(c, &same));
    CHECK(same == c);
    symm_tensor_release(same);
    symm_tensor_release(c);
    symm_tensor_release(v);
    CHECK_OK(symm_tensor_narrow(t, 0, 1, 1, &v)); /* one row, whatever its stride */
    CHECK_INT(symm_tensor_is_contiguous(v), 1);
    symm_tensor_release(v);
    CHECK_OK(symm_tensor_slice(t, 1, 0, 3, 2, &v));
    CHECK_INT(symm_tensor_is_contiguous(v), 0);
    symm_tensor_release(v);
    symm_tensor_release(t);
}

TEST(writability_is_about_elements_that_share_memory) {
    const int64_t shape[] = {3, 2}, apart[] = {2, 1}, gaps[] = {1, 3}, windows[] = {1, 1};
    symm_tensor *t = NULL;
    REQUIRE_OK(symm_tensor_empty_strided(shape, apart, 2, SYMM_DTYPE_int8, NULL, &t));
    CHECK_OK(symm__check_writable("test", t));
    symm_tensor_release(t);
    REQUIRE_OK(symm_tensor_empty_strided(shape, gaps, 2, SYMM_DTYPE_int8, NULL, &t));
    CHECK_OK(symm__check_writable("test", t));
    symm_tensor_release(t);
    REQUIRE_OK(symm_tensor_empty_strided(shape, windows, 2, SYMM_DTYPE_int8, NULL, &t));
    CHECK_FAILS(symm__check_writable("test", t), SYMM_EINVALID, "share memory");
    symm_tensor_release(t);
}
