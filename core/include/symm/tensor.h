/* SPDX-License-Identifier: MIT
 *
 * Tensors: strided views of storages.
 *
 * A storage is a run of bytes on one device; a tensor is a dtype, a shape, strides (in elements,
 * not negative) and an offset into it. Views share their storage and keep it alive. Tensors are
 * counted: every function that gives one gives a reference that the caller ends with
 * symm_tensor_release. Shapes have 0 to SYMM_MAX_DIMS dimensions; a dimension may be 0. Sizes are
 * 64-bit and checked for overflow. Dimensions may be given from the end: -1 is the last.
 *
 * Threads: metadata never changes after creation, so any thread may read it and make views; element
 * access is as unsynchronised as a C array's.
 * Errors common to all: SYMM_EINVALID (shape, dtype, dimension, bounds), SYMM_EOOM, SYMM_ENOT_FOUND
 * (an unknown device), SYMM_EUNSUPPORTED (what a device or dtype cannot do).
 *
 * Numbers. float16 and bfloat16 are computed in float32 and rounded to nearest even when stored.
 * Integer arithmetic wraps around; dividing by zero is SYMM_EINVALID and leaves the output
 * untouched. Two operands must have one dtype; a symm_scalar becomes an element of the tensor's
 * dtype first, and for an integer dtype must be a whole number in its range (else SYMM_EINVALID).
 */
#ifndef SYMM_TENSOR_H
#define SYMM_TENSOR_H

#include <stddef.h>
#include <stdint.h>

#include <symm/dtype.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SYMM_MAX_DIMS 8

typedef struct symm_tensor symm_tensor;

/* One number: `kind` says which member holds it (BOOL: u, 0 or 1). */
typedef struct symm_scalar {
    enum symm_dtype_kind kind;
    union {
        double f;
        int64_t i;
        uint64_t u;
    } value;
} symm_scalar;
symm_scalar symm_scalar_float(double value);
symm_scalar symm_scalar_int(int64_t value);
symm_scalar symm_scalar_uint(uint64_t value);
symm_scalar symm_scalar_bool(int value);

/* ---- making ---- */

/* Uninitialised, contiguous. `device` "cpu" or NULL. */
int symm_tensor_empty(const int64_t *shape, int ndim, symm_dtype dtype, const char *device,
                      symm_tensor **out);
/* Uninitialised; the storage is as large as shape and strides reach. */
int symm_tensor_empty_strided(const int64_t *shape, const int64_t *stride, int ndim,
                              symm_dtype dtype, const char *device, symm_tensor **out);
/* A tensor over memory of the caller; `stride` NULL: contiguous. `release(context)` is called once,
 * on whichever thread drops the last reference, and only if this function succeeded. */
int symm_tensor_from_memory(void *data, const int64_t *shape, const int64_t *stride, int ndim,
                            symm_dtype dtype, const char *device, void (*release)(void *context),
                            void *context, symm_tensor **out);
/* Contiguous, every element `value`. */
int symm_tensor_full(const int64_t *shape, int ndim, symm_scalar value, symm_dtype dtype,
                     const char *device, symm_tensor **out);
/* One dimension: start, start + step, ... below `end` (above it for a negative step). Computed
 * exactly for integers, as start + i * step in float64 for floats. SYMM_EINVALID for a step of 0.
 */
int symm_tensor_arange(symm_scalar start, symm_scalar end, symm_scalar step, symm_dtype dtype,
                       const char *device, symm_tensor **out);
symm_tensor *symm_tensor_retain(symm_tensor *tensor);
void symm_tensor_release(symm_tensor *tensor);

/* ---- reading ---- */

symm_dtype symm_tensor_dtype(const symm_tensor *tensor);
int symm_tensor_ndim(const symm_tensor *tensor);
const int64_t *symm_tensor_shape(const symm_tensor *tensor);
const int64_t *symm_tensor_stride(const symm_tensor *tensor);
/* First element, in elements from the storage's start. */
int64_t symm_tensor_storage_offset(const symm_tensor *tensor);
int64_t symm_tensor_numel(const symm_tensor *tensor);
/* numel * element size. */
int64_t symm_tensor_nbytes(const symm_tensor *tensor);
/* Address of the first element. */
void *symm_tensor_data(const symm_tensor *tensor);
const char *symm_tensor_device(const symm_tensor *tensor);
int symm_tensor_is_contiguous(const symm_tensor *tensor);

/* ---- views: they share the storage of `tensor` ---- */

#define SYMM_SLICE_END INT64_MAX

/* Elements start, start + step, ... before `stop` of a dimension. start and stop may count from the
 * end (negative) and are clamped to the dimension; step is at least 1. */
int symm_tensor_slice(symm_tensor *tensor, int dim, int64_t start, int64_t stop, int64_t step,
                      symm_tensor **out);
/* Without the dimension, at `index` of it (negative: from the end). */
int symm_tensor_select(symm_tensor *tensor, int dim, int64_t index, symm_tensor **out);
/* `length` elements from `start` (negative: from the end); never clamped. */
int symm_tensor_narrow(symm_tensor *tensor, int dim, int64_t start, int64_t length,
                       symm_tensor **out);
/* The same elements in another shape; one dimension may be -1 and is worked out. SYMM_EINVALID if
 * strides cannot express it: reshape then copies. */
int symm_tensor_view(symm_tensor *tensor, const int64_t *shape, int ndim, symm_tensor **out);
int symm_tensor_reshape(symm_tensor *tensor, const int64_t *shape, int ndim, symm_tensor **out);
int symm_tensor_transpose(symm_tensor *tensor, int dim0, int dim1, symm_tensor **out);
/* Dimension i of the result is dimension dims[i]. */
int symm_tensor_permute(symm_tensor *tensor, const int *dims, int ndim, symm_tensor **out);
/* Moves dimension sources[i] to destinations[i]; the others keep their order. */
int symm_tensor_movedim(symm_tensor *tensor, const int *sources, const int *destinations, int count,
                        symm_tensor **out);
/* Cuts a dimension into at most `chunks` pieces of ceil(size / chunks), the last one smaller. `out`
 * has room for `chunks`; *count_out are set. */
int symm_tensor_chunk(symm_tensor *tensor, int chunks, int dim, symm_tensor **out, int *count_out);
/* Repeats dimensions of size 1 without copying, and adds dimensions on the left; -1 keeps a size.
 * The elements of the result share memory, so it cannot be written. */
int symm_tensor_expand(symm_tensor *tensor, const int64_t *shape, int ndim, symm_tensor **out);
/* Inserts a dimension of size 1 before `dim` (-1: after the last). */
int symm_tensor_unsqueeze(symm_tensor *tensor, int dim, symm_tensor **out);
/* Drops `dim` if its size is 1; SYMM_ALL_DIMS: every such dimension. */
int symm_tensor_squeeze(symm_tensor *tensor, int dim, symm_tensor **out);
/* Joins the dimensions first..last into one; copies where strides cannot express it. */
int symm_tensor_flatten(symm_tensor *tensor, int first, int last, symm_tensor **out);

/* ---- copies ---- */

/* The tensor itself (retained) if it is contiguous, else a contiguous copy. */
int symm_tensor_contiguous(symm_tensor *tensor, symm_tensor **out);
/* A contiguous copy. */
int symm_tensor_clone(const symm_tensor *tensor, symm_tensor **out);
/* The tensor itself (retained) if it has the dtype, else a contiguous converted copy. */
int symm_tensor_to(symm_tensor *tensor, symm_dtype dtype, symm_tensor **out);
/* Writes every element of `source`, broadcast to the shape of `tensor` and converted to its dtype.
 * To a float: nearest even, overflow to infinity. Float to integer: towards zero; NaN gives 0, what
 * is out of range the nearest bound. Integer to integer: the low bits. To bool: not 0.
 * Memory may overlap: the result is as if `source` had been read first. */
int symm_tensor_copy(symm_tensor *tensor, const symm_tensor *source);
int symm_tensor_fill(symm_tensor *tensor, symm_scalar value);
/* All elements in row-major order, as bytes; `nbytes` must be symm_tensor_nbytes(). */
int symm_tensor_get_bytes(const symm_tensor *tensor, void *bytes, int64_t nbytes);
int symm_tensor_set_bytes(symm_tensor *tensor, const void *bytes, int64_t nbytes);
/* One element; `count` is the number of dimensions; indices may count from the end. */
int symm_tensor_get(const symm_tensor *tensor, const int64_t *index, int count, symm_scalar *out);
int symm_tensor_set(symm_tensor *tensor, const int64_t *index, int count, symm_scalar value);
/* The element of a tensor that has one. */
int symm_tensor_item(const symm_tensor *tensor, symm_scalar *out);

/* ---- arithmetic: shapes are broadcast to each other ---- */

/* Integers divide towards zero; a negative power of an integer is SYMM_EINVALID; maximum and
 * minimum pass NaN on. bool knows add (or), mul (and), maximum, minimum and comparisons.
 * Comparisons give bool. */
#define SYMM_BINARY_LIST(X) \
    X(add) X(sub) X(mul) X(div) X(pow) X(maximum) X(minimum) X(eq) X(ne) X(lt) X(le) X(gt) X(ge)
typedef enum symm_binary {
#define SYMM_BINARY_ENUM(name) SYMM_BINARY_##name,
    SYMM_BINARY_LIST(SYMM_BINARY_ENUM)
#undef SYMM_BINARY_ENUM
        SYMM_BINARY_COUNT
} symm_binary;

int symm_tensor_binary(symm_binary op, const symm_tensor *a, const symm_tensor *b,
                       symm_tensor **out);
/* Into a tensor of the result's shape and dtype; it may be, or overlap, an operand: the result is
 * as if both operands had been read first. */
int symm_tensor_binary_into(symm_binary op, const symm_tensor *a, const symm_tensor *b,
                            symm_tensor *result);
/* The same with a number on the right; `symm_tensor_full` of no dimensions puts it on the left. */
int symm_tensor_binary_scalar(symm_binary op, const symm_tensor *a, symm_scalar b,
                              symm_tensor **out);
int symm_tensor_binary_scalar_into(symm_binary op, const symm_tensor *a, symm_scalar b,
                                   symm_tensor *result);

#define SYMM_UNARY_LIST(X) X(neg) X(abs)
typedef enum symm_unary {
#define SYMM_UNARY_ENUM(name) SYMM_UNARY_##name,
    SYMM_UNARY_LIST(SYMM_UNARY_ENUM)
#undef SYMM_UNARY_ENUM
        SYMM_UNARY_COUNT
} symm_unary;
/* Not for bool. */
int symm_tensor_unary(symm_unary op, const symm_tensor *a, symm_tensor **out);
int symm_tensor_unary_into(symm_unary op, const symm_tensor *a, symm_tensor *result);

/* ---- reductions ---- */

#define SYMM_ALL_DIMS INT32_MIN

/* sum and prod of integers and bool give int64 (of uint64: uint64) and wrap; of floats the dtype.
 * mean gives float64 for integers and bool, else the dtype. all and any give bool. max and min pass
 * NaN on and need at least one element; the mean of nothing is NaN.
 * The order of additions is fixed: it depends on shape and dimension, not on the layout in memory.
 */
#define SYMM_REDUCTION_LIST(X) X(sum) X(prod) X(max) X(min) X(mean) X(all) X(any)
typedef enum symm_reduction {
#define SYMM_REDUCTION_ENUM(name) SYMM_REDUCTION_##name,
    SYMM_REDUCTION_LIST(SYMM_REDUCTION_ENUM)
#undef SYMM_REDUCTION_ENUM
        SYMM_REDUCTION_COUNT
} symm_reduction;
/* Along a dimension, or whole (SYMM_ALL_DIMS); with keepdim, reduced dimensions stay with size 1.
 */
int symm_tensor_reduce(symm_reduction op, const symm_tensor *tensor, int dim, int keepdim,
                       symm_tensor **out);

/* 1 if shapes are equal and every element is (NaN is not), else 0. */
int symm_tensor_equal(const symm_tensor *a, const symm_tensor *b, int *equal_out);
/* 1 if every pair has a == b or |a - b| <= atol + rtol * |b| (finite), or, with equal_nan, is two
 * NaNs. Shapes are broadcast; tolerances must not be negative. */
int symm_tensor_allclose(const symm_tensor *a, const symm_tensor *b, double rtol, double atol,
                         int equal_nan, int *all_out);

/* ---- matrix product ---- */

/* Two vectors: their inner product. Otherwise the last two dimensions are matrices (a vector on the
 * left is a row, on the right a column, and that dimension is dropped again); the ones before are
 * broadcast. float16 and bfloat16 are summed in float32; integers wrap; not for bool. */
int symm_tensor_matmul(const symm_tensor *a, const symm_tensor *b, symm_tensor **out);
int symm_tensor_matmul_into(const symm_tensor *a, const symm_tensor *b, symm_tensor *result);

/* ---- random numbers ---- */

/* Philox4x32-10, counter-based: block n of a seed is philox(counter = n, key = seed), four 32-bit
 * words w; element i of a tensor takes the 64 bits u = w[2j] | w[2j + 1] << 32 with j = i % 2 from
 * block n + i / 2, and the tensor uses (numel + 1) / 2 blocks. Only IEEE arithmetic follows, so a
 * seed gives the same numbers on every machine. */
typedef struct symm_generator {
    uint64_t seed;
    uint64_t block; /* the next one; a new generator's is 0 */
} symm_generator;
/* Uniform in [0, 1): the upper bits of u, as many as the (float) dtype's fraction holds. */
int symm_tensor_rand(symm_tensor *tensor, symm_generator *generator);
/* Normal, mean 0, variance 1: Box and Muller's transform of the two halves of a block. */
int symm_tensor_randn(symm_tensor *tensor, symm_generator *generator);

/* ---- printing ---- */

/* Writes "tensor([1, 2, ..., 9], dtype=float32, shape={100})", longer dimensions cut short; always
 * ends with 0, cut to `size`. Gives the length of the whole text, as snprintf does, or a negative
 * code. `text` may be NULL with size 0. */
int64_t symm_tensor_describe(const symm_tensor *tensor, char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
