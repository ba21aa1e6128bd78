/* SPDX-License-Identifier: MIT
 *
 * The CPU's kernels, one file a family; symm__kernels_cpu (kernels.c) is their table.
 */
#ifndef SYMM_TENSOR_CPU_CPU_H
#define SYMM_TENSOR_CPU_CPU_H

#include "tensor/kernels.h"

int symm__cpu_fill(const struct symm__loop *loop, symm_dtype dtype, const void *element);
int symm__cpu_convert(const struct symm__loop *loop, symm_dtype to, symm_dtype from);
int symm__cpu_unary(const struct symm__loop *loop, symm_unary op, symm_dtype dtype);
int symm__cpu_binary(const struct symm__loop *loop, symm_binary op, symm_dtype dtype);
int symm__cpu_close(const struct symm__loop *loop, symm_dtype dtype,
                    const struct symm__closeness *closeness, int *all_out);
int symm__cpu_reduce(const struct symm__reduce *reduce);
int symm__cpu_matmul(const struct symm__matmul *matmul);

#endif
