/* SPDX-License-Identifier: MIT
 *
 * URL schemes by which the ranks of a job find their store.
 */
#ifndef SYMM_STORE_RENDEZVOUS_H
#define SYMM_STORE_RENDEZVOUS_H

#include <symm/store.h>

/* A URL taken apart: scheme://host:port/path?rank=R&world_size=N. */
struct symm__rendezvous_url {
    const char *text; /* the whole, for messages */
    char scheme[32];
    char host[256]; /* "" if there is none; of [::1] without the brackets */
    char path[256]; /* from the slash on; "" if there is none */
    int port;       /* -1 if there is none */
    int rank;       /* from the URL or the caller; -1 if neither has it */
    int world_size;
    int64_t timeout_ms;
};

struct symm__rendezvous_scheme {
    size_t size;
    int (*open)(const struct symm__rendezvous_url *url, struct symm_rendezvous *out);
};

/* Lives as long as the process. SYMM_EEXISTS if the scheme is known. */
int symm__rendezvous_register(const char *scheme, const struct symm__rendezvous_scheme *handler);

/* The tcp store of a place: rank 0 is the master. It takes over the descriptor that a launcher left
 * in SYMM_MASTER_LISTEN_FD, if that is a socket bound to `port`, so that ports cannot race. */
int symm__rendezvous_open_tcp(const char *host, int port, int rank, int world_size,
                              int64_t timeout_ms, symm_store **out);

#endif
