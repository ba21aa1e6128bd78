/* SPDX-License-Identifier: MIT
 *
 * What every kind of store is made of. The public functions (store.c) check arguments, resolve
 * timeouts and word the errors that all kinds share; a kind fills one const struct of functions and
 * embeds struct symm_store as its first member.
 *
 * Invariant: a slot is called with checked arguments and an absolute deadline, on any thread, by
 * several threads at once. No slot is empty.
 */
#ifndef SYMM_STORE_STORE_H
#define SYMM_STORE_STORE_H

#include <stdatomic.h>
#include <symm/store.h>

/* Returned by `get` and `wait` of a kind: the deadline passed and a key was still absent. */
#define SYMM__STORE_ABSENT 1

struct symm__store_ops {
    size_t size;
    const char *kind;
    void (*close)(symm_store *store);
    void (*describe)(symm_store *store, char *text, size_t size);
    int (*port)(const symm_store *store);
    int (*linger)(symm_store *store, int64_t deadline_ns);
    int (*set)(symm_store *store, struct symm_slice key, struct symm_slice value,
               int64_t deadline_ns);
    int (*get)(symm_store *store, struct symm_slice key, int64_t deadline_ns,
               struct symm_bytes *value_out);
    int (*add)(symm_store *store, struct symm_slice key, int64_t amount, int64_t deadline_ns,
               int64_t *sum_out);
    int (*wait)(symm_store *store, const struct symm_slice *keys, size_t count,
                int64_t deadline_ns);
    int (*check)(symm_store *store, const struct symm_slice *keys, size_t count,
                 int64_t deadline_ns, int *all_out);
    int (*delete_key)(symm_store *store, struct symm_slice key, int64_t deadline_ns,
                      int *deleted_out);
    /* Keys that begin with `prefix`. */
    int (*num_keys)(symm_store *store, struct symm_slice prefix, int64_t deadline_ns,
                    int64_t *count_out);
};

struct symm_store {
    const struct symm__store_ops *ops;
    symm_store *base; /* the store below a prefix store, retained; its timeout is used; else NULL */
    /* Last drop (acq_rel) sees all that others did before theirs; increments are relaxed. */
    atomic_int references;
    atomic_llong timeout_ms; /* relaxed: a number by itself */
};

/* One reference, the default timeout, no base. */
void symm__store_init(symm_store *store, const struct symm__store_ops *ops);

/* For kinds that have none. */
int symm__store_no_port(const symm_store *store);
int symm__store_no_linger(symm_store *store, int64_t deadline_ns);

/* Copies bytes and adds the closing 0. */
int symm__bytes_copy(const void *data, size_t size, struct symm_bytes *out);

/* Writes keys for a message: 'a', 'b\n', ... and 12 more; what is not printable is escaped, long
 * keys and long lists are cut. Always terminated. */
void symm__store_key_text(const struct symm_slice *keys, size_t count, char *text, size_t size);

#endif
