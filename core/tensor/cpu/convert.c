/* SPDX-License-Identifier: MIT
 *
 * fill and convert on the CPU. A conversion goes block by block through one of four wide types,
 * which hold every value of the source exactly: 12 loads and 48 stores instead of 144 pairs.
 */
#include <string.h>

#include "tensor/cpu/cpu.h"
#include "tensor/cpu/map.h"
#include "tensor/number.h"

/* ---- fill ---- */

static void fill_packed(char *to, const char *element, size_t size, int64_t n) {
    int64_t filled = n < SYMM__BLOCK ? n : SYMM__BLOCK, bytes = (int64_t)size;
    symm__move(to, bytes, element, 0, size, filled);
    for (int64_t done = filled; done < n; done += filled) { /* the first block is the pattern */
        int64_t count = n - done < filled ? n - done : filled;
        memcpy(to + done * bytes, to, (size_t)(count * bytes));
    }
}

int symm__cpu_fill(const struct symm__loop *loop, symm_dtype dtype, const void *element) {
    size_t size = symm_dtype_size(dtype);
    int64_t stride = loop->stride[0][loop->ndim - 1], n = loop->shape[loop->ndim - 1];
    struct symm__walk walk;
    symm__walk_begin(&walk, loop);
    do {
        if (stride == (int64_t)size) {
            fill_packed(walk.data[0], element, size, n);
        } else {
            symm__move(walk.data[0], stride, element, 0, size, n);
        }
    } while (symm__walk_next(&walk));
    return SYMM_OK;
}

/* ---- the same dtype: bytes are moved ---- */

#define TILE 32 /* rows and columns: a tile of either side fits the first cache */

/* Two dimensions, one of which is packed in the source and the other in the output: row by row,
 * every element of the source would need a cache line of its own. */
static void move_tiled(char *to, const char *from, const struct symm__loop *loop, size_t size) {
    int inner = loop->ndim - 1, outer = loop->ndim - 2;
    const int64_t *to_stride = loop->stride[0], *from_stride = loop->stride[1];
    for (int64_t i = 0; i < loop->shape[outer]; i += TILE) {
        int64_t rows = loop->shape[outer] - i < TILE ? loop->shape[outer] - i : TILE;
        for (int64_t j = 0; j < loop->shape[inner]; j += TILE) {
            int64_t columns = loop->shape[inner] - j < TILE ? loop->shape[inner] - j : TILE;
            for (int64_t row = i; row < i + rows; row++) {
                symm__move(to + row * to_stride[outer] + j * to_stride[inner], to_stride[inner],
                           from + row * from_stride[outer] + j * from_stride[inner],
                           from_stride[inner], size, columns);
            }
        }
    }
}

static void copy_same(const struct symm__loop *loop, size_t size) {
    int inner = loop->ndim - 1;
    int64_t n = loop->shape[inner], packed = (int64_t)size;
    int64_t to = loop->stride[0][inner], from = loop->stride[1][inner];
    int is_turned = inner > 0 && from != packed && loop->stride[1][inner - 1] == packed;
    struct symm__loop rest = *loop; /* tiles take two dimensions at a time */
    if (is_turned) {
        rest.ndim--;
        rest.shape[inner - 1] = 1;
    }
    struct symm__walk walk;
    symm__walk_begin(&walk, is_turned ? &rest : loop);
    do {
        if (is_turned) {
            move_tiled(walk.data[0], walk.data[1], loop, size);
        } else if (to == packed && from == packed) {
            memcpy(walk.data[0], walk.data[1], (size_t)(n * packed));
        } else {
            symm__move(walk.data[0], to, walk.data[1], from, size, n);
        }
    } while (symm__walk_next(&walk));
}

/* ---- loads ---- */

enum wide { AS_FLOAT, AS_DOUBLE, AS_INT64, AS_UINT64 };

typedef void (*load_run)(void *wide, const void *from, int64_t n);
typedef void (*store_run)(void *to, const void *wide, int64_t n);

#define LOADS(X)                          \
    X(float64, double, DOUBLE, double)    \
    X(float32, float, FLOAT, float)       \
    X(float16, uint16_t, FLOAT, float)    \
    X(bfloat16, uint16_t, FLOAT, float)   \
    X(int64, int64_t, INT64, int64_t)     \
    X(int32, int32_t, INT64, int64_t)     \
    X(int16, int16_t, INT64, int64_t)     \
    X(int8, int8_t, INT64, int64_t)       \
    X(uint8, uint8_t, INT64, int64_t)     \
    X(uint32, uint32_t, INT64, int64_t)   \
    X(uint64, uint64_t, UINT64, uint64_t) \
    X(bool, uint8_t, INT64, int64_t)

#define LOAD(name, type, class, wide_type)                                \
    static void load_##name(void *wide, const void *from, int64_t n) {    \
        wide_type *restrict out = wide;                                   \
        const type *restrict in = from;                                   \
        for (int64_t i = 0; i < n; i++) out[i] = symm__get_##name(in[i]); \
    }
LOADS(LOAD)
#undef LOAD

static const struct {
    load_run run;
    enum wide wide;
    int is_wide; /* the elements are of the wide type already */
} loads[SYMM_DTYPE_COUNT] = {
#define ENTRY(name, type, class, wide_type)                                                   \
    [SYMM_DTYPE_##name] = {                                                                   \
        load_##name, AS_##class,                                                              \
        SYMM_DTYPE_##name == SYMM_DTYPE_float64 || SYMM_DTYPE_##name == SYMM_DTYPE_float32 || \
            SYMM_DTYPE_##name == SYMM_DTYPE_int64 || SYMM_DTYPE_##name == SYMM_DTYPE_uint64},
    LOADS(ENTRY)
#undef ENTRY
};

/* ---- stores: NAME_of_WIDE(x) ---- */

#define PLAIN_FLOAT(name, type)                                       \
    static inline type name##_of_float(float x) { return (type)x; }   \
    static inline type name##_of_double(double x) { return (type)x; } \
    static inline type name##_of_int64(int64_t x) { return (type)x; } \
    static inline type name##_of_uint64(uint64_t x) { return (type)x; }
PLAIN_FLOAT(float64, double)
PLAIN_FLOAT(float32, float)

#define SHORT_FLOAT(name)                                                           \
    static inline uint16_t name##_of_float(float x) { return symm__put_##name(x); } \
    static inline uint16_t name##_of_double(double x) {                             \
        return symm__put_##name(symm__double_to_float_odd(x));                      \
    }                                                                               \
    static inline uint16_t name##_of_int64(int64_t x) {                             \
        return name##_of_double(symm__int64_to_double_odd(x));                      \
    }                                                                               \
    static inline uint16_t name##_of_uint64(uint64_t x) {                           \
        return name##_of_double(symm__uint64_to_double_odd(x));                     \
    }
SHORT_FLOAT(float16)
SHORT_FLOAT(bfloat16)

#define INTEGER(name, type)                                                                   \
    static inline type name##_of_float(float x) { return symm__double_to_##name((double)x); } \
    static inline type name##_of_double(double x) { return symm__double_to_##name(x); }       \
    static inline type name##_of_int64(int64_t x) { return (type)x; }                         \
    static inline type name##_of_uint64(uint64_t x) { return (type)x; }
INTEGER(int64, int64_t)
INTEGER(int32, int32_t)
INTEGER(int16, int16_t)
INTEGER(int8, int8_t)
INTEGER(uint8, uint8_t)
INTEGER(uint32, uint32_t)
INTEGER(uint64, uint64_t)

static inline uint8_t bool_of_float(float x) { return x != 0; }
static inline uint8_t bool_of_double(double x) { return x != 0; }
static inline uint8_t bool_of_int64(int64_t x) { return x != 0; }
static inline uint8_t bool_of_uint64(uint64_t x) { return x != 0; }

#define STORE(name, type, class, wide_type)                                     \
    static void store_##name##_##class(void *to, const void *wide, int64_t n) { \
        type *restrict out = to;                                                \
        const wide_type *restrict in = wide;                                    \
        for (int64_t i = 0; i < n; i++) out[i] = name##_of_##class(in[i]);      \
    }
#define STORES(name, type, bytes, kind, npy) \
    STORE(name, type, float, float)          \
    STORE(name, type, double, double)        \
    STORE(name, type, int64, int64_t)        \
    STORE(name, type, uint64, uint64_t)
SYMM_DTYPE_LIST(STORES)
#undef STORES

static const store_run stores[SYMM_DTYPE_COUNT][4] = {
#define ENTRY(name, type, bytes, kind, npy) \
    {store_##name##_float, store_##name##_double, store_##name##_int64, store_##name##_uint64},
    SYMM_DTYPE_LIST(ENTRY)
#undef ENTRY
};

/* ---- convert ---- */

struct conversion {
    symm_dtype to, from;
};

static void convert_run(char *const *data, int64_t n, void *context) {
    const struct conversion *conversion = context;
    size_t to_size = symm_dtype_size(conversion->to), from_size = symm_dtype_size(conversion->from);
    store_run store = stores[conversion->to][loads[conversion->from].wide];
    if (loads[conversion->from].is_wide) {
        store(data[0], data[1], n);
        return;
    }
    _Alignas(64) char wide[SYMM__BLOCK * SYMM__ELEMENT_MAX];
    for (int64_t done = 0; done < n; done += SYMM__BLOCK) {
        int64_t count = n - done < SYMM__BLOCK ? n - done : SYMM__BLOCK;
        loads[conversion->from].run(wide, data[1] + done * (int64_t)from_size, count);
        store(data[0] + done * (int64_t)to_size, wide, count);
    }
}

int symm__cpu_convert(const struct symm__loop *loop, symm_dtype to, symm_dtype from) {
    if (to == from) {
        copy_same(loop, symm_dtype_size(to));
        return SYMM_OK;
    }
    struct conversion conversion = {to, from};
    struct symm__map map = {.run = convert_run,
                            .context = &conversion,
                            .size = {symm_dtype_size(to), symm_dtype_size(from)}};
    symm__map(&map, loop);
    return SYMM_OK;
}
