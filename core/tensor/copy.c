/* SPDX-License-Identifier: MIT
 *
 * Fill and copy, and what is made of them: clones, conversions, bytes, single elements.
 */
#include <stdlib.h>
#include <string.h>

#include "device/device.h"
#include "tensor/kernels.h"
#include "tensor/scalar.h"

int symm__tensor_like(const symm_tensor *tensor, symm_dtype dtype, symm_tensor **out) {
    return symm_tensor_empty(tensor->shape, tensor->ndim, dtype, symm_tensor_device(tensor), out);
}

/* ---- fill ---- */

int symm_tensor_fill(symm_tensor *tensor, symm_scalar value) {
    const char *op = "fill";
    const struct symm__kernels *kernels = NULL;
    _Alignas(8) char element[8];
    int rc = symm__scalar_store(op, value, tensor->dtype, element);
    if (rc == SYMM_OK) rc = symm__check_writable(op, tensor);
    if (rc == SYMM_OK) rc = symm__kernels_of(op, tensor, &kernels);
    if (rc < 0 || tensor->numel == 0) return rc;
    struct symm__loop loop;
    const symm_tensor *operands[] = {tensor};
    symm__loop_build(&loop, tensor->shape, tensor->ndim, 1, operands);
    return kernels->fill(&loop, tensor->dtype, element);
}

int symm_tensor_full(const int64_t *shape, int ndim, symm_scalar value, symm_dtype dtype,
                     const char *device, symm_tensor **out) {
    symm_tensor *tensor = NULL;
    int rc = symm_tensor_empty(shape, ndim, dtype, device, &tensor);
    if (rc < 0) return rc;
    rc = symm_tensor_fill(tensor, value);
    if (rc < 0) {
        symm_tensor_release(tensor);
        return rc;
    }
    *out = tensor;
    return SYMM_OK;
}

/* ---- copy ---- */

static int is_plain(const symm_tensor *tensor, const symm_tensor *source) {
    return tensor->dtype == source->dtype && symm__same_shape(tensor, source) &&
           symm_tensor_is_contiguous(tensor) && symm_tensor_is_contiguous(source);
}

/* Everything is checked, and the two do not overlap. */
static int convert(symm_tensor *tensor, const symm_tensor *source) {
    const struct symm__kernels *kernels = NULL;
    const struct symm__device *device = NULL;
    if (tensor->numel == 0) return SYMM_OK;
    if (is_plain(tensor, source)) {
        int rc = symm__device_find(symm_tensor_device(tensor), &device);
        if (rc < 0) return rc;
        return device->copy(symm_tensor_data(tensor), symm_tensor_data(source),
                            symm_tensor_nbytes(tensor));
    }
    int rc = symm__kernels_of("copy", tensor, &kernels);
    if (rc < 0) return rc;
    struct symm__loop loop;
    const symm_tensor *operands[] = {tensor, source};
    symm__loop_build(&loop, tensor->shape, tensor->ndim, 2, operands);
    return kernels->convert(&loop, tensor->dtype, source->dtype);
}

int symm_tensor_copy(symm_tensor *tensor, const symm_tensor *source) {
    const char *op = "copy";
    int rc = symm__check_same_device(op, tensor, source);
    if (rc == SYMM_OK) rc = symm__broadcast_check(op, source, tensor->shape, tensor->ndim);
    if (rc == SYMM_OK) rc = symm__check_writable(op, tensor);
    if (rc < 0) return rc;
    switch (symm__overlap_of(tensor, source)) {
    case SYMM__IDENTICAL: return SYMM_OK;
    case SYMM__APART: return convert(tensor, source);
    case SYMM__OVERLAPPING: break;
    }
    symm_tensor *apart = NULL;
    rc = symm_tensor_clone(source, &apart);
    if (rc < 0) return rc;
    rc = convert(tensor, apart);
    symm_tensor_release(apart);
    return rc;
}

static int copy_as(const symm_tensor *tensor, symm_dtype dtype, symm_tensor **out) {
    symm_tensor *copy = NULL;
    int rc = symm__tensor_like(tensor, dtype, &copy);
    if (rc < 0) return rc;
    rc = convert(copy, tensor);
    if (rc < 0) {
        symm_tensor_release(copy);
        return rc;
    }
    *out = copy;
    return SYMM_OK;
}

int symm_tensor_clone(const symm_tensor *tensor, symm_tensor **out) {
    return copy_as(tensor, tensor->dtype, out);
}

int symm_tensor_contiguous(symm_tensor *tensor, symm_tensor **out) {
    if (!symm_tensor_is_contiguous(tensor)) return symm_tensor_clone(tensor, out);
    *out = symm_tensor_retain(tensor);
    return SYMM_OK;
}

int symm_tensor_to(symm_tensor *tensor, symm_dtype dtype, symm_tensor **out) {
    if (tensor->dtype != dtype) return copy_as(tensor, dtype, out);
    *out = symm_tensor_retain(tensor);
    return SYMM_OK;
}

/* ---- bytes, which may lie at any address ---- */

static int check_bytes(const char *op, const symm_tensor *tensor, const void *bytes,
                       int64_t nbytes) {
    int rc = symm__check_host(op, tensor);
    if (rc < 0) return rc;
    if (nbytes != symm_tensor_nbytes(tensor)) {
        return symm__fail_at(SYMM__IN(op), SYMM_EINVALID, "the tensor has %lld bytes, not %lld",
                             (long long)symm_tensor_nbytes(tensor), (long long)nbytes);
    }
    if (!bytes && nbytes > 0) return symm__fail_at(SYMM__IN(op), SYMM_EINVALID, "bytes is NULL");
    return SYMM_OK;
}

int symm_tensor_get_bytes(const symm_tensor *tensor, void *bytes, int64_t nbytes) {
    symm_tensor *packed = NULL;
    int rc = check_bytes("get_bytes", tensor, bytes, nbytes);
    if (rc < 0 || nbytes == 0) return rc;
    rc = symm_tensor_contiguous((symm_tensor *)(uintptr_t)tensor, &packed);
    if (rc < 0) return rc;
    memcpy(bytes, symm_tensor_data(packed), (size_t)nbytes);
    symm_tensor_release(packed);
    return SYMM_OK;
}

int symm_tensor_set_bytes(symm_tensor *tensor, const void *bytes, int64_t nbytes) {
    const char *op = "set_bytes";
    symm_tensor *packed = NULL;
    int rc = check_bytes(op, tensor, bytes, nbytes);
    if (rc < 0 || nbytes == 0) return rc;
    if (symm_tensor_is_contiguous(tensor)) {
        memmove(symm_tensor_data(tensor), bytes, (size_t)nbytes);
        return SYMM_OK;
    }
    rc = symm__tensor_like(tensor, tensor->dtype, &packed);
    if (rc < 0) return rc;
    memcpy(symm_tensor_data(packed), bytes, (size_t)nbytes);
    rc = symm_tensor_copy(tensor, packed);
    symm_tensor_release(packed);
    return rc;
}

/* ---- single elements ---- */

static int element_at(const char *op, const symm_tensor *tensor, const int64_t *index, int count,
                      void **out) {
    int64_t offset = 0;
    int rc = symm__check_host(op, tensor);
    if (rc < 0) return rc;
    if (count != tensor->ndim) {
        return symm__fail_at(SYMM__IN(op), SYMM_EINVALID, "%d indices were given for %d dimensions",
                             count, tensor->ndim);
    }
    for (int i = 0; i < count; i++) {
        int64_t size = tensor->shape[i], at = index[i];
        if (at < -size || at >= size) {
            return symm__fail_at(SYMM__IN(op), SYMM_EINVALID,
                                 "there is no index %lld in dimension %d of size %lld",
                                 (long long)at, i, (long long)size);
        }
        offset += (at < 0 ? at + size : at) * tensor->stride[i];
    }
    char *first = symm_tensor_data(tensor);
    *out = first + offset * (int64_t)symm_dtype_size(tensor->dtype);
    return SYMM_OK;
}

int symm_tensor_get(const symm_tensor *tensor, const int64_t *index, int count, symm_scalar *out) {
    void *element = NULL;
    int rc = element_at("get", tensor, index, count, &element);
    if (rc < 0) return rc;
    *out = symm__scalar_load(tensor->dtype, element);
    return SYMM_OK;
}

int symm_tensor_set(symm_tensor *tensor, const int64_t *index, int count, symm_scalar value) {
    void *element = NULL;
    int rc = element_at("set", tensor, index, count, &element);
    if (rc < 0) return rc;
    return symm__scalar_store("set", value, tensor->dtype, element);
}

int symm_tensor_item(const symm_tensor *tensor, symm_scalar *out) {
    const int64_t first[SYMM_MAX_DIMS] = {0};
    if (tensor->numel != 1) {
        return symm__fail_at(SYMM__IN("item"), SYMM_EINVALID,
                             "the tensor has %lld elements, not one", (long long)tensor->numel);
    }
    void *element = NULL;
    int rc = element_at("item", tensor, first, tensor->ndim, &element);
    if (rc < 0) return rc;
    *out = symm__scalar_load(tensor->dtype, element);
    return SYMM_OK;
}
