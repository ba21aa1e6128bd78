/* SPDX-License-Identifier: MIT
 *
 * Views: new shapes, strides and offsets over the same storage. Every view is made by
 * symm__tensor_over_in, which holds it against the storage's bounds once more.
 */
#include <stdlib.h>
#include <string.h>

#include "tensor/loop.h"

static int over(const char *op, const symm_tensor *tensor, const int64_t *shape,
                const int64_t *stride, int ndim, int64_t offset, symm_tensor **out) {
    return symm__tensor_over_in(op, tensor->storage, shape, stride, ndim, tensor->dtype, offset,
                                out);
}

int symm__dim(const char *op, int dim, int ndim, int *out) {
    int from_start = dim < 0 ? dim + ndim : dim;
    if (dim < -ndim || from_start >= ndim) {
        if (ndim == 0) {
            return symm__fail_at(SYMM__IN(op), SYMM_EINVALID,
                                 "there is no dimension %d: the tensor has none", dim);
        }
        return symm__fail_at(SYMM__IN(op), SYMM_EINVALID,
                             "there is no dimension %d; the tensor has 0 to %d", dim, ndim - 1);
    }
    *out = from_start;
    return SYMM_OK;
}

/* A copy of shape and stride with dimension `dim` changed. */
struct layout {
    int ndim;
    int64_t shape[SYMM_MAX_DIMS];
    int64_t stride[SYMM_MAX_DIMS];
};

static struct layout layout_of(const symm_tensor *tensor) {
    struct layout layout = {.ndim = tensor->ndim};
    memcpy(layout.shape, tensor->shape, sizeof layout.shape);
    memcpy(layout.stride, tensor->stride, sizeof layout.stride);
    return layout;
}

static void layout_remove(struct layout *layout, int dim) {
    layout->ndim--;
    for (int i = dim; i < layout->ndim; i++) {
        layout->shape[i] = layout->shape[i + 1];
        layout->stride[i] = layout->stride[i + 1];
    }
}

/* A bound that may count from the end, clamped to 0..size. */
static int64_t clamp(int64_t bound, int64_t size) {
    if (bound < 0) bound = bound < -size ? 0 : bound + size;
    return bound > size ? size : bound;
}

int symm_tensor_slice(symm_tensor *tensor, int dim, int64_t start, int64_t stop, int64_t step,
                      symm_tensor **out) {
    const char *op = "slice";
    int rc = symm__dim(op, dim, tensor->ndim, &dim);
    if (rc < 0) return rc;
    if (step < 1) {
        return symm__fail_at(SYMM__IN(op), SYMM_EINVALID, "step must be at least 1, not %lld",
                             (long long)step);
    }
    struct layout layout = layout_of(tensor);
    start = clamp(start, tensor->shape[dim]);
    stop = clamp(stop, tensor->shape[dim]);
    int64_t length = stop > start ? (stop - start - 1) / step + 1 : 0;
    /* A step beyond the end is never taken, and its product might not fit. */
    layout.stride[dim] = length > 1 ? tensor->stride[dim] * step : tensor->stride[dim];
    layout.shape[dim] = length;
    int64_t offset = tensor->offset + (length ? start * tensor->stride[dim] : 0);
    return over(op, tensor, layout.shape, layout.stride, layout.ndim, offset, out);
}

int symm_tensor_select(symm_tensor *tensor, int dim, int64_t index, symm_tensor **out) {
    const char *op = "select";
    int rc = symm__dim(op, dim, tensor->ndim, &dim);
    if (rc < 0) return rc;
    int64_t size = tensor->shape[dim];
    if (index < -size || index >= size) {
        return symm__fail_at(SYMM__IN(op), SYMM_EINVALID,
                             "there is no index %lld in dimension %d of size %lld",
                             (long long)index, dim, (long long)size);
    }
    if (index < 0) index += size;
    struct layout layout = layout_of(tensor);
    layout_remove(&layout, dim);
    int64_t offset = tensor->offset + (tensor->numel ? index * tensor->stride[dim] : 0);
    return over(op, tensor, layout.shape, layout.stride, layout.ndim, offset, out);
}

int symm_tensor_narrow(symm_tensor *tensor, int dim, int64_t start, int64_t length,
                       symm_tensor **out) {
    const char *op = "narrow";
    int rc = symm__dim(op, dim, tensor->ndim, &dim);
    if (rc < 0) return rc;
    int64_t size = tensor->shape[dim], first = start < 0 && start >= -size ? start + size : start;
    if (first < 0 || first > size || length < 0 || length > size - first) {
        return symm__fail_at(SYMM__IN(op), SYMM_EINVALID,
                             "%lld elements from %lld do not lie in dimension %d of size %lld",
                             (long long)length, (long long)start, dim, (long long)size);
    }
    struct layout layout = layout_of(tensor);
    layout.shape[dim] = length;
    int64_t offset = tensor->offset + (length && tensor->numel ? first * tensor->stride[dim] : 0);
    return over(op, tensor, layout.shape, layout.stride, layout.ndim, offset, out);
}

/* ---- other shapes ---- */

/* The wanted shape with its -1 worked out, holding as many elements as the tensor. */
static int resolve_shape(const char *op, const symm_tensor *tensor, const int64_t *wanted, int ndim,
                         int64_t *shape_out) {
    int64_t known = 1, numel = 0;
    int open = -1;
    char from[SYMM__SHAPE_TEXT_SIZE], to[SYMM__SHAPE_TEXT_SIZE];
    for (int i = 0; i < ndim && i < SYMM_MAX_DIMS; i++) {
        shape_out[i] = wanted[i];
        if (wanted[i] != -1) continue;
        if (open >= 0) {
            return symm__fail_at(SYMM__IN(op), SYMM_EINVALID, "only one dimension may be -1");
        }
        open = i;
        shape_out[i] = 1;
    }
    int rc = symm__shape_check(op, shape_out, ndim, tensor->dtype, &known);
    if (rc < 0) return rc;
    if (open >= 0) shape_out[open] = known ? tensor->numel / known : 0;
    rc = symm__shape_check(op, shape_out, ndim, tensor->dtype, &numel);
    if (rc < 0) return rc;
    if (numel == tensor->numel && (open < 0 || known)) return SYMM_OK;
    return symm__fail_at(SYMM__IN(op), SYMM_EINVALID, "the elements of %s cannot take the shape %s",
                         symm__shape_text(tensor->shape, tensor->ndim, from),
                         symm__shape_text(wanted, ndim, to));
}

/* Strides that show the tensor's elements in `shape`, if there are any: runs of old dimensions that
 * lie without gaps are taken apart again by runs of new ones. 1 on success. */
static int view_strides(const symm_tensor *tensor, const int64_t *shape, int ndim,
                        int64_t *stride_out) {
    symm__contiguous_strides(shape, ndim, stride_out);
    if (tensor->numel <= 1) return 1;
    int to = ndim - 1;
    for (int from = tensor->ndim - 1; from >= 0; from--) {
        if (tensor->shape[from] == 1) continue;
        int64_t step = tensor->stride[from], run = tensor->shape[from];
        for (; from > 0; from--) { /* how far the run goes to the left */
            if (tensor->shape[from - 1] == 1) continue;
            if (tensor->stride[from - 1] != step * run) break;
            run *= tensor->shape[from - 1];
        }
        int64_t filled = 1;
        for (; to >= 0 && (filled < run || shape[to] == 1); to--) {
            stride_out[to] = step * filled;
            filled *= shape[to];
        }
        if (filled != run) return 0;
    }
    return 1;
}

/* 1 and *out is set, 0 if strides cannot express it, or a negative code. */
static int try_view(const char *op, symm_tensor *tensor, const int64_t *shape, int ndim,
                    symm_tensor **out) {
    int64_t stride[SYMM_MAX_DIMS];
    if (!view_strides(tensor, shape, ndim, stride)) return 0;
    int rc = over(op, tensor, shape, stride, ndim, tensor->offset, out);
    return rc < 0 ? rc : 1;
}

int symm_tensor_view(symm_tensor *tensor, const int64_t *wanted, int ndim, symm_tensor **out) {
    const char *op = "view";
    int64_t shape[SYMM_MAX_DIMS];
    int rc = resolve_shape(op, tensor, wanted, ndim, shape);
    if (rc < 0) return rc;
    rc = try_view(op, tensor, shape, ndim, out);
    if (rc < 0) return rc;
    if (rc > 0) return SYMM_OK;
    char from[SYMM__SHAPE_TEXT_SIZE], to[SYMM__SHAPE_TEXT_SIZE];
    return symm__fail_at(
        SYMM__IN(op), SYMM_EINVALID,
        "the layout of this %s tensor cannot be seen as %s without a copy; use reshape",
        symm__shape_text(tensor->shape, tensor->ndim, from), symm__shape_text(wanted, ndim, to));
}

int symm_tensor_reshape(symm_tensor *tensor, const int64_t *wanted, int ndim, symm_tensor **out) {
    const char *op = "reshape";
    int64_t shape[SYMM_MAX_DIMS];
    symm_tensor *copy = NULL;
    int rc = resolve_shape(op, tensor, wanted, ndim, shape);
    if (rc < 0) return rc;
    rc = try_view(op, tensor, shape, ndim, out);
    if (rc != 0) return rc < 0 ? rc : SYMM_OK;
    rc = symm_tensor_clone(tensor, &copy);
    if (rc < 0) return rc;
    rc = over(op, copy, shape, NULL, ndim, 0, out);
    symm_tensor_release(copy);
    return rc;
}

int symm_tensor_flatten(symm_tensor *tensor, int first, int last, symm_tensor **out) {
    const char *op = "flatten";
    int64_t shape[SYMM_MAX_DIMS], joined = 1;
    if (tensor->ndim == 0) return symm_tensor_reshape(tensor, &joined, 1, out);
    int rc = symm__dim(op, first, tensor->ndim, &first);
    if (rc == SYMM_OK) rc = symm__dim(op, last, tensor->ndim, &last);
    if (rc < 0) return rc;
    if (first > last) {
        return symm__fail_at(SYMM__IN(op), SYMM_EINVALID, "dimension %d comes after dimension %d",
                             first, last);
    }
    for (int i = 0; i < first; i++) shape[i] = tensor->shape[i];
    for (int i = first; i <= last; i++) joined *= tensor->shape[i];
    shape[first] = joined;
    for (int i = last + 1; i < tensor->ndim; i++) shape[i - last + first] = tensor->shape[i];
    return symm_tensor_reshape(tensor, shape, tensor->ndim - last + first, out);
}

/* ---- other orders ---- */

static int wrong_count(const char *op, const symm_tensor *tensor, int count) {
    return symm__fail_at(SYMM__IN(op), SYMM_EINVALID, "%d dimensions were given; the tensor has %d",
                         count, tensor->ndim);
}

/* Resolves a list of dimensions, each at most once; *seen_out has a bit for each. */
static int unique_dims(const char *op, const int *dims, int count, int ndim, int *out,
                       unsigned *seen_out) {
    unsigned seen = 0;
    for (int i = 0; i < count; i++) {
        int rc = symm__dim(op, dims[i], ndim, &out[i]);
        if (rc < 0) return rc;
        if (seen & 1u << out[i]) {
            return symm__fail_at(SYMM__IN(op), SYMM_EINVALID, "dimension %d is named twice",
                                 out[i]);
        }
        seen |= 1u << out[i];
    }
    *seen_out = seen;
    return SYMM_OK;
}

int symm_tensor_permute(symm_tensor *tensor, const int *dims, int ndim, symm_tensor **out) {
    const char *op = "permute";
    int64_t shape[SYMM_MAX_DIMS], stride[SYMM_MAX_DIMS];
    int from[SYMM_MAX_DIMS];
    unsigned seen = 0;
    if (ndim != tensor->ndim) return wrong_count(op, tensor, ndim);
    int rc = unique_dims(op, dims, ndim, ndim, from, &seen);
    if (rc < 0) return rc;
    for (int i = 0; i < ndim; i++) {
        shape[i] = tensor->shape[from[i]];
        stride[i] = tensor->stride[from[i]];
    }
    return over(op, tensor, shape, stride, ndim, tensor->offset, out);
}

int symm_tensor_transpose(symm_tensor *tensor, int dim0, int dim1, symm_tensor **out) {
    const char *op = "transpose";
    int rc = symm__dim(op, dim0, tensor->ndim, &dim0);
    if (rc == SYMM_OK) rc = symm__dim(op, dim1, tensor->ndim, &dim1);
    if (rc < 0) return rc;
    struct layout layout = layout_of(tensor);
    layout.shape[dim0] = tensor->shape[dim1];
    layout.stride[dim0] = tensor->stride[dim1];
    layout.shape[dim1] = tensor->shape[dim0];
    layout.stride[dim1] = tensor->stride[dim0];
    return over(op, tensor, layout.shape, layout.stride, layout.ndim, tensor->offset, out);
}

int symm_tensor_movedim(symm_tensor *tensor, const int *sources, const int *destinations, int count,
                        symm_tensor **out) {
    const char *op = "movedim";
    int from[SYMM_MAX_DIMS], to[SYMM_MAX_DIMS], order[SYMM_MAX_DIMS];
    unsigned moved = 0, taken = 0;
    if (count < 0 || count > tensor->ndim) return wrong_count(op, tensor, count);
    int rc = unique_dims(op, sources, count, tensor->ndim, from, &moved);
    if (rc == SYMM_OK) rc = unique_dims(op, destinations, count, tensor->ndim, to, &taken);
    if (rc < 0) return rc;
    for (int i = 0; i < count; i++) order[to[i]] = from[i];
    for (int place = 0, dim = 0; place < tensor->ndim; place++) {
        if (taken & 1u << place) continue;
        while (moved & 1u << dim) dim++;
        order[place] = dim++;
    }
    return symm_tensor_permute(tensor, order, tensor->ndim, out);
}

/* ---- more or fewer dimensions ---- */

int symm_tensor_expand(symm_tensor *tensor, const int64_t *wanted, int ndim, symm_tensor **out) {
    const char *op = "expand";
    int64_t shape[SYMM_MAX_DIMS], stride[SYMM_MAX_DIMS] = {0};
    int added = ndim - tensor->ndim;
    if (added < 0 || ndim > SYMM_MAX_DIMS) {
        return symm__fail_at(SYMM__IN(op), SYMM_EINVALID,
                             "a tensor of %d dimensions cannot be expanded to %d", tensor->ndim,
                             ndim);
    }
    for (int i = 0; i < ndim; i++) {
        int64_t own = i < added ? 1 : tensor->shape[i - added];
        shape[i] = wanted[i] == -1 && i >= added ? own : wanted[i];
        if (own != 1) stride[i] = tensor->stride[i - added];
    }
    int rc = symm__broadcast_check(op, tensor, shape, ndim);
    if (rc < 0) return rc;
    return over(op, tensor, shape, stride, ndim, tensor->offset, out);
}

int symm_tensor_unsqueeze(symm_tensor *tensor, int dim, symm_tensor **out) {
    const char *op = "unsqueeze";
    int64_t shape[SYMM_MAX_DIMS], stride[SYMM_MAX_DIMS];
    if (tensor->ndim == SYMM_MAX_DIMS) {
        return symm__fail_at(SYMM__IN(op), SYMM_EINVALID, "the tensor has %d dimensions already",
                             SYMM_MAX_DIMS);
    }
    int rc = symm__dim(op, dim, tensor->ndim + 1, &dim);
    if (rc < 0) return rc;
    for (int i = 0; i <= tensor->ndim; i++) {
        int from = i < dim ? i : i - 1;
        shape[i] = i == dim ? 1 : tensor->shape[from];
        stride[i] = i == dim ? 1 : tensor->stride[from];
    }
    return over(op, tensor, shape, stride, tensor->ndim + 1, tensor->offset, out);
}

int symm_tensor_squeeze(symm_tensor *tensor, int dim, symm_tensor **out) {
    const char *op = "squeeze";
    struct layout layout = layout_of(tensor);
    if (dim != SYMM_ALL_DIMS) {
        int rc = symm__dim(op, dim, tensor->ndim, &dim);
        if (rc < 0) return rc;
        if (layout.shape[dim] == 1) layout_remove(&layout, dim);
    } else {
        for (int i = layout.ndim - 1; i >= 0; i--) {
            if (layout.shape[i] == 1) layout_remove(&layout, i);
        }
    }
    return over(op, tensor, layout.shape, layout.stride, layout.ndim, tensor->offset, out);
}

int symm_tensor_chunk(symm_tensor *tensor, int chunks, int dim, symm_tensor **out, int *count_out) {
    const char *op = "chunk";
    int count = 0, rc = symm__dim(op, dim, tensor->ndim, &dim);
    if (rc < 0) return rc;
    if (chunks < 1) {
        return symm__fail_at(SYMM__IN(op), SYMM_EINVALID, "chunks must be at least 1, not %d",
                             chunks);
    }
    int64_t size = tensor->shape[dim], piece = size / chunks + (size % chunks != 0);
    int64_t start = 0;
    do { /* an empty dimension gives one empty piece */
        int64_t length = size - start < piece ? size - start : piece;
        rc = symm_tensor_narrow(tensor, dim, start, length, &out[count]);
        if (rc < 0) goto undo;
        count++;
        start += length;
    } while (start < size);
    *count_out = count;
    return SYMM_OK;
undo:
    while (count > 0) symm_tensor_release(out[--count]);
    return rc;
}
