/* SPDX-License-Identifier: MIT
 *
 * Element types: the one list. Storage is little-endian, naturally aligned.
 */
#ifndef SYMM_DTYPE_H
#define SYMM_DTYPE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum symm_dtype_kind { SYMM_KIND_FLOAT, SYMM_KIND_INT, SYMM_KIND_UINT, SYMM_KIND_BOOL };

/* X(name, C storage type, bytes, kind, .npy type string). float16 is IEEE binary16, bfloat16 the
 * upper half of a float32; both are stored as uint16_t and computed in float. bfloat16 has no type
 * of NumPy's own: files hold it as 2-byte void ("|V2"), which is what ml_dtypes writes. */
#define SYMM_DTYPE_LIST(X)                 \
    X(float64, double, 8, FLOAT, "<f8")    \
    X(float32, float, 4, FLOAT, "<f4")     \
    X(float16, uint16_t, 2, FLOAT, "<f2")  \
    X(bfloat16, uint16_t, 2, FLOAT, "|V2") \
    X(int64, int64_t, 8, INT, "<i8")       \
    X(int32, int32_t, 4, INT, "<i4")       \
    X(int16, int16_t, 2, INT, "<i2")       \
    X(int8, int8_t, 1, INT, "|i1")         \
    X(uint8, uint8_t, 1, UINT, "|u1")      \
    X(uint32, uint32_t, 4, UINT, "<u4")    \
    X(uint64, uint64_t, 8, UINT, "<u8")    \
    X(bool, uint8_t, 1, BOOL, "|b1")

typedef enum symm_dtype {
#define SYMM_DTYPE_ENUM(name, type, bytes, kind, npy) SYMM_DTYPE_##name,
    SYMM_DTYPE_LIST(SYMM_DTYPE_ENUM)
#undef SYMM_DTYPE_ENUM
        SYMM_DTYPE_COUNT
} symm_dtype;

/* NULL, 0 and KIND_FLOAT for a value outside the list. */
const char *symm_dtype_name(symm_dtype dtype);
size_t symm_dtype_size(symm_dtype dtype);
enum symm_dtype_kind symm_dtype_kind_of(symm_dtype dtype);
/* Looks a name up. SYMM_EINVALID lists the known names. */
int symm_dtype_parse(const char *name, symm_dtype *out);

#ifdef __cplusplus
}
#endif
#endif
