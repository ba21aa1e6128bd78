/* SPDX-License-Identifier: MIT
 *
 * What a device computes: one const struct of functions for each device, found by the device's
 * name. The front (copy.c, arithmetic.c, reduce.c, matmul.c) has checked everything before it calls
 * a kernel: types, shapes, bounds, overlap; loops are never empty. Kernels may fail only for want
 * of memory or for a fault of the device.
 */
#ifndef SYMM_TENSOR_KERNELS_H
#define SYMM_TENSOR_KERNELS_H

#include "tensor/loop.h"

/* A reduction: for each kept position, the elements at the reduced positions in row-major order.
 * Order: element i of a position goes to lane i % 8; lanes are joined as
 * ((0 + 4) + (2 + 6)) + ((1 + 5) + (3 + 7)). It depends on nothing else, so a tensor and a copy of
 * it in another layout give the same result to the last bit. Sums and products of float16 and
 * bfloat16 are computed in float32, of float32 in float64. */
struct symm__reduce {
    symm_reduction op;
    symm_dtype dtype;
    symm_dtype out_dtype;
    struct symm__loop kept;    /* 0: output, 1: first element of the position */
    struct symm__loop reduced; /* 0: input; in row-major order; data unused */
    int64_t count;             /* elements a position, may be 0 (then kept.data[1] is not read) */
};

/* c = a x b: `rows` x `inner` times `inner` x `columns`; strides in elements. */
struct symm__matrix {
    char *data;
    int64_t row_stride;
    int64_t column_stride;
};
struct symm__matmul {
    symm_dtype dtype;
    int64_t rows, inner, columns; /* rows and columns at least 1, inner may be 0 */
    struct symm__matrix a, b, c;  /* c does not overlap a or b */
};

struct symm__closeness {
    double rtol, atol;
    int equal_nan;
};

struct symm__kernels {
    size_t size; /* sizeof(struct symm__kernels) of who filled it */
    /* Operand 0 = the element at `element` (host memory). */
    int (*fill)(const struct symm__loop *loop, symm_dtype dtype, const void *element);
    /* Operand 0 = operand 1, converted as number.h says. */
    int (*convert)(const struct symm__loop *loop, symm_dtype to, symm_dtype from);
    int (*unary)(const struct symm__loop *loop, symm_unary op, symm_dtype dtype);
    /* Operand 0 = 1 op 2; `dtype` is that of 1 and 2; comparisons write bool. */
    int (*binary)(const struct symm__loop *loop, symm_binary op, symm_dtype dtype);
    /* 1 if every pair of operands 0 and 1 is close (symm_tensor_allclose), else 0. */
    int (*close)(const struct symm__loop *loop, symm_dtype dtype,
                 const struct symm__closeness *closeness, int *all_out);
    int (*reduce)(const struct symm__reduce *reduce);
    int (*matmul)(const struct symm__matmul *matmul);
};

extern const struct symm__kernels symm__kernels_cpu;

/* SYMM_EEXISTS if the device has kernels. They live as long as the process. */
int symm__kernels_register(const char *device, const struct symm__kernels *kernels);
/* SYMM_EUNSUPPORTED naming the operation if the tensor's device computes nothing. */
int symm__kernels_of(const char *op, const symm_tensor *tensor, const struct symm__kernels **out);
/* For what reads and writes elements directly: SYMM_EUNSUPPORTED unless the tensor is on the CPU.
 */
int symm__check_host(const char *op, const symm_tensor *tensor);

#endif
