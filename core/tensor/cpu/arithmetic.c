/* SPDX-License-Identifier: MIT
 *
 * unary, binary and close on the CPU. One loop for each operation and dtype, written by macros from
 * the list of dtypes: x and y are the operands in the type they are computed in.
 */
#include <math.h>

#include "tensor/cpu/cpu.h"
#include "tensor/cpu/map.h"
#include "tensor/number.h"

/* Integers are computed in an unsigned type at least as wide as int, where wrapping is defined. */
#define WRAP_int64 uint64_t
#define WRAP_int32 uint32_t
#define WRAP_int16 uint32_t
#define WRAP_int8 uint32_t
#define WRAP_uint8 uint32_t
#define WRAP_uint32 uint32_t
#define WRAP_uint64 uint64_t

#define BINARY_RUN(op, name, type, result, put, expression)                \
    static void op##_##name(char *const *data, int64_t n, void *context) { \
        result *out = (result *)(void *)data[0];                           \
        const type *left = (const type *)(const void *)data[1];            \
        const type *right = (const type *)(const void *)data[2];           \
        (void)context;                                                     \
        SYMM__INDEPENDENT                                                  \
        for (int64_t i = 0; i < n; i++) {                                  \
            SYMM__COMPUTE_##name x = symm__get_##name(left[i]);            \
            SYMM__COMPUTE_##name y = symm__get_##name(right[i]);           \
            out[i] = put(expression);                                      \
        }                                                                  \
    }

/* ---- comparisons ---- */

#define TRUTH(expression) ((uint8_t)(expression))
#define COMPARISONS(name, type, bytes, kind, npy)      \
    BINARY_RUN(eq, name, type, uint8_t, TRUTH, x == y) \
    BINARY_RUN(ne, name, type, uint8_t, TRUTH, x != y) \
    BINARY_RUN(lt, name, type, uint8_t, TRUTH, x < y)  \
    BINARY_RUN(le, name, type, uint8_t, TRUTH, x <= y) \
    BINARY_RUN(gt, name, type, uint8_t, TRUTH, x > y)  \
    BINARY_RUN(ge, name, type, uint8_t, TRUTH, x >= y)
SYMM_DTYPE_LIST(COMPARISONS)
#undef COMPARISONS

/* ---- arithmetic ---- */

static inline uint64_t power_of(uint64_t base, uint64_t exponent) {
    uint64_t result = 1; /* the low bits do not depend on the higher ones */
    for (; exponent; exponent >>= 1) {
        if (exponent & 1) result *= base;
        base *= base;
    }
    return result;
}

#define NUMBERS_FLOAT(name, type)                                                    \
    BINARY_RUN(add, name, type, type, symm__put_##name, x + y)                       \
    BINARY_RUN(sub, name, type, type, symm__put_##name, x - y)                       \
    BINARY_RUN(mul, name, type, type, symm__put_##name, x *y)                        \
    BINARY_RUN(div, name, type, type, symm__put_##name, x / y)                       \
    BINARY_RUN(pow, name, type, type, symm__put_##name,                              \
               (SYMM__COMPUTE_##name)pow((double)x, (double)y))                      \
    BINARY_RUN(maximum, name, type, type, symm__put_##name, x > y || x != x ? x : y) \
    BINARY_RUN(minimum, name, type, type, symm__put_##name, x < y || x != x ? x : y)

#define WRAPPED(name, x) ((WRAP_##name)(x))
#define NUMBERS_WHOLE(name, type)                                                  \
    BINARY_RUN(add, name, type, type, (type), WRAPPED(name, x) + WRAPPED(name, y)) \
    BINARY_RUN(sub, name, type, type, (type), WRAPPED(name, x) - WRAPPED(name, y)) \
    BINARY_RUN(mul, name, type, type, (type), WRAPPED(name, x) * WRAPPED(name, y)) \
    BINARY_RUN(pow, name, type, type, (type), power_of((uint64_t)x, (uint64_t)y))  \
    BINARY_RUN(maximum, name, type, type, (type), x > y ? x : y)                   \
    BINARY_RUN(minimum, name, type, type, (type), x < y ? x : y)

/* The front has seen to it that y is never 0; -1 would overflow for the lowest number. */
#define NUMBERS_INT(name, type)               \
    NUMBERS_WHOLE(name, type)                 \
    BINARY_RUN(div, name, type, type, (type), \
               y == -1 ? (type)(0 - WRAPPED(name, x)) : (type)(x / y))
#define NUMBERS_UINT(name, type) \
    NUMBERS_WHOLE(name, type)    \
    BINARY_RUN(div, name, type, type, (type), x / y)

#define NUMBERS_BOOL(name, type)                        \
    BINARY_RUN(add, name, type, type, TRUTH, x | y)     \
    BINARY_RUN(mul, name, type, type, TRUTH, x &y)      \
    BINARY_RUN(maximum, name, type, type, TRUTH, x | y) \
    BINARY_RUN(minimum, name, type, type, TRUTH, x &y)
#define sub_bool NULL
#define div_bool NULL
#define pow_bool NULL

#define NUMBERS(name, type, bytes, kind, npy) NUMBERS_##kind(name, type)
SYMM_DTYPE_LIST(NUMBERS)
#undef NUMBERS

#define COLUMN(op, name) [SYMM_BINARY_##op] = op##_##name
#define ENTRIES(name, type, bytes, kind, npy)                                               \
    [SYMM_DTYPE_##name] = {COLUMN(add, name),     COLUMN(sub, name), COLUMN(mul, name),     \
                           COLUMN(div, name),     COLUMN(pow, name), COLUMN(maximum, name), \
                           COLUMN(minimum, name), COLUMN(eq, name),  COLUMN(ne, name),      \
                           COLUMN(lt, name),      COLUMN(le, name),  COLUMN(gt, name),      \
                           COLUMN(ge, name)},
static const symm__run binary_runs[SYMM_DTYPE_COUNT][SYMM_BINARY_COUNT] = {
    SYMM_DTYPE_LIST(ENTRIES)};
#undef ENTRIES
#undef COLUMN

int symm__cpu_binary(const struct symm__loop *loop, symm_binary op, symm_dtype dtype) {
    size_t size = symm_dtype_size(dtype);
    int is_comparison = op >= SYMM_BINARY_eq;
    struct symm__map map = {.run = binary_runs[dtype][op],
                            .size = {is_comparison ? 1 : size, size, size}};
    symm__map(&map, loop);
    return SYMM_OK;
}

/* ---- unary ---- */

#define UNARY_RUN(op, name, type, put, expression)                         \
    static void op##_##name(char *const *data, int64_t n, void *context) { \
        type *out = (type *)(void *)data[0];                               \
        const type *in = (const type *)(const void *)data[1];              \
        (void)context;                                                     \
        SYMM__INDEPENDENT                                                  \
        for (int64_t i = 0; i < n; i++) {                                  \
            SYMM__COMPUTE_##name x = symm__get_##name(in[i]);              \
            out[i] = put(expression);                                      \
        }                                                                  \
    }
#define SIGNS_FLOAT(name, type)                      \
    UNARY_RUN(neg, name, type, symm__put_##name, -x) \
    UNARY_RUN(abs, name, type, symm__put_##name, (SYMM__COMPUTE_##name)fabs((double)x))
#define SIGNS_INT(name, type)                                \
    UNARY_RUN(neg, name, type, (type), 0 - WRAPPED(name, x)) \
    UNARY_RUN(abs, name, type, (type), x < 0 ? 0 - WRAPPED(name, x) : WRAPPED(name, x))
#define SIGNS_UINT(name, type)                               \
    UNARY_RUN(neg, name, type, (type), 0 - WRAPPED(name, x)) \
    UNARY_RUN(abs, name, type, (type), x)
#define SIGNS_BOOL(name, type)
#define neg_bool NULL
#define abs_bool NULL

#define SIGNS(name, type, bytes, kind, npy) SIGNS_##kind(name, type)
SYMM_DTYPE_LIST(SIGNS)
#undef SIGNS

static const symm__run unary_runs[SYMM_DTYPE_COUNT][SYMM_UNARY_COUNT] = {
#define ENTRIES(name, type, bytes, kind, npy) \
    [SYMM_DTYPE_##name] = {[SYMM_UNARY_neg] = neg_##name, [SYMM_UNARY_abs] = abs_##name},
    SYMM_DTYPE_LIST(ENTRIES)
#undef ENTRIES
};

int symm__cpu_unary(const struct symm__loop *loop, symm_unary op, symm_dtype dtype) {
    size_t size = symm_dtype_size(dtype);
    struct symm__map map = {.run = unary_runs[dtype][op], .size = {size, size}};
    symm__map(&map, loop);
    return SYMM_OK;
}

/* ---- close ---- */

struct search {
    const struct symm__closeness *closeness;
    int all_close; /* so far */
};

/* `distance` is |x - y| of numbers that are not equal. */
static inline int is_close(const struct symm__closeness *c, double distance, double y) {
    return distance <= c->atol + c->rtol * fabs(y) && isfinite(distance) && isfinite(y);
}

#define DISTANCE_FLOAT(x, y) fabs((double)(x) - (double)(y))
#define DISTANCE_INT(x, y) \
    (double)((x) > (y) ? (uint64_t)(x) - (uint64_t)(y) : (uint64_t)(y) - (uint64_t)(x))
#define DISTANCE_UINT(x, y) DISTANCE_INT(x, y)
#define DISTANCE_BOOL(x, y) DISTANCE_INT(x, y)
#define BOTH_NAN_FLOAT(x, y) ((x) != (x) && (y) != (y))
#define BOTH_NAN_INT(x, y) 0
#define BOTH_NAN_UINT(x, y) 0
#define BOTH_NAN_BOOL(x, y) 0

#define CLOSE_RUN(name, type, bytes, kind, npy)                                            \
    static void close_##name(char *const *data, int64_t n, void *context) {                \
        struct search *search = context;                                                   \
        const struct symm__closeness *c = search->closeness;                               \
        const type *left = (const type *)(const void *)data[0];                            \
        const type *right = (const type *)(const void *)data[1];                           \
        for (int64_t i = 0; search->all_close && i < n; i++) {                             \
            SYMM__COMPUTE_##name x = symm__get_##name(left[i]);                            \
            SYMM__COMPUTE_##name y = symm__get_##name(right[i]);                           \
            search->all_close = x == y || is_close(c, DISTANCE_##kind(x, y), (double)y) || \
                                (c->equal_nan && BOTH_NAN_##kind(x, y));                   \
        }                                                                                  \
    }
SYMM_DTYPE_LIST(CLOSE_RUN)
#undef CLOSE_RUN

static const symm__run close_runs[SYMM_DTYPE_COUNT] = {
#define ENTRY(name, type, bytes, kind, npy) close_##name,
    SYMM_DTYPE_LIST(ENTRY)
#undef ENTRY
};

int symm__cpu_close(const struct symm__loop *loop, symm_dtype dtype,
                    const struct symm__closeness *closeness, int *all_out) {
    size_t size = symm_dtype_size(dtype);
    struct search search = {closeness, 1};
    struct symm__map map = {
        .run = close_runs[dtype], .context = &search, .size = {size, size}, .is_reader = 1};
    symm__map(&map, loop);
    *all_out = search.all_close;
    return SYMM_OK;
}
