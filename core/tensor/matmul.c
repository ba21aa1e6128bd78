/* SPDX-License-Identifier: MIT
 *
 * Matrix products: vectors become matrices, leading dimensions are broadcast, and each pair of
 * matrices is handed to the device.
 */
#include "tensor/kernels.h"

static const char *const op = "matmul";

/* One product of many: batch dimensions are those of the result, strides in elements. */
struct product {
    int batch_ndim;
    int64_t batch[SYMM_MAX_DIMS];
    int64_t stride_a[SYMM_MAX_DIMS], stride_b[SYMM_MAX_DIMS];
    int64_t rows, inner, columns;
    int64_t shape[SYMM_MAX_DIMS]; /* of the result, as the caller sees it */
    int ndim;
};

static int64_t size_from_end(const symm_tensor *t, int i) { return t->shape[t->ndim - i]; }
static int64_t stride_from_end(const symm_tensor *t, int i) { return t->stride[t->ndim - i]; }

/* Size and stride of batch dimension i of an operand; 1 and 0 where it has none. */
static int64_t batch_size(const symm_tensor *t, int i, int batch_ndim) {
    int own = i - (batch_ndim - (t->ndim - 2));
    return t->ndim < 2 || own < 0 ? 1 : t->shape[own];
}
static int64_t batch_stride(const symm_tensor *t, int i, int batch_ndim) {
    int own = i - (batch_ndim - (t->ndim - 2));
    return t->ndim < 2 || own < 0 || t->shape[own] == 1 ? 0 : t->stride[own];
}

static int mismatch(const symm_tensor *a, const symm_tensor *b, const char *what) {
    char text_a[SYMM__SHAPE_TEXT_SIZE], text_b[SYMM__SHAPE_TEXT_SIZE];
    return symm__fail_at(SYMM__IN(op), SYMM_EINVALID, "the shapes %s and %s do not fit: %s",
                         symm__shape_text(a->shape, a->ndim, text_a),
                         symm__shape_text(b->shape, b->ndim, text_b), what);
}

static int check(const symm_tensor *a, const symm_tensor *b) {
    int rc = symm__check_same_device(op, a, b);
    if (rc == SYMM_OK) rc = symm__check_same_dtype(op, a, b);
    if (rc < 0) return rc;
    if (a->ndim == 0 || b->ndim == 0) return mismatch(a, b, "both need at least one dimension");
    if (a->dtype == SYMM_DTYPE_bool) {
        return symm__fail_at(SYMM__IN(op), SYMM_EUNSUPPORTED, "matmul has no meaning for bool");
    }
    return SYMM_OK;
}

static int plan(const symm_tensor *a, const symm_tensor *b, struct product *p) {
    int batch_a = a->ndim > 2 ? a->ndim - 2 : 0, batch_b = b->ndim > 2 ? b->ndim - 2 : 0;
    int64_t inner_b = b->ndim > 1 ? size_from_end(b, 2) : size_from_end(b, 1);
    p->rows = a->ndim > 1 ? size_from_end(a, 2) : 1;
    p->inner = size_from_end(a, 1);
    p->columns = b->ndim > 1 ? size_from_end(b, 1) : 1;
    p->batch_ndim = batch_a > batch_b ? batch_a : batch_b;
    p->ndim = 0;
    if (p->inner != inner_b) return mismatch(a, b, "columns on the left, rows on the right");
    for (int i = 0; i < p->batch_ndim; i++) {
        int64_t size_a = batch_size(a, i, p->batch_ndim), size_b = batch_size(b, i, p->batch_ndim);
        if (size_a != size_b && size_a != 1 && size_b != 1) {
            return mismatch(a, b, "the leading dimensions cannot be broadcast");
        }
        p->shape[p->ndim++] = p->batch[i] = size_a == 1 ? size_b : size_a;
        p->stride_a[i] = batch_stride(a, i, p->batch_ndim);
        p->stride_b[i] = batch_stride(b, i, p->batch_ndim);
    }
    if (a->ndim > 1) p->shape[p->ndim++] = p->rows;
    if (b->ndim > 1) p->shape[p->ndim++] = p->columns;
    return SYMM_OK;
}

/* A vector on the left is a row, on the right a column. */
static struct symm__matrix matrix_of(const symm_tensor *t, int is_left) {
    struct symm__matrix matrix = {.data = symm_tensor_data(t)};
    if (t->ndim > 1) {
        matrix.row_stride = stride_from_end(t, 2);
        matrix.column_stride = stride_from_end(t, 1);
    } else if (is_left) {
        matrix.column_stride = stride_from_end(t, 1);
    } else {
        matrix.row_stride = stride_from_end(t, 1);
    }
    return matrix;
}

static struct symm__matrix result_matrix(const symm_tensor *a, const symm_tensor *b,
                                         const symm_tensor *result) {
    struct symm__matrix matrix = {.data = symm_tensor_data(result)};
    int last = result->ndim - 1;
    if (b->ndim > 1) matrix.column_stride = result->stride[last--];
    if (a->ndim > 1) matrix.row_stride = result->stride[last];
    return matrix;
}

static int compute(const symm_tensor *a, const symm_tensor *b, const struct product *p,
                   symm_tensor *result) {
    const struct symm__kernels *kernels = NULL;
    int rc = symm__kernels_of(op, a, &kernels);
    if (rc < 0 || result->numel == 0) return rc;
    int64_t size = (int64_t)symm_dtype_size(a->dtype), index[SYMM_MAX_DIMS] = {0};
    struct symm__matmul m = {a->dtype,
                             p->rows,
                             p->inner,
                             p->columns,
                             matrix_of(a, 1),
                             matrix_of(b, 0),
                             result_matrix(a, b, result)};
    for (;;) {
        rc = kernels->matmul(&m);
        if (rc < 0) return rc;
        int i = p->batch_ndim - 1;
        for (; i >= 0; i--) {
            int64_t steps = index[i] + 1 < p->batch[i] ? 1 : -index[i];
            index[i] += steps;
            m.a.data += steps * p->stride_a[i] * size;
            m.b.data += steps * p->stride_b[i] * size;
            m.c.data += steps * result->stride[i] * size;
            if (steps > 0) break;
        }
        if (i < 0) return SYMM_OK;
    }
}

static int multiply(const symm_tensor *a, const symm_tensor *b, const struct product *p,
                    symm_tensor **out) {
    symm_tensor *result = NULL;
    int rc = symm_tensor_empty(p->shape, p->ndim, a->dtype, symm_tensor_device(a), &result);
    if (rc < 0) return rc;
    rc = compute(a, b, p, result);
    if (rc < 0) {
        symm_tensor_release(result);
        return rc;
    }
    *out = result;
    return SYMM_OK;
}

int symm_tensor_matmul(const symm_tensor *a, const symm_tensor *b, symm_tensor **out) {
    struct product p;
    int rc = check(a, b);
    if (rc == SYMM_OK) rc = plan(a, b, &p);
    if (rc < 0) return rc;
    return multiply(a, b, &p, out);
}

int symm_tensor_matmul_into(const symm_tensor *a, const symm_tensor *b, symm_tensor *result) {
    struct product p;
    symm_tensor *apart = NULL;
    int rc = check(a, b);
    if (rc == SYMM_OK) rc = plan(a, b, &p);
    if (rc == SYMM_OK) rc = symm__check_result(op, a, result, a->dtype, p.shape, p.ndim);
    if (rc < 0) return rc;
    if (symm__overlap_of(result, a) == SYMM__APART && symm__overlap_of(result, b) == SYMM__APART) {
        return compute(a, b, &p, result);
    }
    rc = multiply(a, b, &p, &apart);
    if (rc < 0) return rc;
    rc = symm_tensor_copy(result, apart);
    symm_tensor_release(apart);
    return rc;
}
