/* SPDX-License-Identifier: MIT
 *
 * Between numbers of the caller and elements in memory.
 */
#ifndef SYMM_TENSOR_SCALAR_H
#define SYMM_TENSOR_SCALAR_H

#include "tensor/tensor.h"

/* Writes `value` as an element of `dtype`. Floats are rounded once; for an integer dtype the value
 * must be a whole number in its range, else SYMM_EINVALID. */
int symm__scalar_store(const char *op, symm_scalar value, symm_dtype dtype, void *element_out);
symm_scalar symm__scalar_load(symm_dtype dtype, const void *element);
double symm__scalar_double(symm_scalar value);
/* 1 if the number is whole and fits 64 bits with or without sign: its two's complement. */
int symm__scalar_whole(symm_scalar value, uint64_t *bits_out, int *negative_out);
/* SYMM_EINVALID: the value is no number of that integer dtype. */
int symm__scalar_refuse(const char *op, symm_scalar value, symm_dtype dtype);

#endif
