/* SPDX-License-Identifier: MIT
 *
 * Inside of symmetric memory: group info, blocks, pads and handles.
 *
 * NOTE ownership. A tensor's storage holds its block; a handle holds its block, its group info and
 * the peers' segments; a block with a living tensor holds its handles, one a group, so that asking
 * for one again costs no communication on any rank, whatever the collector of one did meanwhile.
 * When the last tensor of a block goes, the block lets its handles go (a persistent block never
 * does); when a group ends, it takes its handles out of all blocks. What a user still holds lives
 * on.
 *
 * NOTE front. A block is [front | data]. Every word of a front belongs to one of these areas:
 *   area      word (uint32)              index        who writes                       at rest
 *   pad       slot                       W*c + s      rank s sets 1, the owner sets 0  0
 *   sleepers  processes asleep on the    W*c + s      who sleeps adds 1 and takes it   0
 *             slot of the same index                  back; both sides of the slot
 *   barrier   arrivals of the owner      2*c          the owner adds 1 a barrier       any
 *             processes asleep on it     2*c + 1      who sleeps adds 1 and takes it   0
 *                                                     back; any rank
 * A process that is killed in its sleep leaves its count behind: that costs wakes, nothing else.
 * The first group that rendezvouses a block uses its front; every other group gets a pad segment of
 * its own, so that no two groups share a word. A rank's record says which it gave.
 */
#ifndef SYMM_SYMMEM_SYMMEM_H
#define SYMM_SYMMEM_SYMMEM_H

#include <pthread.h>
#include <stdatomic.h>
#include <symm/symmem.h>

#include "symmem/allocator.h"
#include "symmem/mesh.h"
#include "tensor/tensor.h"

#define SYMM__LAYOUT_VERSION 1
#define SYMM__AREA_ALIGN 64
#define SYMM__DATA_ALIGN 4096

/* Byte offsets into a front. */
struct symm__front {
    int64_t pad;
    int64_t sleepers;
    int64_t barrier;
    int64_t size; /* of the whole, a multiple of SYMM__DATA_ALIGN */
};
struct symm__front symm__front_of(int64_t pad_size);

/* ---- group info ---- */

struct symm__group_info {
    atomic_int references;
    char name[SYMM_GROUP_NAME_MAX + 1];
    int rank;
    int world_size;
    int owned;            /* by a process group */
    int64_t timeout_ms;   /* > 0 or -1 */
    symm_store *store;    /* a prefix store of this group's own */
    pthread_mutex_t lock; /* held through a rendezvous: mesh, rounds and caches */
    /* NULL until the first rendezvous; then for good. Release when opened, acquire without lock. */
    struct symm__mesh *_Atomic mesh;
    atomic_int ended; /* release when unset, acquire in every operation and slice */
};

/* What symm_memory_set_group_info and unset do. `owned`: by a process group, which alone may unset
 * it. */
int symm__group_info_set(const char *name, int rank, int world_size, symm_store *store,
                         int64_t timeout_ms, int owned);
int symm__group_info_unset(const char *name, int owned);
int symm__group_info_find(const char *name, struct symm__group_info **out);
void symm__group_info_retain(struct symm__group_info *info);
void symm__group_info_release(struct symm__group_info *info);
/* Takes the lock, in slices, until the deadline. */
int symm__group_info_lock(struct symm__group_info *info, const char *op, int64_t deadline_ns);
int symm__fail_ended(const struct symm__group_info *info, const char *op);

/* ---- blocks ---- */

struct symm__block {
    atomic_int references;
    const struct symm__allocator_ops *allocator;
    struct symm__segment segment;
    uint64_t serial; /* unique in this process, never 0 */
    int64_t buffer_size;
    int64_t pad_size;
    struct symm__front front;
    char default_group[SYMM_GROUP_NAME_MAX + 1];
    int64_t alloc_id; /* -1: not persistent */
    /* under symm__blocks_lock: */
    int tensors;              /* storages of it that live: 0 or 1 */
    int front_taken;          /* a group uses its front */
    symm_memory *handles;     /* one reference each */
    struct symm__block *next; /* all blocks of the process */
};

extern pthread_mutex_t symm__blocks_lock;

int symm__block_new(const struct symm__allocator_ops *allocator, int64_t buffer_size,
                    int64_t pad_size, struct symm__block **out);
void symm__block_retain(struct symm__block *block);
void symm__block_release(struct symm__block *block);
static inline char *symm__block_data(const struct symm__block *block) {
    return (char *)block->segment.base + block->front.size;
}
/* The block under a tensor of this rank's own memory; NULL for any other. Not retained. */
struct symm__block *symm__block_of(const symm_tensor *tensor);
/* The handle behind a tensor of get_buffer or get_signal_pad; NULL for any other. Not retained. */
symm_memory *symm__view_owner(const symm_tensor *tensor);
/* A storage over a part of a handle's memory, which it retains; NULL: out of memory. */
struct symm__storage *symm__view_storage(symm_memory *memory, void *data, int64_t nbytes);
/* Retained; NULL if there is none. */
struct symm__block *symm__block_by_serial(uint64_t serial);
/* The block's handle in that group, retained; NULL if there is none. */
symm_memory *symm__block_find_handle(struct symm__block *block,
                                     const struct symm__group_info *info);
/* Puts the handle into its block, if a tensor of it lives. */
void symm__block_keep_handle(struct symm__block *block, symm_memory *memory);
/* Takes all handles of a group out of all blocks. */
void symm__blocks_drop_group(const struct symm__group_info *info);

/* ---- peers' segments: mapped once a process ---- */

struct symm__mapping;
/* The mapping of the segment `serial` of the process `process`, retained. A segment of this process
 * is found among its blocks and pads, and never mapped again. */
int symm__mapping_get(const struct symm__allocator_ops *allocator,
                      const uint8_t process[SYMM__PROCESS_ID_SIZE], uint64_t serial, int fd,
                      int64_t bytes, struct symm__mapping **out);
void *symm__mapping_base(const struct symm__mapping *mapping);
void symm__mapping_release(struct symm__mapping *mapping);

/* ---- handles ---- */

struct symm__view { /* one rank's part, as mapped here */
    char *buffer;
    char *front;                          /* base of its front for this group */
    struct symm__mapping *buffer_mapping; /* NULL for this rank's own */
    struct symm__mapping *pad_mapping;    /* NULL where the front is the block's own */
};

struct symm_memory {
    atomic_int references;
    struct symm__group_info *info;
    struct symm__block *block;
    struct symm__block *pad_block; /* this rank's pad segment; NULL: the block's front */
    int rank;
    int world_size;
    int channels;
    int spin_turns;     /* before yielding; see pad.c */
    int activity_group; /* the group's number on the activity page */
    int64_t pad_size;
    struct symm__front front;
    struct symm__view *views;
    void **buffer_ptrs;
    uint32_t **pad_ptrs;
    symm_memory *next_of_block;
};

int symm__memory_new(struct symm__group_info *info, struct symm__block *block, symm_memory **out);

#endif
