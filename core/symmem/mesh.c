/* SPDX-License-Identifier: MIT
 *
 * Messages between the pairs of a mesh, and the liveness of its peers.
 */
#include "symmem/mesh.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/deadline.h"
#include "base/error.h"
#include "symmem/mesh_wire.h"

int symm__list_missing(const uint8_t *present, int world_size, char *text, size_t size) {
    int missing = 0, listed = 0;
    size_t used = 0;
    for (int i = 0; i < world_size; i++) missing += !present[i];
    text[0] = '\0';
    for (int i = 0; i < world_size && used + 24 < size; i++) {
        if (present[i]) continue;
        const char *separator = listed == 0 ? "" : listed + 1 == missing ? " and " : ", ";
        used += (size_t)snprintf(text + used, size - used, "%s%d", separator, i);
        listed++;
    }
    if (listed < missing) snprintf(text + used, size - used, " and %d more", missing - listed);
    return missing;
}

int symm__fail_missing(const struct symm__mesh *mesh, const uint8_t *present, const char *op,
                       const char *what, int64_t begun_ns) {
    char missing[200];
    int first = 0;
    int count = symm__list_missing(present, mesh->world_size, missing, sizeof missing);
    while (count == 1 && present[first]) first++;
    struct symm__where where = {op, mesh->group, mesh->rank, count == 1 ? first : -1, -1, -1};
    return symm__fail_at(&where, SYMM_ETIMEOUT, "%s %s %s within %.3f s",
                         count == 1 ? "rank" : "ranks", count ? missing : "of this group", what,
                         (double)(symm_now_ns() - begun_ns) / 1e9);
}

/* ---- one message ---- */

struct control {
    _Alignas(struct cmsghdr) char bytes[CMSG_SPACE(SYMM__MESH_FDS * sizeof(int))];
};

static void attach_fds(struct msghdr *message, struct control *control, const int *fds) {
    int valid[SYMM__MESH_FDS], count = 0;
    for (int i = 0; fds && i < SYMM__MESH_FDS; i++) {
        if (fds[i] >= 0) valid[count++] = fds[i];
    }
    if (count == 0) return;
    size_t bytes = (size_t)count * sizeof(int);
    memset(control, 0, sizeof *control);
    message->msg_control = control->bytes;
    message->msg_controllen = CMSG_SPACE(bytes);
    struct cmsghdr *header = CMSG_FIRSTHDR(message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(bytes);
    memcpy(CMSG_DATA(header), valid, bytes);
}

int symm__mesh_send(int fd, const struct symm__mesh_message *m) {
    struct symm__mesh_header head = {
        .magic = SYMM__MESH_MAGIC, .kind = (uint16_t)m->kind, .round = m->round};
    for (int i = 0; m->fds && i < SYMM__MESH_FDS; i++) {
        if (m->fds[i] >= 0) head.fd_mask |= (uint16_t)(1u << i);
    }
    struct iovec parts[2] = {{&head, sizeof head}, {(void *)(uintptr_t)m->data, m->size}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = m->size ? 2 : 1};
    struct control control;
    attach_fds(&message, &control, m->fds);
    ssize_t n = sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) return 1;
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR || errno == ENOBUFS) return 0;
    return -1;
}

static void take_fds(struct msghdr *message, uint16_t mask, int fds_out[SYMM__MESH_FDS]) {
    int received[SYMM__MESH_FDS], count = 0, used = 0;
    struct cmsghdr *header = CMSG_FIRSTHDR(message);
    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
        count = (int)((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        if (count > SYMM__MESH_FDS) count = SYMM__MESH_FDS;
        memcpy(received, CMSG_DATA(header), (size_t)count * sizeof(int));
    }
    for (int i = 0; i < SYMM__MESH_FDS; i++) {
        fds_out[i] = (mask & (1u << i)) && used < count ? received[used++] : -1;
    }
    while (used < count) close(received[used++]);
}

int symm__mesh_receive(int fd, struct symm__mesh_header *head, void *data, size_t size,
                       int fds_out[SYMM__MESH_FDS]) {
    struct iovec parts[2] = {{head, sizeof *head}, {data, size}};
    struct control control;
    struct msghdr message = {.msg_iov = parts,
                             .msg_iovlen = 2,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    ssize_t n = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n < 0) {
        return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? SYMM__MESH_NOTHING
                                                                         : SYMM__MESH_ENDED;
    }
    if (n == 0) return SYMM__MESH_ENDED;
    take_fds(&message, head->fd_mask, fds_out);
    if (message.msg_flags & MSG_CTRUNC) return SYMM__MESH_NO_ROOM;
    if ((size_t)n < sizeof *head || head->magic != SYMM__MESH_MAGIC) return SYMM__MESH_ENDED;
    return (int)((size_t)n - sizeof *head);
}

static void close_fds(const int *fds) {
    for (int i = 0; i < SYMM__MESH_FDS; i++) {
        if (fds[i] >= 0) close(fds[i]);
    }
}

void symm__mesh_tell(struct symm__mesh *mesh, const struct symm__mesh_message *mine) {
    for (int p = 0; p < mesh->world_size; p++) {
        if (mesh->peers[p].fd >= 0) symm__mesh_send(mesh->peers[p].fd, mine);
    }
}

void symm__mesh_leave(struct symm__mesh *mesh) {
    struct symm__mesh_message bye = {SYMM__MESH_BYE, 0, NULL, 0, NULL};
    symm__mesh_tell(mesh, &bye);
    for (int p = 0; p < mesh->world_size; p++) {
        if (mesh->peers[p].fd >= 0) shutdown(mesh->peers[p].fd, SHUT_WR);
    }
    int claim = atomic_exchange_explicit(&mesh->listen_fd, -1, memory_order_relaxed);
    if (claim >= 0) close(claim); /* nobody listens once the mesh is open */
}

/* ---- liveness ---- */

/* Peeks, so that a rendezvous that waits for the same message still gets it. A goodbye is always
 * the last message of a pair, but one that was never read may stand before it; those are a
 * rendezvous that the peer has left. */
static int said_goodbye(int fd) {
    struct symm__mesh_header head;
    ssize_t n = recv(fd, &head, sizeof head, MSG_PEEK | MSG_DONTWAIT);
    return n >= (ssize_t)sizeof head && head.magic == SYMM__MESH_MAGIC &&
           head.kind == SYMM__MESH_BYE;
}

/* The socket has ended. A process that dies closes it just before its pidfd tells, so that is given
 * a moment; one that goes on living has left, even if messages that nobody read hide its goodbye.
 */
static int lives_on(const struct symm__peer *p) {
    struct pollfd watched = {p->pidfd, POLLIN, 0};
    return p->pidfd >= 0 && poll(&watched, 1, SYMM_WAIT_SLICE_MS) == 0;
}

static int fail_gone(const struct symm__mesh *mesh, int peer, const char *op, int channel) {
    const struct symm__peer *p = &mesh->peers[peer];
    struct symm__where where = {op, mesh->group, mesh->rank, peer, channel, -1};
    /* Acquire: pairs with the release in unset_group_info. */
    if (atomic_load_explicit(mesh->ended, memory_order_acquire)) {
        where.peer = -1;
        return symm__fail_at(&where, SYMM_ECLOSED, "the group has ended on this rank");
    }
    if (said_goodbye(p->fd) || lives_on(p)) {
        return symm__fail_at(&where, SYMM_ECLOSED, "rank %d has left the group", peer);
    }
    return symm__fail_at(&where, SYMM_EPEER_DIED, "rank %d (pid %d) has ended", peer, (int)p->pid);
}

int symm__mesh_check_peer(const struct symm__mesh *mesh, int peer, const char *op, int channel) {
    const struct symm__peer *p = &mesh->peers[peer];
    if (p->fd < 0) return SYMM_OK;
    struct pollfd watched[2] = {{p->fd, POLLRDHUP, 0}, {p->pidfd, POLLIN, 0}};
    if (poll(watched, p->pidfd >= 0 ? 2 : 1, 0) <= 0) return SYMM_OK;
    int hung_up = watched[0].revents & (POLLRDHUP | POLLHUP | POLLERR);
    int exited = p->pidfd >= 0 && (watched[1].revents & POLLIN);
    return hung_up || exited ? fail_gone(mesh, peer, op, channel) : SYMM_OK;
}

/* ---- exchange ---- */

struct exchange {
    struct symm__mesh *mesh;
    const struct symm__mesh_message *mine;
    char *all;
    int *all_fds;
    const char *op;
    int64_t begun_ns;
    uint8_t *sent, *received; /* by rank */
    struct pollfd *watched;
};

static int fail_early(const struct exchange *x, int peer) {
    struct symm__where where = {x->op, x->mesh->group, x->mesh->rank, peer, -1, x->mine->round};
    return symm__fail_at(&where, SYMM_EABORTED, "rank %d has given this rendezvous up", peer);
}

static int fail_size(const struct exchange *x, int peer, int size) {
    struct symm__where where = {x->op, x->mesh->group, x->mesh->rank, peer, -1, x->mine->round};
    return symm__fail_at(&where, SYMM_EMISMATCH,
                         "rank %d sent %d bytes where %zu belong: is it another version?", peer,
                         size, x->mine->size);
}

/* Reads what has come from one peer until its message of this exchange is there. */
static int receive_from(struct exchange *x, int peer) {
    char payload[SYMM__MESH_PAYLOAD_MAX];
    struct symm__mesh_header head;
    int fds[SYMM__MESH_FDS];
    while (!x->received[peer]) {
        int n = symm__mesh_receive(x->mesh->peers[peer].fd, &head, payload, sizeof payload, fds);
        if (n == SYMM__MESH_NOTHING) return SYMM_OK;
        if (n == SYMM__MESH_ENDED) return fail_gone(x->mesh, peer, x->op, -1);
        if (n == SYMM__MESH_NO_ROOM) {
            close_fds(fds);
            return symm__fail_errno(EMFILE, "no descriptor is left for the block of rank %d", peer);
        }
        int same_round = head.round == x->mine->round;
        if (same_round && head.kind == x->mine->kind && (size_t)n == x->mine->size) {
            memcpy(x->all + (size_t)peer * x->mine->size, payload, (size_t)n);
            if (x->all_fds)
                memcpy(x->all_fds + peer * SYMM__MESH_FDS, fds, sizeof fds);
            else
                close_fds(fds);
            x->received[peer] = 1;
            return SYMM_OK;
        }
        close_fds(fds);
        if (head.kind == SYMM__MESH_BYE) {
            struct symm__where where = {x->op, x->mesh->group, x->mesh->rank, peer, -1, -1};
            return symm__fail_at(&where, SYMM_ECLOSED, "rank %d has left the group", peer);
        }
        if (same_round && head.kind == x->mine->kind) return fail_size(x, peer, n);
        if ((int32_t)(head.round - x->mine->round) > 0) return fail_early(x, peer);
        if (same_round) return fail_early(x, peer); /* DONE where RECORD was due */
    }
    return SYMM_OK;
}

/* Sends and receives whatever is possible now; gives the number of peers still unfinished. */
static int step(struct exchange *x, int *left_out) {
    int left = 0;
    for (int p = 0; p < x->mesh->world_size; p++) {
        if (p == x->mesh->rank) continue;
        if (!x->sent[p]) {
            int n = symm__mesh_send(x->mesh->peers[p].fd, x->mine);
            if (n < 0) return fail_gone(x->mesh, p, x->op, -1);
            x->sent[p] = n > 0;
        }
        int rc = receive_from(x, p);
        if (rc < 0) return rc;
        left += !x->sent[p] || !x->received[p];
    }
    *left_out = left;
    return SYMM_OK;
}

static int fail_late(const struct exchange *x) {
    return symm__fail_missing(x->mesh, x->received, x->op, "did not come", x->begun_ns);
}

static int wait_for_peers(struct exchange *x, int64_t deadline_ns) {
    nfds_t count = 0;
    /* Acquire: pairs with the release in unset_group_info. */
    if (atomic_load_explicit(x->mesh->ended, memory_order_acquire)) {
        return fail_gone(x->mesh, x->mesh->rank, x->op, -1);
    }
    for (int p = 0; p < x->mesh->world_size; p++) {
        if (p == x->mesh->rank || (x->sent[p] && x->received[p])) continue;
        short events = (short)((x->sent[p] ? 0 : POLLOUT) | (x->received[p] ? 0 : POLLIN));
        x->watched[count++] = (struct pollfd){x->mesh->peers[p].fd, events, 0};
    }
    int ms = (int)symm__deadline_left_ms(deadline_ns, SYMM_WAIT_SLICE_MS);
    if (ms == 0) return fail_late(x);
    if (poll(x->watched, count, ms) == 0) { /* a quiet slice: the sockets may outlive a process */
        for (int p = 0; p < x->mesh->world_size; p++) {
            int rc = x->received[p] ? SYMM_OK : symm__mesh_check_peer(x->mesh, p, x->op, -1);
            if (rc < 0) return rc;
        }
    }
    return symm__wait_poll();
}

int symm__mesh_exchange(struct symm__mesh *mesh, const struct symm__mesh_message *mine, void *all,
                        int *all_fds, const char *op, int64_t deadline_ns) {
    size_t world = (size_t)mesh->world_size;
    struct exchange x = {mesh, mine, all, all_fds, op, symm_now_ns(), NULL, NULL, NULL};
    int left = 0, rc = SYMM_OK;
    x.sent = calloc(world, 2);
    x.watched = calloc(world, sizeof *x.watched);
    if (!x.sent || !x.watched) {
        rc = symm__fail_oom(world * sizeof *x.watched);
        goto out;
    }
    x.received = x.sent + world;
    x.received[mesh->rank] = 1;
    for (size_t i = 0; all_fds && i < world * SYMM__MESH_FDS; i++) all_fds[i] = -1;
    memcpy(x.all + (size_t)mesh->rank * mine->size, mine->data, mine->size);
    if (all_fds && mine->fds) {
        memcpy(all_fds + mesh->rank * SYMM__MESH_FDS, mine->fds, SYMM__MESH_FDS * sizeof(int));
    }
    while ((rc = step(&x, &left)) == SYMM_OK && left > 0) {
        rc = wait_for_peers(&x, deadline_ns);
        if (rc < 0) break;
    }
out:
    free(x.sent);
    free(x.watched);
    return rc;
}
