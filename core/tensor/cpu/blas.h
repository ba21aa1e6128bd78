/* SPDX-License-Identifier: MIT
 *
 * CBLAS, opened when the first product of floats is asked for: a process that multiplies nothing
 * starts without it and without its threads.
 */
#ifndef SYMM_TENSOR_CPU_BLAS_H
#define SYMM_TENSOR_CPU_BLAS_H

/* Numbers that every CBLAS agrees on. */
enum symm__blas_order { SYMM__ROW_MAJOR = 101 };
enum symm__blas_transpose { SYMM__NO_TRANS = 111, SYMM__TRANS = 112 };

/* With integers of 32 bits, as the libraries that are looked for have them. */
#define SYMM__BLAS_GEMV(name, type)                                                           \
    void (*name)(enum symm__blas_order order, enum symm__blas_transpose transpose, int rows,  \
                 int columns, type alpha, const type *m, int lead, const type *x, int x_step, \
                 type beta, type *y, int y_step)
#define SYMM__BLAS_GEMM(name, type)                                                           \
    void (*name)(enum symm__blas_order order, enum symm__blas_transpose a_transpose,          \
                 enum symm__blas_transpose b_transpose, int rows, int columns, int inner,     \
                 type alpha, const type *a, int a_lead, const type *b, int b_lead, type beta, \
                 type *c, int c_lead)

struct symm__blas {
    SYMM__BLAS_GEMV(sgemv, float);
    SYMM__BLAS_GEMV(dgemv, double);
    SYMM__BLAS_GEMM(sgemm, float);
    SYMM__BLAS_GEMM(dgemm, double);
};

/* SYMM_EMISSING_PLUGIN if no library is found, then and in every later call. */
int symm__blas_open(const struct symm__blas **out);

#endif
