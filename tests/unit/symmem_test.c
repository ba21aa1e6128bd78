/* SPDX-License-Identifier: MIT
 *
 * Symmetric memory between processes, from C: what the contract spec cannot reach, and its main
 * flows once more where sanitizers look. Each test starts the role `rank` as often as it has ranks,
 * with the name of a scenario.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <symm/symm.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "symmem/host_identity.h"
#include "symmem/mesh_wire.h"
#include "symmem/symmem.h"
#include "tests/support/check.h"

struct rank {
    int rank, world;
    symm_store *store;
    symm_tensor *tensor;
    symm_memory *memory;
};

typedef void scenario(struct rank *r);

static void open_block(struct rank *r, int64_t bytes) {
    struct symm_memory_options options = SYMM_MEMORY_OPTIONS_INIT;
    options.group_name = "g";
    REQUIRE_OK(symm_memory_empty_strided(&bytes, NULL, 1, SYMM_DTYPE_uint8, &options, &r->tensor));
    REQUIRE_OK(symm_memory_rendezvous(r->tensor, NULL, 0, &r->memory));
}

static void close_block(struct rank *r) {
    symm_memory_release(r->memory);
    symm_tensor_release(r->tensor);
    r->memory = NULL;
    r->tensor = NULL;
}

/* ---- scenarios ---- */

/* A one-shot all-reduce over raw pointers and slots of the pad. */
static void reduces_over_pointers(struct rank *r) {
    open_block(r, 4096 * 4);
    uint32_t *mine = symm_memory_buffer_ptrs(r->memory)[r->rank];
    for (int i = 0; i < 4096; i++) mine[i] = (uint32_t)(i + r->rank);
    for (int p = 0; p < r->world; p++) {
        _Atomic uint32_t *slot = (_Atomic uint32_t *)symm_memory_signal_pad_ptrs(r->memory)[p];
        atomic_store_explicit(&slot[r->rank], 1, memory_order_release);
    }
    for (int p = 0; p < r->world; p++) {
        CHECK_OK(symm_memory_wait_signal(r->memory, p, 0, 0));
    }
    uint32_t wrong = 0;
    for (int i = 0; i < 4096; i++) {
        uint32_t sum = 0;
        for (int p = 0; p < r->world; p++) {
            sum += ((uint32_t *)symm_memory_buffer_ptrs(r->memory)[p])[i];
        }
        wrong += sum != (uint32_t)(i * r->world + r->world * (r->world - 1) / 2);
    }
    CHECK_UINT(wrong, 0);
    CHECK_OK(symm_memory_barrier(r->memory, 0, 0));
    close_block(r);
}

static void makes_many_blocks(struct rank *r) {
    for (int i = 0; i < 50; i++) {
        open_block(r, 1 + i * 1000);
        CHECK_OK(symm_memory_barrier(r->memory, i, 0));
        close_block(r);
    }
}

/* Long sleeps on both sides of a slot: the futex path. */
static void sleeps_and_wakes(struct rank *r) {
    open_block(r, 64);
    for (int i = 0; i < 6; i++) {
        if ((i + r->rank) % 2 == 0) {
            usleep(30000);
            CHECK_OK(symm_memory_put_signal(r->memory, 1 - r->rank, 0, 0));
        } else {
            CHECK_OK(symm_memory_wait_signal(r->memory, 1 - r->rank, 0, 0));
        }
    }
    CHECK_OK(symm_memory_put_signal(r->memory, 1 - r->rank, 1, 0));
    if (r->rank == 0) usleep(60000);
    CHECK_OK(symm_memory_wait_signal(r->memory, 1 - r->rank, 1, 0));
    CHECK_OK(symm_memory_put_signal(r->memory, 1 - r->rank, 1, 0)); /* sleeps for the wait above */
    CHECK_OK(symm_memory_wait_signal(r->memory, 1 - r->rank, 1, 0));
    CHECK_OK(symm_memory_barrier(r->memory, 0, 0));
    const char *front = r->memory->views[r->rank].front;
    for (int64_t at = r->memory->front.pad; at < r->memory->front.barrier; at += 4) {
        CHECK_UINT(*(const uint32_t *)(const void *)(front + at),
                   0); /* slots and sleepers at rest */
    }
    CHECK_OK(symm_memory_barrier(r->memory, 0, 0));
    close_block(r);
}

static void dies_in_a_barrier(struct rank *r) {
    open_block(r, 64);
    CHECK_OK(symm_memory_barrier(r->memory, 0, 0));
    if (r->rank == 1) raise(SIGKILL);
    CHECK_FAILS(symm_memory_barrier(r->memory, 0, 0), SYMM_EPEER_DIED, "rank 1 (pid");
    CHECK_INT(symm_last_error()->peer, 1);
    CHECK_FAILS(symm_memory_wait_signal(r->memory, 1, 0, 0), SYMM_EPEER_DIED, "rank 1");
    CHECK_OK(symm_memory_put_signal(r->memory, 1, 0, 0)); /* its memory is still there */
    CHECK_FAILS(symm_memory_put_signal(r->memory, 1, 0, 0), SYMM_EPEER_DIED, "rank 1");
    close_block(r);
}

static void dies_before_a_rendezvous(struct rank *r) {
    open_block(r, 64);
    CHECK_OK(symm_memory_barrier(r->memory, 0, 0));
    if (r->rank == 1) raise(SIGKILL);
    close_block(r);
    int64_t bytes = 64;
    struct symm_memory_options options = SYMM_MEMORY_OPTIONS_INIT;
    options.group_name = "g";
    REQUIRE_OK(symm_memory_empty_strided(&bytes, NULL, 1, SYMM_DTYPE_uint8, &options, &r->tensor));
    symm_memory *memory = NULL;
    CHECK_FAILS(symm_memory_rendezvous(r->tensor, NULL, 0, &memory), SYMM_EPEER_DIED, "rank 1");
    CHECK_NULL(memory);
    symm_tensor_release(r->tensor);
}

/* A signal of a rank that then ends is still taken. */
static void signals_and_leaves(struct rank *r) {
    open_block(r, 64);
    if (r->rank == 0) {
        CHECK_OK(symm_memory_put_signal(r->memory, 1, 0, 0));
        close_block(r);
        return;
    }
    while (symm__mesh_check_peer(r->memory->info->mesh, 0, "test", 0) == SYMM_OK) usleep(1000);
    CHECK_INT(symm_last_error()->code, SYMM_ECLOSED);
    CHECK_OK(symm_memory_wait_signal(r->memory, 0, 0, 0));
    CHECK_FAILS(symm_memory_wait_signal(r->memory, 0, 0, 0), SYMM_ECLOSED, "rank 0 has left");
    close_block(r);
}

/* One rank is out of memory: it knows which limit, the others know which rank. */
static void one_rank_cannot_map_its_pad(struct rank *r) {
    symm_store *store = NULL;
    REQUIRE_OK(symm_store_open_prefix(symm_slice_of("second"), r->store, &store));
    open_block(r, 64);
    REQUIRE_OK(symm_memory_set_group_info("second", r->rank, r->world, store, 10000));
    if (r->rank == 1) setenv("SYMM_SHM_LIMIT", "1", 1);
    symm_memory *memory = NULL;
    CHECK_FAILS(symm_memory_rendezvous(r->tensor, "second", 0, &memory), SYMM_EOOM,
                "SYMM_SHM_LIMIT=1");
    CHECK_INT(symm_last_error()->peer, 1);
    unsetenv("SYMM_SHM_LIMIT");
    CHECK_OK(symm_memory_rendezvous(r->tensor, "second", 0, &memory));
    CHECK_OK(symm_memory_barrier(memory, 0, 0));
    CHECK_OK(symm_memory_barrier(r->memory, 0, 0));
    symm_memory_release(memory);
    CHECK_OK(symm_memory_unset_group_info("second"));
    symm_store_release(store);
    close_block(r);
}

/* The child keeps the rank's sockets open, so only the pidfd can tell. */
static void dies_and_leaves_a_child(struct rank *r) {
    open_block(r, 64);
    pid_t *child = symm_memory_buffer_ptrs(r->memory)[0];
    if (r->rank == 1) {
        pid_t pid = fork();
        if (pid == 0) {
            sleep(50); /* rank 0 ends it */
            _exit(0);
        }
        *child = pid; /* by the parent alone: the memory is shared with the child too */
    }
    CHECK_OK(symm_memory_barrier(r->memory, 0, 0));
    if (r->rank == 1) raise(SIGKILL);
    CHECK_FAILS(symm_memory_barrier(r->memory, 0, 0), SYMM_EPEER_DIED, "rank 1");
    REQUIRE(*child > 1);
    CHECK_INT(kill(*child, SIGKILL), 0); /* it was still there */
    close_block(r);
}

/* One CPU for both is one too few; two are enough. */
static void counts_its_cpus(struct rank *r) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(0, &cpus);
    REQUIRE(sched_setaffinity(0, sizeof cpus, &cpus) == 0);
    open_block(r, 64);
    CHECK(r->memory->info->mesh->oversubscribed);
    CHECK_INT(r->memory->spin_turns, 50);
    CHECK_OK(symm_memory_barrier(r->memory, 0, 0));
    close_block(r);
    symm_store *store = NULL;
    REQUIRE_OK(symm_store_open_prefix(symm_slice_of("apart"), r->store, &store));
    CPU_ZERO(&cpus);
    CPU_SET((size_t)r->rank, &cpus);
    if (sched_setaffinity(0, sizeof cpus, &cpus) == 0) {
        CHECK_OK(symm_memory_set_group_info("apart", r->rank, r->world, store, 20000));
        open_block(r, 64);
        symm_memory *apart = NULL;
        REQUIRE_OK(symm_memory_rendezvous(r->tensor, "apart", 0, &apart));
        CHECK_INT(apart->info->mesh->oversubscribed, symm__cpu_quota() == 1);
        CHECK_OK(symm_memory_barrier(apart, 0, 0));
        symm_memory_release(apart);
        close_block(r);
        CHECK_OK(symm_memory_unset_group_info("apart"));
    }
    symm_store_release(store);
}

/* Rank 1 comes once a process of another user has tried to be it. */
static void another_user_is_no_rank(struct rank *r) {
    struct symm_slice tried = symm_slice_of("tried");
    if (r->rank == 1) CHECK_OK(symm_store_wait(r->store, &tried, 1, 0));
    open_block(r, 64);
    if (!r->memory) return;
    CHECK_OK(symm_memory_barrier(r->memory, 0, 0));
    close_block(r);
}

static const struct {
    const char *name;
    scenario *run;
} scenarios[] = {
    {"reduces_over_pointers", reduces_over_pointers},
    {"makes_many_blocks", makes_many_blocks},
    {"sleeps_and_wakes", sleeps_and_wakes},
    {"dies_in_a_barrier", dies_in_a_barrier},
    {"dies_before_a_rendezvous", dies_before_a_rendezvous},
    {"signals_and_leaves", signals_and_leaves},
    {"one_rank_cannot_map_its_pad", one_rank_cannot_map_its_pad},
    {"dies_and_leaves_a_child", dies_and_leaves_a_child},
    {"counts_its_cpus", counts_its_cpus},
    {"another_user_is_no_rank", another_user_is_no_rank},
};

/* ---- ranks ---- */

static void open_store(struct rank *r, const char *host) {
    struct symm_tcp_store_options options = SYMM_TCP_STORE_OPTIONS_INIT;
    options.host = host;
    options.world_size = r->world;
    options.is_master = r->rank == 0;
    options.timeout_ms = 20000;
    REQUIRE_OK(symm_store_open_tcp(&options, &r->store));
}

/* rank R WORLD HOST SCENARIO */
ROLE(rank) {
    struct rank r = {atoi(argv[1]), atoi(argv[2]), NULL, NULL, NULL};
    open_store(&r, argv[3]);
    if (!r.store) return 1;
    CHECK_OK(symm_memory_set_group_info("g", r.rank, r.world, r.store, 20000));
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
        if (strcmp(scenarios[i].name, argv[4]) == 0) scenarios[i].run(&r);
    }
    CHECK_OK(symm_memory_unset_group_info("g"));
    CHECK_OK(symm_store_linger(r.store, 20000));
    symm_store_release(r.store);
    return 0;
}

/* impostor HOST: says to rank 0 that it is rank 1, as another user. */
ROLE(impostor) {
    struct rank r = {2, 2, NULL, NULL, NULL};
    struct symm_bytes token;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct symm__mesh_hello hello = {.magic = SYMM__MESH_MAGIC,
                                     .version = SYMM__MESH_VERSION,
                                     .rank = 1,
                                     .world_size = 2,
                                     .group = "g"};
    char byte;
    open_store(&r, argv[1]);
    if (!r.store) return 1;
    CHECK_OK(symm_store_get(r.store, symm_slice_of("symm_mem/g/token"), 0, &token));
    int size = snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "symm-%s-0", token.data);
    symm_bytes_free(&token);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    if (seteuid(65534) != 0) return 2;
    int connected = -1;
    for (int i = 0; i < 1000 && connected < 0; i++) {
        connected = connect(fd, (struct sockaddr *)&address,
                            (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)size));
        if (connected < 0) usleep(10000);
    }
    CHECK_INT(connected, 0);
    send(fd, &hello, sizeof hello, MSG_NOSIGNAL);
    if (seteuid(0) != 0) return 3;
    CHECK_OK(symm_store_set(r.store, symm_slice_of("tried"), symm_slice_of("")));
    CHECK(recv(fd, &byte, 1, 0) <= 0); /* dropped without a word */
    close(fd);
    symm_store_release(r.store);
    return 0;
}

/* Every rank ends with 0, but for `killed` (-1: none), which ends by SIGKILL. */
static void run_ranks(int world, const char *name, int killed) {
    pid_t pids[8];
    char host[64], rank[16], size[16];
    snprintf(host, sizeof host, "@symm-test-%s-%d", name, (int)getpid());
    snprintf(size, sizeof size, "%d", world);
    for (int r = 0; r < world; r++) {
        snprintf(rank, sizeof rank, "%d", r);
        pids[r] = check_spawn("rank", rank, size, host, name, NULL);
    }
    for (int r = 0; r < world; r++) {
        CHECK_INT(check_wait(pids[r]), r == killed ? 128 + SIGKILL : 0);
    }
}

TEST(reduces_over_pointers_and_pads) { run_ranks(3, "reduces_over_pointers", -1); }
TEST(makes_many_blocks) { run_ranks(2, "makes_many_blocks", -1); }
TEST(sleeps_and_wakes) { run_ranks(2, "sleeps_and_wakes", -1); }
TEST(notices_a_death_in_a_barrier) { run_ranks(3, "dies_in_a_barrier", 1); }
TEST(notices_a_death_before_a_rendezvous) { run_ranks(2, "dies_before_a_rendezvous", 1); }
TEST(takes_the_last_signal_of_a_rank_that_leaves) { run_ranks(2, "signals_and_leaves", -1); }
TEST(tells_all_why_one_rank_failed) { run_ranks(3, "one_rank_cannot_map_its_pad", -1); }

TEST(notices_a_death_although_a_child_has_the_sockets) {
    run_ranks(2, "dies_and_leaves_a_child", 1);
}
TEST(spins_long_only_where_every_rank_has_a_cpu) { run_ranks(2, "counts_its_cpus", -1); }

TEST(takes_no_process_of_another_user_for_a_rank) {
    char host[64];
    if (geteuid() != 0) SKIP("only root can become another user");
    snprintf(host, sizeof host, "@symm-test-another_user_is_no_rank-%d", (int)getpid());
    pid_t impostor = check_spawn("impostor", host, NULL);
    run_ranks(2, "another_user_is_no_rank", -1);
    CHECK_INT(check_wait(impostor), 0);
}

/* ---- one process ---- */

TEST(pages_are_reserved_and_the_size_is_sealed) {
    int64_t bytes = 3 << 20;
    symm_tensor *tensor = NULL;
    struct stat status;
    REQUIRE_OK(symm_memory_empty_strided(&bytes, NULL, 1, SYMM_DTYPE_uint8, NULL, &tensor));
    const struct symm__segment *segment = &symm__block_of(tensor)->segment;
    REQUIRE(fstat(segment->fd, &status) == 0);
    CHECK_INT(status.st_size, segment->size);
    CHECK(status.st_blocks * 512 >= segment->size);
    int seals = fcntl(segment->fd, F_GET_SEALS);
    CHECK_INT(seals & (F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL),
              F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL);
    CHECK(ftruncate(segment->fd, 0) < 0);
    symm_tensor_release(tensor);
}

/* Nobody gives a timeout: the group's ends each wait. */
TEST(the_groups_timeout_is_the_default) {
    int64_t bytes = 64;
    symm_store *store = NULL;
    struct rank r = {0, 1, NULL, NULL, NULL};
    symm_memory *memory = NULL;
    REQUIRE_OK(symm_store_open_hash(&store));
    REQUIRE_OK(symm_memory_set_group_info("g", 0, 1, store, 150));
    open_block(&r, bytes);
    CHECK_FAILS(symm_memory_wait_signal(r.memory, 0, 0, 0), SYMM_ETIMEOUT, "within 0.1");
    CHECK_OK(symm_memory_put_signal(r.memory, 0, 0, 0));
    CHECK_FAILS(symm_memory_put_signal(r.memory, 0, 0, 0), SYMM_ETIMEOUT, "within 0.1");
    close_block(&r);
    REQUIRE_OK(symm_memory_set_group_info("two", 0, 2, store, 150));
    REQUIRE_OK(symm_memory_empty_strided(&bytes, NULL, 1, SYMM_DTYPE_uint8, NULL, &r.tensor));
    CHECK_FAILS(symm_memory_rendezvous(r.tensor, "two", 0, &memory), SYMM_ETIMEOUT,
                "rank 1 did not join within 0.");
    CHECK_INT(symm_last_error()->peer, 1);
    symm_tensor_release(r.tensor);
    CHECK_OK(symm_memory_unset_group_info("two"));
    CHECK_OK(symm_memory_unset_group_info("g"));
    symm_store_release(store);
}

TEST(running_out_of_descriptors_names_the_limit) {
    struct rlimit few = {12, 12};
    int fds[16], count = 0;
    int64_t bytes = 64;
    symm_tensor *tensor = NULL;
    REQUIRE(setrlimit(RLIMIT_NOFILE, &few) == 0);
    while (count < 16 && (fds[count] = dup(1)) >= 0) count++;
    CHECK_FAILS(symm_memory_empty_strided(&bytes, NULL, 1, SYMM_DTYPE_uint8, NULL, &tensor),
                SYMM_ELIMIT, "ulimit -n");
    while (count > 0) close(fds[--count]);
    CHECK_OK(symm_memory_empty_strided(&bytes, NULL, 1, SYMM_DTYPE_uint8, NULL, &tensor));
    symm_tensor_release(tensor);
}

/* A sleeper on a slot is woken by who writes the slot through a tensor of the pad. */
static void *signal_by_hand(void *argument) {
    symm_tensor *pad = argument;
    usleep(40000);
    CHECK_OK(symm_memory_stream_write_value32(pad, 0, 1));
    return NULL;
}

static int count_looks(void *context) {
    ++*(int *)context;
    return SYMM_OK;
}

TEST(wake_checks_its_arguments) {
    symm_store *store = NULL;
    struct rank r = {0, 1, NULL, NULL, NULL};
    REQUIRE_OK(symm_store_open_hash(&store));
    REQUIRE_OK(symm_memory_set_group_info("g", 0, 1, store, 20000));
    open_block(&r, 64);
    CHECK_OK(symm_memory_wake(r.memory, 0, 0));
    CHECK_OK(symm_memory_wake(r.memory, 0, 2303));
    CHECK_FAILS(symm_memory_wake(r.memory, 0, 2304), SYMM_EINVALID, "slot must be in [0, 2304)");
    CHECK_FAILS(symm_memory_wake(r.memory, 0, -1), SYMM_EINVALID, "slot");
    CHECK_FAILS(symm_memory_wake(r.memory, 1, 0), SYMM_EINVALID, "rank");
    close_block(&r);
    CHECK_OK(symm_memory_unset_group_info("g"));
    symm_store_release(store);
}

/* A wait that is woken never comes to the end of a slice, where its thread's hook is called. */
TEST(signals_by_hand_wake_sleepers) {
    symm_store *store = NULL;
    symm_tensor *pad = NULL;
    struct rank r = {0, 1, NULL, NULL, NULL};
    pthread_t thread;
    int looks = 0, rounds = 5;
    REQUIRE_OK(symm_store_open_hash(&store));
    REQUIRE_OK(symm_memory_set_group_info("g", 0, 1, store, 20000));
    open_block(&r, 64);
    REQUIRE_OK(symm_memory_get_signal_pad(r.memory, 0, NULL, -1, SYMM_DTYPE_uint32, 0, &pad));
    symm_set_wait_hook(count_looks, &looks, NULL, NULL);
    for (int i = 0; i < rounds; i++) {
        REQUIRE(pthread_create(&thread, NULL, signal_by_hand, pad) == 0);
        CHECK_OK(symm_memory_wait_signal(r.memory, 0, 0, 0));
        pthread_join(thread, NULL);
    }
    CHECK(looks < rounds);
    symm_set_wait_hook(NULL, NULL, NULL, NULL);
    symm_tensor_release(pad);
    close_block(&r);
    CHECK_OK(symm_memory_unset_group_info("g"));
    symm_store_release(store);
}

TEST(missing_ranks_are_listed) {
    char text[200];
    uint8_t present[5] = {1, 0, 1, 0, 0};
    CHECK_INT(symm__list_missing(present, 5, text, sizeof text), 3);
    CHECK_STR(text, "1, 3 and 4");
    CHECK_INT(symm__list_missing(present, 2, text, sizeof text), 1);
    CHECK_STR(text, "1");
    CHECK_INT(symm__list_missing(present, 1, text, sizeof text), 0);
    CHECK_STR(text, "");
    uint8_t none[1000] = {0};
    CHECK_INT(symm__list_missing(none, 1000, text, sizeof text), 1000);
    CHECK_CONTAINS(text, " more");
}

TEST(areas_of_a_front_do_not_overlap) {
    int64_t sizes[] = {4, 60, 64, 9216, 65536};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct symm__front front = symm__front_of(sizes[i]);
        CHECK(front.sleepers >= front.pad + sizes[i]);
        CHECK(front.barrier >= front.sleepers + sizes[i]);
        CHECK(front.size >= front.barrier + 2 * sizes[i]);
        CHECK_INT(front.sleepers % SYMM__AREA_ALIGN, 0);
        CHECK_INT(front.barrier % SYMM__AREA_ALIGN, 0);
        CHECK_INT(front.size % SYMM__DATA_ALIGN, 0);
    }
}

TEST(host_identity_survives_its_text) {
    struct symm__host_identity a, b;
    char text[200];
    symm__host_identity_read(&a);
    symm__host_identity_print(&a, text, sizeof text);
    CHECK_OK(symm__host_identity_parse(text, &b));
    CHECK(symm__host_identity_same(&a, &b));
    CHECK_STR(a.host_name, b.host_name);
    b.network_namespace++;
    CHECK(!symm__host_identity_same(&a, &b));
    CHECK_FAILS(symm__host_identity_parse("nonsense", &b), SYMM_EMISMATCH, "identity");
}

TEST(limit_of_the_variable_ends_an_allocation) {
    int64_t bytes = 1 << 20;
    symm_tensor *tensor = NULL, *second = NULL;
    setenv("SYMM_SHM_LIMIT", "1536KiB", 1);
    CHECK_OK(symm_memory_empty_strided(&bytes, NULL, 1, SYMM_DTYPE_uint8, NULL, &tensor));
    CHECK_FAILS(symm_memory_empty_strided(&bytes, NULL, 1, SYMM_DTYPE_uint8, NULL, &second),
                SYMM_EOOM, "SYMM_SHM_LIMIT=1536KiB");
    CHECK_NULL(second);
    symm_tensor_release(tensor);
    CHECK_OK(symm_memory_empty_strided(&bytes, NULL, 1, SYMM_DTYPE_uint8, NULL, &second));
    symm_tensor_release(second);
}

TEST(memory_beyond_the_machine_is_refused_with_its_limit) {
    int64_t bytes = (int64_t)1 << 46;
    symm_tensor *tensor = NULL;
    CHECK_FAILS(symm_memory_empty_strided(&bytes, NULL, 1, SYMM_DTYPE_uint8, NULL, &tensor),
                SYMM_EOOM, "bytes are left");
}

TEST(options_of_another_size_are_refused) {
    int64_t bytes = 1;
    symm_tensor *tensor = NULL;
    struct symm_memory_options options = SYMM_MEMORY_OPTIONS_INIT;
    options.size = 4;
    CHECK_FAILS(symm_memory_empty_strided(&bytes, NULL, 1, SYMM_DTYPE_uint8, &options, &tensor),
                SYMM_EINVALID, "symm_memory_options.size");
}

TEST(forked_child_gets_an_error) {
    int64_t bytes = 1;
    pid_t pid = fork();
    if (pid == 0) {
        symm_tensor *tensor = NULL;
        int rc = symm_memory_empty_strided(&bytes, NULL, 1, SYMM_DTYPE_uint8, NULL, &tensor);
        _exit(rc == SYMM_EUNSUPPORTED ? 42 : 1);
    }
    int status = 0;
    REQUIRE(waitpid(pid, &status, 0) == pid);
    CHECK_INT(WEXITSTATUS(status), 42);
}
