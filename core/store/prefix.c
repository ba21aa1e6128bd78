/* SPDX-License-Identifier: MIT
 *
 * A store in which every key K is prefix "/" K of the store below. It keeps nothing itself.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "store/store.h"

struct prefix_store {
    symm_store store;   /* first; store.base is the store below */
    size_t prefix_size; /* the slash included */
    char prefix[];
};

/* Joined keys live in one block: the list of slices, then their bytes. */
struct joined {
    struct symm_slice *keys;
    union {
        struct symm_slice key; /* aligns */
        char bytes[512];
    } small;
};

static int join(const symm_store *store, const struct symm_slice *keys, size_t count,
                struct joined *out) {
    const struct prefix_store *prefix = (const struct prefix_store *)store;
    size_t need = count * (sizeof *keys + prefix->prefix_size);
    for (size_t i = 0; i < count; i++) need += keys[i].size;
    out->keys = need <= sizeof out->small ? &out->small.key : malloc(need);
    if (!out->keys) return symm__fail_oom(need);
    char *at = (char *)(out->keys + count);
    for (size_t i = 0; i < count; i++) {
        out->keys[i].data = at;
        out->keys[i].size = prefix->prefix_size + keys[i].size;
        memcpy(at, prefix->prefix, prefix->prefix_size);
        if (keys[i].size) memcpy(at + prefix->prefix_size, keys[i].data, keys[i].size);
        at += out->keys[i].size;
    }
    return SYMM_OK;
}

static int leave(struct joined *joined, int rc) {
    if (joined->keys != &joined->small.key) free(joined->keys);
    return rc;
}

static int prefix_set(symm_store *store, struct symm_slice key, struct symm_slice value,
                      int64_t deadline_ns) {
    struct joined j;
    int rc = join(store, &key, 1, &j);
    if (rc < 0) return rc;
    return leave(&j, store->base->ops->set(store->base, j.keys[0], value, deadline_ns));
}

static int prefix_get(symm_store *store, struct symm_slice key, int64_t deadline_ns,
                      struct symm_bytes *value_out) {
    struct joined j;
    int rc = join(store, &key, 1, &j);
    if (rc < 0) return rc;
    return leave(&j, store->base->ops->get(store->base, j.keys[0], deadline_ns, value_out));
}

static int prefix_add(symm_store *store, struct symm_slice key, int64_t amount, int64_t deadline_ns,
                      int64_t *sum_out) {
    struct joined j;
    int rc = join(store, &key, 1, &j);
    if (rc < 0) return rc;
    return leave(&j, store->base->ops->add(store->base, j.keys[0], amount, deadline_ns, sum_out));
}

static int prefix_wait(symm_store *store, const struct symm_slice *keys, size_t count,
                       int64_t deadline_ns) {
    struct joined j;
    int rc = join(store, keys, count, &j);
    if (rc < 0) return rc;
    return leave(&j, store->base->ops->wait(store->base, j.keys, count, deadline_ns));
}

static int prefix_check(symm_store *store, const struct symm_slice *keys, size_t count,
                        int64_t deadline_ns, int *all_out) {
    struct joined j;
    int rc = join(store, keys, count, &j);
    if (rc < 0) return rc;
    return leave(&j, store->base->ops->check(store->base, j.keys, count, deadline_ns, all_out));
}

static int prefix_delete_key(symm_store *store, struct symm_slice key, int64_t deadline_ns,
                             int *deleted_out) {
    struct joined j;
    int rc = join(store, &key, 1, &j);
    if (rc < 0) return rc;
    return leave(&j,
                 store->base->ops->delete_key(store->base, j.keys[0], deadline_ns, deleted_out));
}

static int prefix_num_keys(symm_store *store, struct symm_slice prefix, int64_t deadline_ns,
                           int64_t *count_out) {
    struct joined j;
    int rc = join(store, &prefix, 1, &j);
    if (rc < 0) return rc;
    return leave(&j, store->base->ops->num_keys(store->base, j.keys[0], deadline_ns, count_out));
}

static void prefix_describe(symm_store *store, char *text, size_t size) {
    struct prefix_store *prefix = (struct prefix_store *)store;
    struct symm_slice name = {prefix->prefix, prefix->prefix_size - 1};
    char shown[64], base[160];
    symm__store_key_text(&name, 1, shown, sizeof shown);
    symm_store_describe(store->base, base, sizeof base);
    snprintf(text, size, "prefix store %s over %s", shown, base);
}

static void prefix_close(symm_store *store) { free(store); }

static const struct symm__store_ops prefix_ops = {
    .size = sizeof prefix_ops,
    .kind = "prefix",
    .close = prefix_close,
    .describe = prefix_describe,
    .port = symm__store_no_port,
    .linger = symm__store_no_linger,
    .set = prefix_set,
    .get = prefix_get,
    .add = prefix_add,
    .wait = prefix_wait,
    .check = prefix_check,
    .delete_key = prefix_delete_key,
    .num_keys = prefix_num_keys,
};

int symm_store_open_prefix(struct symm_slice prefix, symm_store *base, symm_store **out) {
    SYMM__GUARD_FORK();
    if (!base) return symm__fail(SYMM_EINVALID, "a prefix store needs a store below it");
    if (!prefix.data && prefix.size) return symm__fail(SYMM_EINVALID, "the prefix is NULL");
    struct prefix_store *store = malloc(sizeof *store + prefix.size + 1);
    if (!store) return symm__fail_oom(sizeof *store + prefix.size + 1);
    symm__store_init(&store->store, &prefix_ops);
    store->store.base = symm_store_retain(base);
    if (prefix.size) memcpy(store->prefix, prefix.data, prefix.size);
    store->prefix[prefix.size] = '/';
    store->prefix_size = prefix.size + 1;
    *out = &store->store;
    return SYMM_OK;
}
