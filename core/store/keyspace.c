/* SPDX-License-Identifier: MIT */
#include "store/keyspace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/error.h"
#include "base/hash.h"

struct symm__key {
    UT_hash_handle hh;
    struct symm__key_link *links;
    char *value; /* NULL as long as the key does not exist */
    size_t size; /* of the value; 0 without one */
    size_t name_size;
    char name[];
};

struct symm__keyspace {
    struct symm__keyspace_limits limits;
    struct symm__key *keys;
    struct symm__waiter *ready;
    size_t memory;
    int64_t count;
    int64_t count_by_first_byte[256];
};

int symm__keyspace_open(const struct symm__keyspace_limits *limits, struct symm__keyspace **out) {
    struct symm__keyspace *space = calloc(1, sizeof *space);
    if (!space) return symm__fail_oom(sizeof *space);
    space->limits = *limits;
    *out = space;
    return SYMM_OK;
}

static void drop(struct symm__keyspace *space, struct symm__key *key) {
    HASH_DEL(space->keys, key);
    space->memory -= key->name_size + key->size;
    free(key->value);
    free(key);
}

void symm__keyspace_close(struct symm__keyspace *space) {
    if (!space) return;
    struct symm__key *key, *next;
    HASH_ITER(hh, space->keys, key, next) drop(space, key);
    free(space);
}

static struct symm__key *find(struct symm__keyspace *space, struct symm_slice name) {
    struct symm__key *key = NULL;
    HASH_FIND(hh, space->keys, name.data ? name.data : "", name.size, key);
    return key;
}

static int check_room(const struct symm__keyspace *space, size_t before, size_t after) {
    if (after <= before || after - before <= space->limits.memory - space->memory) return SYMM_OK;
    return symm__fail(SYMM_ELIMIT,
                      "%zu more bytes are over the store's memory limit of %zu (%zu in use)",
                      after - before, space->limits.memory, space->memory);
}

/* The entry of a key, made if there is none; NULL: the error is filled. */
static struct symm__key *obtain(struct symm__keyspace *space, struct symm_slice name) {
    struct symm__key *key = find(space, name);
    if (key || check_room(space, 0, name.size) < 0) return key;
    key = calloc(1, sizeof *key + name.size + 1);
    if (key) {
        if (name.size) memcpy(key->name, name.data, name.size);
        key->name_size = name.size;
        HASH_ADD_KEYPTR(hh, space->keys, key->name, name.size, key);
        if (key->hh.tbl) {
            space->memory += name.size;
            return key;
        }
    }
    free(key);
    symm__fail_oom(sizeof *key + name.size);
    return NULL;
}

static void drop_if_unused(struct symm__keyspace *space, struct symm__key *key) {
    if (!key->value && !key->links) drop(space, key);
}

static void count(struct symm__keyspace *space, const struct symm__key *key, int by) {
    space->count += by;
    if (key->name_size) space->count_by_first_byte[(unsigned char)key->name[0]] += by;
}

static void unlink_all(struct symm__keyspace *space, struct symm__waiter *waiter) {
    for (size_t i = 0; i < waiter->count; i++) {
        struct symm__key_link *link = &waiter->links[i];
        DL_DELETE(link->key->links, link);
        drop_if_unused(space, link->key);
    }
    if (waiter->links != &waiter->single) free(waiter->links);
    waiter->links = NULL;
    waiter->count = waiter->missing = 0;
}

/* A waiter's `missing` reaches 0 at the last of its links on this list, so the link that the walk
 * comes to next is never one that unlink_all took away. */
static void wake(struct symm__keyspace *space, struct symm__key *key) {
    struct symm__key_link *link, *next;
    DL_FOREACH_SAFE(key->links, link, next) {
        struct symm__waiter *waiter = link->waiter;
        if (--waiter->missing > 0) continue;
        unlink_all(space, waiter);
        waiter->state = SYMM__WAITER_READY;
        DL_APPEND(space->ready, waiter);
    }
}

static int check_key(const struct symm__keyspace *space, struct symm_slice name) {
    if (name.size <= space->limits.key) return SYMM_OK;
    return symm__fail(SYMM_ELIMIT, "a key of %zu bytes is over the store's key limit of %zu",
                      name.size, space->limits.key);
}

/* Gives an entry its value, or replaces it, and wakes its waiters if the key is new. */
static int assign(struct symm__keyspace *space, struct symm__key *key, struct symm_slice value) {
    int is_new = !key->value;
    int rc = check_room(space, key->size, value.size);
    if (rc < 0) return rc;
    char *memory = realloc(key->value, value.size + 1);
    if (!memory) return symm__fail_oom(value.size);
    if (value.size) memcpy(memory, value.data, value.size);
    space->memory += value.size - key->size;
    key->value = memory;
    key->size = value.size;
    if (!is_new) return SYMM_OK;
    count(space, key, 1);
    wake(space, key);
    return SYMM_OK;
}

static int check_value(const struct symm__keyspace *space, size_t size) {
    if (size <= space->limits.value) return SYMM_OK;
    return symm__fail(SYMM_ELIMIT, "a value of %zu bytes is over the store's value limit of %zu",
                      size, space->limits.value);
}

int symm__keyspace_set(struct symm__keyspace *space, struct symm_slice name,
                       struct symm_slice value) {
    int rc = check_key(space, name);
    if (rc == SYMM_OK) rc = check_value(space, value.size);
    if (rc < 0) return rc;
    struct symm__key *key = obtain(space, name);
    if (!key) return symm_last_error()->code;
    rc = assign(space, key, value);
    drop_if_unused(space, key);
    return rc;
}

int symm__keyspace_append(struct symm__keyspace *space, struct symm_slice name,
                          struct symm_slice value) {
    struct symm__key *key = find(space, name);
    if (!key || !key->value) return symm__keyspace_set(space, name, value);
    int rc = value.size <= space->limits.value ? check_value(space, key->size + value.size)
                                               : check_value(space, value.size);
    if (rc == SYMM_OK) rc = check_room(space, 0, value.size);
    if (rc < 0) return rc;
    char *memory = realloc(key->value, key->size + value.size + 1);
    if (!memory) return symm__fail_oom(key->size + value.size + 1);
    key->value = memory;
    if (value.size) memcpy(memory + key->size, value.data, value.size);
    key->size += value.size;
    space->memory += value.size;
    return SYMM_OK;
}

int symm__keyspace_compare_set(struct symm__keyspace *space, struct symm_slice name,
                               struct symm_slice expected, struct symm_slice desired,
                               struct symm_slice *now_out) {
    struct symm_slice now = {"", 0};
    int exists = symm__keyspace_find(space, name, &now);
    int matches = now.size == expected.size &&
                  (expected.size == 0 || memcmp(now.data, expected.data, now.size) == 0);
    if (matches) {
        int rc = symm__keyspace_set(space, name, desired);
        if (rc < 0) return rc;
    }
    *now_out = matches ? desired : exists ? now : expected;
    return SYMM_OK;
}

/* A counter is an optional minus sign and decimal digits, nothing else. */
static int parse_counter(const char *text, size_t size, int64_t *out) {
    char copy[24], *end = NULL;
    size_t sign = size > 0 && text[0] == '-';
    if (size == sign || size >= sizeof copy) return 0;
    for (size_t i = sign; i < size; i++) {
        if (text[i] < '0' || text[i] > '9') return 0;
    }
    memcpy(copy, text, size);
    copy[size] = '\0';
    errno = 0;
    *out = (int64_t)strtoll(copy, &end, 10);
    return errno == 0;
}

static int next_sum(const struct symm__key *key, int64_t amount, int64_t *sum_out) {
    int64_t now = 0;
    if (key && key->value && !parse_counter(key->value, key->size, &now)) {
        return symm__fail(SYMM_ESTORE,
                          "the value is no counter: add needs a decimal 64-bit number");
    }
    if (__builtin_add_overflow(now, amount, sum_out)) {
        return symm__fail(SYMM_ESTORE, "the counter would leave 64 bits: %" PRId64 " + %" PRId64,
                          now, amount);
    }
    return SYMM_OK;
}

int symm__keyspace_add(struct symm__keyspace *space, struct symm_slice name, int64_t amount,
                       int64_t *sum_out) {
    int64_t sum = 0;
    char text[24];
    int rc = check_key(space, name);
    if (rc < 0) return rc;
    rc = next_sum(find(space, name), amount, &sum);
    if (rc < 0) return rc;
    struct symm__key *key = obtain(space, name);
    if (!key) return symm_last_error()->code;
    int size = snprintf(text, sizeof text, "%" PRId64, sum);
    rc = assign(space, key, (struct symm_slice){text, (size_t)size});
    drop_if_unused(space, key);
    if (rc == SYMM_OK) *sum_out = sum;
    return rc;
}

int symm__keyspace_find(struct symm__keyspace *space, struct symm_slice name,
                        struct symm_slice *value_out) {
    struct symm__key *key = find(space, name);
    if (!key || !key->value) return 0;
    value_out->data = key->value;
    value_out->size = key->size;
    return 1;
}

int symm__keyspace_has_all(struct symm__keyspace *space, const struct symm_slice *keys,
                           size_t key_count) {
    struct symm_slice value;
    for (size_t i = 0; i < key_count; i++) {
        if (!symm__keyspace_find(space, keys[i], &value)) return 0;
    }
    return 1;
}

int symm__keyspace_delete(struct symm__keyspace *space, struct symm_slice name) {
    struct symm__key_link *link;
    struct symm__key *key = find(space, name);
    if (!key || !key->value) return 0;
    free(key->value);
    key->value = NULL;
    space->memory -= key->size;
    key->size = 0;
    count(space, key, -1);
    DL_FOREACH(key->links, link) link->waiter->missing++;
    drop_if_unused(space, key);
    return 1;
}

int64_t symm__keyspace_count(struct symm__keyspace *space, struct symm_slice prefix) {
    if (prefix.size == 0) return space->count;
    if (prefix.size == 1) return space->count_by_first_byte[*(const unsigned char *)prefix.data];
    int64_t found = 0;
    for (struct symm__key *key = space->keys; key; key = key->hh.next) {
        found += key->value && key->name_size >= prefix.size &&
                 memcmp(key->name, prefix.data, prefix.size) == 0;
    }
    return found;
}

static int check_keys(const struct symm__keyspace *space, const struct symm_slice *keys,
                      size_t key_count) {
    if (key_count > space->limits.keys) {
        return symm__fail(SYMM_ELIMIT, "%zu keys in one request are over the store's limit of %zu",
                          key_count, space->limits.keys);
    }
    for (size_t i = 0; i < key_count; i++) {
        int rc = check_key(space, keys[i]);
        if (rc < 0) return rc;
    }
    return SYMM_OK;
}

static int link_key(struct symm__keyspace *space, struct symm__waiter *waiter,
                    struct symm_slice name) {
    struct symm__key *key = obtain(space, name);
    if (!key) return symm_last_error()->code;
    struct symm__key_link *link = &waiter->links[waiter->count++];
    link->key = key;
    link->waiter = waiter;
    DL_APPEND(key->links, link);
    waiter->missing += !key->value;
    return SYMM_OK;
}

int symm__keyspace_wait(struct symm__keyspace *space, struct symm__waiter *waiter,
                        const struct symm_slice *keys, size_t key_count) {
    int rc = check_keys(space, keys, key_count);
    if (rc < 0) return rc;
    if (symm__keyspace_has_all(space, keys, key_count)) return 1;
    waiter->links = key_count == 1 ? &waiter->single : calloc(key_count, sizeof *waiter->links);
    if (!waiter->links) return symm__fail_oom(key_count * sizeof *waiter->links);
    waiter->count = waiter->missing = 0;
    for (size_t i = 0; i < key_count; i++) {
        rc = link_key(space, waiter, keys[i]);
        if (rc < 0) {
            unlink_all(space, waiter);
            return rc;
        }
    }
    waiter->state = SYMM__WAITER_WAITING;
    return 0;
}

void symm__keyspace_cancel(struct symm__keyspace *space, struct symm__waiter *waiter) {
    if (waiter->state == SYMM__WAITER_WAITING) unlink_all(space, waiter);
    if (waiter->state == SYMM__WAITER_READY) DL_DELETE(space->ready, waiter);
    waiter->state = SYMM__WAITER_IDLE;
}

struct symm__waiter *symm__keyspace_next_ready(struct symm__keyspace *space) {
    struct symm__waiter *waiter = space->ready;
    if (!waiter) return NULL;
    DL_DELETE(space->ready, waiter);
    waiter->state = SYMM__WAITER_IDLE;
    return waiter;
}
