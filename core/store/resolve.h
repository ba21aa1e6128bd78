/* SPDX-License-Identifier: MIT
 *
 * From a host to the addresses of its sockets, within a deadline.
 */
#ifndef SYMM_STORE_RESOLVE_H
#define SYMM_STORE_RESOLVE_H

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#define SYMM__RESOLVED_MAX 8

struct symm__address {
    socklen_t size;
    union {
        struct sockaddr any;
        struct sockaddr_in in;
        struct sockaddr_in6 in6;
        struct sockaddr_un un;
        struct sockaddr_storage storage;
    } at;
};

struct symm__resolved {
    int count;
    struct symm__address addresses[SYMM__RESOLVED_MAX]; /* best first */
};

/* "@name", an abstract Unix socket. SYMM_EINVALID: too long, or empty. */
int symm__resolve_unix(const char *host, struct symm__address *out);
/* Numbers and "@name" at once, names by a thread of its own, because the system's resolver knows no
 * deadline. 1: found. 0: not now, *reason_out says why. Negative: the wait hook, or bad argument.
 */
int symm__resolve(const char *host, int port, int64_t deadline_ns, struct symm__resolved *out,
                  char *reason_out, size_t reason_size);

#endif
