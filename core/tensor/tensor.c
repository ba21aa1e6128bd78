/* SPDX-License-Identifier: MIT
 *
 * Tensors: making them over storages, holding them against bounds, and reading their metadata.
 */
#include "tensor/tensor.h"

#include <stdlib.h>
#include <string.h>

int symm__shape_check(const char *op, const int64_t *shape, int ndim, symm_dtype dtype,
                      int64_t *numel_out) {
    int64_t numel = 1, reach = (int64_t)symm_dtype_size(dtype);
    if (reach == 0)
        return symm__fail_at(SYMM__IN(op), SYMM_EINVALID, "unknown dtype %d", (int)dtype);
    if (ndim < 0 || ndim > SYMM_MAX_DIMS) {
        return symm__fail_at(SYMM__IN(op), SYMM_EINVALID,
                             "%d dimensions are not supported; 0 to %d are", ndim, SYMM_MAX_DIMS);
    }
    if (ndim > 0 && !shape) return symm__fail_at(SYMM__IN(op), SYMM_EINVALID, "no shape was given");
    for (int i = 0; i < ndim; i++) {
        if (shape[i] < 0) {
            return symm__fail_at(SYMM__IN(op), SYMM_EINVALID,
                                 "dimension %d has the negative size %lld", i, (long long)shape[i]);
        }
        if (__builtin_mul_overflow(reach, shape[i] ? shape[i] : 1, &reach)) {
            return symm__fail_at(
                SYMM__IN(op), SYMM_EINVALID,
                "the shape needs more bytes than 63 bits can count (dimension %d: %lld)", i,
                (long long)shape[i]);
        }
        numel *= shape[i]; /* fits: `reach` counts empty dimensions as 1 */
    }
    *numel_out = numel;
    return SYMM_OK;
}

void symm__contiguous_strides(const int64_t *shape, int ndim, int64_t *stride_out) {
    int64_t step = 1;
    for (int i = ndim - 1; i >= 0; i--) {
        stride_out[i] = step;
        step *= shape[i] ? shape[i] : 1;
    }
}

int symm__extent_bytes(const char *op, const int64_t *shape, const int64_t *stride, int ndim,
                       symm_dtype dtype, int64_t *bytes_out) {
    int64_t numel = 0, last = 0, bytes = 0;
    int rc = symm__shape_check(op, shape, ndim, dtype, &numel);
    if (rc < 0) return rc;
    int overflow = 0;
    for (int i = 0; i < ndim; i++) {
        int64_t span = 0;
        if (stride[i] < 0) {
            return symm__fail_at(SYMM__IN(op), SYMM_EINVALID,
                                 "dimension %d has the negative stride %lld", i,
                                 (long long)stride[i]);
        }
        if (shape[i] <= 1) continue;
        overflow |= __builtin_mul_overflow(shape[i] - 1, stride[i], &span);
        overflow |= __builtin_add_overflow(last, span, &last);
    }
    overflow |= __builtin_add_overflow(last, 1, &last);
    overflow |= __builtin_mul_overflow(last, (int64_t)symm_dtype_size(dtype), &bytes);
    if (overflow) {
        return symm__fail_at(SYMM__IN(op), SYMM_EINVALID,
                             "shape and strides reach further than 63 bits can count");
    }
    *bytes_out = numel ? bytes : 0;
    return SYMM_OK;
}

/* `extent` bytes from element `offset` must lie within the storage, at an aligned address. */
static int check_bounds(const char *op, const struct symm__storage *storage, int64_t offset,
                        int64_t extent, symm_dtype dtype) {
    int64_t size = (int64_t)symm_dtype_size(dtype), start = 0, end = 0;
    if (offset < 0) {
        return symm__fail_at(SYMM__IN(op), SYMM_EINVALID, "storage_offset is negative: %lld",
                             (long long)offset);
    }
    if (__builtin_mul_overflow(offset, size, &start) ||
        __builtin_add_overflow(start, extent, &end) || end > storage->nbytes) {
        return symm__fail_at(
            SYMM__IN(op), SYMM_EINVALID,
            "%lld bytes from element %lld of %s end beyond the %lld bytes there are",
            (long long)extent, (long long)offset, symm_dtype_name(dtype),
            (long long)storage->nbytes);
    }
    if (extent > 0 && ((uintptr_t)storage->data + (uintptr_t)start) % (uintptr_t)size != 0) {
        return symm__fail_at(SYMM__IN(op), SYMM_EINVALID,
                             "the memory is not aligned to the %lld bytes of %s", (long long)size,
                             symm_dtype_name(dtype));
    }
    return SYMM_OK;
}

int symm__tensor_over_in(const char *op, struct symm__storage *storage, const int64_t *shape,
                         const int64_t *stride, int ndim, symm_dtype dtype, int64_t offset,
                         symm_tensor **out) {
    int64_t numel = 0, extent = 0, contiguous[SYMM_MAX_DIMS];
    int rc = symm__shape_check(op, shape, ndim, dtype, &numel);
    if (rc < 0) return rc;
    if (!stride) {
        symm__contiguous_strides(shape, ndim, contiguous);
        stride = contiguous;
    }
    rc = symm__extent_bytes(op, shape, stride, ndim, dtype, &extent);
    if (rc < 0) return rc;
    rc = check_bounds(op, storage, offset, extent, dtype);
    if (rc < 0) return rc;
    symm_tensor *tensor = calloc(1, sizeof *tensor);
    if (!tensor) return symm__fail_oom(sizeof *tensor);
    atomic_init(&tensor->references, 1);
    tensor->dtype = dtype;
    tensor->ndim = ndim;
    for (int i = 0; i < ndim; i++) {
        tensor->shape[i] = shape[i];
        tensor->stride[i] = stride[i];
    }
    tensor->offset = offset;
    tensor->numel = numel;
    tensor->storage = storage;
    symm__storage_retain(storage);
    *out = tensor;
    return SYMM_OK;
}

int symm__tensor_over(struct symm__storage *storage, const int64_t *shape, const int64_t *stride,
                      int ndim, symm_dtype dtype, int64_t offset, symm_tensor **out) {
    return symm__tensor_over_in("tensor", storage, shape, stride, ndim, dtype, offset, out);
}

static int make(const char *op, const int64_t *shape, const int64_t *stride, int ndim,
                symm_dtype dtype, const char *device, symm_tensor **out) {
    SYMM__GUARD_FORK();
    int64_t nbytes = 0;
    struct symm__storage *storage = NULL;
    int rc = symm__extent_bytes(op, shape, stride, ndim, dtype, &nbytes);
    if (rc < 0) return rc;
    rc = symm__storage_new(nbytes, device, &storage);
    if (rc < 0) return rc;
    rc = symm__tensor_over_in(op, storage, shape, stride, ndim, dtype, 0, out);
    symm__storage_release(storage); /* the tensor has its own reference */
    return rc;
}

int symm_tensor_empty(const int64_t *shape, int ndim, symm_dtype dtype, const char *device,
                      symm_tensor **out) {
    int64_t numel = 0, stride[SYMM_MAX_DIMS] = {0};
    int rc = symm__shape_check("empty", shape, ndim, dtype, &numel);
    if (rc < 0) return rc;
    symm__contiguous_strides(shape, ndim, stride);
    return make("empty", shape, stride, ndim, dtype, device, out);
}

int symm_tensor_empty_strided(const int64_t *shape, const int64_t *stride, int ndim,
                              symm_dtype dtype, const char *device, symm_tensor **out) {
    if (!stride && ndim > 0) {
        return symm__fail_at(SYMM__IN("empty_strided"), SYMM_EINVALID, "no strides were given");
    }
    return make("empty_strided", shape, stride, ndim, dtype, device, out);
}

int symm_tensor_from_memory(void *data, const int64_t *shape, const int64_t *stride, int ndim,
                            symm_dtype dtype, const char *device, void (*release)(void *context),
                            void *context, symm_tensor **out) {
    SYMM__GUARD_FORK();
    const char *op = "from_memory";
    int64_t nbytes = 0, contiguous[SYMM_MAX_DIMS] = {0};
    struct symm__storage *storage = NULL;
    int rc = symm__shape_check(op, shape, ndim, dtype, &nbytes);
    if (rc < 0) return rc;
    if (!stride) {
        symm__contiguous_strides(shape, ndim, contiguous);
        stride = contiguous;
    }
    rc = symm__extent_bytes(op, shape, stride, ndim, dtype, &nbytes);
    if (rc < 0) return rc;
    if (!data && nbytes > 0) {
        return symm__fail_at(SYMM__IN(op), SYMM_EINVALID, "data is NULL for %lld bytes",
                             (long long)nbytes);
    }
    rc = symm__storage_foreign(data, nbytes, device, &storage);
    if (rc < 0) return rc;
    rc = symm__tensor_over_in(op, storage, shape, stride, ndim, dtype, 0, out);
    if (rc == SYMM_OK) symm__storage_on_release(storage, release, context);
    symm__storage_release(storage);
    return rc;
}

symm_tensor *symm_tensor_retain(symm_tensor *tensor) {
    /* Relaxed: the caller's own reference already orders the tensor before this. */
    atomic_fetch_add_explicit(&tensor->references, 1, memory_order_relaxed);
    return tensor;
}

void symm_tensor_release(symm_tensor *tensor) {
    if (!tensor) return;
    /* Release pairs with the acquire of whoever gets 1 here: all uses come before the freeing. */
    if (atomic_fetch_sub_explicit(&tensor->references, 1, memory_order_acq_rel) == 1) {
        symm__storage_release(tensor->storage);
        free(tensor);
    }
}

symm_dtype symm_tensor_dtype(const symm_tensor *tensor) { return tensor->dtype; }
int symm_tensor_ndim(const symm_tensor *tensor) { return tensor->ndim; }
const int64_t *symm_tensor_shape(const symm_tensor *tensor) { return tensor->shape; }
const int64_t *symm_tensor_stride(const symm_tensor *tensor) { return tensor->stride; }
int64_t symm_tensor_storage_offset(const symm_tensor *tensor) { return tensor->offset; }
int64_t symm_tensor_numel(const symm_tensor *tensor) { return tensor->numel; }

int64_t symm_tensor_nbytes(const symm_tensor *tensor) {
    return tensor->numel * (int64_t)symm_dtype_size(tensor->dtype);
}

void *symm_tensor_data(const symm_tensor *tensor) {
    char *start = tensor->storage->data;
    return start ? start + tensor->offset * (int64_t)symm_dtype_size(tensor->dtype) : NULL;
}

const char *symm_tensor_device(const symm_tensor *tensor) { return tensor->storage->device; }

int symm_tensor_is_contiguous(const symm_tensor *tensor) {
    int64_t step = 1;
    if (tensor->numel <= 1) return 1;
    for (int i = tensor->ndim - 1; i >= 0; i--) {
        if (tensor->shape[i] == 1) continue; /* its stride is never used */
        if (tensor->stride[i] != step) return 0;
        step *= tensor->shape[i];
    }
    return 1;
}
