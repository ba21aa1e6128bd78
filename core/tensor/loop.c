/* SPDX-License-Identifier: MIT */
#include "tensor/loop.h"

#include <stdio.h>
#include <string.h>

/* ---- building ---- */

/* Byte stride of `tensor` in dimension `dim` of a shape with `ndim`; 0 where it is repeated. */
static int64_t broadcast_stride(const symm_tensor *tensor, int dim, int ndim) {
    int own = dim - (ndim - tensor->ndim);
    if (own < 0 || tensor->shape[own] == 1) return 0;
    return tensor->stride[own] * (int64_t)symm_dtype_size(tensor->dtype);
}

static void swap_dims(struct symm__loop *loop, int a, int b) {
    int64_t size = loop->shape[a];
    loop->shape[a] = loop->shape[b];
    loop->shape[b] = size;
    for (int k = 0; k < loop->operands; k++) {
        int64_t stride = loop->stride[k][a];
        loop->stride[k][a] = loop->stride[k][b];
        loop->stride[k][b] = stride;
    }
}

/* Far dimensions first, by the first operand whose strides differ. */
static int is_farther(const struct symm__loop *loop, int a, int b) {
    for (int k = 0; k < loop->operands; k++) {
        if (loop->stride[k][a] != loop->stride[k][b])
            return loop->stride[k][a] > loop->stride[k][b];
    }
    return 0;
}

static void sort_dims(struct symm__loop *loop) {
    for (int i = 1; i < loop->ndim; i++) {
        for (int j = i; j > 0 && is_farther(loop, j, j - 1); j--) swap_dims(loop, j, j - 1);
    }
}

/* Whether stepping over all of `inner` is one step of `outer`, for every operand. Unsigned: the
 * last step is never taken and might not fit. */
static int are_adjacent(const struct symm__loop *loop, int outer, int inner) {
    for (int k = 0; k < loop->operands; k++) {
        uint64_t all = (uint64_t)loop->stride[k][inner] * (uint64_t)loop->shape[inner];
        if ((uint64_t)loop->stride[k][outer] != all) return 0;
    }
    return 1;
}

void symm__loop_join(struct symm__loop *loop) {
    int last = 0;
    for (int i = 1; i < loop->ndim; i++) {
        int64_t size = loop->shape[last];
        if (are_adjacent(loop, last, i)) {
            loop->shape[i] *= size;
        } else {
            last++;
        }
        loop->shape[last] = loop->shape[i];
        for (int k = 0; k < loop->operands; k++) loop->stride[k][last] = loop->stride[k][i];
    }
    if (loop->ndim > 0) {
        loop->ndim = last + 1;
        return;
    }
    loop->ndim = 1; /* a single element is a run of one */
    loop->shape[0] = 1;
    for (int k = 0; k < loop->operands; k++) loop->stride[k][0] = 0;
}

void symm__loop_build(struct symm__loop *loop, const int64_t *shape, int ndim, int operands,
                      const symm_tensor *const tensors[]) {
    loop->operands = operands;
    loop->ndim = 0;
    loop->numel = 1;
    for (int k = 0; k < operands; k++) loop->data[k] = symm_tensor_data(tensors[k]);
    for (int i = 0; i < ndim; i++) {
        loop->numel *= shape[i];
        if (shape[i] == 1) continue;
        int at = loop->ndim++;
        loop->shape[at] = shape[i];
        for (int k = 0; k < operands; k++) {
            loop->stride[k][at] = broadcast_stride(tensors[k], i, ndim);
        }
    }
    sort_dims(loop);
    symm__loop_join(loop);
}

/* ---- walking ---- */

void symm__walk_begin(struct symm__walk *walk, const struct symm__loop *loop) {
    walk->loop = loop;
    memset(walk->index, 0, sizeof walk->index);
    memcpy(walk->data, loop->data, sizeof walk->data);
}

int symm__walk_next(struct symm__walk *walk) {
    const struct symm__loop *loop = walk->loop;
    for (int i = loop->ndim - 2; i >= 0; i--) {
        if (++walk->index[i] < loop->shape[i]) {
            for (int k = 0; k < loop->operands; k++) walk->data[k] += loop->stride[k][i];
            return 1;
        }
        walk->index[i] = 0;
        for (int k = 0; k < loop->operands; k++) {
            walk->data[k] -= loop->stride[k][i] * (loop->shape[i] - 1);
        }
    }
    return 0;
}

/* ---- shapes ---- */

const char *symm__shape_text(const int64_t *shape, int ndim, char text[SYMM__SHAPE_TEXT_SIZE]) {
    size_t used = 1;
    snprintf(text, SYMM__SHAPE_TEXT_SIZE, "{");
    for (int i = 0; i < ndim; i++) {
        int n = snprintf(text + used, SYMM__SHAPE_TEXT_SIZE - used, "%s%lld", i ? ", " : "",
                         (long long)shape[i]);
        used += (size_t)n; /* 8 numbers of 20 characters fit */
    }
    snprintf(text + used, SYMM__SHAPE_TEXT_SIZE - used, "}");
    return text;
}

int symm__same_shape(const symm_tensor *a, const symm_tensor *b) {
    if (a->ndim != b->ndim) return 0;
    for (int i = 0; i < a->ndim; i++) {
        if (a->shape[i] != b->shape[i]) return 0;
    }
    return 1;
}

int symm__broadcast_shape(const char *op, const symm_tensor *a, const symm_tensor *b,
                          int64_t shape_out[SYMM_MAX_DIMS], int *ndim_out) {
    int ndim = a->ndim > b->ndim ? a->ndim : b->ndim;
    for (int i = 0; i < ndim; i++) {
        int from_a = i - (ndim - a->ndim), from_b = i - (ndim - b->ndim);
        int64_t size_a = from_a < 0 ? 1 : a->shape[from_a],
                size_b = from_b < 0 ? 1 : b->shape[from_b];
        if (size_a != size_b && size_a != 1 && size_b != 1) {
            char text_a[SYMM__SHAPE_TEXT_SIZE], text_b[SYMM__SHAPE_TEXT_SIZE];
            return symm__fail_at(SYMM__IN(op), SYMM_EINVALID,
                                 "the shapes %s and %s cannot be broadcast to each other",
                                 symm__shape_text(a->shape, a->ndim, text_a),
                                 symm__shape_text(b->shape, b->ndim, text_b));
        }
        shape_out[i] = size_a == 1 ? size_b : size_a;
    }
    *ndim_out = ndim;
    return SYMM_OK;
}

int symm__broadcast_check(const char *op, const symm_tensor *tensor, const int64_t *shape,
                          int ndim) {
    int fits = tensor->ndim <= ndim;
    for (int i = 0; fits && i < tensor->ndim; i++) {
        fits = tensor->shape[i] == 1 || tensor->shape[i] == shape[ndim - tensor->ndim + i];
    }
    if (fits) return SYMM_OK;
    char own[SYMM__SHAPE_TEXT_SIZE], wanted[SYMM__SHAPE_TEXT_SIZE];
    return symm__fail_at(SYMM__IN(op), SYMM_EINVALID, "the shape %s cannot be broadcast to %s",
                         symm__shape_text(tensor->shape, tensor->ndim, own),
                         symm__shape_text(shape, ndim, wanted));
}

/* ---- shared memory and agreement ---- */

/* With dimensions sorted by stride, each one must step over all that the smaller ones reach. This
 * refuses some exotic strides that do not overlap, and never allows any that do. */
int symm__check_writable(const char *op, const symm_tensor *tensor) {
    if (tensor->numel <= 1) return SYMM_OK;
    struct symm__loop loop;
    symm__loop_build(&loop, tensor->shape, tensor->ndim, 1, &tensor);
    int64_t reach = (int64_t)symm_dtype_size(tensor->dtype);
    for (int i = loop.ndim - 1; i >= 0; i--) {
        if (loop.stride[0][i] < reach) {
            return symm__fail_at(SYMM__IN(op), SYMM_EINVALID,
                                 "elements of the output share memory, so it cannot be written; "
                                 "write a clone of it");
        }
        reach = loop.stride[0][i] * (loop.shape[i] - 1) + reach;
    }
    return SYMM_OK;
}

static int64_t extent_of(const symm_tensor *tensor) {
    int64_t last = 1;
    if (tensor->numel == 0) return 0;
    for (int i = 0; i < tensor->ndim; i++) last += (tensor->shape[i] - 1) * tensor->stride[i];
    return last * (int64_t)symm_dtype_size(tensor->dtype);
}

enum symm__overlap symm__overlap_of(const symm_tensor *a, const symm_tensor *b) {
    uintptr_t start_a = (uintptr_t)symm_tensor_data(a), start_b = (uintptr_t)symm_tensor_data(b);
    uintptr_t size_a = (uintptr_t)extent_of(a), size_b = (uintptr_t)extent_of(b);
    if (!size_a || !size_b || start_a + size_a <= start_b || start_b + size_b <= start_a) {
        return SYMM__APART;
    }
    int same = start_a == start_b && a->dtype == b->dtype && symm__same_shape(a, b);
    for (int i = 0; same && i < a->ndim; i++) {
        same = a->shape[i] == 1 || a->stride[i] == b->stride[i];
    }
    return same ? SYMM__IDENTICAL : SYMM__OVERLAPPING;
}

int symm__check_same_device(const char *op, const symm_tensor *a, const symm_tensor *b) {
    const char *device_a = symm_tensor_device(a), *device_b = symm_tensor_device(b);
    if (device_a == device_b || strcmp(device_a, device_b) == 0) return SYMM_OK;
    return symm__fail_at(SYMM__IN(op), SYMM_EINVALID, "one tensor is on %s, the other on %s",
                         device_a, device_b);
}

int symm__check_same_dtype(const char *op, const symm_tensor *a, const symm_tensor *b) {
    if (a->dtype == b->dtype) return SYMM_OK;
    return symm__fail_at(SYMM__IN(op), SYMM_EINVALID,
                         "the dtypes are %s and %s; convert one of them with to()",
                         symm_dtype_name(a->dtype), symm_dtype_name(b->dtype));
}

int symm__check_result(const char *op, const symm_tensor *a, const symm_tensor *result,
                       symm_dtype dtype, const int64_t *shape, int ndim) {
    char wanted[SYMM__SHAPE_TEXT_SIZE], own[SYMM__SHAPE_TEXT_SIZE];
    int rc = symm__check_same_device(op, a, result);
    if (rc < 0) return rc;
    if (result->dtype != dtype) {
        return symm__fail_at(SYMM__IN(op), SYMM_EINVALID, "the result is %s; the output is %s",
                             symm_dtype_name(dtype), symm_dtype_name(result->dtype));
    }
    int same = result->ndim == ndim;
    for (int i = 0; same && i < ndim; i++) same = result->shape[i] == shape[i];
    if (!same) {
        return symm__fail_at(SYMM__IN(op), SYMM_EINVALID,
                             "the result has the shape %s; the output has %s",
                             symm__shape_text(shape, ndim, wanted),
                             symm__shape_text(result->shape, result->ndim, own));
    }
    return symm__check_writable(op, result);
}
