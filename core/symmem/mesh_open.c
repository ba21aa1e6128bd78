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
#include "symmem/host_identity.h"
#include "symmem/mesh_wire.h"

#define TOKEN_TEXT_SIZE 33
#define HELLO_PATIENCE_MS 1000

struct opening {
    struct symm__mesh *mesh;
    symm_store *store;
    int64_t begun_ns;
    int64_t deadline_ns;
    char token[TOKEN_TEXT_SIZE];
};

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

static struct symm__where where_of(const struct symm__mesh *mesh, int peer) {
    return (struct symm__where){"rendezvous", mesh->group, mesh->rank, peer, -1, -1};
}

static int fail(const struct opening *o, int peer, int code, const char *text) {
    struct symm__where where = where_of(o->mesh, peer);
    return symm__fail_at(&where, code, "%s", text);
}

static int64_t left_ms(const struct opening *o) {
    int64_t left = symm__deadline_left_ms(o->deadline_ns, INT64_MAX);
    return o->deadline_ns == SYMM__NEVER ? SYMM_TIMEOUT_NONE : left > 0 ? left : 1;
}

/* ---- token ---- */

static int draw_token(struct opening *o) {
    uint8_t random[(TOKEN_TEXT_SIZE - 1) / 2];
    int rc = symm__random_bytes(random, sizeof random);
    if (rc < 0) return rc;
    for (size_t i = 0; i < sizeof random; i++) snprintf(o->token + 2 * i, 3, "%02x", random[i]);
    return symm_store_set(o->store, symm_slice_of("token"), symm_slice_of(o->token));
}

static int agree_on_token(struct opening *o) {
    int64_t turn = 0;
    struct symm_bytes token;
    int rc = symm_store_add(o->store, symm_slice_of("turn"), 1, &turn);
    if (rc < 0) return rc;
    if (turn == 1) return draw_token(o);
    rc = symm_store_get(o->store, symm_slice_of("token"), left_ms(o), &token);
    if (rc < 0) return rc;
    if (token.size != TOKEN_TEXT_SIZE - 1) {
        rc = fail(o, -1, SYMM_EMISMATCH, "the store's token of this group has the wrong length");
    } else {
        memcpy(o->token, token.data, TOKEN_TEXT_SIZE);
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

static void socket_name(const struct opening *o, int rank, char *name, size_t size) {
    snprintf(name, size, "symm-%s-%d", o->token, rank);
}

static int new_socket(void) {
    return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

static void rank_key(int rank, char *key, size_t size) { snprintf(key, size, "rank/%d", rank); }

static int fail_taken(const struct opening *o) {
    char text[128];
    snprintf(text, sizeof text,
             "rank %d has joined this group already: another process has the same rank",
             o->mesh->rank);
    return fail(o, -1, SYMM_EEXISTS, text);
}

static int listen_as_rank(struct opening *o) {
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
static int publish_record(struct opening *o) {
    char key[32], identity_text[160], record[256];
    struct symm__host_identity identity;
    symm__host_identity_read(&identity);
    symm__host_identity_print(&identity, identity_text, sizeof identity_text);
    snprintf(record, sizeof record, "%d %s", o->mesh->world_size, identity_text);
    rank_key(o->mesh->rank, key, sizeof key);
    return symm_store_set(o->store, symm_slice_of(key), symm_slice_of(record));
}

/* ---- everybody's record ---- */

static int has_record(struct opening *o, int rank) {
    char key[32];
    int there = 0;
    rank_key(rank, key, sizeof key);
    struct symm_slice slice = symm_slice_of(key);
    return symm_store_check(o->store, &slice, 1, &there) < 0 || there;
}

/* Names the ranks without a record or, once connecting has begun, without a connection. */
static int fail_missing(struct opening *o, int connecting) {
    int world = o->mesh->world_size;
    uint8_t *present = calloc((size_t)world, 1);
    if (!present) return symm__fail_oom((size_t)world);
    for (int r = 0; r < world; r++) {
        present[r] =
            r == o->mesh->rank || (connecting ? o->mesh->peers[r].fd >= 0 : has_record(o, r));
    }
    int rc = symm__fail_missing(o->mesh, present, "rendezvous", "did not join", o->begun_ns);
    free(present);
    return rc;
}

static int check_record(const struct opening *o, int rank, int world_size,
                        const struct symm__host_identity *theirs,
                        const struct symm__host_identity *mine) {
    struct symm__where where = where_of(o->mesh, rank);
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

static int read_record(struct opening *o, int rank, const struct symm__host_identity *mine) {
    char key[32];
    int world_size = 0;
    struct symm_bytes record;
    struct symm__host_identity theirs;
    rank_key(rank, key, sizeof key);
    int rc = symm_store_get(o->store, symm_slice_of(key), left_ms(o), &record);
    if (rc == SYMM_ETIMEOUT) return fail_missing(o, 0);
    if (rc < 0) return rc;
    rc = parse_record(record.data, &world_size, &theirs);
    symm_bytes_free(&record);
    return rc < 0 ? rc : check_record(o, rank, world_size, &theirs, mine);
}

static int read_all_records(struct opening *o) {
    struct symm__host_identity mine;
    symm__host_identity_read(&mine);
    for (int r = 0; r < o->mesh->world_size; r++) {
        int rc = r == o->mesh->rank ? SYMM_OK : read_record(o, r, &mine);
        if (rc < 0) return rc;
    }
    return SYMM_OK;
}

/* ---- connections ---- */

/* The kernel's word on who is at the other end; 0 for another user. */
static int same_user(int fd, pid_t *pid_out) {
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0) return 0;
    *pid_out = peer.pid;
    return peer.uid == geteuid();
}

static void set_peer(struct symm__mesh *mesh, int rank, int fd, pid_t pid) {
    struct symm__peer *peer = &mesh->peers[rank];
    peer->fd = fd;
    peer->pid = pid;
    peer->pidfd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
}

static int pause_for(struct opening *o, int fd, short events, int peer) {
    struct pollfd watched = {fd, events, 0};
    int ms = (int)symm__deadline_left_ms(o->deadline_ns, fd < 0 ? 2 : SYMM_WAIT_SLICE_MS);
    if (ms == 0) {
        struct symm__where where = where_of(o->mesh, peer);
        if (peer < 0) return fail_missing(o, 1);
        return symm__fail_at(&where, SYMM_ETIMEOUT, "rank %d did not join within %.3f s", peer,
                             (double)(symm_now_ns() - o->begun_ns) / 1e9);
    }
    poll(&watched, fd < 0 ? 0 : 1, ms);
    return symm__wait_poll();
}

static int greet(struct opening *o, int fd) {
    struct symm__mesh_hello hello = {.magic = SYMM__MESH_MAGIC,
                                     .version = SYMM__MESH_VERSION,
                                     .rank = o->mesh->rank,
                                     .world_size = o->mesh->world_size};
    memcpy(hello.group, o->mesh->group, sizeof hello.group);
    return send(fd, &hello, sizeof hello, MSG_NOSIGNAL) == (ssize_t)sizeof hello;
}

/* Until the peer's socket takes the connection; it may not listen yet. */
static int connect_to(struct opening *o, int rank) {
    char name[80];
    struct sockaddr_un address;
    socket_name(o, rank, name, sizeof name);
    socklen_t length = socket_address(name, &address);
    for (;;) {
        int fd = new_socket();
        if (fd < 0) return symm__fail_errno(errno, "socket");
        pid_t pid = 0;
        if (connect(fd, (struct sockaddr *)&address, length) == 0) {
            if (same_user(fd, &pid) && greet(o, fd)) {
                set_peer(o->mesh, rank, fd, pid);
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
        int rc = pause_for(o, -1, 0, rank);
        if (rc < 0) return rc;
    }
}

/* Whoever connects without a right hello is a stranger: dropped, and nobody else is held up by it
 * for longer than HELLO_PATIENCE_MS. */
static int read_hello(int fd, struct symm__mesh_hello *hello) {
    struct pollfd watched = {fd, POLLIN, 0};
    if (poll(&watched, 1, HELLO_PATIENCE_MS) <= 0) return 0;
    return recv(fd, hello, sizeof *hello, MSG_DONTWAIT) == (ssize_t)sizeof *hello &&
           hello->magic == SYMM__MESH_MAGIC;
}

static int check_hello(struct opening *o, const struct symm__mesh_hello *hello) {
    struct symm__mesh *mesh = o->mesh;
    struct symm__where where = where_of(mesh, hello->rank);
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

static int accept_one(struct opening *o, int *joined_out) {
    struct symm__mesh_hello hello = {0};
    pid_t pid = 0;
    int fd = accept4(o->mesh->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0 && (errno == EMFILE || errno == ENFILE))
        return symm__fail_errno(errno, "accepting a rank");
    if (fd < 0) return pause_for(o, o->mesh->listen_fd, POLLIN, -1);
    if (!same_user(fd, &pid) || !read_hello(fd, &hello)) {
        symm__log(SYMM_LOG_WARN, "symmem", "dropped a stranger on the socket of group %s",
                  o->mesh->group);
        close(fd);
        return SYMM_OK;
    }
    hello.group[sizeof hello.group - 1] = '\0';
    int rc = check_hello(o, &hello);
    if (rc == SYMM_OK && o->mesh->peers[hello.rank].fd >= 0)
        rc = fail(o, hello.rank, SYMM_EEXISTS, "two processes joined with the same rank");
    if (rc < 0) {
        close(fd);
        return rc;
    }
    set_peer(o->mesh, hello.rank, fd, pid);
    (*joined_out)++;
    return SYMM_OK;
}

static int connect_all(struct opening *o) {
    int expected = o->mesh->world_size - 1 - o->mesh->rank, joined = 0, rc = SYMM_OK;
    for (int r = 0; r < o->mesh->rank && rc == SYMM_OK; r++) rc = connect_to(o, r);
    while (joined < expected && rc == SYMM_OK) rc = accept_one(o, &joined);
    return rc;
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

static int meet(struct opening *o) {
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

static int bootstrap(struct opening *o) {
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

static struct symm__mesh *new_mesh(const char *group, int rank, int world_size) {
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
    mesh->listen_fd = -1;
    mesh->round = 1; /* 0 is the READY exchange */
    mesh->peers = peers;
    for (int r = 0; r < world_size; r++) peers[r].fd = peers[r].pidfd = -1;
    return mesh;
}

int symm__mesh_open(const char *group, int rank, int world_size, symm_store *store,
                    int64_t deadline_ns, struct symm__mesh **out) {
    struct opening o = {new_mesh(group, rank, world_size), store, symm_now_ns(), deadline_ns, ""};
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
    struct symm__where where = where_of(o.mesh, -1);
    rc = symm__fail_in(&where);
    symm__mesh_close(o.mesh);
    return rc;
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
