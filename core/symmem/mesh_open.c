/* SPDX-License-Identifier: MIT
 *
 * How a mesh comes to be; the steps are told in NOTE mesh (mesh.h).
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/deadline.h"
#include "base/error.h"
#include "base/log.h"
#include "store/store.h"
#include "symmem/host_identity.h"
#include "symmem/mesh_opening.h"

/* How long leaving a group may wait for its store. */
#define FORGET_MS 1000
/* How long a record that does not fit is taken for an earlier group's. */
#define STALE_MS 1000

/* What each rank tells all once it is connected to all. */
struct ready {
    uint8_t process[SYMM__PROCESS_ID_SIZE];
    uint8_t cpus[SYMM__CPU_MASK_BYTES];
    int32_t quota;
};

static uint8_t process_id[SYMM__PROCESS_ID_SIZE];
static pthread_once_t process_id_once = PTHREAD_ONCE_INIT;

static void draw_process_id(void) {
    if (symm__random_bytes(process_id, sizeof process_id) <
        0) { /* no entropy: still unlike others */
        pid_t pid = getpid();
        int64_t now = symm_now_ns();
        memcpy(process_id, &pid, sizeof pid);
        memcpy(process_id + 8, &now, sizeof now);
    }
}

const uint8_t *symm__process_id(void) {
    pthread_once(&process_id_once, draw_process_id);
    return process_id;
}

static int fail(const struct symm__opening *o, int peer, int code, const char *text) {
    struct symm__where where = symm__mesh_where(o->mesh, peer);
    return symm__fail_at(&where, code, "%s", text);
}

static int64_t left_ms(const struct symm__opening *o) {
    int64_t left = symm__deadline_left_ms(o->deadline_ns, INT64_MAX);
    return o->deadline_ns == SYMM__NEVER ? SYMM_TIMEOUT_NONE : left > 0 ? left : 1;
}

/* ---- waiting ---- */

int symm__mesh_opening_poll(const struct symm__opening *o) {
    struct symm__where where = symm__mesh_where(o->mesh, -1);
    /* Acquire: pairs with the release in unset_group_info. */
    if (atomic_load_explicit(o->mesh->ended, memory_order_acquire)) {
        return symm__fail_at(&where, SYMM_ECLOSED, "the group has ended on this rank");
    }
    return symm__wait_poll();
}

/* A moment between two tries. */
static int pause_before(struct symm__opening *o, int rank) {
    struct symm__where where = symm__mesh_where(o->mesh, rank);
    int64_t ms = symm__deadline_left_ms(o->deadline_ns, 2);
    if (ms == 0) {
        return symm__fail_at(&where, SYMM_ETIMEOUT, "rank %d did not join within %.3f s", rank,
                             (double)(symm_now_ns() - o->begun_ns) / 1e9);
    }
    symm__sleep_ms(ms);
    return symm__mesh_opening_poll(o);
}

/* ---- who is missing ---- */

static void rank_key(int rank, char *key, size_t size) { snprintf(key, size, "rank/%d", rank); }

static int has_record(struct symm__opening *o, int rank) {
    char key[32];
    int there = 0;
    rank_key(rank, key, sizeof key);
    struct symm_slice slice = symm_slice_of(key);
    return symm_store_check(o->store, &slice, 1, &there) < 0 || there;
}

/* Names the ranks without a record. */
static int fail_missing(struct symm__opening *o) {
    int world = o->mesh->world_size;
    uint8_t *present = calloc((size_t)world, 1);
    if (!present) return symm__fail_oom((size_t)world);
    for (int r = 0; r < world; r++) present[r] = r == o->mesh->rank || has_record(o, r);
    int rc = symm__fail_missing(o->mesh, present, "rendezvous", "did not join", o->begun_ns);
    free(present);
    return rc;
}

/* ---- token ---- */

static int draw_token(struct symm__opening *o) {
    uint8_t random[(SYMM__TOKEN_TEXT_SIZE - 1) / 2];
    int rc = symm__random_bytes(random, sizeof random);
    if (rc < 0) return rc;
    for (size_t i = 0; i < sizeof random; i++) snprintf(o->token + 2 * i, 3, "%02x", random[i]);
    return symm_store_set(o->store, symm_slice_of("token"), symm_slice_of(o->token));
}

/* Whoever had the turn did not set the token, this rank or one that is gone: the next try draws. */
static int give_turn_back(struct symm__opening *o) {
    struct symm_error kept = *symm_last_error();
    int deleted = 0;
    if (kept.code == SYMM_ENETWORK) return kept.code;
    symm_store_delete_key(o->store, symm_slice_of("turn"), &deleted);
    return kept.code == SYMM_ETIMEOUT ? fail_missing(o) : symm__fail_with(&kept);
}

static int agree_on_token(struct symm__opening *o) {
    int64_t turn = 0;
    struct symm_bytes token;
    int rc = symm_store_add(o->store, symm_slice_of("turn"), 1, &turn);
    if (rc < 0) return rc;
    if (turn == 1)
        rc = draw_token(o);
    else
        rc = symm_store_get(o->store, symm_slice_of("token"), left_ms(o), &token);
    if (rc < 0) return give_turn_back(o);
    if (turn == 1) return rc;
    if (token.size != SYMM__TOKEN_TEXT_SIZE - 1) {
        rc = fail(o, -1, SYMM_EMISMATCH, "the store's token of this group has the wrong length");
    } else {
        memcpy(o->token, token.data, SYMM__TOKEN_TEXT_SIZE);
    }
    symm_bytes_free(&token);
    return rc;
}

/* ---- names and claims ---- */

static socklen_t socket_address(const char *name, struct sockaddr_un *address) {
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "%s", name);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
}

static void socket_name(const struct symm__opening *o, int rank, char *name, size_t size) {
    snprintf(name, size, "symm-%s-%d", o->token, rank);
}

static int new_socket(void) {
    return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

static int fail_taken(const struct symm__opening *o) {
    char text[128];
    snprintf(text, sizeof text,
             "rank %d has joined this group already: another process has the same rank",
             o->mesh->rank);
    return fail(o, -1, SYMM_EEXISTS, text);
}

static int listen_as_rank(struct symm__opening *o) {
    struct sockaddr_un address;
    char name[80];
    int fd = new_socket();
    if (fd < 0) return symm__fail_errno(errno, "socket");
    o->mesh->listen_fd = fd;
    socket_name(o, o->mesh->rank, name, sizeof name);
    socklen_t length = socket_address(name, &address);
    if (bind(fd, (struct sockaddr *)&address, length) < 0) {
        return errno == EADDRINUSE ? fail_taken(o) : symm__fail_errno(errno, "bind @%s", name);
    }
    if (listen(fd, SOMAXCONN) < 0) return symm__fail_errno(errno, "listen @%s", name);
    return SYMM_OK;
}

/* A record is "world_size host-identity". */
static int publish_record(struct symm__opening *o) {
    char key[32], identity_text[160], record[256];
    struct symm__host_identity identity;
    symm__host_identity_read(&identity);
    symm__host_identity_print(&identity, identity_text, sizeof identity_text);
    snprintf(record, sizeof record, "%d %s", o->mesh->world_size, identity_text);
    rank_key(o->mesh->rank, key, sizeof key);
    return symm_store_set(o->store, symm_slice_of(key), symm_slice_of(record));
}

/* ---- everybody's record ---- */

static int check_record(const struct symm__opening *o, int rank, int world_size,
                        const struct symm__host_identity *theirs,
                        const struct symm__host_identity *mine) {
    struct symm__where where = symm__mesh_where(o->mesh, rank);
    if (world_size != o->mesh->world_size) {
        return symm__fail_at(&where, SYMM_EMISMATCH,
                             "rank %d joins with world_size %d, this rank with %d", rank,
                             world_size, o->mesh->world_size);
    }
    if (symm__host_identity_same(mine, theirs)) return SYMM_OK;
    return symm__fail_at(&where, SYMM_EUNSUPPORTED,
                         "rank %d is on host %s and this rank on %s: shared memory needs one host, "
                         "with one network namespace",
                         rank, theirs->host_name, mine->host_name);
}

static int parse_record(const char *text, int *world_size, struct symm__host_identity *identity) {
    int end = 0;
    if (sscanf(text, "%d %n", world_size, &end) < 1) {
        return symm__fail(SYMM_EMISMATCH, "'%.100s' is not a rank's record", text);
    }
    return symm__host_identity_parse(text + end, identity);
}

static int read_record_once(struct symm__opening *o, int rank,
                            const struct symm__host_identity *mine) {
    char key[32];
    int world_size = 0;
    struct symm_bytes record;
    struct symm__host_identity theirs;
    rank_key(rank, key, sizeof key);
    int rc = symm_store_get(o->store, symm_slice_of(key), left_ms(o), &record);
    if (rc == SYMM_ETIMEOUT) return fail_missing(o);
    if (rc < 0) return rc;
    rc = parse_record(record.data, &world_size, &theirs);
    symm_bytes_free(&record);
    return rc < 0 ? rc : check_record(o, rank, world_size, &theirs, mine);
}

/* A record that does not fit may be of an earlier group of this name, which its rank has not left
 * yet: it gets a moment to do so. */
static int read_record(struct symm__opening *o, int rank, const struct symm__host_identity *mine) {
    int64_t until = symm_now_ns() + (int64_t)STALE_MS * 1000000;
    int rc = read_record_once(o, rank, mine);
    while ((rc == SYMM_EMISMATCH || rc == SYMM_EUNSUPPORTED) && !symm__deadline_passed(until)) {
        struct symm_error misfit = *symm_last_error();
        rc = pause_before(o, rank);
        if (rc == SYMM_ETIMEOUT) return symm__fail_with(&misfit);
        if (rc == SYMM_OK) rc = read_record_once(o, rank, mine);
    }
    return rc;
}

static int read_all_records(struct symm__opening *o) {
    struct symm__host_identity mine;
    symm__host_identity_read(&mine);
    for (int r = 0; r < o->mesh->world_size; r++) {
        int rc = r == o->mesh->rank ? SYMM_OK : read_record(o, r, &mine);
        if (rc < 0) return rc;
    }
    return SYMM_OK;
}

/* ---- connections ---- */

static int greet(struct symm__opening *o, int fd) {
    struct symm__mesh_hello hello = {.magic = SYMM__MESH_MAGIC,
                                     .version = SYMM__MESH_VERSION,
                                     .rank = o->mesh->rank,
                                     .world_size = o->mesh->world_size};
    memcpy(hello.group, o->mesh->group, sizeof hello.group);
    return send(fd, &hello, sizeof hello, MSG_NOSIGNAL) == (ssize_t)sizeof hello;
}

/* Until the peer's socket takes the connection; it may not listen yet. */
static int connect_to(struct symm__opening *o, int rank) {
    char name[80];
    struct sockaddr_un address;
    socket_name(o, rank, name, sizeof name);
    socklen_t length = socket_address(name, &address);
    for (;;) {
        int fd = new_socket();
        if (fd < 0) return symm__fail_errno(errno, "socket");
        pid_t pid = 0;
        if (connect(fd, (struct sockaddr *)&address, length) == 0) {
            if (symm__mesh_same_user(fd, &pid) && greet(o, fd)) {
                symm__mesh_set_peer(o->mesh, rank, fd, pid);
                return SYMM_OK;
            }
            close(fd);
            return fail(o, rank, SYMM_ENETWORK,
                        "the peer's socket belongs to another user or broke");
        }
        int error = errno;
        close(fd);
        if (error != ECONNREFUSED && error != EAGAIN && error != EINTR) {
            return symm__fail_errno(error, "connecting to rank %d at @%s", rank, name);
        }
        int rc = pause_before(o, rank);
        if (rc < 0) return rc;
    }
}

static int connect_all(struct symm__opening *o) {
    int rc = SYMM_OK;
    for (int r = 0; r < o->mesh->rank && rc == SYMM_OK; r++) rc = connect_to(o, r);
    return rc == SYMM_OK ? symm__mesh_accept_all(o) : rc;
}

/* ---- ready ---- */

static int count_cpus(const struct ready *all, int world_size) {
    int cpus = 0, quota = 0;
    for (int byte = 0; byte < SYMM__CPU_MASK_BYTES; byte++) {
        unsigned together = 0;
        for (int r = 0; r < world_size; r++) together |= all[r].cpus[byte];
        cpus += __builtin_popcount(together);
    }
    for (int r = 0; r < world_size; r++) {
        if (all[r].quota > 0 && (quota == 0 || all[r].quota < quota)) quota = all[r].quota;
    }
    return quota > 0 && quota < cpus ? quota : cpus;
}

static int meet(struct symm__opening *o) {
    struct symm__mesh *mesh = o->mesh;
    struct ready mine;
    struct ready *all = calloc((size_t)mesh->world_size, sizeof *all);
    if (!all) return symm__fail_oom((size_t)mesh->world_size * sizeof *all);
    memcpy(mine.process, symm__process_id(), sizeof mine.process);
    symm__cpu_mask_read(mine.cpus);
    mine.quota = symm__cpu_quota();
    struct symm__mesh_message message = {SYMM__MESH_READY, 0, &mine, sizeof mine, NULL};
    int rc = symm__mesh_exchange(mesh, &message, all, NULL, "rendezvous", o->deadline_ns);
    for (int r = 0; rc == SYMM_OK && r < mesh->world_size; r++) {
        memcpy(mesh->peers[r].process, all[r].process, sizeof all[r].process);
    }
    if (rc == SYMM_OK) mesh->oversubscribed = mesh->world_size > count_cpus(all, mesh->world_size);
    free(all);
    return rc;
}

static int bootstrap(struct symm__opening *o) {
    int rc = agree_on_token(o);
    if (rc == SYMM_OK) rc = listen_as_rank(o);
    if (rc == SYMM_OK) rc = publish_record(o);
    if (rc == SYMM_OK) rc = read_all_records(o);
    if (rc == SYMM_OK) rc = connect_all(o);
    if (rc < 0) return rc;
    /* Keeps the name, refuses connections: they can only be of a later group of this name. */
    shutdown(o->mesh->listen_fd, SHUT_RDWR);
    return meet(o);
}

static struct symm__mesh *new_mesh(const char *group, int rank, int world_size,
                                   const atomic_int *ended) {
    struct symm__mesh *mesh = calloc(1, sizeof *mesh);
    struct symm__peer *peers = calloc((size_t)world_size, sizeof *peers);
    if (!mesh || !peers) {
        free(mesh);
        free(peers);
        return NULL;
    }
    snprintf(mesh->group, sizeof mesh->group, "%s", group);
    mesh->rank = rank;
    mesh->world_size = world_size;
    mesh->ended = ended;
    mesh->listen_fd = -1;
    mesh->round = 1; /* 0 is the READY exchange */
    mesh->peers = peers;
    for (int r = 0; r < world_size; r++) peers[r].fd = peers[r].pidfd = -1;
    return mesh;
}

int symm__mesh_open(const char *group, int rank, int world_size, symm_store *store,
                    const atomic_int *ended, int64_t deadline_ns, struct symm__mesh **out) {
    struct symm__opening o = {new_mesh(group, rank, world_size, ended), store, symm_now_ns(),
                              deadline_ns, ""};
    if (!o.mesh) return symm__fail_oom((size_t)world_size * sizeof(struct symm__peer));
    int rc = SYMM_OK;
    if (world_size > 1) {
        rc = bootstrap(&o);
    } else {
        memcpy(o.mesh->peers[0].process, symm__process_id(), SYMM__PROCESS_ID_SIZE);
    }
    if (rc == SYMM_OK) {
        *out = o.mesh;
        return rc;
    }
    struct symm__where where = symm__mesh_where(o.mesh, -1);
    rc = symm__fail_in(&where);
    symm__mesh_close(o.mesh);
    return rc;
}

void symm__mesh_forget(int rank, symm_store *store) {
    char key[32];
    int deleted = 0;
    rank_key(rank, key, sizeof key);
    int64_t deadline = symm_now_ns() + (int64_t)FORGET_MS * 1000000;
    if (store->ops->delete_key(store, symm_slice_of(key), deadline, &deleted) < 0) {
        symm__log(SYMM_LOG_DEBUG, "symmem", "the record of rank %d stays in the store: %s", rank,
                  symm_last_error()->message);
    }
}

void symm__mesh_close(struct symm__mesh *mesh) {
    if (!mesh) return;
    symm__mesh_leave(mesh);
    for (int r = 0; r < mesh->world_size; r++) {
        if (mesh->peers[r].fd >= 0) close(mesh->peers[r].fd);
        if (mesh->peers[r].pidfd >= 0) close(mesh->peers[r].pidfd);
    }
    free(mesh->peers);
    free(mesh);
}
