/* SPDX-License-Identifier: MIT
 *
 * The reducers, written by macros from the list of dtypes.
 */
#include <string.h>

#include "tensor/cpu/reduce.h"
#include "tensor/number.h"

/* ---- how two lanes become one: join_OP_TYPE ---- */

#define JOIN(op, lane, expression) \
    static inline lane join_##op##_##lane(lane a, lane b) { return expression; }

JOIN(sum, double, a + b)
JOIN(sum, float, a + b)
JOIN(sum, int64_t, (int64_t)((uint64_t)a + (uint64_t)b))
JOIN(sum, uint64_t, a + b)
JOIN(prod, double, (a * b))
JOIN(prod, float, (a * b))
JOIN(prod, int64_t, (int64_t)((uint64_t)a *(uint64_t)b))
JOIN(prod, uint64_t, (a * b))
JOIN(mean, double, a + b)
JOIN(mean, float, a + b)
JOIN(all, uint8_t, (a & b))
JOIN(any, uint8_t, (a | b))

#define JOIN_EXTREMES(lane)                  \
    JOIN(max, lane, a > b || a != a ? a : b) \
    JOIN(min, lane, a < b || a != a ? a : b)
JOIN_EXTREMES(double)
JOIN_EXTREMES(float)
JOIN_EXTREMES(int64_t)
JOIN_EXTREMES(int32_t)
JOIN_EXTREMES(int16_t)
JOIN_EXTREMES(int8_t)
JOIN_EXTREMES(uint8_t)
JOIN_EXTREMES(uint32_t)
JOIN_EXTREMES(uint64_t)

/* ---- one reducer ---- */

/* `lane` is a lane's type and `start` what it begins with; `take` makes a lane of the element x,
 * and `give` a `result` of the joined lane a and the number of elements, count. */
#define REDUCER(...) REDUCER_OF(__VA_ARGS__)
#define REDUCER_OF(op, name, type, lane, start, take, result, give) \
    BEGIN(op, name, lane, start)                                    \
    ROW(op, name, type, lane, take)                                 \
    COLUMN(op, name, type, lane, take)                              \
    FINISH(op, name, lane, result, give)

#define BEGIN(op, name, lane, start)                          \
    enum { op##_size_##name = sizeof(lane) };                 \
    static void op##_begin_##name(void *to, int64_t count) {  \
        lane *lanes = to;                                     \
        for (int64_t i = 0; i < count; i++) lanes[i] = start; \
    }

#define ROW(op, name, type, lane, take)                                  \
    static void op##_row_##name(void *to, const void *from, int64_t n) { \
        lane lanes[SYMM__LANES];                                         \
        const type *in = from;                                           \
        int64_t i = 0;                                                   \
        memcpy(lanes, to, sizeof lanes);                                 \
        for (; i + SYMM__LANES <= n; i += SYMM__LANES) {                 \
            for (int k = 0; k < SYMM__LANES; k++) {                      \
                SYMM__COMPUTE_##name x = symm__get_##name(in[i + k]);    \
                lanes[k] = join_##op##_##lane(lanes[k], take);           \
            }                                                            \
        }                                                                \
        for (int k = 0; i < n; i++, k++) {                               \
            SYMM__COMPUTE_##name x = symm__get_##name(in[i]);            \
            lanes[k] = join_##op##_##lane(lanes[k], take);               \
        }                                                                \
        memcpy(to, lanes, sizeof lanes);                                 \
    }

#define COLUMN(op, name, type, lane, take)                                  \
    static void op##_column_##name(void *to, const void *from, int64_t n) { \
        lane *restrict lanes = to;                                          \
        const type *restrict in = from;                                     \
        for (int64_t i = 0; i < n; i++) {                                   \
            SYMM__COMPUTE_##name x = symm__get_##name(in[i]);               \
            lanes[i] = join_##op##_##lane(lanes[i], take);                  \
        }                                                                   \
    }

#define FINISH(op, name, lane, result, give)                                                  \
    static void op##_finish_##name(const void *from, int64_t step, int64_t count, void *to) { \
        const lane *lanes = from;                                                             \
        lane quarter[4], a;                                                                   \
        for (int k = 0; k < 4; k++) {                                                         \
            quarter[k] = join_##op##_##lane(lanes[k * step], lanes[(k + 4) * step]);          \
        }                                                                                     \
        a = join_##op##_##lane(quarter[0], quarter[2]);                                       \
        a = join_##op##_##lane(a, join_##op##_##lane(quarter[1], quarter[3]));                \
        (void)count;                                                                          \
        *(result *)to = give;                                                                 \
    }

/* ---- the reducers of each kind of dtype ---- */

/* Truth has no order: one lane for the whole row, as wide as what is compared, for vector code. */
#define TRUTH_ROW(op, name, type, wide)                                  \
    static void op##_row_##name(void *to, const void *from, int64_t n) { \
        const type *restrict in = from;                                  \
        uint8_t *lane = to;                                              \
        wide a = *lane;                                                  \
        for (int64_t i = 0; i < n; i++) {                                \
            wide x = symm__get_##name(in[i]) != 0;                       \
            a = (wide)TRUTH_##op(a, x);                                  \
        }                                                                \
        *lane = (uint8_t)a;                                              \
    }
#define TRUTH_all(a, x) ((a) & (x))
#define TRUTH_any(a, x) ((a) | (x))
#define TRUTH(op, name, type, wide, start)    \
    BEGIN(op, name, uint8_t, start)           \
    TRUTH_ROW(op, name, type, wide)           \
    COLUMN(op, name, type, uint8_t, (x != 0)) \
    FINISH(op, name, uint8_t, uint8_t, a)
#define TRUTHS(name, type)                       \
    TRUTH(all, name, type, TRUTH_WIDE_##name, 1) \
    TRUTH(any, name, type, TRUTH_WIDE_##name, 0)
#define TRUTH_WIDE_float64 uint64_t
#define TRUTH_WIDE_float32 uint32_t
#define TRUTH_WIDE_float16 uint32_t
#define TRUTH_WIDE_bfloat16 uint32_t
#define TRUTH_WIDE_int64 uint64_t
#define TRUTH_WIDE_int32 uint32_t
#define TRUTH_WIDE_int16 uint16_t
#define TRUTH_WIDE_int8 uint8_t
#define TRUTH_WIDE_uint8 uint8_t
#define TRUTH_WIDE_uint32 uint32_t
#define TRUTH_WIDE_uint64 uint64_t
#define TRUTH_WIDE_bool uint8_t

/* Sums and products of floats are computed in a wider type. */
#define LANE_float64 double
#define LANE_float32 double
#define LANE_float16 float
#define LANE_bfloat16 float
#define ROUNDED(name, a) symm__put_##name((SYMM__COMPUTE_##name)(a))
#define REDUCERS_FLOAT(name, type)                                                            \
    REDUCER(sum, name, type, LANE_##name, 0, x, type, ROUNDED(name, a))                       \
    REDUCER(prod, name, type, LANE_##name, 1, x, type, ROUNDED(name, a))                      \
    REDUCER(mean, name, type, LANE_##name, 0, x, type, ROUNDED(name, a / (LANE_##name)count)) \
    REDUCER(max, name, type, SYMM__COMPUTE_##name, -INFINITY, x, type, symm__put_##name(a))   \
    REDUCER(min, name, type, SYMM__COMPUTE_##name, INFINITY, x, type, symm__put_##name(a))    \
    TRUTHS(name, type)

#define REDUCERS_WHOLE(name, type, lane, lowest, highest)                      \
    REDUCER(sum, name, type, lane, 0, x, lane, a)                              \
    REDUCER(prod, name, type, lane, 1, x, lane, a)                             \
    REDUCER(mean, name, type, double, 0, (double)x, double, a / (double)count) \
    REDUCER(max, name, type, type, lowest, x, type, a)                         \
    REDUCER(min, name, type, type, highest, x, type, a)                        \
    TRUTHS(name, type)
#define LOWEST(type) ((type)((uint64_t)1 << (8 * sizeof(type) - 1)))
#define REDUCERS_INT(name, type) \
    REDUCERS_WHOLE(name, type, int64_t, LOWEST(type), (type)~LOWEST(type))
#define LANE_uint8 int64_t
#define LANE_uint32 int64_t
#define LANE_uint64 uint64_t
#define REDUCERS_UINT(name, type) REDUCERS_WHOLE(name, type, LANE_##name, 0, (type) ~(type)0)
#define REDUCERS_BOOL(name, type) REDUCERS_WHOLE(name, type, int64_t, 0, 1)

#define REDUCERS(name, type, bytes, kind, npy) REDUCERS_##kind(name, type)
SYMM_DTYPE_LIST(REDUCERS)
#undef REDUCERS

#define ENTRY(op, name)                                                            \
    [SYMM_REDUCTION_##op] = {op##_size_##name, op##_begin_##name, op##_row_##name, \
                             op##_column_##name, op##_finish_##name}
#define ENTRIES(name, type, bytes, kind, npy)                                              \
    [SYMM_DTYPE_##                                                                         \
        name] = {ENTRY(sum, name),  ENTRY(prod, name), ENTRY(max, name), ENTRY(min, name), \
                 ENTRY(mean, name), ENTRY(all, name),  ENTRY(any, name)},
const struct symm__reducer symm__reducers[SYMM_DTYPE_COUNT][SYMM_REDUCTION_COUNT] = {
    SYMM_DTYPE_LIST(ENTRIES)};
