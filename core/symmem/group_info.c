/* SPDX-License-Identifier: MIT
 *
 * Group info: what rendezvous needs to know of a group. Registered under the group's name, by a
 * user over a bare store or by a process group for itself.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/deadline.h"
#include "base/error.h"
#include "base/registry.h"
#include "symmem/symmem.h"

/* The registry holds a reference of its own, so what it finds is alive. */
static int retain_object(void *object) {
    symm__group_info_retain(object);
    return 1;
}

static struct symm__registry infos = SYMM__REGISTRY_INIT("group", retain_object);

void symm__group_info_retain(struct symm__group_info *info) {
    /* Relaxed: whoever retains holds a reference already, or the registry's lock. */
    atomic_fetch_add_explicit(&info->references, 1, memory_order_relaxed);
}

void symm__group_info_release(struct symm__group_info *info) {
    /* Release pairs with the acquire of whoever drops the last reference. */
    if (!info || atomic_fetch_sub_explicit(&info->references, 1, memory_order_acq_rel) != 1) return;
    symm__mesh_close(info->mesh);
    symm_store_release(info->store);
    pthread_mutex_destroy(&info->lock);
    free(info);
}

static int check_place(const char *name, int rank, int world_size) {
    if (!name || !*name || strlen(name) > SYMM_GROUP_NAME_MAX) {
        return symm__fail(SYMM_EINVALID, "group_name must have 1 to %d bytes", SYMM_GROUP_NAME_MAX);
    }
    if (world_size < 1 || world_size > SYMM_MAX_WORLD_SIZE_PER_HOST) {
        return symm__fail(SYMM_EINVALID, "world_size must be 1 to %d on one host, not %d",
                          SYMM_MAX_WORLD_SIZE_PER_HOST, world_size);
    }
    if (rank < 0 || rank >= world_size) {
        return symm__fail(SYMM_EINVALID, "rank must be in [0, %d), not %d", world_size, rank);
    }
    return SYMM_OK;
}

static int open_info(const char *name, int rank, int world_size, symm_store *store,
                     int64_t timeout_ms, struct symm__group_info **out) {
    char prefix[SYMM_GROUP_NAME_MAX + 16];
    struct symm__group_info *info = calloc(1, sizeof *info);
    if (!info) return symm__fail_oom(sizeof *info);
    snprintf(prefix, sizeof prefix, "symm_mem/%s", name);
    int rc = symm_store_open_prefix(symm_slice_of(prefix), store, &info->store);
    if (rc < 0) {
        free(info);
        return rc;
    }
    atomic_init(&info->references, 1);
    atomic_init(&info->ended, 0);
    snprintf(info->name, sizeof info->name, "%s", name);
    info->rank = rank;
    info->world_size = world_size;
    info->timeout_ms = timeout_ms == 0 ? SYMM_STORE_DEFAULT_TIMEOUT_MS : timeout_ms;
    pthread_mutex_init(&info->lock, NULL);
    *out = info;
    return SYMM_OK;
}

int symm__group_info_set(const char *group_name, int rank, int world_size, symm_store *store,
                         int64_t timeout_ms, int owned) {
    struct symm__group_info *info = NULL;
    int64_t deadline = 0;
    int rc = check_place(group_name, rank, world_size);
    if (rc < 0) return rc;
    if (!store) return symm__fail(SYMM_EINVALID, "a group needs a store");
    rc = symm__deadline(timeout_ms, SYMM_STORE_DEFAULT_TIMEOUT_MS, &deadline);
    if (rc < 0) return rc;
    rc = open_info(group_name, rank, world_size, store, timeout_ms, &info);
    if (rc < 0) return rc;
    info->owned = owned;
    rc = symm__registry_add(&infos, group_name, info); /* the registry takes our reference over */
    if (rc < 0) symm__group_info_release(info);
    return rc;
}

int symm_memory_set_group_info(const char *group_name, int rank, int world_size, symm_store *store,
                               int64_t timeout_ms) {
    SYMM__GUARD_FORK();
    struct symm__where where = {"set_group_info", group_name, -1, -1, -1, -1};
    int rc = symm__group_info_set(group_name, rank, world_size, store, timeout_ms, 0);
    return rc < 0 ? symm__fail_in(&where) : rc;
}

int symm_memory_unset_group_info(const char *group_name) {
    SYMM__GUARD_FORK();
    struct symm__where where = {"unset_group_info", group_name, -1, -1, -1, -1};
    int rc = symm__group_info_unset(group_name, 0);
    return rc < 0 ? symm__fail_in(&where) : rc;
}

int symm__group_info_unset(const char *group_name, int owned) {
    struct symm__group_info *info = NULL;
    int rc = symm__group_info_find(group_name, &info);
    if (rc < 0) return rc;
    if (info->owned != owned) {
        symm__group_info_release(info);
        return symm__fail(SYMM_EINVALID, "'%s' is a process group: destroy it instead", group_name);
    }
    if (!symm__registry_remove(&infos, group_name, info)) { /* another thread was first */
        symm__group_info_release(info);
        return symm__fail(SYMM_ENOT_FOUND, "the group '%s' has ended already", group_name);
    }
    /* Release: who sees `ended` sees it before the name is free for another group. Pairs with the
     * acquire in symm__fail_ended's callers. */
    atomic_store_explicit(&info->ended, 1, memory_order_release);
    symm__blocks_drop_group(info);
    struct symm__mesh *mesh = atomic_load_explicit(&info->mesh, memory_order_acquire);
    if (mesh) symm__mesh_leave(mesh);
    if (mesh && info->world_size > 1) symm__mesh_forget(info->rank, info->store);
    symm__group_info_release(info);
    symm__group_info_release(info); /* the registry's */
    return SYMM_OK;
}

int symm__group_info_find(const char *name, struct symm__group_info **out) {
    void *object = NULL;
    int rc = symm__registry_find(&infos, name, &object);
    if (rc == SYMM_OK) *out = object;
    return rc;
}

int symm__group_info_lock(struct symm__group_info *info, const char *op, int64_t deadline_ns) {
    for (;;) {
        int64_t slice = symm__deadline_left_ms(deadline_ns, SYMM_WAIT_SLICE_MS);
        int64_t until = symm_now_ns() + slice * 1000000;
        struct timespec at = {.tv_sec = (time_t)(until / 1000000000),
                              .tv_nsec = (long)(until % 1000000000)};
        if (pthread_mutex_clocklock(&info->lock, CLOCK_MONOTONIC, &at) == 0) return SYMM_OK;
        if (slice == 0) {
            struct symm__where where = {op, info->name, info->rank, -1, -1, -1};
            return symm__fail_at(&where, SYMM_ETIMEOUT,
                                 "another thread of this rank is still in a rendezvous");
        }
        int rc = symm__wait_poll();
        if (rc < 0) return rc;
    }
}

int symm__fail_ended(const struct symm__group_info *info, const char *op) {
    struct symm__where where = {op, info->name, info->rank, -1, -1, -1};
    return symm__fail_at(&where, SYMM_ECLOSED, "the group has ended on this rank");
}
