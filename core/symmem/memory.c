/* SPDX-License-Identifier: MIT
 *
 * Handles: what they know, and the tensors they give.
 */
#include <stdlib.h>
#include <string.h>

#include "base/activity.h"
#include "base/error.h"
#include "symmem/symmem.h"

/* Turns of spinning before a waiter yields: about 20 µs where every rank has a CPU of its own, and
 * next to nothing where ranks share them, since then the spinner holds up who it waits for. */
#define SPIN_TURNS_ALONE 1000
#define SPIN_TURNS_SHARED 50

int symm__memory_new(struct symm__group_info *info, struct symm__block *block, symm_memory **out) {
    size_t world = (size_t)info->world_size;
    symm_memory *memory = calloc(1, sizeof *memory);
    if (!memory) return symm__fail_oom(sizeof *memory);
    memory->views = calloc(world, sizeof *memory->views);
    memory->buffer_ptrs = calloc(world, sizeof *memory->buffer_ptrs);
    memory->pad_ptrs = calloc(world, sizeof *memory->pad_ptrs);
    if (!memory->views || !memory->buffer_ptrs || !memory->pad_ptrs) {
        free(memory->views);
        free(memory->buffer_ptrs);
        free(memory->pad_ptrs);
        free(memory);
        return symm__fail_oom(world * sizeof *memory->views);
    }
    struct symm__mesh *mesh = atomic_load_explicit(&info->mesh, memory_order_acquire);
    symm__group_info_retain(info);
    symm__block_retain(block);
    atomic_init(&memory->references, 1);
    memory->info = info;
    memory->block = block;
    memory->rank = info->rank;
    memory->world_size = info->world_size;
    memory->pad_size = block->pad_size;
    memory->front = block->front;
    memory->channels = (int)(block->pad_size / 4 / info->world_size);
    memory->spin_turns = mesh && mesh->oversubscribed ? SPIN_TURNS_SHARED : SPIN_TURNS_ALONE;
    memory->activity_group = symm__activity_group(info->name);
    *out = memory;
    return SYMM_OK;
}

symm_memory *symm_memory_retain(symm_memory *memory) {
    /* Relaxed: whoever retains holds a reference already, or symm__blocks_lock. */
    atomic_fetch_add_explicit(&memory->references, 1, memory_order_relaxed);
    return memory;
}

void symm_memory_release(symm_memory *memory) {
    /* Release pairs with the acquire of whoever drops the last reference. */
    if (!memory || atomic_fetch_sub_explicit(&memory->references, 1, memory_order_acq_rel) != 1) {
        return;
    }
    for (int r = 0; r < memory->world_size; r++) {
        symm__mapping_release(memory->views[r].buffer_mapping);
        symm__mapping_release(memory->views[r].pad_mapping);
    }
    symm__block_release(memory->pad_block);
    symm__block_release(memory->block);
    symm__group_info_release(memory->info);
    free(memory->views);
    free(memory->buffer_ptrs);
    free(memory->pad_ptrs);
    free(memory);
}

int symm_memory_rank(const symm_memory *memory) { return memory->rank; }
int symm_memory_world_size(const symm_memory *memory) { return memory->world_size; }
const char *symm_memory_group_name(const symm_memory *memory) { return memory->info->name; }
int64_t symm_memory_buffer_size(const symm_memory *memory) { return memory->block->buffer_size; }
int64_t symm_memory_signal_pad_size(const symm_memory *memory) { return memory->pad_size; }
int64_t symm_memory_offset(const symm_memory *memory) {
    (void)memory;
    return 0;
}
void *const *symm_memory_buffer_ptrs(const symm_memory *memory) { return memory->buffer_ptrs; }
uint32_t *const *symm_memory_signal_pad_ptrs(const symm_memory *memory) { return memory->pad_ptrs; }
int symm_memory_channels(const symm_memory *memory) { return memory->channels; }

static int check_rank(const symm_memory *memory, int rank, const char *op) {
    if (rank >= 0 && rank < memory->world_size) return SYMM_OK;
    struct symm__where where = {op, memory->info->name, memory->rank, -1, -1, -1};
    return symm__fail_at(&where, SYMM_EINVALID, "rank must be in [0, %d), not %d",
                         memory->world_size, rank);
}

/* A contiguous view of `shape` from element `offset` on, within `limit` bytes at `base`. */
static int view_of(symm_memory *memory, char *base, int64_t limit, const int64_t *shape, int ndim,
                   symm_dtype dtype, int64_t offset, const char *op, symm_tensor **out) {
    struct symm__where where = {op, memory->info->name, memory->rank, -1, -1, -1};
    int64_t numel = 0, size = (int64_t)symm_dtype_size(dtype);
    int rc = symm__shape_check(op, shape, ndim, dtype, &numel);
    if (rc < 0) return rc;
    if (offset < 0 || offset > limit / size || numel > limit / size - offset) {
        return symm__fail_at(
            &where, SYMM_EINVALID, "%lld elements of %s from %lld on do not fit into %lld bytes",
            (long long)numel, symm_dtype_name(dtype), (long long)offset, (long long)limit);
    }
    struct symm__storage *storage = symm__view_storage(memory, base, limit);
    if (!storage) return symm__fail_oom(sizeof *storage);
    rc = symm__tensor_over(storage, shape, NULL, ndim, dtype, offset, out);
    symm__storage_release(storage);
    return rc;
}

int symm_memory_get_buffer(symm_memory *memory, int rank, const int64_t *shape, int ndim,
                           symm_dtype dtype, int64_t storage_offset, symm_tensor **out) {
    int rc = check_rank(memory, rank, "get_buffer");
    if (rc < 0) return rc;
    return view_of(memory, memory->views[rank].buffer, memory->block->buffer_size, shape, ndim,
                   dtype, storage_offset, "get_buffer", out);
}

int symm_memory_get_signal_pad(symm_memory *memory, int rank, const int64_t *shape, int ndim,
                               symm_dtype dtype, int64_t storage_offset, symm_tensor **out) {
    int64_t whole =
        memory->pad_size / (int64_t)(symm_dtype_size(dtype) ? symm_dtype_size(dtype) : 1);
    int rc = check_rank(memory, rank, "get_signal_pad");
    if (rc < 0) return rc;
    if (ndim < 0) {
        if (storage_offset < 0 || storage_offset > whole)
            whole = 0; /* view_of refuses the offset */
        else
            whole -= storage_offset;
        shape = &whole;
        ndim = 1;
    }
    return view_of(memory, memory->views[rank].front + memory->front.pad, memory->pad_size, shape,
                   ndim, dtype, storage_offset, "get_signal_pad", out);
}

/* ---- words of uint32 tensors ---- */

static int check_words(const char *op, const symm_tensor *tensor, int64_t offset, int64_t value,
                       int64_t count) {
    struct symm__where where = {op, NULL, -1, -1, -1, -1};
    if (tensor->ndim != 1 || tensor->dtype != SYMM_DTYPE_uint32 ||
        !symm_tensor_is_contiguous(tensor)) {
        return symm__fail_at(&where, SYMM_EINVALID,
                             "the tensor must be a contiguous uint32 tensor of one dimension");
    }
    if (value < 0 || value > (int64_t)UINT32_MAX) {
        return symm__fail_at(&where, SYMM_EINVALID, "the value must be in [0, 2^32), not %lld",
                             (long long)value);
    }
    if (count < 1) {
        return symm__fail_at(&where, SYMM_EINVALID, "the count must be positive, not %lld",
                             (long long)count);
    }
    if (offset < 0 || offset > tensor->numel || count > tensor->numel - offset) {
        return symm__fail_at(&where, SYMM_EINVALID,
                             "%lld elements from %lld on exceed the %lld there are",
                             (long long)count, (long long)offset, (long long)tensor->numel);
    }
    return SYMM_OK;
}

/* Where the words written are slots of a pad, somebody may sleep on them. */
static int wake_slots(const symm_tensor *tensor, const void *words, int64_t count) {
    symm_memory *memory = symm__view_owner(tensor);
    for (int r = 0; memory && r < memory->world_size; r++) {
        if (tensor->storage->data != memory->pad_ptrs[r]) continue;
        int64_t first = (const uint32_t *)words - memory->pad_ptrs[r];
        for (int64_t slot = first; slot < first + count; slot++) {
            int rc = symm_memory_wake(memory, r, slot);
            if (rc < 0) return rc;
        }
        return SYMM_OK;
    }
    return SYMM_OK;
}

int symm_memory_memset32(symm_tensor *tensor, int64_t offset, int64_t value, int64_t count) {
    int rc = check_words("memset32", tensor, offset, value, count);
    if (rc < 0) return rc;
    uint32_t *words = (uint32_t *)symm_tensor_data(tensor) + offset;
    for (int64_t i = 0; i < count; i++) words[i] = (uint32_t)value;
    return wake_slots(tensor, words, count);
}

int symm_memory_stream_write_value32(symm_tensor *tensor, int64_t offset, int64_t value) {
    int rc = check_words("stream_write_value32", tensor, offset, value, 1);
    if (rc < 0) return rc;
    _Atomic uint32_t *word = (_Atomic uint32_t *)symm_tensor_data(tensor) + offset;
    /* Release: pairs with the acquire of whoever polls the word, on any rank. */
    atomic_store_explicit(word, (uint32_t)value, memory_order_release);
    return wake_slots(tensor, word, 1);
}
