/* SPDX-License-Identifier: MIT
 *
 * The beginning of a channel: connect, greet, read the daemon's first frame, and all of that again
 * with growing pauses while the daemon is not there yet.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/deadline.h"
#include "base/error.h"
#include "base/log.h"
#include "store/channel.h"
#include "store/condition.h"

#define READ_SIZE 65536
#define FIRST_PAUSE_MS 5.0
#define LONGEST_PAUSE_MS 1000.0

struct attempt {
    const char *host;
    int port;
    int64_t start_ns, deadline_ns;
    char address[SYMM__ADDRESS_SIZE];
    char reason[128]; /* why the last attempt came to nothing */
    double pause_ms;
    unsigned seed;
};

/* ---- the handshake. 1: done. 0: the other end went, try again. Negative: no use ---- */

static int receive(int fd, char *to, size_t size, struct attempt *attempt) {
    while (size) {
        ssize_t n = recv(fd, to, size, MSG_DONTWAIT);
        if (n > 0) {
            to += n;
            size -= (size_t)n;
        } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
            snprintf(attempt->reason, sizeof attempt->reason, "closed during the handshake");
            return 0;
        } else if (symm__deadline_passed(attempt->deadline_ns)) {
            snprintf(attempt->reason, sizeof attempt->reason, "no answer to the handshake");
            return 0;
        } else {
            int rc = symm__socket_poll(fd, POLLIN, attempt->deadline_ns);
            if (rc < 0) return rc;
        }
    }
    return 1;
}

static int read_answer(int fd, struct attempt *attempt) {
    char bytes[4];
    int rc = receive(fd, bytes, sizeof bytes, attempt);
    if (rc <= 0) return rc;
    struct symm__cursor cursor = {bytes, sizeof bytes, 0};
    uint32_t answer = symm__cursor_u32(&cursor);
    if (answer == (SYMM__WIRE_ANSWER | SYMM__WIRE_VERSION)) return 1;
    if (answer == (SYMM__WIRE_NONCE | SYMM__WIRE_VERSION)) {
        return symm__fail(SYMM_EUNSUPPORTED, "the store at %s speaks only the plain protocol",
                          attempt->address);
    }
    return symm__fail(SYMM_ENETWORK, "what listens at %s is no store: it answered 0x%08x",
                      attempt->address, (unsigned)answer);
}

static int read_hello(int fd, struct symm__channel *channel, struct attempt *attempt) {
    char head[SYMM__WIRE_HEADER_SIZE], body[1024];
    int rc = receive(fd, head, sizeof head, attempt);
    if (rc <= 0) return rc;
    struct symm__cursor cursor = {head, sizeof head, 0};
    uint32_t length = symm__cursor_u32(&cursor), operation = symm__cursor_u32(&cursor);
    if (operation != SYMM__WIRE_HELLO || length < SYMM__WIRE_HELLO_SIZE || length > sizeof body) {
        return symm__fail(SYMM_ENETWORK, "the store at %s began with a frame that is not known",
                          attempt->address);
    }
    rc = receive(fd, body, length, attempt);
    if (rc <= 0) return rc;
    cursor = (struct symm__cursor){body, length, 0};
    symm__cursor_u64(&cursor); /* version and capabilities: those of version 1 are known */
    channel->limits.key = symm__cursor_u64(&cursor);
    channel->limits.value = symm__cursor_u64(&cursor);
    channel->limits.keys = symm__cursor_u64(&cursor);
    channel->limits.memory = symm__cursor_u64(&cursor);
    return 1;
}

static int greet(int fd, struct symm__channel *channel, struct attempt *attempt) {
    char greeting[SYMM__WIRE_GREETING_SIZE];
    symm__wire_greeting(greeting);
    /* So few bytes always fit an empty socket; if the other end is gone, reading says so. */
    if (send(fd, greeting, sizeof greeting, MSG_NOSIGNAL) < 0 && errno != EPIPE) {
        snprintf(attempt->reason, sizeof attempt->reason, "%s", strerror(errno));
        return 0;
    }
    int rc = read_answer(fd, attempt);
    return rc <= 0 ? rc : read_hello(fd, channel, attempt);
}

/* ---- attempts ---- */

static int try_once(struct symm__channel *channel, struct attempt *attempt) {
    int fd = -1;
    int rc = symm__socket_connect(attempt->host, attempt->port, attempt->deadline_ns, &fd,
                                  attempt->reason, sizeof attempt->reason);
    if (rc <= 0) return rc;
    rc = greet(fd, channel, attempt);
    if (rc > 0) {
        channel->fd = fd;
    } else {
        close(fd);
    }
    return rc;
}

/* Sleeps the pause, give or take half of it, so that clients that failed together do not come back
 * together. */
static int pause_between(struct attempt *attempt) {
    double ms = attempt->pause_ms * (0.5 + (double)rand_r(&attempt->seed) / RAND_MAX);
    int64_t until_ns = symm_now_ns() + (int64_t)(ms * 1e6);
    if (until_ns > attempt->deadline_ns) until_ns = attempt->deadline_ns;
    attempt->pause_ms *= 1.5;
    if (attempt->pause_ms > LONGEST_PAUSE_MS) attempt->pause_ms = LONGEST_PAUSE_MS;
    int rc = SYMM_OK;
    while (rc == SYMM_OK && !symm__deadline_passed(until_ns)) {
        symm__sleep_ms(symm__deadline_left_ms(until_ns, SYMM_WAIT_SLICE_MS));
        rc = symm__wait_poll();
    }
    return rc;
}

static int fail_unreached(const struct attempt *attempt) {
    return symm__fail(SYMM_ENETWORK, "no store could be reached at %s within %lld ms: %s",
                      attempt->address, (long long)((symm_now_ns() - attempt->start_ns) / 1000000),
                      attempt->reason);
}

static int try_until_deadline(struct symm__channel *channel, struct attempt *attempt) {
    int rc, tries = 0;
    while ((rc = try_once(channel, attempt)) == 0) {
        if (!tries++) {
            symm__log(SYMM_LOG_INFO, "store", "waiting for the store at %s: %s", attempt->address,
                      attempt->reason);
        }
        rc = pause_between(attempt);
        if (rc < 0) return rc;
        if (symm__deadline_passed(attempt->deadline_ns)) return fail_unreached(attempt);
    }
    return rc < 0 ? rc : SYMM_OK;
}

static void init_attempt(struct attempt *attempt, const char *host, int port, int64_t deadline_ns) {
    memset(attempt, 0, sizeof *attempt);
    attempt->host = host;
    attempt->port = port;
    attempt->start_ns = symm_now_ns();
    attempt->deadline_ns = deadline_ns;
    attempt->pause_ms = FIRST_PAUSE_MS;
    attempt->seed = (unsigned)attempt->start_ns ^ (unsigned)getpid() * 2654435761u;
    symm__address_text(host, port, attempt->address, sizeof attempt->address);
}

int symm__channel_open(const char *host, int port, int64_t deadline_ns,
                       struct symm__channel **out) {
    struct attempt attempt;
    struct symm__channel *channel = calloc(1, sizeof *channel);
    char *buffer = malloc(READ_SIZE);
    int rc = channel && buffer ? SYMM_OK : symm__fail_oom(READ_SIZE);
    if (rc == SYMM_OK) {
        init_attempt(&attempt, host, port, deadline_ns);
        rc = try_until_deadline(channel, &attempt);
    }
    if (rc < 0) {
        free(buffer);
        free(channel);
        return rc;
    }
    memcpy(channel->address, attempt.address, sizeof channel->address);
    channel->buffer = buffer;
    channel->frames.limit = UINT32_MAX;
    pthread_mutex_init(&channel->lock, NULL);
    symm__condition_init(&channel->turn);
    *out = channel;
    return SYMM_OK;
}

void symm__channel_close(struct symm__channel *channel) {
    if (!channel) return;
    char leave[SYMM__WIRE_HEADER_SIZE];
    struct symm__frame_header header = {0, SYMM__WIRE_LEAVE, 0, 0};
    symm__wire_put_header(leave, &header);
    if (!channel->unsent.size && !channel->ended.code) {
        /* If it does not go, the daemon sees the end of the connection instead. */
        if (send(channel->fd, leave, sizeof leave, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) errno = 0;
    }
    close(channel->fd);
    symm__frames_free(&channel->frames);
    symm__buffer_free(&channel->unsent);
    pthread_cond_destroy(&channel->turn);
    pthread_mutex_destroy(&channel->lock);
    free(channel->buffer);
    free(channel);
}
