/* SPDX-License-Identifier: MIT
 *
 * Accepting the higher ranks of a mesh. Whoever connects has a moment to say hello; strangers,
 * silent or wrong, are dropped, and hold up neither the ranks nor the deadline.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/deadline.h"
#include "base/log.h"
#include "symmem/mesh_opening.h"

#define GUESTS 64
#define HELLO_PATIENCE_MS 1000

/* A connection that has not said hello yet. */
struct guest {
    int fd;
    pid_t pid;
    int64_t until_ns;
};

struct reception {
    struct symm__opening *opening;
    struct guest guests[GUESTS];
    int count;
    int joined;
};

int symm__mesh_same_user(int fd, pid_t *pid_out) {
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0) return 0;
    *pid_out = peer.pid;
    return peer.uid == geteuid();
}

void symm__mesh_set_peer(struct symm__mesh *mesh, int rank, int fd, pid_t pid) {
    struct symm__peer *peer = &mesh->peers[rank];
    peer->fd = fd;
    peer->pid = pid;
    peer->pidfd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
}

static int check_hello(struct symm__opening *o, const struct symm__mesh_hello *hello) {
    struct symm__mesh *mesh = o->mesh;
    struct symm__where where = symm__mesh_where(mesh, hello->rank);
    if (hello->version != SYMM__MESH_VERSION) {
        return symm__fail_at(&where, SYMM_EMISMATCH,
                             "rank %d speaks version %u of this protocol, not %d", hello->rank,
                             hello->version, SYMM__MESH_VERSION);
    }
    if (hello->world_size != mesh->world_size || strcmp(hello->group, mesh->group) != 0) {
        return symm__fail_at(
            &where, SYMM_EMISMATCH,
            "rank %d joins group '%.60s' with world_size %d; here it is '%s' with %d", hello->rank,
            hello->group, hello->world_size, mesh->group, mesh->world_size);
    }
    if (hello->rank <= mesh->rank || hello->rank >= mesh->world_size) {
        return symm__fail_at(&where, SYMM_EMISMATCH, "a process joins with the impossible rank %d",
                             hello->rank);
    }
    return SYMM_OK;
}

static void show_out(struct reception *r, int at) {
    symm__log(SYMM_LOG_WARN, "symmem", "dropped a stranger on the socket of group %s",
              r->opening->mesh->group);
    close(r->guests[at].fd);
    r->guests[at] = r->guests[--r->count];
}

/* A rank that gave up and tries again has hung up its first connection. */
static int has_hung_up(int fd) {
    struct pollfd watched = {fd, POLLRDHUP, 0};
    return poll(&watched, 1, 0) > 0 && (watched.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

static int seat(struct reception *r, int at, struct symm__mesh_hello *hello) {
    struct symm__mesh *mesh = r->opening->mesh;
    struct guest guest = r->guests[at];
    r->guests[at] = r->guests[--r->count];
    hello->group[sizeof hello->group - 1] = '\0';
    int rc = check_hello(r->opening, hello);
    struct symm__peer *known = rc == SYMM_OK ? &mesh->peers[hello->rank] : NULL;
    if (known && known->fd >= 0 && !has_hung_up(known->fd)) {
        struct symm__where where = symm__mesh_where(mesh, hello->rank);
        rc = symm__fail_at(&where, SYMM_EEXISTS, "two processes joined with the same rank");
    }
    if (rc < 0) {
        close(guest.fd);
        return rc;
    }
    if (known->fd >= 0) {
        close(known->fd);
        if (known->pidfd >= 0) close(known->pidfd);
    } else {
        r->joined++;
    }
    symm__mesh_set_peer(mesh, hello->rank, guest.fd, guest.pid);
    return SYMM_OK;
}

/* Reads the hellos that are there; shows out who said something else, or nothing for too long. */
static int hear_guests(struct reception *r) {
    int64_t now = symm_now_ns();
    for (int i = r->count - 1; i >= 0; i--) {
        struct symm__mesh_hello hello;
        ssize_t n = recv(r->guests[i].fd, &hello, sizeof hello, MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR) && now < r->guests[i].until_ns) continue;
        if (n != (ssize_t)sizeof hello || hello.magic != SYMM__MESH_MAGIC) {
            show_out(r, i);
            continue;
        }
        int rc = seat(r, i, &hello);
        if (rc < 0) return rc;
    }
    return SYMM_OK;
}

/* While the room is full, the others wait in the kernel's queue: nobody in it may be shown out
 * before his time, for he may be a rank that has not come to speak yet. */
static int let_in(struct reception *r) {
    while (r->count < GUESTS) {
        pid_t pid = 0;
        int fd = accept4(r->opening->mesh->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0 && (errno == EMFILE || errno == ENFILE)) {
            return symm__fail_errno(errno, "accepting a rank");
        }
        if (fd < 0) return SYMM_OK; /* nobody is at the door, or who was has gone */
        r->guests[r->count++] =
            (struct guest){fd, 0, symm_now_ns() + (int64_t)HELLO_PATIENCE_MS * 1000000};
        if (!symm__mesh_same_user(fd, &pid))
            show_out(r, r->count - 1);
        else
            r->guests[r->count - 1].pid = pid;
    }
    return SYMM_OK;
}

static int fail_absent(const struct symm__opening *o) {
    const struct symm__mesh *mesh = o->mesh;
    uint8_t *present = calloc((size_t)mesh->world_size, 1);
    if (!present) return symm__fail_oom((size_t)mesh->world_size);
    for (int r = 0; r < mesh->world_size; r++) {
        present[r] = r == mesh->rank || mesh->peers[r].fd >= 0;
    }
    int rc = symm__fail_missing(mesh, present, "rendezvous", "did not join", o->begun_ns);
    free(present);
    return rc;
}

static int wait_at_door(struct reception *r) {
    int door = r->count < GUESTS
                   ? atomic_load_explicit(&r->opening->mesh->listen_fd, memory_order_relaxed)
                   : -1;
    struct pollfd watched[GUESTS + 1] = {{door, POLLIN, 0}};
    for (int i = 0; i < r->count; i++) watched[i + 1] = (struct pollfd){r->guests[i].fd, POLLIN, 0};
    int ms = (int)symm__deadline_left_ms(r->opening->deadline_ns, SYMM_WAIT_SLICE_MS);
    if (ms == 0) return fail_absent(r->opening);
    poll(watched, (nfds_t)r->count + 1, ms);
    return symm__mesh_opening_poll(r->opening);
}

int symm__mesh_accept_all(struct symm__opening *o) {
    struct reception r = {.opening = o};
    int expected = o->mesh->world_size - 1 - o->mesh->rank, rc = SYMM_OK;
    while (r.joined < expected && rc == SYMM_OK) {
        rc = let_in(&r);
        if (rc == SYMM_OK) rc = hear_guests(&r);
        if (rc == SYMM_OK && r.joined < expected) rc = wait_at_door(&r);
    }
    while (r.count > 0) close(r.guests[--r.count].fd);
    return rc;
}
