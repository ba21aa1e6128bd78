/* SPDX-License-Identifier: MIT
 *
 * The bare peer: processes that share nothing but flags, each on a cache line of its own, and spin.
 * No checks, no deadlines, no sleep. Where ranks have no CPU each they also yield, since what they
 * wait for could not run otherwise.
 *   flag signal|barrier WORLD CPUS TURNS BATCHES WARMUPS
 * signal: a flag a direction, set to 1 by who signals, set back to 0 by who waited. barrier: a flag
 * a rank, which counts the barriers that it has come to.
 */
#include <signal.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "tests/bench/support/sample.h"

/* Twice a line: processors fetch lines in pairs. */
struct line {
    alignas(128) _Atomic uint32_t value;
};

struct rank {
    int rank, world, pinned; /* pinned: it has a CPU of its own */
    uint32_t count;
    struct line *lines; /* one a rank: what it signals, or its arrivals */
};

static inline void spin(const struct rank *r) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
    if (!r->pinned) sched_yield();
}

/* Acquire: pairs with set()'s release, so what was written before a flag is there after it. */
static inline void await(const struct rank *r, struct line *line, uint32_t value) {
    while (atomic_load_explicit(&line->value, memory_order_acquire) != value) spin(r);
}

static inline void set(struct line *line, uint32_t value) {
    atomic_store_explicit(&line->value, value, memory_order_release);
}

static inline void put_signal(struct rank *r) {
    await(r, &r->lines[r->rank], 0);
    set(&r->lines[r->rank], 1);
}

static inline void wait_signal(struct rank *r) {
    await(r, &r->lines[1 - r->rank], 1);
    set(&r->lines[1 - r->rank], 0);
}

static int signal_turn(void *context) {
    struct rank *r = context;
    if (r->rank == 0) put_signal(r);
    wait_signal(r);
    if (r->rank == 1) put_signal(r);
    return 0;
}

/* A peer may be one barrier ahead, never more. */
static int barrier_turn(void *context) {
    struct rank *r = context;
    uint32_t count = ++r->count;
    set(&r->lines[r->rank], count);
    for (int i = 0; i < r->world; i++) {
        if (i == r->rank) continue;
        while ((int32_t)(atomic_load_explicit(&r->lines[i].value, memory_order_acquire) - count) <
               0) {
            spin(r);
        }
    }
    return 0;
}

static int measure(struct rank *r, const char *what, const struct sample_plan *plan) {
    if (strcmp(what, "signal") == 0) return sample_run("flag", r->rank, plan, 2, signal_turn, r);
    return sample_run("flag", r->rank, plan, 1, barrier_turn, r);
}

/* The whole life of a rank, forked from main. */
_Noreturn static void be_rank(struct rank *r, char **words, const struct sample_plan *plan) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    r->pinned = sample_pin(words[2], r->rank);
    if (r->pinned < 0) _exit(EXIT_FAILURE);
    _exit(measure(r, words[0], plan) == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
}

static int start_ranks(struct rank *r, char **words, const struct sample_plan *plan) {
    int failed = 0, status = 0;
    r->lines = mmap(NULL, sizeof *r->lines * (size_t)r->world, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (r->lines == MAP_FAILED) return -1;
    for (r->rank = 0; r->rank < r->world; r->rank++) {
        pid_t pid = fork();
        if (pid == 0) be_rank(r, words, plan);
        if (pid < 0) return -1;
    }
    while (wait(&status) > 0) failed |= status != 0;
    return failed ? -1 : 0;
}

int main(int argc, char **argv) {
    struct sample_plan plan;
    struct rank r = {0};
    long world = 0;
    if (argc != 4 + SAMPLE_PLAN_WORDS) {
        fputs("usage: flag signal|barrier WORLD CPUS TURNS BATCHES WARMUPS\n", stderr);
        return 2;
    }
    int is_signal = strcmp(argv[1], "signal") == 0;
    if (sample_read_number(argv[2], 2, is_signal ? 2 : 64, &world) < 0) return 2;
    if (sample_read_plan(argv + 4, &plan) < 0) return 2;
    r.world = (int)world;
    return start_ranks(&r, argv + 1, &plan) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
