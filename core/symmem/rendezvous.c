/* SPDX-License-Identifier: MIT
 *
 * Rendezvous: one exchange of records and descriptors over the mesh, then one of results, so that
 * either all ranks have the handle or all have an error.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/activity.h"
#include "base/deadline.h"
#include "base/error.h"
#include "symmem/symmem.h"

#define OP "rendezvous"

struct record {
    int32_t status; /* a code with which this rank could not even begin; then only message counts */
    int32_t layout_version;
    int64_t block_size;
    int64_t buffer_size;
    int64_t buffer_offset;
    int64_t signal_pad_size;
    int64_t pad_block_size; /* 0: the pad is the block's front */
    uint64_t serial;
    uint64_t pad_serial;
    uint8_t process[SYMM__PROCESS_ID_SIZE];
    char device[16];
    char message[200];
};
_Static_assert(sizeof(struct record) <= SYMM__MESH_PAYLOAD_MAX, "a record is one message");

struct result {
    int32_t status;
    char message[400];
};

/* What must be equal on all ranks, by the name that messages give it. */
static const struct {
    const char *name;
    size_t offset;
} equal_fields[] = {
    {"buffer_size", offsetof(struct record, buffer_size)},
    {"signal_pad_size", offsetof(struct record, signal_pad_size)},
    {"buffer_offset", offsetof(struct record, buffer_offset)},
    {"block_size", offsetof(struct record, block_size)},
};

struct meeting {
    struct symm__group_info *info;
    struct symm__mesh *mesh;
    symm_memory *memory;
    struct record mine;
    struct record *all;
    int *fds; /* SYMM__MESH_FDS a rank: block, pad */
    int64_t deadline_ns;
};

static struct symm__where where_of(const struct symm__group_info *info, int peer) {
    return (struct symm__where){OP, info->name, info->rank, peer, -1, -1};
}

/* ---- this rank's record ---- */

/* The block's front if it is free, else a pad segment of this group's own. */
static int choose_pad(symm_memory *memory) {
    pthread_mutex_lock(&symm__blocks_lock);
    int is_free = !memory->block->front_taken;
    memory->block->front_taken = 1;
    pthread_mutex_unlock(&symm__blocks_lock);
    if (is_free) return SYMM_OK;
    return symm__block_new(memory->block->allocator, 0, memory->pad_size, &memory->pad_block);
}

static void give_front_back(symm_memory *memory) {
    if (memory->pad_block) return;
    pthread_mutex_lock(&symm__blocks_lock);
    memory->block->front_taken = 0;
    pthread_mutex_unlock(&symm__blocks_lock);
}

static void fill_record(struct meeting *m, int status) {
    const struct symm__block *block = m->memory->block, *pad = m->memory->pad_block;
    m->mine.status = status;
    if (status < 0) {
        snprintf(m->mine.message, sizeof m->mine.message, "%.190s", symm_last_error()->message);
    }
    m->mine.layout_version = SYMM__LAYOUT_VERSION;
    m->mine.block_size = block->segment.size;
    m->mine.buffer_size = block->buffer_size;
    m->mine.buffer_offset = block->front.size;
    m->mine.signal_pad_size = block->pad_size;
    m->mine.pad_block_size = pad ? pad->segment.size : 0;
    m->mine.serial = block->serial;
    m->mine.pad_serial = pad ? pad->serial : 0;
    memcpy(m->mine.process, symm__process_id(), sizeof m->mine.process);
    snprintf(m->mine.device, sizeof m->mine.device, "%s", block->allocator->device_type);
}

/* ---- checking ---- */

static int check_record(const struct meeting *m, int rank) {
    const struct record *theirs = &m->all[rank];
    struct symm__where where = where_of(m->info, rank);
    if (theirs->status < 0) {
        return symm__fail_at(&where, theirs->status, "rank %d could not take part: %.200s", rank,
                             theirs->message);
    }
    if (theirs->layout_version != m->mine.layout_version) {
        return symm__fail_at(&where, SYMM_EMISMATCH, "rank %d has layout_version %d, this rank %d",
                             rank, theirs->layout_version, m->mine.layout_version);
    }
    if (strncmp(theirs->device, m->mine.device, sizeof theirs->device) != 0) {
        return symm__fail_at(&where, SYMM_EMISMATCH, "rank %d has device %.16s, this rank %s", rank,
                             theirs->device, m->mine.device);
    }
    for (size_t i = 0; i < sizeof equal_fields / sizeof *equal_fields; i++) {
        int64_t there = 0, here = 0;
        memcpy(&there, (const char *)theirs + equal_fields[i].offset, sizeof there);
        memcpy(&here, (const char *)&m->mine + equal_fields[i].offset, sizeof here);
        if (there == here) continue;
        return symm__fail_at(&where, SYMM_EMISMATCH, "rank %d has %s %lld, this rank %lld", rank,
                             equal_fields[i].name, (long long)there, (long long)here);
    }
    return SYMM_OK;
}

/* ---- mapping ---- */

static int map_peer(struct meeting *m, int rank) {
    const struct record *theirs = &m->all[rank];
    struct symm__view *view = &m->memory->views[rank];
    const struct symm__allocator_ops *allocator = m->memory->block->allocator;
    const int *fds = m->fds + rank * SYMM__MESH_FDS;
    int rc = symm__mapping_get(allocator, theirs->process, theirs->serial, fds[0],
                               theirs->block_size, &view->buffer_mapping);
    if (rc < 0) return rc;
    char *base = symm__mapping_base(view->buffer_mapping);
    view->buffer = base + theirs->buffer_offset;
    view->front = base;
    if (theirs->pad_block_size == 0) return SYMM_OK;
    rc = symm__mapping_get(allocator, theirs->process, theirs->pad_serial, fds[1],
                           theirs->pad_block_size, &view->pad_mapping);
    if (rc == SYMM_OK) view->front = symm__mapping_base(view->pad_mapping);
    return rc;
}

static void use_own(struct meeting *m) {
    struct symm__view *view = &m->memory->views[m->info->rank];
    const struct symm__block *pad = m->memory->pad_block;
    view->buffer = symm__block_data(m->memory->block);
    view->front = pad ? pad->segment.base : m->memory->block->segment.base;
}

static int map_all(struct meeting *m) {
    for (int r = 0; r < m->info->world_size; r++) {
        int rc = check_record(m, r);
        if (rc < 0) return rc;
    }
    use_own(m);
    for (int r = 0; r < m->info->world_size; r++) {
        int rc = r == m->info->rank ? SYMM_OK : map_peer(m, r);
        if (rc < 0) return rc;
    }
    for (int r = 0; r < m->info->world_size; r++) {
        m->memory->buffer_ptrs[r] = m->memory->views[r].buffer;
        m->memory->pad_ptrs[r] = (uint32_t *)(m->memory->views[r].front + m->memory->front.pad);
    }
    return SYMM_OK;
}

static void close_received(struct meeting *m) {
    for (int i = 0; i < m->info->world_size * SYMM__MESH_FDS; i++) {
        if (i / SYMM__MESH_FDS != m->info->rank && m->fds[i] >= 0) close(m->fds[i]);
    }
}

/* ---- agreement ---- */

static void fill_result(struct result *mine, int status) {
    memset(mine, 0, sizeof *mine);
    mine->status = status;
    if (status < 0)
        snprintf(mine->message, sizeof mine->message, "%.390s", symm_last_error()->message);
}

/* This rank has told the others that all is well, but has not heard so from all: some may have the
 * handle and others not, and nobody can find out any more. Only an end is the same for all. */
static int end_undecided(struct meeting *m) {
    struct symm_error kept = *symm_last_error();
    size_t used = strlen(kept.message);
    atomic_store_explicit(&m->info->ended, 1, memory_order_release);
    symm__mesh_leave(m->mesh);
    symm__blocks_drop_group(m->info);
    snprintf(kept.message + used, sizeof kept.message - used,
             "; other ranks may have succeeded, so the group has ended on this rank");
    return symm__fail_with(&kept);
}

/* All ranks tell how it went. Where several failed, this rank's own error is kept, else the lowest
 * rank's is given. */
static int agree(struct meeting *m, int status) {
    struct result mine;
    struct symm_error own = *symm_last_error();
    fill_result(&mine, status);
    struct symm__mesh_message message = {SYMM__MESH_DONE, m->mesh->round, &mine, sizeof mine, NULL};
    struct result *all = calloc((size_t)m->info->world_size, sizeof *all);
    if (!all) {
        symm__mesh_tell(m->mesh, &message);
        return symm__fail_oom((size_t)m->info->world_size * sizeof *all);
    }
    int rc = symm__mesh_exchange(m->mesh, &message, all, NULL, OP, m->deadline_ns);
    if (status < 0)
        rc = symm__fail_with(&own);
    else if (rc < 0)
        rc = end_undecided(m);
    for (int r = 0; r < m->info->world_size && rc == SYMM_OK; r++) {
        struct symm__where where = where_of(m->info, r);
        if (all[r].status == SYMM_OK) continue;
        rc = symm__fail_at(&where, all[r].status, "rank %d failed: %.390s", r, all[r].message);
    }
    free(all);
    return rc;
}

/* An error before all records were there cannot wait for all: the others are only told. */
static int give_up(struct meeting *m) {
    struct result mine;
    struct symm_error own = *symm_last_error();
    fill_result(&mine, own.code);
    struct symm__mesh_message message = {SYMM__MESH_DONE, m->mesh->round, &mine, sizeof mine, NULL};
    symm__mesh_tell(m->mesh, &message);
    return symm__fail_with(&own);
}

static int run(struct meeting *m) {
    const struct symm__block *block = m->memory->block;
    int status = choose_pad(m->memory);
    fill_record(m, status);
    const struct symm__block *pad = m->memory->pad_block;
    int fds[SYMM__MESH_FDS] = {block->segment.fd, pad ? pad->segment.fd : -1};
    struct symm__mesh_message message = {SYMM__MESH_RECORD, m->mesh->round, &m->mine,
                                         sizeof m->mine, fds};
    int rc = symm__mesh_exchange(m->mesh, &message, m->all, m->fds, OP, m->deadline_ns);
    if (rc < 0) {
        rc = give_up(m);
    } else {
        rc = agree(m, map_all(m));
    }
    close_received(m);
    m->mesh->round++;
    int undecided = atomic_load_explicit(&m->info->ended, memory_order_acquire);
    if (rc < 0 && status == SYMM_OK && !undecided) give_front_back(m->memory);
    return rc;
}

static int meet(struct symm__group_info *info, struct symm__block *block, int64_t deadline_ns,
                symm_memory **out) {
    size_t world = (size_t)info->world_size;
    struct meeting m = {.info = info, .mesh = info->mesh, .deadline_ns = deadline_ns};
    int rc = symm__memory_new(info, block, &m.memory);
    if (rc < 0) return rc;
    m.all = calloc(world, sizeof *m.all);
    m.fds = malloc(world * SYMM__MESH_FDS * sizeof *m.fds);
    if (m.all && m.fds) {
        for (size_t i = 0; i < world * SYMM__MESH_FDS; i++) m.fds[i] = -1;
        rc = run(&m);
    } else {
        rc = symm__fail_oom(world * sizeof *m.all);
    }
    free(m.all);
    free(m.fds);
    if (rc < 0) {
        symm_memory_release(m.memory);
        return rc;
    }
    symm__block_keep_handle(block, m.memory);
    *out = m.memory;
    return SYMM_OK;
}

static int open_mesh(struct symm__group_info *info, int64_t deadline_ns) {
    struct symm__mesh *mesh = NULL;
    if (info->mesh) return SYMM_OK;
    int rc = symm__mesh_open(info->name, info->rank, info->world_size, info->store, &info->ended,
                             deadline_ns, &mesh);
    if (rc < 0) return rc;
    atomic_store_explicit(&info->mesh, mesh, memory_order_release);
    if (!atomic_load_explicit(&info->ended, memory_order_acquire)) return SYMM_OK;
    symm__mesh_leave(mesh); /* whoever ended the group meanwhile did not see the mesh */
    return symm__fail_ended(info, OP);
}

static int rendezvous_in(struct symm__group_info *info, struct symm__block *block,
                         int64_t timeout_ms, symm_memory **out) {
    int64_t deadline = 0;
    symm_memory *known = NULL;
    int rc = symm__deadline(timeout_ms, info->timeout_ms, &deadline);
    if (rc == SYMM_OK) rc = symm__group_info_lock(info, OP, deadline);
    if (rc < 0) return rc;
    known = symm__block_find_handle(block, info);
    if (known) {
        *out = known;
    } else if (atomic_load_explicit(&info->ended, memory_order_acquire)) {
        rc = symm__fail_ended(info, OP);
    } else {
        rc = open_mesh(info, deadline);
        if (rc == SYMM_OK) rc = meet(info, block, deadline, out);
    }
    pthread_mutex_unlock(&info->lock);
    struct symm__where where = where_of(info, -1);
    return rc < 0 ? symm__fail_in(&where) : rc;
}

/* The group that is asked for, else the block's default. */
static int find_group(const struct symm__block *block, const char *name,
                      struct symm__group_info **out) {
    const char *chosen = name && *name ? name : block->default_group;
    if (!*chosen) {
        struct symm__where where = {OP, NULL, -1, -1, -1, -1};
        return symm__fail_at(&where, SYMM_EINVALID,
                             "no group_name is given, and the tensor was allocated without one");
    }
    int rc = symm__group_info_find(chosen, out);
    struct symm__where where = {OP, chosen, -1, -1, -1, -1};
    return rc < 0 ? symm__fail_in(&where) : rc;
}

/* A view of get_buffer or get_signal_pad knows its handle: 1 if that is the one asked for. */
static int take_owner(const symm_tensor *tensor, const char *group_name, symm_memory **out) {
    symm_memory *owner = symm__view_owner(tensor);
    if (!owner || (group_name && *group_name && strcmp(group_name, owner->info->name) != 0))
        return 0;
    *out = symm_memory_retain(owner);
    return 1;
}

/* Memory that is no block of this rank: nothing to meet over if it is ordinary, a mistake if it is
 * a view of a peer's buffer or of a pad, whose block this rank knows in another group only. */
static int fail_foreign(const symm_tensor *tensor, const char *group_name, symm_memory **out) {
    symm_memory *owner = symm__view_owner(tensor);
    if (!owner) {
        *out = NULL;
        return SYMM_OK;
    }
    struct symm__where where = {OP, group_name, -1, -1, -1, -1};
    return symm__fail_at(
        &where, SYMM_EINVALID,
        "the tensor is a view of a peer's memory or of a signal pad in group '%s': "
        "give the tensor that this rank allocated",
        owner->info->name);
}

int symm_memory_rendezvous(symm_tensor *tensor, const char *group_name, int64_t timeout_ms,
                           symm_memory **out) {
    SYMM__GUARD_FORK();
    struct symm__group_info *info = NULL;
    struct symm__block *block = symm__block_of(tensor);
    if (take_owner(tensor, group_name, out)) return SYMM_OK;
    if (!block) return fail_foreign(tensor, group_name, out);
    int rc = find_group(block, group_name, &info);
    if (rc < 0) return rc;
    struct symm__activity_mark mark =
        symm__activity_begin(SYMM__ACT_rendezvous, symm__activity_group(info->name), -1, -1);
    symm__block_retain(block); /* a task of the wait's hook may drop the tensor */
    rc = rendezvous_in(info, block, timeout_ms, out);
    symm__block_release(block);
    symm__activity_end(mark);
    symm__group_info_release(info);
    return rc;
}

static int fail_unmet(const char *group_name) {
    struct symm__where where = {"get_symmetric_memory", group_name, -1, -1, -1, -1};
    return symm__fail_at(
        &where, SYMM_EINVALID,
        "this block was not rendezvoused in group '%s' yet: call rendezvous on all "
        "its ranks first",
        group_name);
}

int symm_memory_of(const symm_tensor *tensor, const char *group_name, symm_memory **out) {
    struct symm__group_info *info = NULL;
    struct symm__block *block = symm__block_of(tensor);
    if (take_owner(tensor, group_name, out)) return SYMM_OK;
    if (!block) return fail_foreign(tensor, group_name, out);
    int rc = find_group(block, group_name, &info);
    if (rc < 0) return rc;
    symm_memory *known = symm__block_find_handle(block, info);
    rc = known ? SYMM_OK : fail_unmet(info->name);
    symm__group_info_release(info);
    if (known) *out = known;
    return rc;
}
