/* SPDX-License-Identifier: MIT
 *
 * matmul on the CPU: CBLAS for float32 and float64, on the operands where they lie if one of their
 * strides is 1, else on a packed copy; the 16-bit floats by way of float32; integers by plain
 * loops.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/cpu/blas.h"
#include "tensor/cpu/cpu.h"
#include "tensor/cpu/map.h"
#include "tensor/number.h"

/* A matrix as BLAS sees it: row-major, perhaps transposed, rows `lead` elements apart. */
struct operand {
    const void *data;
    enum symm__blas_transpose transpose;
    int lead;
    void *packed; /* to be freed */
};

static char *allocate(int64_t rows, int64_t columns, size_t size) {
    int64_t bytes = 0;
    if (__builtin_mul_overflow(rows, columns, &bytes) ||
        __builtin_mul_overflow(bytes, (int64_t)size, &bytes)) {
        return NULL;
    }
    return malloc(bytes ? (size_t)bytes : 1);
}

static int no_memory(int64_t rows, int64_t columns, size_t size) {
    return symm__fail_oom((size_t)rows * (size_t)columns * size);
}

/* Copies a matrix, row-major without gaps, converted. */
static void pack(char *to, symm_dtype to_dtype, const struct symm__matrix *from,
                 symm_dtype from_dtype, int64_t rows, int64_t columns) {
    int64_t to_size = (int64_t)symm_dtype_size(to_dtype);
    int64_t from_size = (int64_t)symm_dtype_size(from_dtype);
    struct symm__loop loop = {.operands = 2, .ndim = 2, .numel = rows * columns};
    loop.shape[0] = rows;
    loop.shape[1] = columns;
    loop.stride[0][0] = columns * to_size;
    loop.stride[0][1] = to_size;
    loop.stride[1][0] = from->row_stride * from_size;
    loop.stride[1][1] = from->column_stride * from_size;
    loop.data[0] = to;
    loop.data[1] = from->data;
    symm__cpu_convert(&loop, to_dtype, from_dtype);
}

/* Copies a packed matrix into place, converted. */
static void unpack(const struct symm__matrix *to, symm_dtype to_dtype, char *from,
                   symm_dtype from_dtype, int64_t rows, int64_t columns) {
    int64_t to_size = (int64_t)symm_dtype_size(to_dtype);
    int64_t from_size = (int64_t)symm_dtype_size(from_dtype);
    struct symm__loop loop = {.operands = 2, .ndim = 2, .numel = rows * columns};
    loop.shape[0] = rows;
    loop.shape[1] = columns;
    loop.stride[0][0] = to->row_stride * to_size;
    loop.stride[0][1] = to->column_stride * to_size;
    loop.stride[1][0] = columns * from_size;
    loop.stride[1][1] = from_size;
    loop.data[0] = to->data;
    loop.data[1] = from;
    symm__cpu_convert(&loop, to_dtype, from_dtype);
}

/* Whether rows with a stride of their own and elements side by side make a matrix for BLAS. */
static int is_lead(int64_t lead, int64_t rows, int64_t columns) {
    return lead <= INT_MAX && (lead >= columns || rows == 1);
}

static int as_int(int64_t value) { return value < 1 ? 1 : (int)value; }

/* 0, or SYMM_EOOM. `own` is the dtype in memory, `dtype` that of the multiplication. */
static int prepare(const struct symm__matrix *matrix, symm_dtype own, symm_dtype dtype,
                   int64_t rows, int64_t columns, struct operand *out) {
    *out = (struct operand){.data = matrix->data, .transpose = SYMM__NO_TRANS};
    int is_row_major = matrix->column_stride == 1 || columns == 1;
    int is_column_major = matrix->row_stride == 1 || rows == 1;
    if (own == dtype && is_row_major && is_lead(matrix->row_stride, rows, columns)) {
        out->lead = as_int(rows == 1 ? columns : matrix->row_stride);
        return SYMM_OK;
    }
    if (own == dtype && is_column_major && is_lead(matrix->column_stride, columns, rows)) {
        out->transpose = SYMM__TRANS;
        out->lead = as_int(columns == 1 ? rows : matrix->column_stride);
        return SYMM_OK;
    }
    char *packed = allocate(rows, columns, symm_dtype_size(dtype));
    if (!packed) return no_memory(rows, columns, symm_dtype_size(dtype));
    if (rows && columns) pack(packed, dtype, matrix, own, rows, columns);
    out->data = out->packed = packed;
    out->lead = as_int(columns);
    return SYMM_OK;
}

/* Elements between neighbours of an operand that is a vector, lying or standing. */
static int vector_step(const struct operand *vector, int is_column) {
    int is_gapped = is_column == (vector->transpose == SYMM__NO_TRANS);
    return is_gapped ? vector->lead : 1;
}

/* y = m x; `rows` and `columns` are m's as it is multiplied. */
static void multiply_vector(const struct symm__blas *blas, symm_dtype dtype,
                            const struct operand *m, enum symm__blas_transpose transpose, int rows,
                            int columns, const void *x, int x_step, void *y, int y_step) {
    int stored_rows = transpose == SYMM__NO_TRANS ? rows : columns;
    int stored_columns = transpose == SYMM__NO_TRANS ? columns : rows;
    if (dtype == SYMM_DTYPE_float64) {
        blas->dgemv(SYMM__ROW_MAJOR, transpose, stored_rows, stored_columns, 1, m->data, m->lead, x,
                    x_step, 0, y, y_step);
    } else {
        blas->sgemv(SYMM__ROW_MAJOR, transpose, stored_rows, stored_columns, 1, m->data, m->lead, x,
                    x_step, 0, y, y_step);
    }
}

static enum symm__blas_transpose turned(enum symm__blas_transpose transpose) {
    return transpose == SYMM__NO_TRANS ? SYMM__TRANS : SYMM__NO_TRANS;
}

static void multiply(const struct symm__blas *blas, const struct symm__matmul *m, symm_dtype dtype,
                     const struct operand *a, const struct operand *b, void *c, int lead) {
    int rows = (int)m->rows, columns = (int)m->columns, inner = (int)m->inner;
    if (columns == 1 && inner > 0) { /* without inner, gemv would leave c as it is */
        multiply_vector(blas, dtype, a, a->transpose, rows, inner, b->data, vector_step(b, 1), c,
                        lead);
    } else if (rows == 1 && inner > 0) { /* c' = b' a' */
        multiply_vector(blas, dtype, b, turned(b->transpose), columns, inner, a->data,
                        vector_step(a, 0), c, 1);
    } else if (dtype == SYMM_DTYPE_float64) {
        blas->dgemm(SYMM__ROW_MAJOR, a->transpose, b->transpose, rows, columns, inner, 1, a->data,
                    a->lead, b->data, b->lead, 0, c, lead);
    } else {
        blas->sgemm(SYMM__ROW_MAJOR, a->transpose, b->transpose, rows, columns, inner, 1, a->data,
                    a->lead, b->data, b->lead, 0, c, lead);
    }
}

static int multiply_floats(const struct symm__matmul *m) {
    symm_dtype dtype = m->dtype == SYMM_DTYPE_float64 ? SYMM_DTYPE_float64 : SYMM_DTYPE_float32;
    struct operand a = {0}, b = {0};
    char *c = m->c.data, *apart = NULL;
    int64_t lead = m->c.row_stride;
    int in_place = m->dtype == dtype && (m->c.column_stride == 1 || m->columns == 1) &&
                   is_lead(lead, m->rows, m->columns);
    if (m->rows > INT_MAX || m->inner > INT_MAX || m->columns > INT_MAX) {
        return symm__fail_at(SYMM__IN("matmul"), SYMM_ELIMIT,
                             "a matrix has more than %d rows or columns", INT_MAX);
    }
    const struct symm__blas *blas = NULL;
    int rc = symm__blas_open(&blas);
    if (rc == SYMM_OK) rc = prepare(&m->a, m->dtype, dtype, m->rows, m->inner, &a);
    if (rc == SYMM_OK) rc = prepare(&m->b, m->dtype, dtype, m->inner, m->columns, &b);
    if (rc < 0) goto done;
    if (!in_place) {
        c = apart = allocate(m->rows, m->columns, symm_dtype_size(dtype));
        lead = m->columns;
        if (!apart) {
            rc = no_memory(m->rows, m->columns, symm_dtype_size(dtype));
            goto done;
        }
    }
    multiply(blas, m, dtype, &a, &b, c, as_int(m->rows == 1 ? m->columns : lead));
    if (apart) unpack(&m->c, m->dtype, apart, dtype, m->rows, m->columns);
done:
    free(apart);
    free(b.packed);
    free(a.packed);
    return rc;
}

/* ---- integers ---- */

/* Packed operands. The low bits of a product are those of the unsigned product, so one loop serves
 * both signs. */
#define INTEGER_RUN(bits, type, wide)                                                     \
    static void multiply_##bits(const struct symm__matmul *m, void *to, const void *left, \
                                const void *right) {                                      \
        for (int64_t i = 0; i < m->rows; i++) {                                           \
            type *c = (type *)to + i * m->columns;                                        \
            const type *a = (const type *)left + i * m->inner;                            \
            memset(c, 0, (size_t)m->columns * sizeof *c);                                 \
            for (int64_t k = 0; k < m->inner; k++) {                                      \
                const type *b = (const type *)right + k * m->columns;                     \
                wide factor = a[k];                                                       \
                SYMM__INDEPENDENT                                                         \
                for (int64_t j = 0; j < m->columns; j++) {                                \
                    c[j] = (type)(c[j] + factor * b[j]);                                  \
                }                                                                         \
            }                                                                             \
        }                                                                                 \
    }
INTEGER_RUN(8, uint8_t, uint32_t)
INTEGER_RUN(16, uint16_t, uint32_t)
INTEGER_RUN(32, uint32_t, uint32_t)
INTEGER_RUN(64, uint64_t, uint64_t)

static void multiply_packed(const struct symm__matmul *m, void *c, const void *a, const void *b) {
    switch (symm_dtype_size(m->dtype)) {
    case 1: multiply_8(m, c, a, b); break;
    case 2: multiply_16(m, c, a, b); break;
    case 4: multiply_32(m, c, a, b); break;
    default: multiply_64(m, c, a, b);
    }
}

static int multiply_integers(const struct symm__matmul *m) {
    size_t size = symm_dtype_size(m->dtype);
    char *a = allocate(m->rows, m->inner, size), *b = allocate(m->inner, m->columns, size);
    char *c = allocate(m->rows, m->columns, size);
    int rc = SYMM_OK;
    if (!a || !b || !c) {
        rc = no_memory(m->rows + m->columns, m->inner, size);
        goto done;
    }
    if (m->inner) {
        pack(a, m->dtype, &m->a, m->dtype, m->rows, m->inner);
        pack(b, m->dtype, &m->b, m->dtype, m->inner, m->columns);
    }
    multiply_packed(m, c, a, b);
    unpack(&m->c, m->dtype, c, m->dtype, m->rows, m->columns);
done:
    free(c);
    free(b);
    free(a);
    return rc;
}

int symm__cpu_matmul(const struct symm__matmul *matmul) {
    if (symm_dtype_kind_of(matmul->dtype) == SYMM_KIND_FLOAT) return multiply_floats(matmul);
    return multiply_integers(matmul);
}
