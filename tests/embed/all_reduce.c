/* SPDX-License-Identifier: MIT
 *
 * An application of the C API alone: it allocates symmetric memory, meets its peers, and runs an
 * all-reduce of its own over the raw buffer pointers and signal pads, checked against the sum that
 * each rank can compute. Built against the installed tree:
 *     cc all_reduce.c $(pkg-config --cflags --libs symm)
 * Its place comes from the environment (RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT).
 */
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <symm/symm.h>

#define ELEMENTS 5000
#define ROUNDS 200

static void must(int rc, const char *what) {
    if (rc >= 0) return;
    fprintf(stderr, "%s: %s: %s\n", what, symm_status_name(rc), symm_last_error()->message);
    exit(1);
}

/* The application's own protocol on its own channel: set my slot at every peer, then take theirs.
 */
static void meet(symm_memory *memory, int channel) {
    int world = symm_memory_world_size(memory), rank = symm_memory_rank(memory);
    uint32_t *const *pads = symm_memory_signal_pad_ptrs(memory);
    for (int peer = 0; peer < world; peer++) {
        _Atomic uint32_t *slot = (_Atomic uint32_t *)pads[peer] + world * channel + rank;
        while (atomic_load_explicit(slot, memory_order_relaxed) != 0) {
        }
        atomic_store_explicit(slot, 1, memory_order_release);
        must(symm_memory_wake(memory, peer, world * channel + rank), "wake");
    }
    for (int peer = 0; peer < world; peer++) {
        must(symm_memory_wait_signal(memory, peer, channel, 20000), "wait_signal");
    }
}

static void all_reduce(symm_memory *memory, float *result) {
    void *const *buffers = symm_memory_buffer_ptrs(memory);
    meet(memory, 3);
    for (int i = 0; i < ELEMENTS; i++) {
        float sum = 0;
        for (int r = 0; r < symm_memory_world_size(memory); r++)
            sum += ((const float *)buffers[r])[i];
        result[i] = sum;
    }
    meet(memory, 4);
}

static long count_wrong(const float *result, int world, int round) {
    long wrong = 0;
    for (int i = 0; i < ELEMENTS; i++) {
        int sum = world * (i % 100 + round) + world * (world - 1) / 2;
        wrong += result[i] != (float)sum;
    }
    return wrong;
}

int main(void) {
    static float result[ELEMENTS];
    symm_group *group = NULL;
    symm_tensor *tensor = NULL;
    symm_memory *memory = NULL, *again = NULL;
    struct symm_group_options group_options = SYMM_GROUP_OPTIONS_INIT;
    struct symm_memory_options options = SYMM_MEMORY_OPTIONS_INIT;
    int64_t shape[1] = {ELEMENTS};
    long wrong = 0;

    group_options.timeout_ms = 20000;
    must(symm_group_init(&group_options, &group), "symm_group_init");
    options.group_name = symm_group_name(group);
    must(symm_memory_empty_strided(shape, NULL, 1, SYMM_DTYPE_float32, &options, &tensor),
         "allocate");
    must(symm_memory_rendezvous(tensor, NULL, 0, &memory), "rendezvous");
    must(symm_memory_of(tensor, NULL, &again), "symm_memory_of");
    if (again != memory) return 2;
    symm_memory_release(again);

    int rank = symm_memory_rank(memory), world = symm_memory_world_size(memory);
    float *mine = symm_memory_buffer_ptrs(memory)[rank];
    if (mine != symm_tensor_data(tensor)) return 3;
    if (symm_memory_buffer_size(memory) != ELEMENTS * 4 || symm_memory_offset(memory) != 0)
        return 4;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < ELEMENTS; i++) mine[i] = (float)(i % 100 + round + rank);
        all_reduce(memory, result);
        wrong += count_wrong(result, world, round);
    }
    printf("rank %d of %d: %d all-reduces, %ld wrong elements\n", rank, world, ROUNDS, wrong);
    symm_memory_release(memory);
    symm_tensor_release(tensor);
    must(symm_group_destroy(group, 0), "symm_group_destroy");
    symm_group_release(group);
    return wrong ? 1 : 0;
}
