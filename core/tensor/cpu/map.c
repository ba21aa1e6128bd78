/* SPDX-License-Identifier: MIT */
#include "tensor/cpu/map.h"

#include <string.h>

/* memcpy of a constant size is one load and one store, and says nothing about the element's type.
 */
#define MOVE(bytes)                                                    \
    case bytes:                                                        \
        for (int64_t i = 0; i < n; i++) {                              \
            memcpy(to + i * to_stride, from + i * from_stride, bytes); \
        }                                                              \
        return

void symm__move(char *to, int64_t to_stride, const char *from, int64_t from_stride, size_t size,
                int64_t n) {
    switch (size) {
        MOVE(8);
        MOVE(4);
        MOVE(2);
        MOVE(1);
    default: return; /* there is no other size */
    }
}

struct buffers {
    _Alignas(64) char bytes[SYMM__OPERANDS_MAX][SYMM__BLOCK * SYMM__ELEMENT_MAX];
};

static int64_t stride_of(const struct symm__loop *loop, int operand) {
    return loop->stride[operand][loop->ndim - 1];
}

static int is_packed(const struct symm__map *map, const struct symm__loop *loop, int operand) {
    return stride_of(loop, operand) == (int64_t)map->size[operand];
}

/* One run of `n` elements, in blocks. Repeated operands fill their buffer once. */
static void map_run(const struct symm__map *map, const struct symm__loop *loop, char *const *start,
                    int64_t n, struct buffers *buffers) {
    int64_t block = n < SYMM__BLOCK ? n : SYMM__BLOCK;
    for (int k = 0; k < loop->operands; k++) {
        int is_read = k > 0 || map->is_reader;
        if (is_read && stride_of(loop, k) == 0 && n > 1) {
            symm__move(buffers->bytes[k], (int64_t)map->size[k], start[k], 0, map->size[k], block);
        }
    }
    for (int64_t done = 0; done < n; done += block) {
        char *data[SYMM__OPERANDS_MAX];
        int64_t count = n - done < block ? n - done : block;
        for (int k = 0; k < loop->operands; k++) {
            char *place = start[k] + done * stride_of(loop, k);
            int is_read = k > 0 || map->is_reader;
            data[k] = is_packed(map, loop, k) || n == 1 ? place : buffers->bytes[k];
            if (is_read && data[k] != place && stride_of(loop, k) != 0) {
                symm__move(data[k], (int64_t)map->size[k], place, stride_of(loop, k), map->size[k],
                           count);
            }
        }
        map->run(data, count, map->context);
        char *place = start[0] + done * stride_of(loop, 0);
        if (!map->is_reader && data[0] != place) {
            symm__move(place, stride_of(loop, 0), data[0], (int64_t)map->size[0], map->size[0],
                       count);
        }
    }
}

void symm__map(const struct symm__map *map, const struct symm__loop *loop) {
    struct symm__walk walk;
    struct buffers buffers;
    int64_t n = loop->shape[loop->ndim - 1];
    int all_packed = 1;
    for (int k = 0; k < loop->operands; k++) all_packed &= is_packed(map, loop, k);
    symm__walk_begin(&walk, loop);
    do {
        if (all_packed) {
            map->run(walk.data, n, map->context);
        } else {
            map_run(map, loop, walk.data, n, &buffers);
        }
    } while (symm__walk_next(&walk));
}
