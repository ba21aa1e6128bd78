/* SPDX-License-Identifier: MIT
 *
 * NumPy's .npy files, versions 1 to 3, little-endian.
 */
#ifndef SYMM_NPY_H
#define SYMM_NPY_H

#include <symm/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Reads a whole file. SYMM_ENOT_FOUND, SYMM_EINVALID (malformed, truncated, unsupported), SYMM_EIO. */
int symm_npy_load(const char *path, symm_tensor **out);
/* Writes through a temporary name: the file is whole or absent. */
int symm_npy_save(const char *path, const symm_tensor *tensor);

#ifdef __cplusplus
}
#endif
#endif
