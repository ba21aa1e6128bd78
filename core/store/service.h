/* SPDX-License-Identifier: MIT
 *
 * What a tcp store's daemon does, without its sockets: bytes of a connection come in, replies to
 * this and other connections come out. A daemon brings descriptors, clocks and one thread.
 *
 * service.c has the sessions, their handshake and their waits; service_frames.c and service_plain.c
 * speak the two protocols that follow a handshake.
 *
 * Invariants: only one thread calls a service. A session holds at most one unfinished request and,
 * in `out`, at most SYMM__SESSION_BACKLOG bytes before it stops taking requests; what blocked
 * requests of its own are answered with comes on top. Its blocked requests wait for at most
 * limits.keys keys. After every call the daemon sends what symm__service_next_dirty gives it.
 */
#ifndef SYMM_STORE_SERVICE_H
#define SYMM_STORE_SERVICE_H

#include "store/keyspace.h"
#include "store/plain.h"
#include "store/wire.h"

#define SYMM__SESSION_BACKLOG ((size_t)1 << 20)
#define SYMM__SESSION_OWED_MAX ((size_t)1 << 30) /* a client that is owed more is closed */

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
    enum { SYMM__SESSION_GREETING, SYMM__SESSION_FRAMES, SYMM__SESSION_PLAIN } stage;
    char greeting[SYMM__WIRE_GREETING_SIZE];
    size_t greeting_size;
    union { /* the unfinished request */
        struct symm__frames frames;
        struct symm__plain plain;
    } in;
    struct symm__buffer out;        /* the daemon takes it, and adds its size to `unsent` */
    size_t unsent;                  /* bytes that the daemon took and has not written */
    struct symm__request *requests; /* that wait, by id */
    size_t waited_keys;             /* of all of them */
    int joined, left, is_dirty;
    struct symm__session *prev, *next; /* among the dirty */
};

/* ---- for daemons ---- */

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

/* ---- for the protocols ---- */

/* `out` has something new. Negative, and `out.failed`, if memory failed on the way or the client is
 * owed too much. */
int symm__session_touch(struct symm__session *session);
/* Answers what has become ready, after the keyspace was changed. */
void symm__service_answer_ready(struct symm__service *service);
/* 1: all keys exist now. 0: the request waits, and its protocol answers it when they do. Negative:
 * over a limit, or the id waits already. */
int symm__session_wait(struct symm__session *session, uint16_t operation, uint64_t id,
                       const struct symm_slice *keys, size_t count);
/* Takes a waiting request back. 1, and its operation; 0 if none with this id waits. */
int symm__session_cancel(struct symm__session *session, uint64_t id, uint16_t *operation_out);

/* One step of a protocol: takes bytes of at most one request and serves it when it is whole. */
int symm__session_feed_frame(struct symm__session *session, const char **data, size_t *size);
int symm__session_feed_plain(struct symm__session *session, const char **data, size_t *size);
/* Answers a request whose keys exist; `key` is its first. */
void symm__session_answer_frame(struct symm__session *session, uint16_t operation, uint64_t id,
                                struct symm_slice key);
void symm__session_answer_plain(struct symm__session *session);
/* Begins frames: puts the daemon's answer and first frame into `out`. */
void symm__session_hello(struct symm__session *session, uint32_t version);

#endif
