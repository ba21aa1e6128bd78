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

/* The descriptor that a launcher left for the master in SYMM_MASTER_LISTEN_FD, so that ports cannot
 * race: once, and only if it is a socket bound to `port` (a child of a rank inherits the variable,
 * but maybe not the socket). Else -1. */
int symm__rendezvous_take_listen_fd(int port);
/* The tcp store of a place: rank 0 is the master, on the launcher's socket if there is one. */
int symm__rendezvous_open_tcp(const char *host, int port, int rank, int world_size,
                              int64_t timeout_ms, symm_store **out);

#endif
