/* SPDX-License-Identifier: MIT
 *
 * Ours, from C: an application of the public headers and libsymm.so alone.
 *   symm signal|barrier|rendezvous WORLD CPUS TURNS BATCHES WARMUPS
 * signal: put_signal and wait_signal in turns. barrier: barriers of a handle. rendezvous: blocks of
 * 1 MiB: the first of a group, another, and one with its allocation and a touch of its pages.
 */
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <symm/symm.h>

#include "tests/bench/support/sample.h"

#define BLOCK_BYTES (1 << 20)
#define HEAD_START_NS 20000000

/* Words: WHAT WORLD CPUS TURNS BATCHES WARMUPS, and in a rank also RANK ADDRESS. */
enum { WHAT = 1, WORLD, CPUS, PLAN, RANK = PLAN + SAMPLE_PLAN_WORDS, ADDRESS, WORDS };

struct rank {
    int rank, world;
    symm_store *store;
    symm_tensor *tensor;
    symm_memory *memory;
};

/* ---- signal, barrier ---- */

static int signal_turn(void *context) {
    struct rank *r = context;
    int rc = r->rank == 0 ? symm_memory_put_signal(r->memory, 1, 0, 0)
                          : symm_memory_wait_signal(r->memory, 0, 0, 0);
    if (rc < 0) return rc;
    return r->rank == 0 ? symm_memory_wait_signal(r->memory, 1, 0, 0)
                        : symm_memory_put_signal(r->memory, 0, 0, 0);
}

static int barrier_turn(void *context) {
    struct rank *r = context;
    return symm_memory_barrier(r->memory, 0, 0);
}

static int open_block(struct rank *r) {
    struct symm_memory_options options = SYMM_MEMORY_OPTIONS_INIT;
    int64_t bytes = BLOCK_BYTES;
    return symm_memory_empty_strided(&bytes, NULL, 1, SYMM_DTYPE_uint8, &options, &r->tensor);
}

static void close_block(struct rank *r) {
    symm_memory_release(r->memory);
    symm_tensor_release(r->tensor);
    r->memory = NULL;
    r->tensor = NULL;
}

static int measure_turns(struct rank *r, const char *what, const struct sample_plan *plan) {
    int rc = symm_memory_set_group_info("bench", r->rank, r->world, r->store, 0);
    if (rc == SYMM_OK) rc = open_block(r);
    if (rc == SYMM_OK) rc = symm_memory_rendezvous(r->tensor, "bench", 0, &r->memory);
    if (rc == SYMM_OK) {
        rc = strcmp(what, "signal") == 0 ? sample_run("C", r->rank, plan, 2, signal_turn, r)
                                         : sample_run("C", r->rank, plan, 1, barrier_turn, r);
    }
    if (rc == SYMM_OK) rc = symm_memory_barrier(r->memory, 1, 0);
    close_block(r);
    return rc;
}

/* ---- rendezvous ---- */

/* All ranks begin at one time: who comes last says when. */
static int start_together(struct rank *r, const char *name, int64_t *start_ns_out) {
    char come[64], start[64], text[32];
    struct symm_bytes value = {0};
    int64_t count = 0;
    snprintf(come, sizeof come, "come/%s", name);
    snprintf(start, sizeof start, "start/%s", name);
    int rc = symm_store_add(r->store, symm_slice_of(come), 1, &count);
    if (rc == SYMM_OK && count == r->world) {
        snprintf(text, sizeof text, "%" PRId64, sample_now_ns() + HEAD_START_NS);
        rc = symm_store_set(r->store, symm_slice_of(start), symm_slice_of(text));
    }
    if (rc == SYMM_OK) rc = symm_store_get(r->store, symm_slice_of(start), 0, &value);
    if (rc < 0) return rc;
    *start_ns_out = strtoll(value.data, NULL, 10);
    symm_bytes_free(&value);
    sample_sleep_until(*start_ns_out);
    return SYMM_OK;
}

enum kind { FIRST, LATER, ALLOCATED, KINDS };
static const char *const kind_names[KINDS] = {"first", "later", "allocated"};

/* One rendezvous of a new block; `turn` below 0 is a warm-up. */
static int meet(struct rank *r, enum kind kind, const char *group, long turn) {
    char name[32];
    int64_t start = 0;
    snprintf(name, sizeof name, "%s%ld", kind_names[kind], turn);
    int rc = kind == ALLOCATED ? SYMM_OK : open_block(r);
    if (rc == SYMM_OK) rc = start_together(r, name, &start);
    if (rc == SYMM_OK && kind == ALLOCATED) rc = open_block(r);
    if (rc == SYMM_OK) rc = symm_memory_rendezvous(r->tensor, group, 0, &r->memory);
    if (rc == SYMM_OK && kind == ALLOCATED) {
        sample_touch(symm_memory_buffer_ptrs(r->memory)[r->rank], BLOCK_BYTES);
    }
    double ns = (double)(sample_now_ns() - start);
    if (rc == SYMM_OK && turn >= 0) sample_report(kind_names[kind], r->rank, ns);
    /* Nobody leaves while a peer may still want to map its block. */
    if (rc == SYMM_OK) rc = symm_memory_barrier(r->memory, 0, 0);
    close_block(r);
    return rc;
}

/* Each turn a new group, which rendezvouses three blocks. */
static int measure_rendezvous(struct rank *r, const struct sample_plan *plan) {
    int rc = SYMM_OK;
    for (long turn = -plan->warmups; turn < plan->batches && rc == SYMM_OK; turn++) {
        char group[32];
        snprintf(group, sizeof group, "bench%ld", turn);
        rc = symm_memory_set_group_info(group, r->rank, r->world, r->store, 0);
        for (enum kind kind = FIRST; kind < KINDS && rc == SYMM_OK; kind++) {
            rc = meet(r, kind, group, turn);
        }
        if (rc == SYMM_OK) rc = symm_memory_unset_group_info(group);
    }
    return rc;
}

/* ---- a rank ---- */

static int open_store(struct rank *r, const char *address) {
    struct symm_tcp_store_options options = SYMM_TCP_STORE_OPTIONS_INIT;
    options.host = address;
    options.world_size = r->world;
    options.is_master = r->rank == 0;
    options.timeout_ms = 30000;
    return symm_store_open_tcp(&options, &r->store);
}

static int be_rank(char **words, const struct sample_plan *plan) {
    struct rank r = {.rank = atoi(words[RANK]), .world = atoi(words[WORLD])};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (sample_pin(words[CPUS], r.rank) < 0) return EXIT_FAILURE;
    int rc = open_store(&r, words[ADDRESS]);
    if (rc == SYMM_OK) {
        rc = strcmp(words[WHAT], "rendezvous") == 0 ? measure_rendezvous(&r, plan)
                                                    : measure_turns(&r, words[WHAT], plan);
    }
    if (rc == SYMM_OK) rc = symm_store_linger(r.store, 0);
    if (rc < 0) fprintf(stderr, "rank %d: %s\n", r.rank, symm_last_error()->message);
    symm_store_release(r.store);
    return rc == SYMM_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* ---- all ranks ---- */

/* A rank that fails ends this process, and by that the others. */
static int start_ranks(char **words, int world) {
    char rank[16], address[64];
    char *again[WORDS + 1];
    int status = 0;
    snprintf(address, sizeof address, "@symm-bench-%ld-%" PRId64, (long)getpid(), sample_now_ns());
    for (int i = 0; i < RANK; i++) again[i] = words[i];
    again[RANK] = rank;
    again[ADDRESS] = address;
    again[WORDS] = NULL;
    for (int r = 0; r < world; r++) {
        pid_t pid;
        snprintf(rank, sizeof rank, "%d", r);
        if (posix_spawn(&pid, "/proc/self/exe", NULL, NULL, again, environ) != 0) return -1;
    }
    while (wait(&status) > 0) {
        if (status != 0) return -1;
    }
    return 0;
}

static int is_bench(const char *what) {
    return !strcmp(what, "signal") || !strcmp(what, "barrier") || !strcmp(what, "rendezvous");
}

int main(int argc, char **argv) {
    struct sample_plan plan;
    long world = 0;
    if ((argc != RANK && argc != WORDS) || !is_bench(argv[WHAT])) {
        fputs("usage: symm signal|barrier|rendezvous WORLD CPUS TURNS BATCHES WARMUPS\n", stderr);
        return 2;
    }
    int is_signal = strcmp(argv[WHAT], "signal") == 0;
    if (sample_read_number(argv[WORLD], 2, is_signal ? 2 : 64, &world) < 0) return 2;
    if (sample_read_plan(argv + PLAN, &plan) < 0) return 2;
    if (argc == WORDS) return be_rank(argv, &plan);
    return start_ranks(argv, (int)world) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
