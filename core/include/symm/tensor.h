/* SPDX-License-Identifier: MIT
 *
 * Tensors: strided views of storages.
 *
 * A storage is a run of bytes on one device; a tensor is a dtype, a shape, strides (in elements,
 * not negative) and an offset into it. Views share their storage and keep it alive. Tensors are
 * counted: every function that gives one gives a reference that the caller ends with
 * symm_tensor_release. Shapes have 0 to SYMM_MAX_DIMS dimensions; a dimension may be 0. Sizes are
 * 64-bit and checked for overflow. Dimensions may be given from the end: -1 is the last.
 *
 * Threads: metadata never changes after creation, so any thread may read it and make views; element
 * access is as unsynchronised as a C array's.
 * Errors common to all: SYMM_EINVALID (shape, dtype, dimension, bounds), SYMM_EOOM.
 */
#ifndef SYMM_TENSOR_H
#define SYMM_TENSOR_H

#include <stddef.h>
#include <stdint.h>

#include <symm/dtype.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SYMM_MAX_DIMS 8

typedef struct symm_tensor symm_tensor;

/* ---- making ---- */

/* Uninitialised, contiguous. `device` "cpu" or NULL. */
int symm_tensor_empty(const int64_t *shape, int ndim, symm_dtype dtype, const char *device,
                      symm_tensor **out);
/* Uninitialised; the storage is as large as shape and strides reach. */
int symm_tensor_empty_strided(const int64_t *shape, const int64_t *stride, int ndim,
                              symm_dtype dtype, const char *device, symm_tensor **out);
/* A tensor over memory of the caller; `stride` NULL: contiguous. `release(context)` is called once,
 * on whichever thread drops the last reference, and only if this function succeeded. */
int symm_tensor_from_memory(void *data, const int64_t *shape, const int64_t *stride, int ndim,
                            symm_dtype dtype, const char *device, void (*release)(void *context),
                            void *context, symm_tensor **out);
symm_tensor *symm_tensor_retain(symm_tensor *tensor);
void symm_tensor_release(symm_tensor *tensor);

/* ---- reading ---- */

symm_dtype symm_tensor_dtype(const symm_tensor *tensor);
int symm_tensor_ndim(const symm_tensor *tensor);
const int64_t *symm_tensor_shape(const symm_tensor *tensor);
const int64_t *symm_tensor_stride(const symm_tensor *tensor);
/* First element, in elements from the storage's start. */
int64_t symm_tensor_storage_offset(const symm_tensor *tensor);
int64_t symm_tensor_numel(const symm_tensor *tensor);
/* numel * element size. */
int64_t symm_tensor_nbytes(const symm_tensor *tensor);
/* Address of the first element. */
void *symm_tensor_data(const symm_tensor *tensor);
const char *symm_tensor_device(const symm_tensor *tensor);
int symm_tensor_is_contiguous(const symm_tensor *tensor);

#ifdef __cplusplus
}
#endif
#endif
