/* SPDX-License-Identifier: MIT
 *
 * Connecting: the addresses of a host race, each starting a quarter of a second after the one
 * before it, or as soon as none is under way; the first that answers wins.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/deadline.h"
#include "base/error.h"
#include "store/resolve.h"
#include "store/socket.h"

#define STAGGER_NS 250000000

struct race {
    const struct symm__resolved *hosts;
    int fds[SYMM__RESOLVED_MAX]; /* -1: failed */
    int begun, running;
    int error; /* errno of the last attempt that failed */
    int64_t next_start_ns;
};

static void lose(struct race *race, int i, int error) {
    close(race->fds[i]);
    race->fds[i] = -1;
    race->running--;
    race->error = error;
}

/* A loopback port that nobody listens on may answer itself. */
static int is_self(int fd) {
    struct symm__address here = {.size = 0}, there = {.size = 0};
    socklen_t size = sizeof here.at, peer_size = sizeof there.at;
    return getsockname(fd, &here.at.any, &size) == 0 &&
           getpeername(fd, &there.at.any, &peer_size) == 0 && size == peer_size &&
           here.at.any.sa_family != AF_UNIX && memcmp(&here.at, &there.at, size) == 0;
}

/* Takes socket `i` as the winner: 1; or drops it: 0. */
static int arrive(struct race *race, int i, int *fd_out) {
    int error = 0;
    socklen_t size = sizeof error;
    if (getsockopt(race->fds[i], SOL_SOCKET, SO_ERROR, &error, &size) < 0) error = errno;
    if (!error && is_self(race->fds[i])) error = ECONNREFUSED;
    if (error) {
        lose(race, i, error);
        return 0;
    }
    *fd_out = race->fds[i];
    race->fds[i] = -1;
    race->running--;
    return 1;
}

static int start_next(struct race *race, int *fd_out) {
    int i = race->begun++;
    const struct symm__address *address = &race->hosts->addresses[i];
    race->next_start_ns = symm_now_ns() + STAGGER_NS;
    race->fds[i] = symm__socket_open(address->at.any.sa_family);
    if (race->fds[i] < 0) {
        race->error = errno;
        return 0;
    }
    race->running++;
    if (connect(race->fds[i], &address->at.any, address->size) == 0) return arrive(race, i, fd_out);
    if (errno != EINPROGRESS && errno != EINTR) lose(race, i, errno);
    return 0;
}

static int wait_for_one(struct race *race, int64_t deadline_ns, int *fd_out) {
    struct pollfd polled[SYMM__RESOLVED_MAX];
    int64_t until = race->begun < race->hosts->count && race->next_start_ns < deadline_ns
                        ? race->next_start_ns
                        : deadline_ns;
    for (int i = 0; i < race->begun; i++) {
        polled[i] = (struct pollfd){.fd = race->fds[i], .events = POLLOUT};
    }
    int n =
        poll(polled, (nfds_t)race->begun, (int)symm__deadline_left_ms(until, SYMM_WAIT_SLICE_MS));
    if (n <= 0) return symm__wait_poll();
    for (int i = 0; i < race->begun; i++) {
        if (race->fds[i] >= 0 && polled[i].revents && arrive(race, i, fd_out)) return 1;
    }
    return 0;
}

static int run(struct race *race, int64_t deadline_ns, int *fd_out) {
    int rc = 0;
    while (rc == 0) {
        int more = race->begun < race->hosts->count;
        if (more && (race->running == 0 || symm_now_ns() >= race->next_start_ns)) {
            rc = start_next(race, fd_out);
        } else if (race->running == 0) {
            return 0;
        } else if (symm__deadline_passed(deadline_ns)) {
            race->error = ETIMEDOUT;
            return 0;
        } else {
            rc = wait_for_one(race, deadline_ns, fd_out);
        }
    }
    return rc;
}

int symm__socket_connect(const char *host, int port, int64_t deadline_ns, int *fd_out,
                         char *reason_out, size_t reason_size) {
    struct symm__resolved hosts;
    int fd = -1;
    int rc = symm__resolve(host, port, deadline_ns, &hosts, reason_out, reason_size);
    if (rc <= 0) return rc;
    struct race race = {.hosts = &hosts, .error = EADDRNOTAVAIL};
    rc = run(&race, deadline_ns, &fd);
    for (int i = 0; i < race.begun; i++) {
        if (race.fds[i] >= 0) close(race.fds[i]);
    }
    if (rc == 0) snprintf(reason_out, reason_size, "%s", strerror(race.error));
    if (rc <= 0) return rc;
    rc = symm__socket_check_peer(fd);
    if (rc < 0) {
        close(fd);
        return rc;
    }
    *fd_out = fd;
    return 1;
}
