/* SPDX-License-Identifier: MIT
 *
 * Binary and unary operations, equal and allclose: what they demand of their operands, and where
 * the result goes. A result that overlaps an operand is computed apart and copied.
 */
#include "tensor/kernels.h"
#include "tensor/scalar.h"

static const char *const binary_names[SYMM_BINARY_COUNT] = {
#define NAME(name) #name,
    SYMM_BINARY_LIST(NAME)
#undef NAME
};

static const char *const unary_names[SYMM_UNARY_COUNT] = {
#define NAME(name) #name,
    SYMM_UNARY_LIST(NAME)
#undef NAME
};

/* ---- checks ---- */

static int check_op(unsigned op, unsigned count) {
    if (op < count) return SYMM_OK;
    return symm__fail(SYMM_EINVALID, "there is no operation %u", op);
}

static int no_bool(const char *op) {
    return symm__fail_at(SYMM__IN(op), SYMM_EUNSUPPORTED, "%s has no meaning for bool", op);
}

static int check_operands(symm_binary op, const symm_tensor *a, const symm_tensor *b) {
    const char *name = binary_names[op];
    int rc = symm__check_same_device(name, a, b);
    if (rc == SYMM_OK) rc = symm__check_same_dtype(name, a, b);
    if (rc < 0) return rc;
    int needs_numbers = op == SYMM_BINARY_sub || op == SYMM_BINARY_div || op == SYMM_BINARY_pow;
    return a->dtype == SYMM_DTYPE_bool && needs_numbers ? no_bool(name) : SYMM_OK;
}

/* The item of a whole reduction of b. */
static int reduced(symm_reduction reduction, const symm_tensor *b, symm_scalar *out) {
    symm_tensor *whole = NULL;
    int rc = symm_tensor_reduce(reduction, b, SYMM_ALL_DIMS, 0, &whole);
    if (rc < 0) return rc;
    rc = symm_tensor_item(whole, out);
    symm_tensor_release(whole);
    return rc;
}

/* Integers cannot be divided by 0 or raised to a negative power: found before anything is written.
 */
static int check_right(symm_binary op, const symm_tensor *b) {
    symm_scalar value;
    int rc = SYMM_OK;
    enum symm_dtype_kind kind = symm_dtype_kind_of(b->dtype);
    if (kind == SYMM_KIND_FLOAT || b->numel == 0) return SYMM_OK;
    if (op == SYMM_BINARY_div) {
        rc = reduced(SYMM_REDUCTION_all, b, &value);
        if (rc < 0 || value.value.u) return rc;
        return symm__fail_at(SYMM__IN("div"), SYMM_EINVALID, "division of %s by zero",
                             symm_dtype_name(b->dtype));
    }
    if (op == SYMM_BINARY_pow && kind == SYMM_KIND_INT) {
        rc = reduced(SYMM_REDUCTION_min, b, &value);
        if (rc < 0 || value.value.i >= 0) return rc;
        return symm__fail_at(SYMM__IN("pow"), SYMM_EINVALID, "%s to the negative power %lld",
                             symm_dtype_name(b->dtype), (long long)value.value.i);
    }
    return SYMM_OK;
}

/* ---- binary ---- */

static int compute_binary(symm_binary op, const symm_tensor *a, const symm_tensor *b,
                          symm_tensor *result) {
    const struct symm__kernels *kernels = NULL;
    int rc = symm__kernels_of(binary_names[op], a, &kernels);
    if (rc < 0 || result->numel == 0) return rc;
    struct symm__loop loop;
    const symm_tensor *operands[] = {result, a, b};
    symm__loop_build(&loop, result->shape, result->ndim, 3, operands);
    return kernels->binary(&loop, op, a->dtype);
}

static symm_dtype binary_dtype(symm_binary op, const symm_tensor *a) {
    return op >= SYMM_BINARY_eq ? SYMM_DTYPE_bool : a->dtype;
}

static int binary_checked(symm_binary op, const symm_tensor *a, const symm_tensor *b,
                          const int64_t *shape, int ndim, symm_tensor **out) {
    symm_tensor *result = NULL;
    int rc = check_right(op, b);
    if (rc < 0) return rc;
    rc = symm_tensor_empty(shape, ndim, binary_dtype(op, a), symm_tensor_device(a), &result);
    if (rc < 0) return rc;
    rc = compute_binary(op, a, b, result);
    if (rc < 0) {
        symm_tensor_release(result);
        return rc;
    }
    *out = result;
    return SYMM_OK;
}

/* Checks the operands and gives the shape of the result. */
static int begin_binary(symm_binary op, const symm_tensor *a, const symm_tensor *b,
                        int64_t *shape_out, int *ndim_out) {
    int rc = check_op(op, SYMM_BINARY_COUNT);
    if (rc == SYMM_OK) rc = check_operands(op, a, b);
    if (rc < 0) return rc;
    return symm__broadcast_shape(binary_names[op], a, b, shape_out, ndim_out);
}

int symm_tensor_binary(symm_binary op, const symm_tensor *a, const symm_tensor *b,
                       symm_tensor **out) {
    int64_t shape[SYMM_MAX_DIMS];
    int ndim = 0, rc = begin_binary(op, a, b, shape, &ndim);
    if (rc < 0) return rc;
    return binary_checked(op, a, b, shape, ndim, out);
}

int symm_tensor_binary_into(symm_binary op, const symm_tensor *a, const symm_tensor *b,
                            symm_tensor *result) {
    int64_t shape[SYMM_MAX_DIMS];
    int ndim = 0, rc = begin_binary(op, a, b, shape, &ndim);
    if (rc == SYMM_OK) {
        rc = symm__check_result(binary_names[op], a, result, binary_dtype(op, a), shape, ndim);
    }
    if (rc < 0) return rc;
    if (symm__overlap_of(result, a) != SYMM__OVERLAPPING &&
        symm__overlap_of(result, b) != SYMM__OVERLAPPING) {
        rc = check_right(op, b);
        return rc < 0 ? rc : compute_binary(op, a, b, result);
    }
    symm_tensor *apart = NULL;
    rc = binary_checked(op, a, b, shape, ndim, &apart);
    if (rc < 0) return rc;
    rc = symm_tensor_copy(result, apart);
    symm_tensor_release(apart);
    return rc;
}

/* The number as a tensor without dimensions, of a's dtype and device. */
static int number_like(symm_binary op, const symm_tensor *a, symm_scalar b, symm_tensor **out) {
    _Alignas(8) char element[8];
    int rc = check_op(op, SYMM_BINARY_COUNT);
    if (rc == SYMM_OK) rc = symm__scalar_store(binary_names[op], b, a->dtype, element);
    if (rc < 0) return rc;
    return symm_tensor_full(NULL, 0, b, a->dtype, symm_tensor_device(a), out);
}

int symm_tensor_binary_scalar(symm_binary op, const symm_tensor *a, symm_scalar b,
                              symm_tensor **out) {
    symm_tensor *number = NULL;
    int rc = number_like(op, a, b, &number);
    if (rc < 0) return rc;
    rc = symm_tensor_binary(op, a, number, out);
    symm_tensor_release(number);
    return rc;
}

int symm_tensor_binary_scalar_into(symm_binary op, const symm_tensor *a, symm_scalar b,
                                   symm_tensor *result) {
    symm_tensor *number = NULL;
    int rc = number_like(op, a, b, &number);
    if (rc < 0) return rc;
    rc = symm_tensor_binary_into(op, a, number, result);
    symm_tensor_release(number);
    return rc;
}

/* ---- unary ---- */

static int compute_unary(symm_unary op, const symm_tensor *a, symm_tensor *result) {
    const struct symm__kernels *kernels = NULL;
    int rc = symm__kernels_of(unary_names[op], a, &kernels);
    if (rc < 0 || a->numel == 0) return rc;
    struct symm__loop loop;
    const symm_tensor *operands[] = {result, a};
    symm__loop_build(&loop, a->shape, a->ndim, 2, operands);
    return kernels->unary(&loop, op, a->dtype);
}

int symm_tensor_unary(symm_unary op, const symm_tensor *a, symm_tensor **out) {
    symm_tensor *result = NULL;
    int rc = check_op(op, SYMM_UNARY_COUNT);
    if (rc < 0) return rc;
    if (a->dtype == SYMM_DTYPE_bool) return no_bool(unary_names[op]);
    rc = symm__tensor_like(a, a->dtype, &result);
    if (rc < 0) return rc;
    rc = compute_unary(op, a, result);
    if (rc < 0) {
        symm_tensor_release(result);
        return rc;
    }
    *out = result;
    return SYMM_OK;
}

int symm_tensor_unary_into(symm_unary op, const symm_tensor *a, symm_tensor *result) {
    symm_tensor *apart = NULL;
    int rc = check_op(op, SYMM_UNARY_COUNT);
    if (rc < 0) return rc;
    if (a->dtype == SYMM_DTYPE_bool) return no_bool(unary_names[op]);
    rc = symm__check_result(unary_names[op], a, result, a->dtype, a->shape, a->ndim);
    if (rc < 0) return rc;
    if (symm__overlap_of(result, a) != SYMM__OVERLAPPING) return compute_unary(op, a, result);
    rc = symm_tensor_unary(op, a, &apart);
    if (rc < 0) return rc;
    rc = symm_tensor_copy(result, apart);
    symm_tensor_release(apart);
    return rc;
}

/* ---- equal and allclose ---- */

static int all_close(const char *op, const symm_tensor *a, const symm_tensor *b,
                     const struct symm__closeness *closeness, int *all_out) {
    const struct symm__kernels *kernels = NULL;
    int64_t shape[SYMM_MAX_DIMS];
    int ndim = 0, rc = symm__broadcast_shape(op, a, b, shape, &ndim);
    if (rc == SYMM_OK) rc = symm__kernels_of(op, a, &kernels);
    if (rc < 0) return rc;
    for (int i = 0; i < ndim; i++) {
        if (shape[i] != 0) continue;
        *all_out = 1;
        return SYMM_OK;
    }
    struct symm__loop loop;
    const symm_tensor *operands[] = {a, b};
    symm__loop_build(&loop, shape, ndim, 2, operands);
    return kernels->close(&loop, a->dtype, closeness, all_out);
}

int symm_tensor_equal(const symm_tensor *a, const symm_tensor *b, int *equal_out) {
    const struct symm__closeness exactly = {0, 0, 0};
    int rc = symm__check_same_device("equal", a, b);
    if (rc == SYMM_OK) rc = symm__check_same_dtype("equal", a, b);
    if (rc < 0) return rc;
    if (!symm__same_shape(a, b)) {
        *equal_out = 0;
        return SYMM_OK;
    }
    return all_close("equal", a, b, &exactly, equal_out);
}

int symm_tensor_allclose(const symm_tensor *a, const symm_tensor *b, double rtol, double atol,
                         int equal_nan, int *all_out) {
    const char *op = "allclose";
    const struct symm__closeness closeness = {rtol, atol, equal_nan};
    int rc = symm__check_same_device(op, a, b);
    if (rc == SYMM_OK) rc = symm__check_same_dtype(op, a, b);
    if (rc < 0) return rc;
    if (!(rtol >= 0) || !(atol >= 0)) {
        return symm__fail_at(SYMM__IN(op), SYMM_EINVALID,
                             "rtol and atol must not be negative, and are %g and %g", rtol, atol);
    }
    return all_close(op, a, b, &closeness, all_out);
}
