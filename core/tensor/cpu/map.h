/* SPDX-License-Identifier: MIT
 *
 * How the CPU visits elements. A kernel is written once, for contiguous runs, so that the compiler
 * can make vector code of it; whatever is strided or repeated passes through a small buffer.
 */
#ifndef SYMM_TENSOR_CPU_MAP_H
#define SYMM_TENSOR_CPU_MAP_H

#include "tensor/kernels.h"

#define SYMM__BLOCK 512     /* elements of a buffer */
#define SYMM__ELEMENT_MAX 8 /* bytes of the largest element */

/* `n` contiguous elements of each operand; operand 0 is written, except where `is_reader`. It may
 * be the same memory as another operand, never shifted against it. */
typedef void (*symm__run)(char *const *data, int64_t n, void *context);
struct symm__map {
    symm__run run;
    void *context;
    size_t size[SYMM__OPERANDS_MAX]; /* bytes of an element of each operand */
    int is_reader;                   /* operand 0 is only read, too */
};
void symm__map(const struct symm__map *map, const struct symm__loop *loop);

/* Moves `n` elements of `size` bytes (1, 2, 4 or 8) between strides in bytes. */
void symm__move(char *to, int64_t to_stride, const char *from, int64_t from_stride, size_t size,
                int64_t n);

/* In front of a loop: no element depends on another one; operands are equal or apart. A hint, which
 * a loop that calls pow cannot follow. */
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed"
#define SYMM__INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define SYMM__INDEPENDENT _Pragma("GCC ivdep")
#else
#define SYMM__INDEPENDENT
#endif

#endif
