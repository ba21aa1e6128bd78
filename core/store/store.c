/* SPDX-License-Identifier: MIT
 *
 * The public functions of stores: arguments, timeouts and the errors common to all kinds, once.
 */
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/activity.h"
#include "base/deadline.h"
#include "base/error.h"

#define DESCRIPTION_SIZE 160

void symm__store_init(symm_store *store, const struct symm__store_ops *ops) {
    store->ops = ops;
    store->base = NULL;
    atomic_init(&store->references, 1);
    atomic_init(&store->timeout_ms, SYMM_STORE_DEFAULT_TIMEOUT_MS);
}

int symm__store_no_port(const symm_store *store) {
    (void)store;
    return -1;
}

int symm__store_no_linger(symm_store *store, int64_t deadline_ns) {
    (void)store;
    (void)deadline_ns;
    return SYMM_OK;
}

int symm__bytes_copy(const void *data, size_t size, struct symm_bytes *out) {
    char *copy = malloc(size + 1);
    if (!copy) return symm__fail_oom(size + 1);
    if (size) memcpy(copy, data, size);
    copy[size] = '\0';
    out->data = copy;
    out->size = size;
    return SYMM_OK;
}

void symm_bytes_free(struct symm_bytes *bytes) {
    if (!bytes) return;
    free(bytes->data);
    bytes->data = NULL;
    bytes->size = 0;
}

symm_store *symm_store_retain(symm_store *store) {
    if (store) atomic_fetch_add_explicit(&store->references, 1, memory_order_relaxed);
    return store;
}

void symm_store_release(symm_store *store) {
    /* A forked child has copies of the descriptors but no daemon thread: it leaves them alone. */
    if (!store || symm__is_forked_child) return;
    if (atomic_fetch_sub_explicit(&store->references, 1, memory_order_acq_rel) != 1) return;
    symm_store *base = store->base;
    store->ops->close(store);
    symm_store_release(base);
}

static const symm_store *bottom(const symm_store *store) {
    while (store->base) store = store->base;
    return store;
}

const char *symm_store_kind(const symm_store *store) { return store->ops->kind; }

void symm_store_describe(symm_store *store, char *text, size_t size) {
    if (size) store->ops->describe(store, text, size);
}

int symm_store_port(const symm_store *store) {
    store = bottom(store);
    return store->ops->port(store);
}

int64_t symm_store_timeout(symm_store *store) {
    return atomic_load_explicit(&bottom(store)->timeout_ms, memory_order_relaxed);
}

/* ---- one call: what its errors need ---- */

struct call {
    const char *op;
    symm_store *store;
    int64_t start_ns;
    int64_t deadline_ns;
    int begun;
    struct symm__activity_mark before;
};

/* Ends the call, once; names the operation in an error that came from below. */
static int finish(const struct call *call, int rc) {
    struct symm__where where = SYMM__WHERE_NONE;
    if (call->begun) symm__activity_end(call->before);
    where.op = call->op;
    return rc < 0 ? symm__fail_in(&where) : rc;
}

static int begin(struct call *call, enum symm__activity_op activity, const char *op,
                 symm_store *store, int64_t timeout_ms) {
    call->op = op;
    call->begun = 0;
    call->store = store;
    call->start_ns = symm_now_ns();
    if (symm__is_forked_child) return finish(call, symm__fail_forked());
    if (!store) return finish(call, symm__fail(SYMM_EINVALID, "the store is NULL"));
    int rc = symm__deadline(timeout_ms, symm_store_timeout(store), &call->deadline_ns);
    if (rc < 0) return finish(call, rc);
    call->before = symm__activity_begin(activity, 0, -1, -1);
    call->begun = 1;
    return SYMM_OK;
}

static int fail_absent(const struct call *call, const struct symm_slice *keys, size_t count) {
    char text[DESCRIPTION_SIZE], names[256];
    symm_store_describe(call->store, text, sizeof text);
    symm__store_key_text(keys, count, names, sizeof names);
    long long ms = (symm_now_ns() - call->start_ns) / 1000000;
    return finish(call, symm__fail(SYMM_ETIMEOUT, "%s %s did not appear within %lld ms (%s)",
                                   count == 1 ? "key" : "keys", names, ms, text));
}

static int check_slice(const char *what, struct symm_slice slice) {
    if (slice.data || slice.size == 0) return SYMM_OK;
    return symm__fail(SYMM_EINVALID, "the %s is NULL but has %zu bytes", what, slice.size);
}

static int check_keys(const struct symm_slice *keys, size_t count) {
    if (!keys && count) return symm__fail(SYMM_EINVALID, "the list of keys is NULL");
    for (size_t i = 0; i < count; i++) {
        int rc = check_slice("key", keys[i]);
        if (rc < 0) return rc;
    }
    return SYMM_OK;
}

/* ---- operations ---- */

int symm_store_set(symm_store *store, struct symm_slice key, struct symm_slice value) {
    struct call call;
    int rc = begin(&call, SYMM__ACT_store_set, "set", store, SYMM_TIMEOUT_DEFAULT);
    if (rc < 0) return rc;
    rc = check_slice("key", key);
    if (rc == SYMM_OK) rc = check_slice("value", value);
    if (rc == SYMM_OK) rc = store->ops->set(store, key, value, call.deadline_ns);
    return finish(&call, rc);
}

int symm_store_get(symm_store *store, struct symm_slice key, int64_t timeout_ms,
                   struct symm_bytes *value_out) {
    struct call call;
    int rc = begin(&call, SYMM__ACT_store_get, "get", store, timeout_ms);
    if (rc < 0) return rc;
    rc = check_slice("key", key);
    if (rc == SYMM_OK) rc = store->ops->get(store, key, call.deadline_ns, value_out);
    return rc == SYMM__STORE_ABSENT ? fail_absent(&call, &key, 1) : finish(&call, rc);
}

int symm_store_add(symm_store *store, struct symm_slice key, int64_t amount, int64_t *sum_out) {
    struct call call;
    int rc = begin(&call, SYMM__ACT_store_add, "add", store, SYMM_TIMEOUT_DEFAULT);
    if (rc < 0) return rc;
    rc = check_slice("key", key);
    if (rc == SYMM_OK) rc = store->ops->add(store, key, amount, call.deadline_ns, sum_out);
    return finish(&call, rc);
}

int symm_store_wait(symm_store *store, const struct symm_slice *keys, size_t count,
                    int64_t timeout_ms) {
    struct call call;
    int rc = begin(&call, SYMM__ACT_store_wait, "wait", store, timeout_ms);
    if (rc < 0) return rc;
    rc = check_keys(keys, count);
    if (rc == SYMM_OK) rc = store->ops->wait(store, keys, count, call.deadline_ns);
    return rc == SYMM__STORE_ABSENT ? fail_absent(&call, keys, count) : finish(&call, rc);
}

int symm_store_check(symm_store *store, const struct symm_slice *keys, size_t count, int *all_out) {
    struct call call;
    int rc = begin(&call, SYMM__ACT_store_check, "check", store, SYMM_TIMEOUT_DEFAULT);
    if (rc < 0) return rc;
    rc = check_keys(keys, count);
    if (rc == SYMM_OK) rc = store->ops->check(store, keys, count, call.deadline_ns, all_out);
    return finish(&call, rc);
}

int symm_store_delete_key(symm_store *store, struct symm_slice key, int *deleted_out) {
    struct call call;
    int rc = begin(&call, SYMM__ACT_store_delete_key, "delete_key", store, SYMM_TIMEOUT_DEFAULT);
    if (rc < 0) return rc;
    rc = check_slice("key", key);
    if (rc == SYMM_OK) rc = store->ops->delete_key(store, key, call.deadline_ns, deleted_out);
    return finish(&call, rc);
}

int symm_store_num_keys(symm_store *store, int64_t *count_out) {
    struct call call;
    int rc = begin(&call, SYMM__ACT_store_num_keys, "num_keys", store, SYMM_TIMEOUT_DEFAULT);
    if (rc < 0) return rc;
    struct symm_slice all = {NULL, 0};
    return finish(&call, store->ops->num_keys(store, all, call.deadline_ns, count_out));
}

int symm_store_set_timeout(symm_store *store, int64_t timeout_ms) {
    struct call call;
    int rc = begin(&call, SYMM__ACT_store_set_timeout, "set_timeout", store, SYMM_TIMEOUT_DEFAULT);
    if (rc < 0) return rc;
    if (timeout_ms < SYMM_TIMEOUT_NONE || timeout_ms == 0) {
        rc = symm__fail(SYMM_EINVALID,
                        "a store's timeout must be above 0 ms, or -1 for none, not %lld",
                        (long long)timeout_ms);
        return finish(&call, rc);
    }
    while (store->base) store = store->base;
    atomic_store_explicit(&store->timeout_ms, timeout_ms, memory_order_relaxed);
    return finish(&call, SYMM_OK);
}

int symm_store_linger(symm_store *store, int64_t timeout_ms) {
    struct call call;
    int rc = begin(&call, SYMM__ACT_store_linger, "linger", store, timeout_ms);
    if (rc < 0) return rc;
    while (store->base) store = store->base;
    return finish(&call, store->ops->linger(store, call.deadline_ns));
}
