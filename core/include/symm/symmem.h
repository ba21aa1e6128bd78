/* SPDX-License-Identifier: MIT
 *
 * Symmetric memory: buffers that every rank of a group has mapped, and can read, write and signal
 * directly. Three steps: allocate (alone), rendezvous (collective), use.
 *
 * A block is one allocation of one rank. A `symm_memory` is the handle of one block in one group:
 * the W mapped buffers and the W mapped signal pads. As long as a tensor of the block lives, asking
 * again for its handle in the same group gives the same object without communication.
 *
 * Ranks and channels count from 0. A signal pad of world size W holds uint32 slots; slot W*c + s of
 * a rank's pad is where rank s signals it on channel c. A slot is 0 (free) or 1 (signalled) and is
 * 0 whenever nobody uses it.
 *
 * Threads: handles may be used from any thread; two threads must not wait on one slot at a time.
 * Order: put_signal releases and wait_signal acquires, so what a rank wrote into a peer's buffer
 * before put_signal is seen by that peer after wait_signal; barrier does both, for all ranks.
 * Timeouts: symm/wait.h; 0 is the group's default.
 */
#ifndef SYMM_SYMMEM_H
#define SYMM_SYMMEM_H

#include <stdint.h>

#include <symm/dtype.h>
#include <symm/store.h>
#include <symm/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct symm_memory symm_memory;

#define SYMM_GROUP_NAME_MAX 63
#define SYMM_MAX_WORLD_SIZE_PER_HOST 1024
/* 32 channels for 72 ranks. */
#define SYMM_SIGNAL_PAD_DEFAULT_SIZE 9216

/* ---- groups: only a name, a place and a store are needed ---- */

/* Makes a group known for rendezvous. Not collective; the store is retained until the name is
 * unset. SYMM_EEXISTS if the name is taken, by a process group too. `timeout_ms` is the default
 * of every wait in that group (0: 300 s). */
int symm_memory_set_group_info(const char *group_name, int rank, int world_size, symm_store *store,
                               int64_t timeout_ms);
/* Forgets the group: its handles fail with SYMM_ECLOSED from now on; the peers' connections say
 * goodbye. SYMM_ENOT_FOUND if it is unknown, SYMM_EINVALID if a process group has the name. */
int symm_memory_unset_group_info(const char *group_name);

/* ---- allocation ---- */

struct symm_memory_options {
    size_t size;            /* sizeof this struct */
    const char *device;     /* "cpu" */
    const char *group_name; /* default group for rendezvous; NULL: none */
    int64_t alloc_id;       /* persistent id, -1: none */
};
#define SYMM_MEMORY_OPTIONS_INIT \
    { sizeof(struct symm_memory_options), "cpu", NULL, -1 }

/* Allocates a block and gives a tensor of it; not collective. `stride` in elements, NULL for
 * contiguous; the size is what shape and strides reach. Zeroed when new. With an alloc_id the same
 * memory is given again once no tensor of it lives (SYMM_EEXISTS while one does, SYMM_EMISMATCH for
 * another size). Errors: SYMM_EOOM names the limit that is in the way. */
int symm_memory_empty_strided(const int64_t *shape, const int64_t *stride, int ndim,
                              symm_dtype dtype, const struct symm_memory_options *options,
                              symm_tensor **out);
/* 1 if the tensor's storage is a block of this process, else 0. */
int symm_memory_is_symmetric(const symm_tensor *tensor);
/* Bytes that this process may still allocate as it stands (INT64_MAX: no limit is known), and what
 * limits them, for people; cut to `size`. SYMM_EINVALID if SYMM_SHM_LIMIT is no size. */
int symm_memory_available(int64_t *bytes_out, char *reason, size_t size);
/* Bytes of the signal pad of blocks made from now on: a multiple of 4, at least one channel. */
int symm_memory_set_signal_pad_size(int64_t bytes);
int64_t symm_memory_get_signal_pad_size(void);

/* ---- rendezvous ---- */

/* Collective over the group (NULL: the block's default group), in the same order on all ranks.
 * Gives a counted reference. An ordinary tensor gives NULL and returns 0, without communication.
 * SYMM_EMISMATCH names rank and field if the ranks' blocks differ; SYMM_ETIMEOUT names who is
 * missing. */
int symm_memory_rendezvous(symm_tensor *tensor, const char *group_name, int64_t timeout_ms,
                           symm_memory **out);
/* The handle of a block that was rendezvoused, without communication; counted. SYMM_EINVALID if it
 * was not yet; NULL and 0 for ordinary memory. */
int symm_memory_of(const symm_tensor *tensor, const char *group_name, symm_memory **out);
symm_memory *symm_memory_retain(symm_memory *memory);
void symm_memory_release(symm_memory *memory);

/* ---- what a handle knows ---- */

int symm_memory_rank(const symm_memory *memory);
int symm_memory_world_size(const symm_memory *memory);
const char *symm_memory_group_name(const symm_memory *memory);
/* Bytes of the data that the user asked for, and of each pad of this group. */
int64_t symm_memory_buffer_size(const symm_memory *memory);
int64_t symm_memory_signal_pad_size(const symm_memory *memory);
/* Bytes from a block's start to its user data; 0 for all blocks made by this library. */
int64_t symm_memory_offset(const symm_memory *memory);
/* W pointers, by rank, valid in this process while the handle lives. */
void *const *symm_memory_buffer_ptrs(const symm_memory *memory);
uint32_t *const *symm_memory_signal_pad_ptrs(const symm_memory *memory);
/* Channels of the pad: pad bytes / (4 * W). */
int symm_memory_channels(const symm_memory *memory);

/* A contiguous tensor over `rank`'s buffer, from element `storage_offset` of `dtype`, counted from
 * the buffer's start. It keeps the handle alive. Errors: SYMM_EINVALID for a rank, an offset or an
 * end out of bounds. */
int symm_memory_get_buffer(symm_memory *memory, int rank, const int64_t *shape, int ndim,
                           symm_dtype dtype, int64_t storage_offset, symm_tensor **out);
/* The same over `rank`'s signal pad; ndim < 0: the whole pad as one dimension. */
int symm_memory_get_signal_pad(symm_memory *memory, int rank, const int64_t *shape, int ndim,
                               symm_dtype dtype, int64_t storage_offset, symm_tensor **out);

/* ---- signals ---- */

/* Waits until the slot at `dst_rank` is free, then sets it. */
int symm_memory_put_signal(symm_memory *memory, int dst_rank, int channel, int64_t timeout_ms);
/* Waits until `src_rank` has signalled, then frees the slot. */
int symm_memory_wait_signal(symm_memory *memory, int src_rank, int channel, int64_t timeout_ms);
/* For protocols of one's own over the pads: after a slot was changed by a plain or atomic store
 * (slot as an index into `rank`'s pad), wakes whoever sleeps on it in put_signal or wait_signal.
 * Without it a sleeper looks again within SYMM_WAIT_SLICE_MS. */
int symm_memory_wake(symm_memory *memory, int rank, int64_t slot);
/* Returns when all ranks have called it on that channel. Its counters are not the pad's slots: a
 * pending signal never counts as an arrival. SYMM_ETIMEOUT and SYMM_EPEER_DIED name who is missing.
 */
int symm_memory_barrier(symm_memory *memory, int channel, int64_t timeout_ms);

/* Sets `count` elements of a 1-D contiguous uint32 tensor from `offset` to `value`. */
int symm_memory_memset32(symm_tensor *tensor, int64_t offset, int64_t value, int64_t count);
/* Writes one element with release order: writes before it are visible to who reads it. In a view of
 * a signal pad both this and memset32 wake who sleeps on the slots written. */
int symm_memory_stream_write_value32(symm_tensor *tensor, int64_t offset, int64_t value);

#ifdef __cplusplus
}
#endif
#endif
