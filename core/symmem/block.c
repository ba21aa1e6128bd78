/* SPDX-License-Identifier: MIT
 *
 * Blocks: this process's allocations, their tensors, and the persistent ones. Pad segments are
 * blocks without data.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/options.h"
#include "symmem/symmem.h"

pthread_mutex_t symm__blocks_lock = PTHREAD_MUTEX_INITIALIZER;

static struct symm__block *all_blocks; /* under symm__blocks_lock, as the next two */
static uint64_t last_serial;
static int64_t pad_size_now = SYMM_SIGNAL_PAD_DEFAULT_SIZE;

static const char own_tag, view_tag; /* only their addresses matter */

static int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

struct symm__front symm__front_of(int64_t pad_size) {
    int64_t area = round_up(pad_size, SYMM__AREA_ALIGN);
    struct symm__front front = {.pad = 0, .sleepers = area, .barrier = 2 * area};
    /* Two words for each of pad_size / 4 channels, the most that one rank alone has. */
    front.size = round_up(front.barrier + 2 * area, SYMM__DATA_ALIGN);
    return front;
}

int symm_memory_set_signal_pad_size(int64_t bytes) {
    if (bytes < 4 || bytes % 4 != 0 || bytes > (int64_t)1 << 30) {
        return symm__fail(SYMM_EINVALID,
                          "the signal pad's size must be a multiple of 4 in [4, 2^30], not %lld",
                          (long long)bytes);
    }
    pthread_mutex_lock(&symm__blocks_lock);
    pad_size_now = bytes;
    pthread_mutex_unlock(&symm__blocks_lock);
    return SYMM_OK;
}

int64_t symm_memory_get_signal_pad_size(void) {
    pthread_mutex_lock(&symm__blocks_lock);
    int64_t bytes = pad_size_now;
    pthread_mutex_unlock(&symm__blocks_lock);
    return bytes;
}

int symm__block_new(const struct symm__allocator_ops *allocator, int64_t buffer_size,
                    int64_t pad_size, struct symm__block **out) {
    struct symm__front front = symm__front_of(pad_size);
    if (buffer_size > INT64_MAX - front.size) {
        return symm__fail(SYMM_EINVALID, "%lld bytes are too many", (long long)buffer_size);
    }
    struct symm__block *block = calloc(1, sizeof *block);
    if (!block) return symm__fail_oom(sizeof *block);
    int rc = allocator->allocate(front.size + buffer_size, &block->segment);
    if (rc < 0) {
        free(block);
        return rc;
    }
    atomic_init(&block->references, 1);
    block->allocator = allocator;
    block->buffer_size = buffer_size;
    block->pad_size = pad_size;
    block->front = front;
    block->alloc_id = -1;
    pthread_mutex_lock(&symm__blocks_lock);
    block->serial = ++last_serial;
    block->next = all_blocks;
    all_blocks = block;
    pthread_mutex_unlock(&symm__blocks_lock);
    *out = block;
    return SYMM_OK;
}

void symm__block_retain(struct symm__block *block) {
    /* Relaxed: whoever retains holds a reference already, or symm__blocks_lock (see try_retain). */
    atomic_fetch_add_explicit(&block->references, 1, memory_order_relaxed);
}

static void unlink_block(struct symm__block *block) {
    for (struct symm__block **at = &all_blocks; *at; at = &(*at)->next) {
        if (*at != block) continue;
        *at = block->next;
        return;
    }
}

void symm__block_release(struct symm__block *block) {
    if (!block) return;
    /* The lock makes the drop to zero and leaving the list one step, so that who finds a block in
     * the list may retain it. Acquire and release order the last use before the unmapping. */
    pthread_mutex_lock(&symm__blocks_lock);
    int last = atomic_fetch_sub_explicit(&block->references, 1, memory_order_acq_rel) == 1;
    if (last) unlink_block(block);
    pthread_mutex_unlock(&symm__blocks_lock);
    if (!last) return;
    block->allocator->release(&block->segment);
    free(block);
}

struct symm__block *symm__block_by_serial(uint64_t serial) {
    pthread_mutex_lock(&symm__blocks_lock);
    struct symm__block *block = all_blocks;
    while (block && block->serial != serial) block = block->next;
    if (block) symm__block_retain(block);
    pthread_mutex_unlock(&symm__blocks_lock);
    return block;
}

/* ---- handles of a block ---- */

symm_memory *symm__block_find_handle(struct symm__block *block,
                                     const struct symm__group_info *info) {
    pthread_mutex_lock(&symm__blocks_lock);
    symm_memory *memory = block->handles;
    while (memory && memory->info != info) memory = memory->next_of_block;
    if (memory) symm_memory_retain(memory);
    pthread_mutex_unlock(&symm__blocks_lock);
    return memory;
}

void symm__block_keep_handle(struct symm__block *block, symm_memory *memory) {
    pthread_mutex_lock(&symm__blocks_lock);
    if (block->tensors > 0 || block->alloc_id >= 0) {
        symm_memory_retain(memory);
        memory->next_of_block = block->handles;
        block->handles = memory;
    }
    pthread_mutex_unlock(&symm__blocks_lock);
}

static void release_list(symm_memory *list) {
    while (list) {
        symm_memory *next = list->next_of_block;
        list->next_of_block = NULL;
        symm_memory_release(list);
        list = next;
    }
}

void symm__blocks_drop_group(const struct symm__group_info *info) {
    symm_memory *dropped = NULL;
    pthread_mutex_lock(&symm__blocks_lock);
    for (struct symm__block *block = all_blocks; block; block = block->next) {
        symm_memory **at = &block->handles;
        while (*at) {
            symm_memory *memory = *at;
            if (memory->info != info) {
                at = &memory->next_of_block;
                continue;
            }
            *at = memory->next_of_block;
            memory->next_of_block = dropped;
            dropped = memory;
        }
    }
    pthread_mutex_unlock(&symm__blocks_lock);
    release_list(dropped);
}

/* ---- storages ---- */

static void release_own_storage(struct symm__storage *storage) {
    struct symm__block *block = storage->owner;
    symm_memory *handles = NULL;
    pthread_mutex_lock(&symm__blocks_lock);
    block->tensors--;
    if (block->alloc_id < 0) {
        handles = block->handles;
        block->handles = NULL;
    }
    pthread_mutex_unlock(&symm__blocks_lock);
    release_list(handles);
    symm__block_release(block);
    free(storage);
}

static void release_view_storage(struct symm__storage *storage) {
    symm_memory_release(storage->owner);
    free(storage);
}

static struct symm__storage *new_storage(void *data, int64_t nbytes, void *owner, const void *tag,
                                         void (*release)(struct symm__storage *)) {
    struct symm__storage *storage = calloc(1, sizeof *storage);
    if (!storage) return NULL;
    atomic_init(&storage->references, 1);
    storage->data = data;
    storage->nbytes = nbytes;
    storage->device = "cpu";
    storage->owner = owner;
    storage->tag = tag;
    storage->release = release;
    return storage;
}

struct symm__storage *symm__view_storage(symm_memory *memory, void *data, int64_t nbytes) {
    struct symm__storage *storage =
        new_storage(data, nbytes, memory, &view_tag, release_view_storage);
    if (storage) symm_memory_retain(memory);
    return storage;
}

struct symm__block *symm__block_of(const symm_tensor *tensor) {
    const struct symm__storage *storage = tensor->storage;
    if (storage->tag == &own_tag) return storage->owner;
    symm_memory *memory = symm__view_owner(tensor);
    if (memory && storage->data == memory->views[memory->rank].buffer) return memory->block;
    return NULL;
}

symm_memory *symm__view_owner(const symm_tensor *tensor) {
    return tensor->storage->tag == &view_tag ? tensor->storage->owner : NULL;
}

int symm_memory_is_symmetric(const symm_tensor *tensor) { return symm__block_of(tensor) != NULL; }

/* ---- allocation ---- */

/* Finds the persistent block of an id, marked as having a tensor, or NULL if there is none yet. */
static int take_persistent(int64_t alloc_id, int64_t bytes, struct symm__block **out) {
    int rc = SYMM_OK;
    pthread_mutex_lock(&symm__blocks_lock);
    struct symm__block *block = all_blocks;
    while (block && block->alloc_id != alloc_id) block = block->next;
    if (block && block->tensors > 0) {
        rc = symm__fail(SYMM_EEXISTS, "a tensor with alloc_id %lld still lives",
                        (long long)alloc_id);
    } else if (block && block->buffer_size != bytes) {
        rc = symm__fail(SYMM_EMISMATCH, "alloc_id %lld has %lld bytes, not %lld",
                        (long long)alloc_id, (long long)block->buffer_size, (long long)bytes);
    } else if (block) {
        block->tensors = 1;
        symm__block_retain(block);
    }
    pthread_mutex_unlock(&symm__blocks_lock);
    if (rc == SYMM_OK) *out = block;
    return rc;
}

/* A new block with one tensor; a persistent one keeps a reference of its own for ever. */
static int make_block(const struct symm__allocator_ops *allocator, int64_t bytes, int64_t alloc_id,
                      struct symm__block **out) {
    struct symm__block *block = NULL;
    int rc = symm__block_new(allocator, bytes, symm_memory_get_signal_pad_size(), &block);
    if (rc < 0) return rc;
    pthread_mutex_lock(&symm__blocks_lock);
    struct symm__block *rival = alloc_id >= 0 ? all_blocks : NULL;
    while (rival && rival->alloc_id != alloc_id) rival = rival->next;
    if (!rival) {
        block->tensors = 1;
        block->alloc_id = alloc_id;
        if (alloc_id >= 0) symm__block_retain(block);
    }
    pthread_mutex_unlock(&symm__blocks_lock);
    if (rival) { /* another thread was first */
        symm__block_release(block);
        return symm__fail(SYMM_EEXISTS, "a tensor with alloc_id %lld still lives",
                          (long long)alloc_id);
    }
    *out = block;
    return SYMM_OK;
}

static int check_options(const struct symm_memory_options *options) {
    const char *group = options->group_name;
    if (options->alloc_id < -1) {
        return symm__fail(SYMM_EINVALID, "alloc_id must not be negative: %lld",
                          (long long)options->alloc_id);
    }
    if (group && strlen(group) > SYMM_GROUP_NAME_MAX) {
        return symm__fail(SYMM_EINVALID, "group_name must have at most %d bytes",
                          SYMM_GROUP_NAME_MAX);
    }
    return SYMM_OK;
}

/* What shape and strides reach. */
static int bytes_of(const int64_t *shape, const int64_t *stride, int ndim, symm_dtype dtype,
                    int64_t *bytes_out) {
    const char *op = "empty_strided_p2p";
    int64_t numel = 0;
    if (stride) return symm__extent_bytes(op, shape, stride, ndim, dtype, bytes_out);
    int rc = symm__shape_check(op, shape, ndim, dtype, &numel);
    if (rc == SYMM_OK) *bytes_out = numel * (int64_t)symm_dtype_size(dtype);
    return rc;
}

int symm_memory_empty_strided(const int64_t *shape, const int64_t *stride, int ndim,
                              symm_dtype dtype, const struct symm_memory_options *options,
                              symm_tensor **out) {
    SYMM__GUARD_FORK();
    struct symm__where where = {"empty_strided_p2p", NULL, -1, -1, -1, -1};
    struct symm_memory_options o = SYMM_MEMORY_OPTIONS_INIT;
    const struct symm__allocator_ops *allocator = NULL;
    struct symm__block *block = NULL;
    int64_t bytes = 0;
    int rc = symm__options_read("symm_memory_options", &o, sizeof o, sizeof o, options);
    if (rc == SYMM_OK) rc = check_options(&o);
    if (rc == SYMM_OK) rc = symm__allocator_for(o.device, &allocator);
    if (rc == SYMM_OK) rc = bytes_of(shape, stride, ndim, dtype, &bytes);
    if (rc == SYMM_OK && o.alloc_id >= 0) rc = take_persistent(o.alloc_id, bytes, &block);
    if (rc == SYMM_OK && !block) rc = make_block(allocator, bytes, o.alloc_id, &block);
    if (rc < 0) return symm__fail_in(&where);
    snprintf(block->default_group, sizeof block->default_group, "%s",
             o.group_name ? o.group_name : "");
    struct symm__storage *storage =
        new_storage(symm__block_data(block), bytes, block, &own_tag, release_own_storage);
    if (!storage) {
        pthread_mutex_lock(&symm__blocks_lock);
        block->tensors = 0;
        pthread_mutex_unlock(&symm__blocks_lock);
        symm__block_release(block);
        return symm__fail_oom(sizeof *storage);
    }
    rc = symm__tensor_over(storage, shape, stride, ndim, dtype, 0, out);
    symm__storage_release(storage);
    return rc;
}
