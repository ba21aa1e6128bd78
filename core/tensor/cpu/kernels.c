/* SPDX-License-Identifier: MIT */
#include "tensor/cpu/cpu.h"

const struct symm__kernels symm__kernels_cpu = {
    .size = sizeof(struct symm__kernels),
    .fill = symm__cpu_fill,
    .convert = symm__cpu_convert,
    .unary = symm__cpu_unary,
    .binary = symm__cpu_binary,
    .close = symm__cpu_close,
    .reduce = symm__cpu_reduce,
    .matmul = symm__cpu_matmul,
};
