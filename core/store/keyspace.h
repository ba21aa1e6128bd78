/* SPDX-License-Identifier: MIT
 *
 * The state of one store: values, counters and who waits for what. No input or output, no lock, no
 * clock: the hash store puts a mutex around it, a daemon calls it from its one thread.
 *
 * Invariants: a key has an entry as long as it exists or somebody waits for it. A waiter has one
 * link on the entry of each key that it was given, whether the key exists or not, and `missing`
 * counts those that do not; so it becomes ready exactly when all its keys exist at one time.
 * Creating or deleting a key costs O(waiters of that key), cancelling O(keys of that waiter).
 */
#ifndef SYMM_STORE_KEYSPACE_H
#define SYMM_STORE_KEYSPACE_H

#include <symm/store.h>

struct symm__keyspace;
struct symm__key;

struct symm__keyspace_limits {
    size_t key;    /* bytes of one key */
    size_t value;  /* bytes of one value */
    size_t keys;   /* keys of one request */
    size_t memory; /* bytes of all keys, those that are only waited for too, and of all values */
};
#define SYMM__KEYSPACE_LIMITS_INIT \
    { 8192, 64u << 20, 131072, (size_t)1 << 30 }

struct symm__key_link {
    struct symm__key *key;
    struct symm__waiter *waiter;
    struct symm__key_link *prev, *next; /* among the waiters of that key, first come first */
};

/* Zeroed before its first use; the keyspace's own while it waits or is ready. */
struct symm__waiter {
    enum { SYMM__WAITER_IDLE, SYMM__WAITER_WAITING, SYMM__WAITER_READY } state;
    size_t count, missing;
    struct symm__key_link *links; /* &single for one key */
    struct symm__key_link single;
    struct symm__waiter *prev, *next; /* in the list of the ready */
};

int symm__keyspace_open(const struct symm__keyspace_limits *limits, struct symm__keyspace **out);
/* Every waiter has been cancelled before. NULL is ignored. */
void symm__keyspace_close(struct symm__keyspace *space);

/* Errors: SYMM_ELIMIT naming the limit, SYMM_EOOM; add: SYMM_ESTORE for what is no number or does
 * not fit. After each call that creates keys the owner serves symm__keyspace_next_ready. */
int symm__keyspace_set(struct symm__keyspace *space, struct symm_slice key,
                       struct symm_slice value);
int symm__keyspace_add(struct symm__keyspace *space, struct symm_slice key, int64_t amount,
                       int64_t *sum_out);
/* Adds to the end of a value; an absent one counts as empty. */
int symm__keyspace_append(struct symm__keyspace *space, struct symm_slice key,
                          struct symm_slice value);
/* Sets the value if it is `expected`; an absent one is as empty. Gives the value that is there
 * afterwards, or `expected` if there is none; it stays valid as find's does. */
int symm__keyspace_compare_set(struct symm__keyspace *space, struct symm_slice key,
                               struct symm_slice expected, struct symm_slice desired,
                               struct symm_slice *now_out);
/* 1 and the value, which stays the keyspace's until its next change; 0 if the key is absent. */
int symm__keyspace_find(struct symm__keyspace *space, struct symm_slice key,
                        struct symm_slice *value_out);
int symm__keyspace_has_all(struct symm__keyspace *space, const struct symm_slice *keys,
                           size_t count);
/* 1 if the key was there. */
int symm__keyspace_delete(struct symm__keyspace *space, struct symm_slice key);
/* Keys that begin with `prefix`: at once for 0 or 1 bytes, else by a walk over all. */
int64_t symm__keyspace_count(struct symm__keyspace *space, struct symm_slice prefix);

/* 1: all keys exist, nothing was registered. 0: `waiter` waits. */
int symm__keyspace_wait(struct symm__keyspace *space, struct symm__waiter *waiter,
                        const struct symm_slice *keys, size_t count);
/* Takes the waiter out, whether it waits or is ready; idle ones are left alone. */
void symm__keyspace_cancel(struct symm__keyspace *space, struct symm__waiter *waiter);
/* Takes the next ready waiter out, which is idle then; NULL: none. */
struct symm__waiter *symm__keyspace_next_ready(struct symm__keyspace *space);

#endif
