/* SPDX-License-Identifier: MIT
 *
 * What a tcp store's daemon does, without its sockets: bytes of a connection come in, replies to
 * this and other connections come out. A daemon brings descriptors, clocks and one thread.
 *
 * Invariants: only one thread calls a service. A session holds at most one unfinished request and,
 * in `out`, at most SYMM__SESSION_BACKLOG bytes before it stops taking requests; what blocked
 * requests of its own are answered with comes on top. After every call the daemon sends what
 * symm__service_next_dirty gives it.
 */
#ifndef SYMM_STORE_SERVICE_H
#define SYMM_STORE_SERVICE_H

#include "store/keyspace.h"
#include "store/wire.h"

#define SYMM__SESSION_BACKLOG ((size_t)1 << 20)
#define SYMM__SESSION_WAITS 65536

struct symm__request;

struct symm__service {
    struct symm__keyspace *space;
    struct symm__keyspace_limits limits;
    size_t frame_limit;
    struct symm__session *dirty; /* sessions with something in `out`, or broken */
    int clients;                 /* sessions whose handshake is done */
    int joined;                  /* clients that joined, less those that broke off since */
};

struct symm__session {
    struct symm__service *service;
    enum { SYMM__SESSION_GREETING, SYMM__SESSION_FRAMES } stage;
    char greeting[SYMM__WIRE_GREETING_SIZE];
    size_t greeting_size;
    struct symm__frames frames;
    struct symm__buffer out;        /* the daemon takes it, and adds its size to `unsent` */
    size_t unsent;                  /* bytes that the daemon took and has not written */
    struct symm__request *requests; /* that wait, by id */
    int joined, left, is_dirty;
    struct symm__session *prev, *next; /* among the dirty */
};

int symm__service_open(const struct symm__keyspace_limits *limits, struct symm__service *service);
/* All sessions are closed before. */
void symm__service_close(struct symm__service *service);
/* Takes the next session out whose `out` is to be sent; NULL: none. */
struct symm__session *symm__service_next_dirty(struct symm__service *service);

void symm__session_open(struct symm__service *service, struct symm__session *session);
/* Takes bytes from *data. Leaves some only while the backlog is full: they are fed again when it
 * has been sent. Negative: the connection is to be closed (wrong bytes, no memory). */
int symm__session_feed(struct symm__session *session, const char **data, size_t *size);
/* Where bytes may be read to directly (see symm__frames_room), and that they were. */
size_t symm__session_room(struct symm__session *session, char **at_out);
int symm__session_filled(struct symm__session *session, size_t size);
static inline int symm__session_is_full(const struct symm__session *session) {
    return session->out.size + session->unsent >= SYMM__SESSION_BACKLOG;
}
/* Puts the orderly end into `out`. */
void symm__session_goodbye(struct symm__session *session);
/* Cancels its waits; the others notice nothing. */
void symm__session_close(struct symm__session *session);

#endif
