/* SPDX-License-Identifier: MIT
 *
 * What goes wrong around symmetric memory in C: threads that race, strangers at the door, groups
 * that end in the middle, names that are used again.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <symm/symm.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "symmem/mesh.h"
#include "symmem/symmem.h"
#include "tests/support/check.h"

static symm_store *open_store(const char *host, int is_master) {
    struct symm_tcp_store_options options = SYMM_TCP_STORE_OPTIONS_INIT;
    symm_store *store = NULL;
    options.host = host;
    options.is_master = is_master;
    options.timeout_ms = 20000;
    CHECK_OK(symm_store_open_tcp(&options, &store));
    return store;
}

static symm_tensor *allocate(const char *group, int64_t alloc_id) {
    struct symm_memory_options options = SYMM_MEMORY_OPTIONS_INIT;
    symm_tensor *tensor = NULL;
    int64_t bytes = 64;
    options.group_name = group;
    options.alloc_id = alloc_id;
    int rc = symm_memory_empty_strided(&bytes, NULL, 1, SYMM_DTYPE_uint8, &options, &tensor);
    return rc < 0 ? NULL : tensor;
}

/* A group of `world` over the store: one rendezvous, one barrier, and the end. */
static void meet_once(symm_store *store, int rank, int world) {
    symm_memory *memory = NULL;
    REQUIRE_OK(symm_memory_set_group_info("g", rank, world, store, 20000));
    symm_tensor *tensor = allocate("g", -1);
    REQUIRE(tensor != NULL);
    if (CHECK_OK(symm_memory_rendezvous(tensor, NULL, 0, &memory))) {
        CHECK_OK(symm_memory_barrier(memory, 0, 0));
        symm_memory_release(memory);
    }
    symm_tensor_release(tensor);
    CHECK_OK(symm_memory_unset_group_info("g"));
}

/* member HOST RANK: in a group of two, and when that has ended in one of three under its name. */
ROLE(member) {
    int rank = atoi(argv[2]);
    symm_store *store = open_store(argv[1], rank == 0);
    if (!store) return 1;
    if (rank < 2) meet_once(store, rank, 2);
    meet_once(store, rank, 3);
    CHECK_OK(symm_store_linger(store, 20000));
    symm_store_release(store);
    return 0;
}

TEST(a_name_is_used_again_with_another_world_size) {
    pid_t pids[3];
    char host[64];
    snprintf(host, sizeof host, "@symm-fault-again-%d", (int)getpid());
    for (int r = 0; r < 3; r++) {
        char rank[2] = {(char)('0' + r), '\0'};
        pids[r] = check_spawn("member", host, rank, NULL);
    }
    for (int r = 0; r < 3; r++) CHECK_INT(check_wait(pids[r]), 0);
}

/* ---- the end of a group, from another thread ---- */

struct waiter {
    symm_tensor *tensor;
    int rc;
    struct symm_error error;
    atomic_int done;
};

static void *rendezvous_alone(void *argument) {
    struct waiter *w = argument;
    symm_memory *memory = NULL;
    w->rc = symm_memory_rendezvous(w->tensor, NULL, 0, &memory);
    w->error = *symm_last_error();
    atomic_store(&w->done, 1);
    return NULL;
}

TEST(unset_ends_a_rendezvous_that_waits_for_a_connection) {
    symm_store *store = NULL;
    pthread_t thread;
    REQUIRE_OK(symm_store_open_hash(&store));
    REQUIRE_OK(symm_memory_set_group_info("g", 0, 2, store, 50000));
    struct symm_slice key = symm_slice_of("symm_mem/g/rank/0");
    struct waiter w = {.tensor = allocate("g", -1)};
    REQUIRE(w.tensor != NULL);
    REQUIRE(pthread_create(&thread, NULL, rendezvous_alone, &w) == 0);
    REQUIRE_OK(symm_store_wait(store, &key, 1, 20000));
    struct symm_bytes mine;
    REQUIRE_OK(
        symm_store_get(store, key, 20000, &mine)); /* what rank 1 would say, but for joining */
    REQUIRE_OK(symm_store_set(store, symm_slice_of("symm_mem/g/rank/1"),
                              (struct symm_slice){mine.data, mine.size}));
    symm_bytes_free(&mine);
    usleep(20000);
    CHECK_OK(symm_memory_unset_group_info("g"));
    pthread_join(thread, NULL);
    CHECK_INT(w.rc, SYMM_ECLOSED);
    CHECK_CONTAINS(w.error.message, "the group has ended on this rank");
    symm_tensor_release(w.tensor);
    symm_store_release(store);
}

/* ---- strangers ---- */

static int connect_stranger(const char *token) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int size = snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "symm-%s-0", token);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    if (connect(fd, (struct sockaddr *)&address,
                (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)size)) == 0) {
        return fd;
    }
    close(fd);
    return -1;
}

/* joiner HOST: rank 1, behind 40 silent strangers and a babbling one. */
ROLE(joiner) {
    symm_store *store = open_store(argv[1], 0);
    struct symm_bytes token;
    int strangers[41];
    if (!store) return 1;
    CHECK_OK(symm_store_get(store, symm_slice_of("symm_mem/g/token"), 0, &token));
    for (int i = 0; i < 41; i++) {
        while ((strangers[i] = connect_stranger(token.data)) < 0) usleep(1000);
    }
    send(strangers[40], "GET / HTTP/1.0", 14, MSG_NOSIGNAL);
    symm_bytes_free(&token);
    meet_once(store, 1, 2);
    for (int i = 0; i < 41; i++) close(strangers[i]);
    symm_store_release(store);
    return 0;
}

TEST(strangers_at_the_door_hold_up_no_rank) {
    char host[64];
    snprintf(host, sizeof host, "@symm-fault-strangers-%d", (int)getpid());
    symm_store *store = open_store(host, 1);
    REQUIRE(store != NULL);
    pid_t joiner = check_spawn("joiner", host, NULL);
    meet_once(store, 0, 2); /* its 20 s would not do for a second a stranger */
    CHECK_INT(check_wait(joiner), 0);
    symm_store_release(store);
}

/* ---- races ---- */

static pthread_barrier_t start;

static void *allocate_at_once(void *argument) {
    pthread_barrier_wait(&start);
    return allocate("g", *(int64_t *)argument);
}

TEST(one_of_two_threads_gets_a_new_alloc_id) {
    pthread_barrier_init(&start, NULL, 2);
    for (int64_t id = 0; id < 50; id++) {
        pthread_t threads[2];
        void *tensors[2] = {NULL, NULL};
        for (int i = 0; i < 2; i++) {
            REQUIRE(pthread_create(&threads[i], NULL, allocate_at_once, &id) == 0);
        }
        for (int i = 0; i < 2; i++) pthread_join(threads[i], &tensors[i]);
        CHECK_INT((tensors[0] != NULL) + (tensors[1] != NULL), 1);
        symm_tensor_release(tensors[0] ? tensors[0] : tensors[1]);
    }
    pthread_barrier_destroy(&start);
}

static atomic_int unset_count;

static void *unset_at_once(void *argument) {
    (void)argument;
    pthread_barrier_wait(&start);
    if (symm_memory_unset_group_info("g") == SYMM_OK) atomic_fetch_add(&unset_count, 1);
    return NULL;
}

TEST(one_of_two_threads_ends_a_group) {
    symm_store *store = NULL;
    REQUIRE_OK(symm_store_open_hash(&store));
    pthread_barrier_init(&start, NULL, 2);
    for (int round = 0; round < 50; round++) {
        pthread_t threads[2];
        REQUIRE_OK(symm_memory_set_group_info("g", 0, 1, store, 0));
        for (int i = 0; i < 2; i++) {
            REQUIRE(pthread_create(&threads[i], NULL, unset_at_once, NULL) == 0);
        }
        for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
        CHECK_INT(atomic_load(&unset_count), round + 1);
    }
    pthread_barrier_destroy(&start);
    symm_store_release(store);
}

/* ---- groups ---- */

TEST(destroy_all_ends_whatever_it_is_given) {
    struct symm_group_options options = SYMM_GROUP_OPTIONS_INIT;
    symm_group *group = NULL;
    symm_store *store = NULL;
    REQUIRE_OK(symm_store_open_hash(&store));
    options.store = store;
    options.rank = 0;
    options.world_size = 1;
    REQUIRE_OK(symm_group_init(&options, &group));
    CHECK_FAILS(symm_group_destroy_all(-2), SYMM_EINVALID, "-2");
    pid_t pid = fork();
    if (pid == 0) _exit(symm_group_destroy_all(0) == SYMM_EUNSUPPORTED ? 42 : 1);
    int status = 0;
    REQUIRE(waitpid(pid, &status, 0) == pid);
    CHECK_INT(WEXITSTATUS(status), 42);
    CHECK_OK(symm_group_destroy_all(0));
    CHECK_OK(symm_group_destroy_all(0));
    CHECK_FAILS(symm_group_barrier(group, 0), SYMM_EDESTROYED, "destroyed");
    symm_group_release(group);
    symm_store_release(store);
}
