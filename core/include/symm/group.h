/* SPDX-License-Identifier: MIT
 *
 * Process groups: a named set of ranks that communicate.
 *
 * Threads: a group may be used from any thread. Lifetime: counted.
 */
#ifndef SYMM_GROUP_H
#define SYMM_GROUP_H

#include <stdint.h>

#include <symm/store.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct symm_group symm_group;

#define SYMM_GROUP_DEFAULT_NAME "0"
#define SYMM_GROUP_DEFAULT_TIMEOUT_MS 1800000

struct symm_group_options {
    size_t size;            /* sizeof this struct */
    const char *group_name; /* NULL: SYMM_GROUP_DEFAULT_NAME */
    symm_store *store;      /* retained; NULL: the environment's (symm/launch.h) */
    int rank;               /* with a store: this process's place; else -1 */
    int world_size;
    int64_t timeout_ms; /* default of every wait; 0: 30 minutes */
};
#define SYMM_GROUP_OPTIONS_INIT \
    { sizeof(struct symm_group_options), NULL, NULL, -1, -1, 0 }

/* Collective: opens the process group and returns when all its ranks are connected. */
int symm_group_init(const struct symm_group_options *options, symm_group **out);
/* A live group by name; counted. SYMM_ENOT_FOUND if there is none. */
int symm_group_resolve(const char *group_name, symm_group **out);
symm_group *symm_group_retain(symm_group *group);
void symm_group_release(symm_group *group);

int symm_group_rank(const symm_group *group);
int symm_group_world_size(const symm_group *group);
const char *symm_group_name(const symm_group *group);
int64_t symm_group_timeout(const symm_group *group);
/* The group's store, counted; SYMM_EDESTROYED once the group has ended. */
int symm_group_store(symm_group *group, symm_store **out);

/* Returns when all ranks of the group have called it. */
int symm_group_barrier(symm_group *group, int64_t timeout_ms);
/* Orderly end: the rank leaves, and the group's name is free again. A store that the group opened
 * from the environment is closed; where it runs in this process, it first waits until the other
 * ranks have left too (at most `timeout_ms`), so that nobody loses it. Later calls on the group are
 * SYMM_EDESTROYED. Releasing all references does not end a group: it lives, and can be resolved by
 * its name, until it is destroyed or the process ends. */
int symm_group_destroy(symm_group *group, int64_t timeout_ms);
/* Ends every group of this process that still lives, the youngest first; the first error is given
 * after all have been tried. For whoever ends a process without knowing what ran in it. */
int symm_group_destroy_all(int64_t timeout_ms);

#ifdef __cplusplus
}
#endif
#endif
