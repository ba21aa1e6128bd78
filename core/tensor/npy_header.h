/* SPDX-License-Identifier: MIT
 *
 * The text in a .npy file that says what follows: a Python dict with the keys descr, fortran_order
 * and shape.
 */
#ifndef SYMM_TENSOR_NPY_HEADER_H
#define SYMM_TENSOR_NPY_HEADER_H

#include <stddef.h>
#include <symm/npy.h>

/* Longest header that is read; NumPy writes some 100 bytes for what is supported here. */
#define SYMM__NPY_HEADER_MAX (1024 * 1024)
/* Room for the longest prefix and header that is written. */
#define SYMM__NPY_WRITE_MAX 512

/* Checks "\x93NUMPY", version and length; `prefix` has 12 bytes, of which version 1.0 uses 10. */
int symm__npy_prefix(const char *path, const unsigned char *prefix, size_t *header_start_out,
                     size_t *header_size_out);
#define SYMM__NPY_PREFIX_MAX 12
/* `text` needs no final 0. `path` for messages. */
int symm__npy_parse(const char *path, const char *text, size_t size, struct symm_npy_info *out);
/* Writes prefix and header, and gives their size, a multiple of 64. */
size_t symm__npy_format(const struct symm_npy_info *info, char text[SYMM__NPY_WRITE_MAX]);

#endif
