/* SPDX-License-Identifier: MIT */
#include "base/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"

struct symm__registry_entry {
    char *name;
    void *object;
    UT_hash_handle hh;
};

int symm__registry_add(struct symm__registry *registry, const char *name, void *object) {
    if (!name || !*name) {
        return symm__fail(SYMM_EINVALID, "the name of a %s must not be empty", registry->noun);
    }
    struct symm__registry_entry *entry = calloc(1, sizeof *entry), *taken = NULL;
    char *copy = strdup(name);
    if (!entry || !copy) {
        free(entry);
        free(copy);
        return symm__fail_oom(sizeof *entry + strlen(name));
    }
    entry->name = copy;
    entry->object = object;
    pthread_mutex_lock(&registry->lock);
    HASH_FIND_STR(registry->entries, name, taken);
    if (!taken) HASH_ADD_KEYPTR(hh, registry->entries, entry->name, strlen(entry->name), entry);
    int added = !taken && entry->hh.tbl;
    pthread_mutex_unlock(&registry->lock);
    if (added) return SYMM_OK;
    free(copy);
    free(entry);
    if (!taken) return symm__fail_oom(sizeof *entry);
    return symm__fail(SYMM_EEXISTS, "a %s named '%s' exists already", registry->noun, name);
}

int symm__registry_find(struct symm__registry *registry, const char *name, void **object_out) {
    struct symm__registry_entry *entry = NULL;
    if (!name) name = "";
    pthread_mutex_lock(&registry->lock);
    HASH_FIND_STR(registry->entries, name, entry);
    void *object = entry ? entry->object : NULL;
    int alive = object && (!registry->retain || registry->retain(object));
    pthread_mutex_unlock(&registry->lock);
    if (alive) {
        *object_out = object;
        return SYMM_OK;
    }
    if (object) {
        return symm__fail(SYMM_EDESTROYED, "the %s named '%s' was destroyed", registry->noun, name);
    }
    char known[256];
    symm__registry_names(registry, known, sizeof known);
    return symm__fail(SYMM_ENOT_FOUND, "there is no %s named '%s' (known: %s)", registry->noun,
                      name, *known ? known : "none");
}

int symm__registry_remove(struct symm__registry *registry, const char *name, const void *object) {
    struct symm__registry_entry *entry = NULL;
    pthread_mutex_lock(&registry->lock);
    HASH_FIND_STR(registry->entries, name, entry);
    if (entry && entry->object == object) {
        HASH_DEL(registry->entries, entry);
    } else {
        entry = NULL;
    }
    pthread_mutex_unlock(&registry->lock);
    if (!entry) return 0;
    free(entry->name);
    free(entry);
    return 1;
}

static int by_name(const struct symm__registry_entry *a, const struct symm__registry_entry *b) {
    return strcmp(a->name, b->name);
}

void symm__registry_names(struct symm__registry *registry, char *text, size_t size) {
    size_t used = 0;
    text[0] = '\0';
    pthread_mutex_lock(&registry->lock);
    HASH_SORT(registry->entries, by_name);
    for (struct symm__registry_entry *e = registry->entries; e; e = e->hh.next) {
        int n = snprintf(text + used, size - used, "%s%s", used ? ", " : "", e->name);
        if (n < 0 || (size_t)n >= size - used) break;
        used += (size_t)n;
    }
    pthread_mutex_unlock(&registry->lock);
}
