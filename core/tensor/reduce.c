/* SPDX-License-Identifier: MIT
 *
 * Reductions: which elements belong to which element of the result.
 */
#include "tensor/kernels.h"

static const char *const names[SYMM_REDUCTION_COUNT] = {
#define NAME(name) #name,
    SYMM_REDUCTION_LIST(NAME)
#undef NAME
};

static symm_dtype sum_dtype(symm_dtype dtype) {
    if (symm_dtype_kind_of(dtype) == SYMM_KIND_FLOAT || dtype == SYMM_DTYPE_uint64) return dtype;
    return SYMM_DTYPE_int64;
}

static symm_dtype result_dtype(symm_reduction op, symm_dtype dtype) {
    switch (op) {
    case SYMM_REDUCTION_sum:
    case SYMM_REDUCTION_prod: return sum_dtype(dtype);
    case SYMM_REDUCTION_mean:
        return symm_dtype_kind_of(dtype) == SYMM_KIND_FLOAT ? dtype : SYMM_DTYPE_float64;
    case SYMM_REDUCTION_all:
    case SYMM_REDUCTION_any: return SYMM_DTYPE_bool;
    default: return dtype;
    }
}

static int is_reduced(int i, int dim) { return dim == SYMM_ALL_DIMS || i == dim; }

/* Adds a dimension to a loop that is built by hand; those of size 1 are left out. */
static void add_dim(struct symm__loop *loop, int64_t size, int64_t stride0, int64_t stride1) {
    loop->numel *= size;
    if (size == 1) return;
    loop->shape[loop->ndim] = size;
    loop->stride[0][loop->ndim] = stride0;
    loop->stride[1][loop->ndim] = stride1;
    loop->ndim++;
}

/* Takes the dimensions of `tensor` apart; `kept` is `result` with the reduced dimensions as 1. */
static void plan(struct symm__reduce *reduce, const symm_tensor *tensor, const symm_tensor *result,
                 int dim) {
    int64_t in_size = (int64_t)symm_dtype_size(tensor->dtype);
    int64_t out_size = (int64_t)symm_dtype_size(result->dtype);
    reduce->kept = (struct symm__loop){.operands = 2, .numel = 1};
    reduce->kept.data[0] = symm_tensor_data(result);
    reduce->kept.data[1] = symm_tensor_data(tensor);
    reduce->reduced = (struct symm__loop){.operands = 1, .numel = 1};
    for (int i = 0; i < tensor->ndim; i++) {
        int64_t size = tensor->shape[i];
        int64_t stride = size > 1 ? tensor->stride[i] * in_size : 0;
        if (is_reduced(i, dim)) {
            add_dim(&reduce->reduced, size, stride, 0);
        } else {
            add_dim(&reduce->kept, size, size > 1 ? result->stride[i] * out_size : 0, stride);
        }
    }
    symm__loop_join(&reduce->kept);
    symm__loop_join(&reduce->reduced);
    reduce->count = reduce->reduced.numel;
}

/* Reduces into a result that still has the reduced dimensions, with size 1. */
static int compute(symm_reduction op, const symm_tensor *tensor, int dim, symm_tensor *result) {
    const struct symm__kernels *kernels = NULL;
    int rc = symm__kernels_of(names[op], tensor, &kernels);
    if (rc < 0 || result->numel == 0) return rc;
    struct symm__reduce reduce = {.op = op, .dtype = tensor->dtype, .out_dtype = result->dtype};
    plan(&reduce, tensor, result, dim);
    if (reduce.count == 0 && (op == SYMM_REDUCTION_max || op == SYMM_REDUCTION_min)) {
        return symm__fail_at(SYMM__IN(names[op]), SYMM_EINVALID, "%s of no elements", names[op]);
    }
    return kernels->reduce(&reduce);
}

/* Drops the dimensions that were reduced to size 1. */
static int drop_dims(const symm_tensor *result, int dim, symm_tensor **out) {
    int64_t shape[SYMM_MAX_DIMS];
    int ndim = 0;
    for (int i = 0; i < result->ndim; i++) {
        if (!is_reduced(i, dim)) shape[ndim++] = result->shape[i];
    }
    return symm__tensor_over_in("reduce", result->storage, shape, NULL, ndim, result->dtype, 0,
                                out);
}

int symm_tensor_reduce(symm_reduction op, const symm_tensor *tensor, int dim, int keepdim,
                       symm_tensor **out) {
    int64_t shape[SYMM_MAX_DIMS];
    symm_tensor *result = NULL;
    int rc = SYMM_OK;
    if ((unsigned)op >= SYMM_REDUCTION_COUNT) {
        return symm__fail(SYMM_EINVALID, "there is no reduction %d", (int)op);
    }
    if (dim != SYMM_ALL_DIMS) rc = symm__dim(names[op], dim, tensor->ndim, &dim);
    if (rc < 0) return rc;
    for (int i = 0; i < tensor->ndim; i++) shape[i] = is_reduced(i, dim) ? 1 : tensor->shape[i];
    rc = symm_tensor_empty(shape, tensor->ndim, result_dtype(op, tensor->dtype),
                           symm_tensor_device(tensor), &result);
    if (rc < 0) return rc;
    rc = compute(op, tensor, dim, result);
    if (rc == SYMM_OK && !keepdim) {
        rc = drop_dims(result, dim, out);
    } else if (rc == SYMM_OK) {
        *out = symm_tensor_retain(result);
    }
    symm_tensor_release(result);
    return rc;
}
