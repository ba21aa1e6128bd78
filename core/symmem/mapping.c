/* SPDX-License-Identifier: MIT
 *
 * Peers' segments as mapped in this process: one mapping a segment, however many handles and ranks
 * of this process use it. A segment is known by its process's identity and its serial there.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "symmem/symmem.h"

struct mapping_key {
    uint8_t process[SYMM__PROCESS_ID_SIZE];
    uint64_t serial;
};

struct symm__mapping {
    struct mapping_key key;
    int references; /* under mappings_lock */
    const struct symm__allocator_ops *allocator;
    struct symm__segment segment;
    struct symm__block *block; /* a segment of this process: retained, and nothing is mapped */
    UT_hash_handle hh;
};

static pthread_mutex_t mappings_lock = PTHREAD_MUTEX_INITIALIZER;
static struct symm__mapping *mappings;

static int fill(struct symm__mapping *mapping, int fd, int64_t bytes) {
    if (memcmp(mapping->key.process, symm__process_id(), SYMM__PROCESS_ID_SIZE) == 0) {
        mapping->block = symm__block_by_serial(mapping->key.serial);
        if (mapping->block) return SYMM_OK;
        return symm__fail(SYMM_ECLOSED, "the block of another rank of this process is gone");
    }
    if (fd < 0) return symm__fail(SYMM_EMISMATCH, "a peer sent no descriptor of its block");
    return mapping->allocator->map(fd, bytes, &mapping->segment);
}

static int add(const struct symm__allocator_ops *allocator, const struct mapping_key *key, int fd,
               int64_t bytes, struct symm__mapping **out) {
    struct symm__mapping *mapping = calloc(1, sizeof *mapping);
    if (!mapping) return symm__fail_oom(sizeof *mapping);
    mapping->key = *key;
    mapping->references = 1;
    mapping->allocator = allocator;
    mapping->segment.fd = -1;
    int rc = fill(mapping, fd, bytes);
    if (rc == SYMM_OK) {
        HASH_ADD(hh, mappings, key, sizeof mapping->key, mapping);
        if (!mapping->hh.tbl) {
            symm__block_release(mapping->block);
            if (!mapping->block) allocator->release(&mapping->segment);
            rc = symm__fail_oom(sizeof *mapping);
        }
    }
    if (rc < 0) {
        free(mapping);
        return rc;
    }
    *out = mapping;
    return SYMM_OK;
}

int symm__mapping_get(const struct symm__allocator_ops *allocator,
                      const uint8_t process[SYMM__PROCESS_ID_SIZE], uint64_t serial, int fd,
                      int64_t bytes, struct symm__mapping **out) {
    struct mapping_key key;
    struct symm__mapping *mapping = NULL;
    int rc = SYMM_OK;
    memset(&key, 0, sizeof key);
    memcpy(key.process, process, sizeof key.process);
    key.serial = serial;
    pthread_mutex_lock(&mappings_lock);
    HASH_FIND(hh, mappings, &key, sizeof key, mapping);
    if (mapping)
        mapping->references++;
    else
        rc = add(allocator, &key, fd, bytes, &mapping);
    pthread_mutex_unlock(&mappings_lock);
    if (rc == SYMM_OK) *out = mapping;
    return rc;
}

void *symm__mapping_base(const struct symm__mapping *mapping) {
    return mapping->block ? mapping->block->segment.base : mapping->segment.base;
}

void symm__mapping_release(struct symm__mapping *mapping) {
    if (!mapping) return;
    pthread_mutex_lock(&mappings_lock);
    int last = --mapping->references == 0;
    if (last) HASH_DEL(mappings, mapping);
    pthread_mutex_unlock(&mappings_lock);
    if (!last) return;
    if (mapping->block)
        symm__block_release(mapping->block);
    else
        mapping->allocator->release(&mapping->segment);
    free(mapping);
}
