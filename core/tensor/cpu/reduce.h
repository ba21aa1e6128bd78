/* SPDX-License-Identifier: MIT
 *
 * Reducers: what a reduction does to elements and lanes, for each operation and dtype. A lane is
 * the running result of every eighth element.
 */
#ifndef SYMM_TENSOR_CPU_REDUCE_H
#define SYMM_TENSOR_CPU_REDUCE_H

#include "tensor/kernels.h"

#define SYMM__LANES 8
#define SYMM__LANE_MAX 8 /* bytes of the largest lane */

struct symm__reducer {
    size_t lane_size;
    void (*begin)(void *lanes, int64_t count);
    /* Takes `n` packed elements of one position, the first into lane 0, then 1, ... 7, 0. */
    void (*row)(void *lanes, const void *in, int64_t n);
    /* Takes one element of each of `n` positions into as many lanes. */
    void (*column)(void *lanes, const void *in, int64_t n);
    /* Joins a position's eight lanes, `step` lanes apart, and writes the result; `count` elements
     * went in. */
    void (*finish)(const void *lanes, int64_t step, int64_t count, void *out);
};

extern const struct symm__reducer symm__reducers[SYMM_DTYPE_COUNT][SYMM_REDUCTION_COUNT];

#endif
