/* SPDX-License-Identifier: MIT
 *
 * Loops: the elements of up to three tensors of one shape, visited together. Building a loop drops
 * dimensions of size 1, puts the closest elements of operand 0 innermost and joins dimensions that
 * lie one after the other in every operand, so that contiguous tensors of any shape are one run.
 * Also here: what can be said about tensors that share memory.
 */
#ifndef SYMM_TENSOR_LOOP_H
#define SYMM_TENSOR_LOOP_H

#include "tensor/tensor.h"

#define SYMM__OPERANDS_MAX 3

struct symm__loop {
    int operands;
    int ndim; /* at least 1 */
    int64_t numel;
    int64_t shape[SYMM_MAX_DIMS];                      /* outermost first */
    int64_t stride[SYMM__OPERANDS_MAX][SYMM_MAX_DIMS]; /* bytes; 0 where an operand is repeated */
    char *data[SYMM__OPERANDS_MAX];
};

/* Builds the loop over `shape`, to which every tensor can be broadcast (symm__broadcast_check). */
void symm__loop_build(struct symm__loop *loop, const int64_t *shape, int ndim, int operands,
                      const symm_tensor *const tensors[]);

/* Joins adjacent dimensions, in the order they have; for loops that are built by hand. */
void symm__loop_join(struct symm__loop *loop);

/* A place in a loop: where each operand's current run starts. The runs are the innermost dimension.
 *     struct symm__walk walk;
 *     symm__walk_begin(&walk, loop);
 *     do { ... walk.data ... } while (symm__walk_next(&walk)); */
struct symm__walk {
    const struct symm__loop *loop;
    int64_t index[SYMM_MAX_DIMS];
    char *data[SYMM__OPERANDS_MAX];
};
void symm__walk_begin(struct symm__walk *walk, const struct symm__loop *loop);
int symm__walk_next(struct symm__walk *walk);

/* The shape that a and b have together: sizes are equal, or 1, or missing on the left. */
int symm__broadcast_shape(const char *op, const symm_tensor *a, const symm_tensor *b,
                          int64_t shape_out[SYMM_MAX_DIMS], int *ndim_out);
/* SYMM_EINVALID unless the tensor can be broadcast to the shape. */
int symm__broadcast_check(const char *op, const symm_tensor *tensor, const int64_t *shape,
                          int ndim);
int symm__same_shape(const symm_tensor *a, const symm_tensor *b);
/* "{2, 3}", cut to fit; gives `text` back. */
#define SYMM__SHAPE_TEXT_SIZE 192
const char *symm__shape_text(const int64_t *shape, int ndim, char text[SYMM__SHAPE_TEXT_SIZE]);

/* SYMM_EINVALID if two elements of the tensor may be the same memory: it cannot be written. */
int symm__check_writable(const char *op, const symm_tensor *tensor);

enum symm__overlap { SYMM__APART, SYMM__IDENTICAL, SYMM__OVERLAPPING };
/* Identical: the same elements in the same places. Overlapping is said of address ranges, so it may
 * be said of two that have no element in common. */
enum symm__overlap symm__overlap_of(const symm_tensor *a, const symm_tensor *b);

/* SYMM_EINVALID naming both devices, or both dtypes, unless they are the same. */
int symm__check_same_device(const char *op, const symm_tensor *a, const symm_tensor *b);
int symm__check_same_dtype(const char *op, const symm_tensor *a, const symm_tensor *b);
/* What an output must be: on a's device, of that dtype and shape, writable. */
int symm__check_result(const char *op, const symm_tensor *a, const symm_tensor *result,
                       symm_dtype dtype, const int64_t *shape, int ndim);

#endif
