/* SPDX-License-Identifier: MIT
 *
 * NumPy's .npy files: versions 1.0 to 3.0, little-endian, C and Fortran order, every dtype of
 * symm/dtype.h. Format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
 *
 * bfloat16 has no type there: it is written as 2-byte void ("|V2"), and read when dtype bfloat16 is
 * asked for. Errors: SYMM_ENOT_FOUND (no such file), SYMM_EIO, SYMM_EINVALID (not a .npy file, or a
 * malformed or truncated one), SYMM_EUNSUPPORTED (object, structured, big-endian and other types),
 * SYMM_ELIMIT (a header too large), SYMM_EINTERRUPTED. A file's shape is held against its size
 * before memory is taken. Data after the array is ignored, as NumPy does. Any thread.
 */
#ifndef SYMM_NPY_H
#define SYMM_NPY_H

#include <symm/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SYMM_NPY_ALL (-1)

struct symm_npy_info {
    symm_dtype dtype; /* SYMM_DTYPE_bfloat16 for 2-byte void */
    int ndim;
    int64_t shape[SYMM_MAX_DIMS];
    int fortran_order; /* the first dimension is the one without gaps */
};

/* Reads the header only. */
int symm_npy_read_info(const char *path, struct symm_npy_info *out);
/* A tensor of its own memory, on the CPU. In Fortran order its strides are the file's. */
int symm_npy_load(const char *path, symm_tensor **out);
/* Elements first .. first + count - 1 of the first dimension, without reading the others. */
int symm_npy_load_rows(const char *path, int64_t first, int64_t count, symm_tensor **out);
/* The same; `count` may be SYMM_NPY_ALL (to the end). `dtype` is what the file must hold
 * (SYMM_EINVALID if it does not), and SYMM_DTYPE_COUNT whatever it says. */
int symm_npy_load_as(const char *path, int64_t first, int64_t count, symm_dtype dtype,
                     symm_tensor **out);
/* Writes version 1.0, to another name in the same directory that then replaces `path`: nobody sees
 * half a file. Tensors whose transpose is contiguous are written in Fortran order. */
int symm_npy_save(const char *path, const symm_tensor *tensor);

#ifdef __cplusplus
}
#endif
#endif
