/* SPDX-License-Identifier: MIT
 *
 * Stream sockets of the store: where a daemon listens and how a client reaches it. An address is a
 * host (name or number) and a port, or "@name", an abstract Unix socket of this user.
 *
 * Descriptors that come from here are non-blocking and close on exec.
 */
#ifndef SYMM_STORE_SOCKET_H
#define SYMM_STORE_SOCKET_H

#include <stddef.h>
#include <stdint.h>

#define SYMM__ADDRESS_SIZE 288

/* "127.0.0.1:29500", "[::1]:29500", "@name". */
void symm__address_text(const char *host, int port, char *text, size_t size);

/* Binds and listens. An empty host, "*", "0.0.0.0", "::" or a name: all addresses, IPv6 and IPv4;
 * "localhost" or a number: that address (a number that is not of this host: all).
 * SYMM_ENETWORK names the port when it is taken. */
int symm__socket_listen(const char *host, int port, int *fd_out);
/* Makes a duplicate of a bound stream socket listen. SYMM_EINVALID if it is none, or is not bound
 * to `port` (0: any). */
int symm__socket_adopt(int fd, int port, int *fd_out);
/* The port of a listening socket, -1 for a Unix one. */
int symm__socket_port(int fd);
int symm__socket_is_unix(int fd);
/* The numeric address at which this process reaches its own listening socket. */
int symm__socket_self(int fd, char *host, size_t size, int *port_out);

/* One attempt: resolves the host and tries all its addresses, a quarter of a second apart, until
 * one answers. 1: connected. 0: not now, may come (refused, reset, not resolvable yet), *reason_out
 * says why. Negative: error of the wait hook, or SYMM_ENETWORK for what will not mend. */
int symm__socket_connect(const char *host, int port, int64_t deadline_ns, int *fd_out,
                         char *reason_out, size_t reason_size);

/* A socket of that family with the options that all ours have, or -1 and errno. */
int symm__socket_open(int family);
/* Waits one slice for `events` of poll(). 1: there are some; 0: not yet; negative: the wait hook.
 */
int symm__socket_poll(int fd, short events, int64_t deadline_ns);
/* SYMM_ENETWORK unless the other end of a Unix socket is a process of this user. */
int symm__socket_check_peer(int fd);

#endif
