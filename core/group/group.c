/* SPDX-License-Identifier: MIT
 *
 * Process groups on one host. A group owns its group info (under its own name, so nobody else can
 * take it) and a small symmetric block, whose pad serves its barrier.
 *
 * Invariant: a group is in the registry and in the list of the living from init until destroy, and
 * its group info is set exactly as long. The list holds a reference: leaving a group is for its
 * user to do, never for who drops the last handle (a collector), since peers would see this rank
 * gone.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <symm/group.h>
#include <symm/launch.h>
#include <symm/symmem.h>

#include "base/activity.h"
#include "base/deadline.h"
#include "base/error.h"
#include "base/log.h"
#include "base/options.h"
#include "base/registry.h"
#include "symmem/symmem.h"

struct symm_group {
    atomic_int references;
    char name[SYMM_GROUP_NAME_MAX + 1];
    int rank;
    int world_size;
    int64_t timeout_ms;
    int activity_group;
    int owns_store;       /* opened from the environment: lingers at the end */
    pthread_mutex_t lock; /* of store */
    symm_store *store;    /* NULL once the group has ended */
    symm_tensor *tensor;  /* the group's own block, and its handle */
    symm_memory *memory;
    atomic_int ended;  /* 0, 1 ending, 2 ended; acq_rel: only who takes it from 0 to 1 ends it */
    symm_group *older; /* under live_lock: groups that live, the youngest first */
};

static pthread_mutex_t live_lock = PTHREAD_MUTEX_INITIALIZER;
static symm_group *youngest;

/* Takes a reference unless the last one has gone. Acquire pairs with the release of a drop. */
static int try_retain(void *object) {
    symm_group *group = object;
    int count = atomic_load_explicit(&group->references, memory_order_relaxed);
    while (count > 0 &&
           !atomic_compare_exchange_weak_explicit(&group->references, &count, count + 1,
                                                  memory_order_acquire, memory_order_relaxed)) {
    }
    return count > 0;
}

static struct symm__registry groups = SYMM__REGISTRY_INIT("process group", try_retain);

static struct symm__where where_of(const symm_group *group, const char *op) {
    return (struct symm__where){op, group->name, group->rank, -1, -1, -1};
}

/* ---- making ---- */

static int check_options(const struct symm_group_options *o) {
    const char *name = o->group_name;
    if (name && (!*name || strlen(name) > SYMM_GROUP_NAME_MAX)) {
        return symm__fail(SYMM_EINVALID, "group_name must have 1 to %d bytes", SYMM_GROUP_NAME_MAX);
    }
    if (o->store && (o->rank < 0 || o->world_size < 1)) {
        return symm__fail(SYMM_EINVALID, "with a store, rank and world_size must be given");
    }
    if (!o->store && (o->rank >= 0 || o->world_size >= 0)) {
        return symm__fail(SYMM_EINVALID,
                          "rank and world_size come from the environment unless a store is given");
    }
    return SYMM_OK;
}

/* What is left of a deadline, as a timeout. */
static int64_t left_ms(int64_t deadline_ns) {
    if (deadline_ns == SYMM__NEVER) return SYMM_TIMEOUT_NONE;
    int64_t left = symm__deadline_left_ms(deadline_ns, INT64_MAX);
    return left > 0 ? left : 1;
}

/* The place and store of the options, or of the environment. */
static int find_place(symm_group *group, const struct symm_group_options *o, int64_t deadline_ns) {
    struct symm_launch launch;
    if (o->store) {
        group->rank = o->rank;
        group->world_size = o->world_size;
        group->store = symm_store_retain(o->store);
        return SYMM_OK;
    }
    int rc = symm_launch_detect(NULL, NULL, &launch);
    if (rc < 0) return rc;
    group->rank = launch.rank;
    group->world_size = launch.world_size;
    group->owns_store = 1;
    return symm_launch_open_store(&launch, left_ms(deadline_ns), &group->store);
}

static int meet(symm_group *group, int64_t deadline_ns) {
    struct symm_memory_options options = SYMM_MEMORY_OPTIONS_INIT;
    int64_t shape[1] = {0};
    options.group_name = group->name;
    int rc = symm_memory_empty_strided(shape, NULL, 1, SYMM_DTYPE_uint8, &options, &group->tensor);
    if (rc < 0) return rc;
    return symm_memory_rendezvous(group->tensor, group->name, left_ms(deadline_ns), &group->memory);
}

static void enter_list(symm_group *group) {
    pthread_mutex_lock(&live_lock);
    group->older = youngest;
    youngest = group;
    pthread_mutex_unlock(&live_lock);
}

static void leave_list(symm_group *group) {
    pthread_mutex_lock(&live_lock);
    for (symm_group **at = &youngest; *at; at = &(*at)->older) {
        if (*at != group) continue;
        *at = group->older;
        break;
    }
    pthread_mutex_unlock(&live_lock);
}

static void free_group(symm_group *group) {
    symm_memory_release(group->memory);
    if (group->tensor) symm_tensor_release(group->tensor);
    if (group->store) symm_store_release(group->store);
    pthread_mutex_destroy(&group->lock);
    free(group);
}

/* Registered first, so that a name that is taken costs nobody a wait; undone in reverse. */
static int open_group(symm_group *group, const struct symm_group_options *o, int64_t deadline_ns) {
    int rc = find_place(group, o, deadline_ns);
    if (rc < 0) return rc;
    rc = symm__group_info_set(group->name, group->rank, group->world_size, group->store,
                              group->timeout_ms, 1);
    if (rc < 0) return rc;
    rc = meet(group, deadline_ns);
    if (rc == SYMM_OK) rc = symm__registry_add(&groups, group->name, group);
    if (rc < 0) {
        struct symm_error kept = *symm_last_error();
        symm__group_info_unset(group->name, 1);
        return symm__fail_with(&kept);
    }
    enter_list(group);
    return SYMM_OK;
}

int symm_group_init(const struct symm_group_options *options, symm_group **out) {
    SYMM__GUARD_FORK();
    struct symm_group_options o = SYMM_GROUP_OPTIONS_INIT;
    int64_t deadline = 0;
    int rc = symm__options_read("symm_group_options", &o, sizeof o, sizeof o, options);
    if (rc == SYMM_OK) rc = check_options(&o);
    if (rc == SYMM_OK) rc = symm__deadline(o.timeout_ms, SYMM_GROUP_DEFAULT_TIMEOUT_MS, &deadline);
    if (rc < 0) return rc;
    symm_group *group = calloc(1, sizeof *group);
    if (!group) return symm__fail_oom(sizeof *group);
    atomic_init(&group->references,
                2); /* the caller's, and the list's until the group is destroyed */
    atomic_init(&group->ended, 0);
    pthread_mutex_init(&group->lock, NULL);
    snprintf(group->name, sizeof group->name, "%s",
             o.group_name ? o.group_name : SYMM_GROUP_DEFAULT_NAME);
    group->timeout_ms = o.timeout_ms ? o.timeout_ms : SYMM_GROUP_DEFAULT_TIMEOUT_MS;
    group->activity_group = symm__activity_group(group->name);
    struct symm__activity_mark mark =
        symm__activity_begin(SYMM__ACT_init_process_group, group->activity_group, -1, -1);
    rc = open_group(group, &o, deadline);
    symm__activity_end(mark);
    if (rc < 0) {
        struct symm__where where = where_of(group, "init_process_group");
        symm__fail_in(&where);
        free_group(group);
        return rc;
    }
    if (strcmp(group->name, SYMM_GROUP_DEFAULT_NAME) == 0) symm_set_log_rank(group->rank);
    *out = group;
    return SYMM_OK;
}

int symm_group_resolve(const char *group_name, symm_group **out) {
    void *object = NULL;
    int rc = symm__registry_find(&groups, group_name, &object);
    if (rc == SYMM_OK) *out = object;
    return rc;
}

symm_group *symm_group_retain(symm_group *group) {
    /* Relaxed: whoever retains holds a reference already, or the registry's lock. */
    atomic_fetch_add_explicit(&group->references, 1, memory_order_relaxed);
    return group;
}

/* ---- what it knows ---- */

int symm_group_rank(const symm_group *group) { return group->rank; }
int symm_group_world_size(const symm_group *group) { return group->world_size; }
const char *symm_group_name(const symm_group *group) { return group->name; }
int64_t symm_group_timeout(const symm_group *group) { return group->timeout_ms; }

static int fail_destroyed(const symm_group *group, const char *op) {
    struct symm__where where = where_of(group, op);
    return symm__fail_at(&where, SYMM_EDESTROYED, "the group was destroyed");
}

int symm_group_store(symm_group *group, symm_store **out) {
    pthread_mutex_lock(&group->lock);
    symm_store *store = group->store ? symm_store_retain(group->store) : NULL;
    pthread_mutex_unlock(&group->lock);
    if (!store) return fail_destroyed(group, "store");
    *out = store;
    return SYMM_OK;
}

int symm_group_barrier(symm_group *group, int64_t timeout_ms) {
    if (atomic_load_explicit(&group->ended, memory_order_acquire)) {
        return fail_destroyed(group, "barrier");
    }
    struct symm__activity_mark mark =
        symm__activity_begin(SYMM__ACT_group_barrier, group->activity_group, -1, -1);
    int rc = symm_memory_barrier(group->memory, 0, timeout_ms);
    symm__activity_end(mark);
    return rc;
}

/* ---- ending ---- */

/* 1 for the one caller that ends the group. */
static int begin_end(symm_group *group) {
    int alive = 0;
    return atomic_compare_exchange_strong_explicit(&group->ended, &alive, 1, memory_order_acq_rel,
                                                   memory_order_acquire);
}

static void leave(symm_group *group) {
    symm__registry_remove(&groups, group->name, group);
    leave_list(group);
    if (symm__group_info_unset(group->name, 1) < 0) {
        symm__log(SYMM_LOG_WARN, "group", "%s", symm_last_error()->message);
    }
}

int symm_group_destroy(symm_group *group, int64_t timeout_ms) {
    SYMM__GUARD_FORK();
    struct symm__where where = where_of(group, "destroy_process_group");
    int64_t deadline = 0;
    int rc = symm__deadline(timeout_ms, group->timeout_ms, &deadline);
    if (rc < 0) return symm__fail_in(&where);
    if (!begin_end(group)) return fail_destroyed(group, where.op);
    struct symm__activity_mark mark =
        symm__activity_begin(SYMM__ACT_destroy_process_group, group->activity_group, -1, -1);
    leave(group);
    pthread_mutex_lock(&group->lock);
    symm_store *store = group->store;
    group->store = NULL;
    pthread_mutex_unlock(&group->lock);
    if (group->owns_store) rc = symm_store_linger(store, left_ms(deadline));
    symm_store_release(store);
    symm__activity_end(mark);
    if (rc < 0) symm__fail_in(&where);
    symm_group_release(group); /* the list's reference */
    return rc;
}

void symm_group_release(symm_group *group) {
    /* Release pairs with the acquire of whoever drops the last reference. The list's own goes at
     * the end of destroy, so what is freed here has ended, and nothing can find it any more. */
    if (group && atomic_fetch_sub_explicit(&group->references, 1, memory_order_acq_rel) == 1) {
        free_group(group);
    }
}

/* The youngest group that lives, retained; NULL if there is none. */
static symm_group *take_youngest(void) {
    pthread_mutex_lock(&live_lock);
    symm_group *group = youngest;
    while (group && !try_retain(group)) group = group->older;
    pthread_mutex_unlock(&live_lock);
    return group;
}

int symm_group_destroy_all(int64_t timeout_ms) {
    SYMM__GUARD_FORK();
    int64_t deadline = 0;
    int result = symm__deadline(timeout_ms, SYMM_GROUP_DEFAULT_TIMEOUT_MS, &deadline);
    if (result < 0) return result;
    struct symm_error kept;
    for (symm_group *group = take_youngest(); group; group = take_youngest()) {
        int rc = symm_group_destroy(group, timeout_ms);
        if (rc == SYMM_EDESTROYED) leave_list(group); /* another thread is at it */
        if (rc < 0 && rc != SYMM_EDESTROYED && result == SYMM_OK) {
            result = rc;
            kept = *symm_last_error();
        }
        symm_group_release(group);
    }
    return result < 0 ? symm__fail_with(&kept) : result;
}
