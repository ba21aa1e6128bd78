/* SPDX-License-Identifier: MIT */
#include "store/channel.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
#include <utlist.h>

#include "base/error.h"
#include "store/condition.h"
#include "store/store.h"

#define READ_SIZE 65536
#define GRACE_NS 1000000000 /* for the answer to a cancelled request */

struct symm__call {
    struct symm__call *prev, *next;
    uint64_t id;
    int done;
    struct symm__frame reply;
    pthread_cond_t woken;
};

void symm__reply_free(struct symm__reply *reply) {
    free(reply->frame.owned);
    reply->frame.owned = NULL;
}

/* ---- the end of the connection ---- */

/* Ends the channel with this thread's last error, unless it has ended; with the lock held. */
static void end(struct symm__channel *channel) {
    struct symm__call *call;
    if (channel->ended.code) return;
    channel->ended = *symm_last_error();
    DL_FOREACH(channel->calls, call) pthread_cond_signal(&call->woken);
    pthread_cond_broadcast(&channel->turn);
}

static void fail_ended(struct symm__channel *channel, int is_orderly, const char *reason) {
    if (is_orderly) {
        symm__fail(SYMM_ENETWORK, "the store's master has ended (tcp store %s)", channel->address);
    } else {
        symm__fail(SYMM_ENETWORK, "the connection to the store was lost: %s (tcp store %s)", reason,
                   channel->address);
    }
    pthread_mutex_lock(&channel->lock);
    end(channel);
    pthread_mutex_unlock(&channel->lock);
}

/* ---- reading: by the holder of `reading` ---- */

/* Gives a reply to its call; one that nobody waits for any more is dropped. */
static int deliver(struct symm__channel *channel, struct symm__frame *frame) {
    struct symm__call *call;
    if (!frame->owned) { /* borrowed from the read buffer */
        struct symm_bytes copy;
        int rc = symm__bytes_copy(frame->payload, frame->header.length, &copy);
        if (rc < 0) return rc;
        frame->payload = frame->owned = copy.data;
    }
    pthread_mutex_lock(&channel->lock);
    DL_FOREACH(channel->calls, call) {
        if (call->id == frame->header.id && !call->done) break;
    }
    if (call) {
        call->reply = *frame;
        call->done = 1;
        pthread_cond_signal(&call->woken);
    }
    pthread_mutex_unlock(&channel->lock);
    if (!call) free(frame->owned);
    return SYMM_OK;
}

static int take_frame(struct symm__channel *channel, struct symm__frame *frame) {
    if (frame->header.operation == SYMM__WIRE_GOODBYE) {
        free(frame->owned);
        fail_ended(channel, 1, NULL);
        return SYMM_ENETWORK;
    }
    if (frame->header.flags & SYMM__WIRE_REPLY) return deliver(channel, frame);
    free(frame->owned); /* a notice of a later version */
    return SYMM_OK;
}

static int take_bytes(struct symm__channel *channel, const char *data, size_t size) {
    struct symm__frame frame;
    int rc;
    while ((rc = symm__frames_feed(&channel->frames, &data, &size, &frame)) > 0) {
        rc = take_frame(channel, &frame);
        if (rc < 0) return rc;
    }
    return rc;
}

/* Reads what has arrived. Ends the channel when there will be no more. */
static void read_arrived(struct symm__channel *channel) {
    struct symm__frame frame;
    char *at = NULL;
    size_t room = symm__frames_room(&channel->frames, &at);
    ssize_t n =
        recv(channel->fd, room ? at : channel->buffer, room ? room : READ_SIZE, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) {
        fail_ended(channel, 0, n < 0 ? strerror(errno) : "the daemon is gone");
        return;
    }
    int rc = SYMM_OK;
    if (!room) {
        rc = take_bytes(channel, channel->buffer, (size_t)n);
    } else if (symm__frames_filled(&channel->frames, (size_t)n, &frame)) {
        rc = take_frame(channel, &frame);
    }
    if (rc < 0) fail_ended(channel, 0, symm_last_error()->message);
}

/* One slice of reading. Negative: the wait hook. */
static int read_slice(struct symm__channel *channel, short events, int64_t deadline_ns) {
    int rc = symm__socket_poll(channel->fd, events, deadline_ns);
    if (rc > 0) read_arrived(channel);
    return rc < 0 ? rc : SYMM_OK;
}

/* Hands `reading` to a call that still waits; with the lock held. */
static void pass_reading_on(struct symm__channel *channel) {
    struct symm__call *call;
    DL_FOREACH(channel->calls, call) {
        if (!call->done) {
            pthread_cond_signal(&call->woken);
            return;
        }
    }
}

/* Reads, or sleeps while another reads, until the call is done. With the lock held, which it lets
 * go meanwhile. */
static int await_reply(struct symm__channel *channel, struct symm__call *call,
                       int64_t deadline_ns) {
    int rc = SYMM_OK;
    while (rc == SYMM_OK && !call->done && !channel->ended.code) {
        if (symm__deadline_passed(deadline_ns)) return SYMM__CHANNEL_EXPIRED;
        if (channel->reading) {
            rc = symm__condition_slice(&call->woken, &channel->lock, deadline_ns);
            continue;
        }
        channel->reading = 1;
        pthread_mutex_unlock(&channel->lock);
        rc = read_slice(channel, POLLIN, deadline_ns);
        pthread_mutex_lock(&channel->lock);
        channel->reading = 0;
    }
    if (call->done) return SYMM_OK;
    return channel->ended.code ? symm__fail_with(&channel->ended) : rc;
}

/* ---- writing: by the holder of `writing` ---- */

static int take_writing(struct symm__channel *channel, int64_t deadline_ns) {
    int rc = SYMM_OK;
    while (rc == SYMM_OK && channel->writing && !channel->ended.code) {
        if (symm__deadline_passed(deadline_ns)) return SYMM__CHANNEL_EXPIRED;
        rc = symm__condition_slice(&channel->turn, &channel->lock, deadline_ns);
    }
    if (rc == SYMM_OK && channel->ended.code) rc = symm__fail_with(&channel->ended);
    if (rc == SYMM_OK) channel->writing = 1;
    return rc;
}

static void skip_sent(struct iovec **parts, size_t *count, size_t sent) {
    while (*count && sent >= (*parts)->iov_len) {
        sent -= (*parts)->iov_len;
        ++*parts;
        --*count;
    }
    if (*count) {
        (*parts)->iov_base = (char *)(*parts)->iov_base + sent;
        (*parts)->iov_len -= sent;
    }
}

/* Sends what goes now. 1: all. 0: the socket is full. A broken connection counts as sent: reading
 * finds out how it ended. */
static int send_now(struct symm__channel *channel, struct iovec **parts, size_t *count) {
    while (*count) {
        struct msghdr message = {.msg_iov = *parts, .msg_iovlen = *count};
        ssize_t n = sendmsg(channel->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return errno != EAGAIN;
        skip_sent(parts, count, (size_t)n);
    }
    return 1;
}

/* One slice until the socket takes more. Replies are read meanwhile unless another thread does:
 * the daemon reads no more of a client that does not read. */
static int writable_slice(struct symm__channel *channel, int64_t deadline_ns) {
    pthread_mutex_lock(&channel->lock);
    int can_read = !channel->reading && !channel->ended.code;
    if (can_read) channel->reading = 1;
    pthread_mutex_unlock(&channel->lock);
    int rc = symm__socket_poll(channel->fd, can_read ? POLLIN | POLLOUT : POLLOUT, deadline_ns);
    if (!can_read) return rc < 0 ? rc : SYMM_OK;
    if (rc > 0) read_arrived(channel);
    pthread_mutex_lock(&channel->lock);
    channel->reading = 0;
    pass_reading_on(channel);
    pthread_mutex_unlock(&channel->lock);
    return rc < 0 ? rc : SYMM_OK;
}

static int keep_unsent(struct symm__channel *channel, const struct iovec *parts, size_t count) {
    struct symm__buffer kept = {NULL, 0, 0, 0};
    for (size_t i = 0; i < count; i++) {
        symm__buffer_append(&kept, parts[i].iov_base, parts[i].iov_len);
    }
    symm__buffer_free(&channel->unsent);
    channel->unsent = kept;
    return kept.failed ? symm__fail_oom(kept.size) : SYMM_OK;
}

/* Writes parts[0..count), the first of which stands for what others left. */
static int write_parts(struct symm__channel *channel, struct iovec *parts, size_t count,
                       int64_t deadline_ns) {
    int rc = SYMM_OK, is_sent = 0;
    parts[0].iov_base = channel->unsent.data;
    parts[0].iov_len = channel->unsent.size;
    while (rc == SYMM_OK && !(is_sent = send_now(channel, &parts, &count))) {
        if (symm__deadline_passed(deadline_ns)) {
            rc = SYMM__CHANNEL_EXPIRED;
        } else {
            rc = writable_slice(channel, deadline_ns);
        }
    }
    if (is_sent) {
        symm__buffer_free(&channel->unsent);
    } else if (keep_unsent(channel, parts, count) < 0) {
        fail_ended(channel, 0, "no memory for the rest of a request");
    }
    return rc;
}

static int send_request(struct symm__channel *channel, const struct symm__frame_header *header,
                        struct symm_slice head, struct symm_slice tail, int64_t deadline_ns) {
    char bytes[SYMM__WIRE_HEADER_SIZE];
    symm__wire_put_header(bytes, header);
    struct iovec parts[4] = {{NULL, 0},
                             {bytes, sizeof bytes},
                             {(void *)(uintptr_t)head.data, head.size},
                             {(void *)(uintptr_t)tail.data, tail.size}};
    pthread_mutex_lock(&channel->lock);
    int rc = take_writing(channel, deadline_ns);
    pthread_mutex_unlock(&channel->lock);
    if (rc != SYMM_OK) return rc;
    rc = write_parts(channel, parts, 4, deadline_ns);
    pthread_mutex_lock(&channel->lock);
    channel->writing = 0;
    pthread_cond_signal(&channel->turn);
    pthread_mutex_unlock(&channel->lock);
    return rc;
}

/* ---- calls ---- */

/* Withdraws a request whose caller goes. */
static void cancel(struct symm__channel *channel, const struct symm__frame_header *request,
                   int64_t deadline_ns) {
    struct symm__frame_header header = {0, SYMM__WIRE_CANCEL, 0, request->id};
    struct symm_slice nothing = {NULL, 0};
    send_request(channel, &header, nothing, nothing, deadline_ns);
}

static int fail_silent(const struct symm__channel *channel, int64_t start_ns) {
    return symm__fail(SYMM_ETIMEOUT,
                      "the store's daemon did not answer within %lld ms (tcp store %s)",
                      (long long)((symm_now_ns() - start_ns) / 1000000), channel->address);
}

static int await_locked(struct symm__channel *channel, struct symm__call *call,
                        int64_t deadline_ns) {
    pthread_mutex_lock(&channel->lock);
    int rc = await_reply(channel, call, deadline_ns);
    pthread_mutex_unlock(&channel->lock);
    return rc;
}

/* Sends and awaits; at the end `call` is done, or rc says why not. */
static int exchange(struct symm__channel *channel, struct symm__call *call,
                    const struct symm__frame_header *header, struct symm_slice head,
                    struct symm_slice tail, int64_t deadline_ns, int can_cancel) {
    int64_t start_ns = symm_now_ns();
    int rc = send_request(channel, header, head, tail, deadline_ns);
    if (rc == SYMM__CHANNEL_EXPIRED) return fail_silent(channel, start_ns);
    if (rc == SYMM_OK) rc = await_locked(channel, call, deadline_ns);
    if (rc == SYMM__CHANNEL_EXPIRED && can_cancel) {
        int64_t grace_ns = symm_now_ns() + GRACE_NS;
        cancel(channel, header, grace_ns);
        rc = await_locked(channel, call, grace_ns);
    } else if (rc < 0 && can_cancel) { /* the wait hook, or the end of the connection */
        struct symm_error error = *symm_last_error();
        cancel(channel, header, symm_now_ns());
        rc = symm__fail_with(&error);
    }
    return rc == SYMM__CHANNEL_EXPIRED ? fail_silent(channel, start_ns) : rc;
}

/* Turns an error reply into this thread's error. */
static int fail_reply(const struct symm__frame *frame) {
    struct symm__cursor cursor = {frame->payload, frame->header.length, 0};
    int code = (int)symm__cursor_u32(&cursor);
    struct symm_slice message = symm__cursor_rest(&cursor);
    if (cursor.bad || code >= 0) code = SYMM_ESTORE;
    return symm__fail(code, "%.*s", (int)(message.size < 480 ? message.size : 480),
                      (const char *)message.data);
}

static int judge(const struct symm__call *call, struct symm__reply *reply_out) {
    reply_out->frame = call->reply;
    reply_out->is_cancelled = call->reply.header.flags & SYMM__WIRE_CANCELLED;
    int rc = SYMM_OK;
    if (reply_out->is_cancelled) rc = SYMM__CHANNEL_EXPIRED;
    if (call->reply.header.flags & SYMM__WIRE_ERROR) rc = fail_reply(&call->reply);
    if (rc != SYMM_OK) symm__reply_free(reply_out);
    return rc;
}

int symm__channel_call(struct symm__channel *channel, enum symm__wire_operation operation,
                       struct symm_slice head, struct symm_slice tail, int64_t deadline_ns,
                       int can_cancel, struct symm__reply *reply_out) {
    struct symm__call call = {.done = 0};
    struct symm__frame_header header = {(uint32_t)(head.size + tail.size), (uint16_t)operation, 0,
                                        0};
    symm__condition_init(&call.woken);
    pthread_mutex_lock(&channel->lock);
    call.id = header.id = ++channel->last_id;
    DL_APPEND(channel->calls, &call);
    pthread_mutex_unlock(&channel->lock);
    int rc = exchange(channel, &call, &header, head, tail, deadline_ns, can_cancel);
    pthread_mutex_lock(&channel->lock);
    DL_DELETE(channel->calls, &call);
    if (!channel->reading) pass_reading_on(channel);
    pthread_mutex_unlock(&channel->lock);
    pthread_cond_destroy(&call.woken);
    if (rc == SYMM_OK) return judge(&call, reply_out);
    free(call.reply.owned);
    return rc;
}
