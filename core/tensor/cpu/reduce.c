/* SPDX-License-Identifier: MIT
 *
 * reduce on the CPU, in the order that kernels.h fixes. A position is reduced alone, from packed
 * runs of its elements (rows), or, where neighbours in the output are neighbours in the input too,
 * a block of positions at once (columns). Both put element i into lane i % 8.
 */
#include "tensor/cpu/reduce.h"

#include <string.h>

#include "tensor/cpu/cpu.h"
#include "tensor/cpu/map.h"

#define LANES SYMM__LANES
#define WIDTH 128 /* positions of a block of columns */

/* ---- rows ---- */

/* Feeds all elements of one position: packed ones directly, others by way of a buffer, which is
 * always full but for the last time, so that lanes go on where they were. */
static void feed_position(const struct symm__reduce *reduce, const struct symm__reducer *reducer,
                          const char *first, void *lanes) {
    const struct symm__loop *loop = &reduce->reduced;
    int64_t size = (int64_t)symm_dtype_size(reduce->dtype);
    int64_t n = loop->shape[loop->ndim - 1], stride = loop->stride[0][loop->ndim - 1];
    if (loop->ndim == 1 && (stride == size || n == 1)) {
        reducer->row(lanes, first, n);
        return;
    }
    _Alignas(64) char buffer[SYMM__BLOCK * SYMM__ELEMENT_MAX];
    int64_t filled = 0;
    struct symm__walk walk;
    symm__walk_begin(&walk, loop);
    walk.data[0] = (char *)(uintptr_t)first;
    do {
        for (int64_t done = 0; done < n;) {
            int64_t room = SYMM__BLOCK - filled, count = n - done < room ? n - done : room;
            symm__move(buffer + filled * size, size, walk.data[0] + done * stride, stride,
                       (size_t)size, count);
            filled += count;
            done += count;
            if (filled < SYMM__BLOCK) continue;
            reducer->row(lanes, buffer, filled);
            filled = 0;
        }
    } while (symm__walk_next(&walk));
    reducer->row(lanes, buffer, filled);
}

static void reduce_rows(const struct symm__reduce *reduce, const struct symm__reducer *reducer) {
    const struct symm__loop *kept = &reduce->kept;
    int inner = kept->ndim - 1;
    _Alignas(64) char lanes[LANES * SYMM__LANE_MAX];
    struct symm__walk walk;
    symm__walk_begin(&walk, kept);
    do {
        for (int64_t i = 0; i < kept->shape[inner]; i++) {
            reducer->begin(lanes, LANES);
            if (reduce->count) {
                feed_position(reduce, reducer, walk.data[1] + i * kept->stride[1][inner], lanes);
            }
            reducer->finish(lanes, 1, reduce->count, walk.data[0] + i * kept->stride[0][inner]);
        }
    } while (symm__walk_next(&walk));
}

/* ---- columns ---- */

static void reduce_block(const struct symm__reduce *reduce, const struct symm__reducer *reducer,
                         char *out, const char *in, int64_t width) {
    _Alignas(64) char lanes[LANES * WIDTH * SYMM__LANE_MAX];
    int64_t step = reduce->reduced.stride[0][0],
            out_step = reduce->kept.stride[0][reduce->kept.ndim - 1];
    int64_t row = width * (int64_t)reducer->lane_size;
    reducer->begin(lanes, LANES * width);
    for (int64_t i = 0; i < reduce->count; i++) {
        reducer->column(lanes + i % LANES * row, in + i * step, width);
    }
    for (int64_t i = 0; i < width; i++) {
        reducer->finish(lanes + i * (int64_t)reducer->lane_size, width, reduce->count,
                        out + i * out_step);
    }
}

static void reduce_columns(const struct symm__reduce *reduce, const struct symm__reducer *reducer) {
    const struct symm__loop *kept = &reduce->kept;
    int inner = kept->ndim - 1;
    struct symm__walk walk;
    symm__walk_begin(&walk, kept);
    do {
        for (int64_t i = 0; i < kept->shape[inner]; i += WIDTH) {
            int64_t left = kept->shape[inner] - i;
            reduce_block(reduce, reducer, walk.data[0] + i * kept->stride[0][inner],
                         walk.data[1] + i * kept->stride[1][inner], left < WIDTH ? left : WIDTH);
        }
    } while (symm__walk_next(&walk));
}

static int has_columns(const struct symm__reduce *reduce) {
    const struct symm__loop *kept = &reduce->kept, *reduced = &reduce->reduced;
    int64_t size = (int64_t)symm_dtype_size(reduce->dtype);
    return reduce->count > 1 && reduced->ndim == 1 && reduced->stride[0][0] != size &&
           kept->stride[1][kept->ndim - 1] == size;
}

int symm__cpu_reduce(const struct symm__reduce *reduce) {
    const struct symm__reducer *reducer = &symm__reducers[reduce->dtype][reduce->op];
    if (has_columns(reduce)) {
        reduce_columns(reduce, reducer);
    } else {
        reduce_rows(reduce, reducer);
    }
    return SYMM_OK;
}
