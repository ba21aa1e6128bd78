/* SPDX-License-Identifier: MIT */
#include "tensor/scalar.h"

#include <inttypes.h>
#include <stdio.h>

#include "tensor/number.h"

symm_scalar symm_scalar_float(double value) {
    return (symm_scalar){.kind = SYMM_KIND_FLOAT, .value = {.f = value}};
}

symm_scalar symm_scalar_int(int64_t value) {
    return (symm_scalar){.kind = SYMM_KIND_INT, .value = {.i = value}};
}

symm_scalar symm_scalar_uint(uint64_t value) {
    return (symm_scalar){.kind = SYMM_KIND_UINT, .value = {.u = value}};
}

symm_scalar symm_scalar_bool(int value) {
    return (symm_scalar){.kind = SYMM_KIND_BOOL, .value = {.u = value != 0}};
}

double symm__scalar_double(symm_scalar value) {
    switch (value.kind) {
    case SYMM_KIND_FLOAT: return value.value.f;
    case SYMM_KIND_INT: return (double)value.value.i;
    default: return (double)value.value.u;
    }
}

/* ---- stores ---- */

static int is_zero(symm_scalar value) {
    return value.kind == SYMM_KIND_FLOAT ? value.value.f == 0 : value.value.u == 0;
}

int symm__scalar_refuse(const char *op, symm_scalar value, symm_dtype dtype) {
    char text[40];
    switch (value.kind) {
    case SYMM_KIND_FLOAT: snprintf(text, sizeof text, "%.17g", value.value.f); break;
    case SYMM_KIND_INT: snprintf(text, sizeof text, "%" PRId64, value.value.i); break;
    default: snprintf(text, sizeof text, "%" PRIu64, value.value.u);
    }
    return symm__fail_at(SYMM__IN(op), SYMM_EINVALID, "%s is not a number of %s", text,
                         symm_dtype_name(dtype));
}

int symm__scalar_whole(symm_scalar value, uint64_t *bits_out, int *negative_out) {
    *negative_out = 0;
    if (value.kind == SYMM_KIND_FLOAT) {
        double f = value.value.f;
        if (!(f >= -9223372036854775808.0 && f < 18446744073709551616.0) || f != floor(f)) return 0;
        *negative_out = f < 0;
        *bits_out = f < 0 ? (uint64_t)(int64_t)f : (uint64_t)f;
        return 1;
    }
    *negative_out = value.kind == SYMM_KIND_INT && value.value.i < 0;
    *bits_out = value.value.u; /* the members share their bits */
    return 1;
}

static int fits(uint64_t bits, int negative, symm_dtype dtype) {
    unsigned width = 8 * (unsigned)symm_dtype_size(dtype);
    uint64_t all = UINT64_MAX >> (64 - width);
    if (symm_dtype_kind_of(dtype) == SYMM_KIND_UINT) return !negative && bits <= all;
    return negative ? bits >= ~(all >> 1) : bits <= all >> 1;
}

static void store_whole(uint64_t bits, symm_dtype dtype, void *element) {
    uint8_t bits8 = (uint8_t)bits;
    uint16_t bits16 = (uint16_t)bits;
    uint32_t bits32 = (uint32_t)bits;
    switch (symm_dtype_size(dtype)) {
    case 1: memcpy(element, &bits8, 1); break;
    case 2: memcpy(element, &bits16, 2); break;
    case 4: memcpy(element, &bits32, 4); break;
    default: memcpy(element, &bits, 8);
    }
}

/* Exact, or rounded to odd: one rounding is left. */
static double nearly(symm_scalar value) {
    switch (value.kind) {
    case SYMM_KIND_FLOAT: return value.value.f;
    case SYMM_KIND_INT: return symm__int64_to_double_odd(value.value.i);
    default: return symm__uint64_to_double_odd(value.value.u);
    }
}

static void store_float(symm_scalar value, symm_dtype dtype, void *element) {
    double exact = symm__scalar_double(value);
    float single = (float)nearly(value);
    uint16_t half = symm__float_to_half(symm__double_to_float_odd(nearly(value)));
    uint16_t bfloat = symm__float_to_bfloat(symm__double_to_float_odd(nearly(value)));
    switch (dtype) {
    case SYMM_DTYPE_float64: memcpy(element, &exact, sizeof exact); break;
    case SYMM_DTYPE_float32: memcpy(element, &single, sizeof single); break;
    case SYMM_DTYPE_float16: memcpy(element, &half, sizeof half); break;
    default: memcpy(element, &bfloat, sizeof bfloat);
    }
}

int symm__scalar_store(const char *op, symm_scalar value, symm_dtype dtype, void *element_out) {
    uint64_t bits = 0;
    int negative = 0;
    switch (symm_dtype_kind_of(dtype)) {
    case SYMM_KIND_FLOAT: store_float(value, dtype, element_out); return SYMM_OK;
    case SYMM_KIND_BOOL: store_whole(!is_zero(value), dtype, element_out); return SYMM_OK;
    default:
        if (!symm__scalar_whole(value, &bits, &negative) || !fits(bits, negative, dtype)) {
            return symm__scalar_refuse(op, value, dtype);
        }
        store_whole(bits, dtype, element_out);
        return SYMM_OK;
    }
}

/* ---- loads ---- */

#define SCALAR_FLOAT(x) symm_scalar_float((double)(x))
#define SCALAR_INT(x) symm_scalar_int((int64_t)(x))
#define SCALAR_UINT(x) symm_scalar_uint((uint64_t)(x))
#define SCALAR_BOOL(x) symm_scalar_bool(x)

symm_scalar symm__scalar_load(symm_dtype dtype, const void *element) {
    switch (dtype) {
#define LOAD(name, type, bytes, kind, npy)              \
    case SYMM_DTYPE_##name: {                           \
        type stored;                                    \
        memcpy(&stored, element, sizeof stored);        \
        return SCALAR_##kind(symm__get_##name(stored)); \
    }
        SYMM_DTYPE_LIST(LOAD)
#undef LOAD
    default: return symm_scalar_float(0); /* there is no other dtype */
    }
}
