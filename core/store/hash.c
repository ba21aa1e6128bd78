/* SPDX-License-Identifier: MIT
 *
 * The in-process store: a keyspace under a mutex; each waiter sleeps on a condition of its own.
 *
 * Invariant: whoever changes the keyspace serves all that became ready before it lets the lock go,
 * so a waiting get copies the value of the moment at which it was woken.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "store/condition.h"
#include "store/keyspace.h"
#include "store/store.h"

struct hash_store {
    symm_store store; /* first */
    pthread_mutex_t lock;
    struct symm__keyspace *space; /* under lock */
};

struct hash_waiter {
    struct symm__waiter waiter; /* first */
    pthread_cond_t woken;
    int done;
    int rc;
    struct symm_slice key;    /* of a get */
    struct symm_bytes *value; /* of a get, else NULL */
};

static struct hash_store *lock_of(symm_store *store) {
    struct hash_store *hash = (struct hash_store *)store;
    pthread_mutex_lock(&hash->lock);
    return hash;
}

static int copy_value(struct hash_store *hash, struct symm_slice key, struct symm_bytes *out) {
    struct symm_slice value = {NULL, 0};
    symm__keyspace_find(hash->space, key, &value);
    return symm__bytes_copy(value.data, value.size, out);
}

static void serve_ready(struct hash_store *hash) {
    struct hash_waiter *waiter;
    while ((waiter = (struct hash_waiter *)symm__keyspace_next_ready(hash->space))) {
        waiter->done = 1;
        if (waiter->value) waiter->rc = copy_value(hash, waiter->key, waiter->value);
        pthread_cond_signal(&waiter->woken);
    }
}

static int hash_set(symm_store *store, struct symm_slice key, struct symm_slice value,
                    int64_t deadline_ns) {
    (void)deadline_ns;
    struct hash_store *hash = lock_of(store);
    int rc = symm__keyspace_set(hash->space, key, value);
    serve_ready(hash);
    pthread_mutex_unlock(&hash->lock);
    return rc;
}

static int hash_add(symm_store *store, struct symm_slice key, int64_t amount, int64_t deadline_ns,
                    int64_t *sum_out) {
    (void)deadline_ns;
    struct hash_store *hash = lock_of(store);
    int rc = symm__keyspace_add(hash->space, key, amount, sum_out);
    serve_ready(hash);
    pthread_mutex_unlock(&hash->lock);
    return rc;
}

/* Sleeps until served; with the lock held. */
static int sleep_until_served(struct hash_store *hash, struct hash_waiter *waiter,
                              int64_t deadline_ns) {
    int rc = SYMM_OK;
    symm__condition_init(&waiter->woken);
    while (!waiter->done && rc == SYMM_OK) {
        if (symm__deadline_passed(deadline_ns)) {
            rc = SYMM__STORE_ABSENT;
        } else {
            rc = symm__condition_slice(&waiter->woken, &hash->lock, deadline_ns);
        }
    }
    symm__keyspace_cancel(hash->space, &waiter->waiter);
    pthread_cond_destroy(&waiter->woken);
    if (!waiter->done) return rc;
    return waiter->rc < 0 ? symm__fail_oom(0) : SYMM_OK;
}

static int hash_wait(symm_store *store, const struct symm_slice *keys, size_t count,
                     int64_t deadline_ns) {
    struct hash_waiter waiter = {.done = 0};
    struct hash_store *hash = lock_of(store);
    int rc = symm__keyspace_wait(hash->space, &waiter.waiter, keys, count);
    if (rc == 0) {
        rc = sleep_until_served(hash, &waiter, deadline_ns);
    } else if (rc > 0) {
        rc = SYMM_OK;
    }
    pthread_mutex_unlock(&hash->lock);
    return rc;
}

static int hash_get(symm_store *store, struct symm_slice key, int64_t deadline_ns,
                    struct symm_bytes *value_out) {
    struct symm_bytes value = {NULL, 0};
    struct hash_waiter waiter = {.key = key, .value = &value};
    struct hash_store *hash = lock_of(store);
    int rc = symm__keyspace_wait(hash->space, &waiter.waiter, &key, 1);
    if (rc == 0) {
        rc = sleep_until_served(hash, &waiter, deadline_ns);
    } else if (rc > 0) {
        rc = copy_value(hash, key, &value);
    }
    pthread_mutex_unlock(&hash->lock);
    if (rc == SYMM_OK) {
        *value_out = value;
    } else {
        symm_bytes_free(&value);
    }
    return rc;
}

static int hash_check(symm_store *store, const struct symm_slice *keys, size_t count,
                      int64_t deadline_ns, int *all_out) {
    (void)deadline_ns;
    struct hash_store *hash = lock_of(store);
    *all_out = symm__keyspace_has_all(hash->space, keys, count);
    pthread_mutex_unlock(&hash->lock);
    return SYMM_OK;
}

static int hash_delete_key(symm_store *store, struct symm_slice key, int64_t deadline_ns,
                           int *deleted_out) {
    (void)deadline_ns;
    struct hash_store *hash = lock_of(store);
    *deleted_out = symm__keyspace_delete(hash->space, key);
    pthread_mutex_unlock(&hash->lock);
    return SYMM_OK;
}

static int hash_num_keys(symm_store *store, struct symm_slice prefix, int64_t deadline_ns,
                         int64_t *count_out) {
    (void)deadline_ns;
    struct hash_store *hash = lock_of(store);
    *count_out = symm__keyspace_count(hash->space, prefix);
    pthread_mutex_unlock(&hash->lock);
    return SYMM_OK;
}

static void hash_describe(symm_store *store, char *text, size_t size) {
    (void)store;
    snprintf(text, size, "hash store");
}

static void hash_close(symm_store *store) {
    struct hash_store *hash = (struct hash_store *)store;
    symm__keyspace_close(hash->space);
    pthread_mutex_destroy(&hash->lock);
    free(hash);
}

static const struct symm__store_ops hash_ops = {
    .size = sizeof hash_ops,
    .kind = "hash",
    .close = hash_close,
    .describe = hash_describe,
    .port = symm__store_no_port,
    .linger = symm__store_no_linger,
    .set = hash_set,
    .get = hash_get,
    .add = hash_add,
    .wait = hash_wait,
    .check = hash_check,
    .delete_key = hash_delete_key,
    .num_keys = hash_num_keys,
};

int symm_store_open_hash(symm_store **out) {
    SYMM__GUARD_FORK();
    struct hash_store *hash = calloc(1, sizeof *hash);
    if (!hash) return symm__fail_oom(sizeof *hash);
    struct symm__keyspace_limits limits = SYMM__KEYSPACE_LIMITS_INIT;
    limits.key--; /* the slash that keys have on the wire: all kinds take the same keys */
    int rc = symm__keyspace_open(&limits, &hash->space);
    if (rc < 0) {
        free(hash);
        return rc;
    }
    symm__store_init(&hash->store, &hash_ops);
    pthread_mutex_init(&hash->lock, NULL);
    *out = &hash->store;
    return SYMM_OK;
}
