/* SPDX-License-Identifier: MIT
 *
 * The one registry: name -> object, process-wide. Groups, allocators, backends, URL schemes and
 * handlers each have one. A registry knows nothing of what it holds; it takes a reference through
 * `retain` under its lock, so that a found object cannot vanish between look-up and use.
 * Any thread.
 */
#ifndef SYMM_BASE_REGISTRY_H
#define SYMM_BASE_REGISTRY_H

#include <pthread.h>
#include <stddef.h>

struct symm__registry_entry;

struct symm__registry {
    const char *noun; /* for messages: "group" */
    /* NULL: objects live as long as the process. Takes a reference, or gives 0 if the object's last
     * one has gone: such an entry is weak, and its owner removes it before it frees the object. */
    int (*retain)(void *object);
    pthread_mutex_t lock;
    struct symm__registry_entry *entries;
};
#define SYMM__REGISTRY_INIT(noun, retain) \
    { noun, retain, PTHREAD_MUTEX_INITIALIZER, NULL }

/* SYMM_EEXISTS if the name is taken, SYMM_EINVALID if it is empty. Holds no reference itself. */
int symm__registry_add(struct symm__registry *registry, const char *name, void *object);
/* Finds and retains. SYMM_ENOT_FOUND names it and what is known; SYMM_EDESTROYED if it is there,
 * but its object has gone. */
int symm__registry_find(struct symm__registry *registry, const char *name, void **object_out);
/* Removes the entry if it still is that object; 1 if it was. */
int symm__registry_remove(struct symm__registry *registry, const char *name, const void *object);
/* Writes the names, sorted, with ", " between, cut to fit; for messages. */
void symm__registry_names(struct symm__registry *registry, char *text, size_t size);

#endif
