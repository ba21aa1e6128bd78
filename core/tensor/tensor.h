/* SPDX-License-Identifier: MIT
 *
 * Inside of storages and tensors, for core/tensor and for what makes storages of its own
 * (core/symmem). Invariant: offset + what shape and strides reach lies within the storage.
 */
#ifndef SYMM_TENSOR_TENSOR_H
#define SYMM_TENSOR_TENSOR_H

#include <stdatomic.h>
#include <symm/tensor.h>

#include "base/error.h"

/* The place of an error that only knows its operation, for symm__fail_at. */
#define SYMM__IN(op) (&(struct symm__where){(op), NULL, -1, -1, -1, -1})

struct symm__storage {
    atomic_int references; /* release to drop, acquire by who drops the last; see storage.c */
    void *data;
    int64_t nbytes;
    const char *device;                             /* static text: "cpu" */
    void (*release)(struct symm__storage *storage); /* frees data and the struct */
    void *owner;                                    /* of release */
    const void *tag; /* who made it: an address that only its maker compares with */
};

struct symm_tensor {
    atomic_int references;
    symm_dtype dtype;
    int ndim;
    int64_t shape[SYMM_MAX_DIMS];
    int64_t stride[SYMM_MAX_DIMS];
    int64_t offset; /* elements */
    int64_t numel;
    struct symm__storage *storage;
};

/* Memory of a device (NULL: "cpu"), uninitialised; one reference. */
int symm__storage_new(int64_t nbytes, const char *device, struct symm__storage **out);
/* Memory of somebody else; one reference. */
int symm__storage_foreign(void *data, int64_t nbytes, const char *device,
                          struct symm__storage **out);
/* What a foreign storage calls once when its last reference goes; until then: nothing. */
void symm__storage_on_release(struct symm__storage *storage, void (*release)(void *context),
                              void *context);
void symm__storage_retain(struct symm__storage *storage);
void symm__storage_release(struct symm__storage *storage);

/* A tensor over a storage, which it retains; `offset` in elements; checked against the storage's
 * size. `stride` NULL: contiguous. */
int symm__tensor_over(struct symm__storage *storage, const int64_t *shape, const int64_t *stride,
                      int ndim, symm_dtype dtype, int64_t offset, symm_tensor **out);
/* The same, for an operation that has a name. */
int symm__tensor_over_in(const char *op, struct symm__storage *storage, const int64_t *shape,
                         const int64_t *stride, int ndim, symm_dtype dtype, int64_t offset,
                         symm_tensor **out);
/* Contiguous, of the tensor's shape and device, uninitialised. */
int symm__tensor_like(const symm_tensor *tensor, symm_dtype dtype, symm_tensor **out);
/* A dimension that may count from the end, as 0..ndim - 1. */
int symm__dim(const char *op, int dim, int ndim, int *out);
/* The strides of a contiguous tensor. */
void symm__contiguous_strides(const int64_t *shape, int ndim, int64_t *stride_out);
/* Checks a shape (dimensions >= 0, at most SYMM_MAX_DIMS, no overflow of 63 bits in bytes) and
 * gives its number of elements. `op` for messages. */
int symm__shape_check(const char *op, const int64_t *shape, int ndim, symm_dtype dtype,
                      int64_t *numel_out);
/* Bytes from the first element to the end of the last that shape and strides reach; 0 if empty. */
int symm__extent_bytes(const char *op, const int64_t *shape, const int64_t *stride, int ndim,
                       symm_dtype dtype, int64_t *bytes_out);

#endif
