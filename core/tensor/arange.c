/* SPDX-License-Identifier: MIT
 *
 * arange: computed in the widest type of its kind, then converted.
 */
#include <math.h>

#include "tensor/kernels.h"
#include "tensor/scalar.h"

static const char *const op = "arange";

__extension__ typedef __int128 wide_int; /* holds every difference of 64-bit numbers */

static int count_floats(double start, double end, double step, int64_t *count_out) {
    double count = ceil((end - start) / step);
    if (step == 0 || isnan(count) || !isfinite(start) || !isfinite(step)) {
        return symm__fail_at(SYMM__IN(op), SYMM_EINVALID,
                             "no range goes from %g to %g in steps of %g", start, end, step);
    }
    if (count >= 9.2e18) {
        return symm__fail_at(SYMM__IN(op), SYMM_EINVALID, "the range has too many elements: %g",
                             count);
    }
    *count_out = count > 0 ? (int64_t)count : 0;
    return SYMM_OK;
}

static int range_of_floats(double start, double end, double step, symm_dtype dtype,
                           const char *device, symm_tensor **out) {
    int64_t count = 0;
    symm_tensor *range = NULL;
    int rc = count_floats(start, end, step, &count);
    if (rc == SYMM_OK) rc = symm_tensor_empty(&count, 1, SYMM_DTYPE_float64, device, &range);
    if (rc == SYMM_OK) rc = symm__check_host(op, range);
    if (rc < 0) goto done;
    double *data = symm_tensor_data(range);
    for (int64_t i = 0; i < count; i++) data[i] = start + (double)i * step;
    rc = symm_tensor_to(range, dtype, out);
done:
    symm_tensor_release(range);
    return rc;
}

static int whole_number(symm_scalar value, symm_dtype dtype, wide_int *out) {
    uint64_t bits = 0;
    int negative = 0;
    if (!symm__scalar_whole(value, &bits, &negative)) return symm__scalar_refuse(op, value, dtype);
    *out = negative ? (wide_int)(int64_t)bits : (wide_int)bits;
    return SYMM_OK;
}

static int count_integers(wide_int start, wide_int end, wide_int step, int64_t *count_out) {
    if (step == 0) return symm__fail_at(SYMM__IN(op), SYMM_EINVALID, "step must not be 0");
    wide_int count = 0;
    if (step > 0 && end > start) count = (end - start - 1) / step + 1;
    if (step < 0 && end < start) count = (start - end - 1) / -step + 1;
    if (count > INT64_MAX) {
        return symm__fail_at(SYMM__IN(op), SYMM_EINVALID, "the range has too many elements");
    }
    *count_out = (int64_t)count;
    return SYMM_OK;
}

/* The first and the last element must be numbers of the dtype; so are those between. */
static int check_ends(wide_int start, wide_int step, int64_t count, symm_dtype dtype) {
    char element[8];
    for (int i = 0; count > 0 && i < 2; i++) {
        wide_int value = start + (i ? step * (count - 1) : 0);
        symm_scalar number =
            value < 0 ? symm_scalar_int((int64_t)value) : symm_scalar_uint((uint64_t)value);
        int rc = symm__scalar_store(op, number, dtype, element);
        if (rc < 0) return rc;
    }
    return SYMM_OK;
}

static int range_of_integers(symm_scalar start, symm_scalar end, symm_scalar step, symm_dtype dtype,
                             const char *device, symm_tensor **out) {
    wide_int from = 0, to = 0, by = 0;
    int64_t count = 0;
    symm_tensor *range = NULL;
    symm_dtype widest = dtype == SYMM_DTYPE_uint64 ? SYMM_DTYPE_uint64 : SYMM_DTYPE_int64;
    int rc = whole_number(start, dtype, &from);
    if (rc == SYMM_OK) rc = whole_number(end, dtype, &to);
    if (rc == SYMM_OK) rc = whole_number(step, dtype, &by);
    if (rc == SYMM_OK) rc = count_integers(from, to, by, &count);
    if (rc == SYMM_OK) rc = check_ends(from, by, count, dtype);
    if (rc == SYMM_OK) rc = symm_tensor_empty(&count, 1, widest, device, &range);
    if (rc == SYMM_OK) rc = symm__check_host(op, range);
    if (rc < 0) goto done;
    uint64_t *data = symm_tensor_data(range), value = (uint64_t)from;
    for (int64_t i = 0; i < count; i++, value += (uint64_t)by) data[i] = value;
    rc = symm_tensor_to(range, dtype, out);
done:
    symm_tensor_release(range);
    return rc;
}

int symm_tensor_arange(symm_scalar start, symm_scalar end, symm_scalar step, symm_dtype dtype,
                       const char *device, symm_tensor **out) {
    switch (symm_dtype_kind_of(dtype)) {
    case SYMM_KIND_INT:
    case SYMM_KIND_UINT: return range_of_integers(start, end, step, dtype, device, out);
    case SYMM_KIND_FLOAT:
        return range_of_floats(symm__scalar_double(start), symm__scalar_double(end),
                               symm__scalar_double(step), dtype, device, out);
    default:
        return symm__fail_at(SYMM__IN(op), SYMM_EUNSUPPORTED, "arange has no meaning for bool");
    }
}
