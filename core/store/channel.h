/* SPDX-License-Identifier: MIT
 *
 * A client's connection to a daemon, shared by any number of threads.
 *
 * The caller writes its request and reads its reply itself; no thread stands between. When several
 * call at once, one of them reads and hands the others their replies by id; when it has its own it
 * passes the reading on. So a call that waits never holds up another.
 *
 * Invariants: `writing` and `reading` are each held by at most one thread, and only it touches what
 * they guard; no lock is held in a system call or in the wait hook. What a caller could not finish
 * writing before its deadline stays in `unsent` and goes first, so the stream is never cut.
 */
#ifndef SYMM_STORE_CHANNEL_H
#define SYMM_STORE_CHANNEL_H

#include <pthread.h>
#include <symm/error.h>

#include "store/keyspace.h"
#include "store/socket.h"
#include "store/wire.h"

#define SYMM__CHANNEL_EXPIRED 1

struct symm__call;

struct symm__channel {
    int fd;
    char address[SYMM__ADDRESS_SIZE];
    struct symm__keyspace_limits limits; /* as the daemon said */
    pthread_mutex_t lock;
    pthread_cond_t turn;      /* `writing` became free */
    struct symm__call *calls; /* that wait for a reply; under lock, as the four below */
    uint64_t last_id;
    int reading, writing;
    struct symm_error ended;    /* code 0 as long as the connection lives */
    struct symm__buffer unsent; /* held by `writing` */
    struct symm__frames frames; /* held by `reading`, as the buffer */
    char *buffer;
};

struct symm__reply {
    struct symm__frame frame;
    int is_cancelled;
};
void symm__reply_free(struct symm__reply *reply);

/* Connects, greets and reads the daemon's first frame; goes on trying until the deadline. */
int symm__channel_open(const char *host, int port, int64_t deadline_ns, struct symm__channel **out);
/* Leaves in order. Nobody is in a call. NULL is ignored. */
void symm__channel_close(struct symm__channel *channel);

/* One request: `head` and `tail` together are its payload. An error reply becomes this thread's
 * error. At the deadline a request that `can_cancel` is cancelled: an answer that crossed is still
 * a success, else SYMM__CHANNEL_EXPIRED; without an answer from the daemon SYMM_ETIMEOUT. */
int symm__channel_call(struct symm__channel *channel, enum symm__wire_operation operation,
                       struct symm_slice head, struct symm_slice tail, int64_t deadline_ns,
                       int can_cancel, struct symm__reply *reply_out);

#endif
