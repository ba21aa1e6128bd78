/* SPDX-License-Identifier: MIT
 *
 * The daemon of a tcp store: a thread of this process that serves a listening socket. What it says
 * and knows is service.h; a kind of daemon brings the loop.
 */
#ifndef SYMM_STORE_DAEMON_H
#define SYMM_STORE_DAEMON_H

#include "store/attendance.h"
#include "store/keyspace.h"

struct symm__daemon_options {
    struct symm__keyspace_limits limits;
    int64_t greeting_ms; /* a connection that has not finished its handshake by then is closed */
    int64_t farewell_ms; /* how long the end may take to flush what clients do not read */
};
#define SYMM__DAEMON_OPTIONS_INIT \
    { SYMM__KEYSPACE_LIMITS_INIT, 5000, 500 }

struct symm__daemon;
struct symm__daemon_ops {
    size_t size;
    const char *kind;
    /* Says goodbye to all clients, ends the thread, frees. */
    void (*close)(struct symm__daemon *daemon);
};
struct symm__daemon {
    const struct symm__daemon_ops *ops;
    struct symm__attendance attendance;
};

/* Serves a listening, non-blocking socket, which it owns from then on, whatever happens. */
int symm__daemon_open_uv(int listen_fd, const struct symm__daemon_options *options,
                         struct symm__daemon **out);

#endif
