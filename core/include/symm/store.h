/* SPDX-License-Identifier: MIT
 *
 * Stores: the rendezvous of a job. A store maps keys to values, both byte strings; ranks meet
 * through it before they have any other connection.
 *
 * Threads: a store may be used by several threads at once; a blocked wait never blocks another
 * call on the same object. Lifetime: counted. symm_store_retain and symm_store_release may be
 * called from any thread; the last release closes it.
 * Blocking calls take `timeout_ms` as symm/wait.h defines it; 0 means the store's own timeout.
 * Limits: a key has at most 8191 bytes, prefixes included, a value 64 MiB; a request names at most
 * 131072 keys; all keys and values together take 1 GiB. Over one is SYMM_ELIMIT naming it.
 * Errors common to all: SYMM_ETIMEOUT, SYMM_ENETWORK (connection lost), SYMM_ESTORE (refused by the
 * other side), SYMM_EINTERRUPTED, SYMM_EINVALID.
 */
#ifndef SYMM_STORE_H
#define SYMM_STORE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct symm_store symm_store;

#define SYMM_STORE_DEFAULT_TIMEOUT_MS 300000
#define SYMM_STORE_DEFAULT_PORT 29500

/* Bytes that somebody else owns. */
struct symm_slice {
    const void *data;
    size_t size;
};
/* Bytes that the holder frees with symm_bytes_free. `data` has one more byte, a 0, past `size`. */
struct symm_bytes {
    char *data;
    size_t size;
};
static inline struct symm_slice symm_slice_of(const char *text) {
    struct symm_slice s = {text, strlen(text)};
    return s;
}
void symm_bytes_free(struct symm_bytes *bytes);

/* Options of a tcp store; begin with SYMM_TCP_STORE_OPTIONS_INIT. */
struct symm_tcp_store_options {
    size_t size;          /* sizeof this struct */
    const char *host;     /* name or address; "@name" is an abstract Unix socket, port unused */
    int port;             /* 0 on the master: the kernel picks; read it with symm_store_port */
    int world_size;       /* number of clients, the master's own included; -1: unknown */
    int is_master;        /* run the daemon in this process */
    int wait_for_workers; /* with a world_size: count as a worker, and the master waits for all */
    int listen_fd;        /* -1, or a stream socket bound to `port` (0: to any), which the
                             daemon takes over if opening succeeds */
    int64_t timeout_ms;   /* connecting, and default of every wait; 0: 300 s */
};
#define SYMM_TCP_STORE_OPTIONS_INIT \
    { sizeof(struct symm_tcp_store_options), "127.0.0.1", SYMM_STORE_DEFAULT_PORT, -1, 0, 1, -1, 0 }

/* A client goes on trying until the timeout. A master listens on `host` if that is a number or
 * "localhost", else (a name, "", "*") on all addresses; only processes of this user get through
 * to an abstract socket. PyTorch's store clients (set, get, add, check, wait, compare_set, append,
 * multi_get, multi_set, delete_key, num_keys) may use the same daemon and see the same keys.
 * Errors: SYMM_ENETWORK (port in use, nobody there, no store), SYMM_ETIMEOUT (workers missing). */
int symm_store_open_tcp(const struct symm_tcp_store_options *options, symm_store **out);
/* In-process store. */
int symm_store_open_hash(symm_store **out);
/* Every key K of the new store is prefix "/" K of `base`, which it retains. */
int symm_store_open_prefix(struct symm_slice prefix, symm_store *base, symm_store **out);
symm_store *symm_store_retain(symm_store *store);
void symm_store_release(symm_store *store);

/* Stores a value, replacing any; acknowledged: when it returns, everybody sees it. */
int symm_store_set(symm_store *store, struct symm_slice key, struct symm_slice value);
/* Waits until the key exists and copies its value, in one step. */
int symm_store_get(symm_store *store, struct symm_slice key, int64_t timeout_ms,
                   struct symm_bytes *value_out);
/* Adds to a decimal counter (absent counts as 0) and gives the sum. SYMM_ESTORE if the value is not
 * a number or the sum does not fit 64 bits. */
int symm_store_add(symm_store *store, struct symm_slice key, int64_t amount, int64_t *sum_out);
/* Waits until all keys exist at one time. */
int symm_store_wait(symm_store *store, const struct symm_slice *keys, size_t count,
                    int64_t timeout_ms);
/* 1 if all keys exist, else 0; never waits for them. */
int symm_store_check(symm_store *store, const struct symm_slice *keys, size_t count, int *all_out);
/* 1 if the key was there. */
int symm_store_delete_key(symm_store *store, struct symm_slice key, int *deleted_out);
/* Number of users' keys (internal ones are not counted). A prefix store counts its own only. */
int symm_store_num_keys(symm_store *store, int64_t *count_out);

/* The default of later waits; > 0, or -1 for none. A prefix store sets its base's. */
int symm_store_set_timeout(symm_store *store, int64_t timeout_ms);
int64_t symm_store_timeout(symm_store *store);
/* "tcp", "hash", "prefix". */
const char *symm_store_kind(const symm_store *store);
/* One line that a person can read: kind, address, prefix. Cut to `size`; always terminated. */
void symm_store_describe(symm_store *store, char *text, size_t size);
/* The port in use, -1 where there is none. */
int symm_store_port(const symm_store *store);
/* On the process that runs the daemon below `store`: waits until all other clients have left, so
 * that ending first does not pull the store from under them. Elsewhere returns 0 at once. */
int symm_store_linger(symm_store *store, int64_t timeout_ms);

/* What a rendezvous URL gives: a store and this process's place in the job. */
struct symm_rendezvous {
    symm_store *store; /* the caller releases it */
    int rank;
    int world_size;
};
/* "env://", "tcp://host:port?rank=R&world_size=N". `rank` and `world_size` of -1: from the URL or
 * the environment; given both ways is SYMM_EINVALID. */
int symm_rendezvous_url(const char *url, int rank, int world_size, int64_t timeout_ms,
                        struct symm_rendezvous *out);

#ifdef __cplusplus
}
#endif
#endif
