/* SPDX-License-Identifier: MIT
 *
 * How a rank of a bench measures: on the CPU it is told, by CLOCK_MONOTONIC over whole batches, the
 * first of them thrown away. What it found it tells in lines "sample CASE RANK NANOSECONDS" on
 * stdout, each written at once; tests/bench/support/bench.lua reads them.
 */
#ifndef SYMM_BENCH_SAMPLE_H
#define SYMM_BENCH_SAMPLE_H

#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SAMPLE_MOST_BATCHES 1000
#define SAMPLE_PLAN_WORDS 3

/* What every rank is to do: three words of a command line, in this order. */
struct sample_plan {
    long turns;   /* a batch */
    long batches; /* that count */
    long warmups; /* batches before them */
};

static inline int64_t sample_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline void sample_sleep_until(int64_t at_ns) {
    struct timespec at = {.tv_sec = (time_t)(at_ns / 1000000000),
                          .tv_nsec = (long)(at_ns % 1000000000)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR) continue;
}

static inline int sample_read_number(const char *word, long least, long most, long *out) {
    char *end = NULL;
    long value = strtol(word, &end, 10);
    if (end == word || *end || value < least || value > most) {
        fprintf(stderr, "a number from %ld to %ld, not '%s'\n", least, most, word);
        return -1;
    }
    *out = value;
    return 0;
}

/* 0, or -1 after a line on stderr. */
static inline int sample_read_plan(char **words, struct sample_plan *out) {
    if (sample_read_number(words[0], 1, 1000000000, &out->turns) < 0) return -1;
    if (sample_read_number(words[1], 1, SAMPLE_MOST_BATCHES, &out->batches) < 0) return -1;
    return sample_read_number(words[2], 0, SAMPLE_MOST_BATCHES, &out->warmups);
}

/* `cpus` is a list "0,1" with a CPU for each rank, or "-": where the system puts it. 1 if this
 * process now runs on its own CPU only, 0 for "-", -1 if it cannot. */
static inline int sample_pin(const char *cpus, int rank) {
    cpu_set_t one;
    if (strcmp(cpus, "-") == 0) return 0;
    for (; rank > 0 && cpus; rank--) cpus = strchr(cpus, ',') ? strchr(cpus, ',') + 1 : NULL;
    if (!cpus) return -1;
    CPU_ZERO(&one);
    CPU_SET(strtoul(cpus, NULL, 10), &one);
    return sched_setaffinity(0, sizeof one, &one) == 0 ? 1 : -1;
}

static inline void sample_report(const char *name, int rank, double ns) {
    char line[128];
    int size = snprintf(line, sizeof line, "sample %s %d %.3f\n", name, rank, ns);
    if (size < 0 || write(STDOUT_FILENO, line, (size_t)size) != size) exit(EXIT_FAILURE);
}

static inline int sample_compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static inline double sample_median(double *values, long count) {
    qsort(values, (size_t)count, sizeof *values, sample_compare);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* Writes to each page, so that memory which was only promised is there. */
static inline void sample_touch(void *memory, size_t bytes) {
    volatile char *at = memory;
    for (size_t i = 0; i < bytes; i += 4096) at[i] = 1;
}

/* Does batches of `turn` and reports the median nanoseconds of one turn's part: a turn that has two
 * ways counts 2 parts. 0, or what `turn` gave when it was not 0. Inlined, so that a bare peer pays
 * for no call. */
typedef int sample_turn(void *context);
__attribute__((always_inline)) static inline int sample_run(const char *name, int rank,
                                                            const struct sample_plan *plan,
                                                            int parts, sample_turn *turn,
                                                            void *context) {
    double values[SAMPLE_MOST_BATCHES] = {0};
    for (long batch = -plan->warmups; batch < plan->batches; batch++) {
        int64_t begun = sample_now_ns();
        for (long i = 0; i < plan->turns; i++) {
            int rc = turn(context);
            if (rc) return rc;
        }
        double ns = (double)(sample_now_ns() - begun) / (double)plan->turns / parts;
        if (batch >= 0) values[batch] = ns;
    }
    sample_report(name, rank, sample_median(values, plan->batches));
    return 0;
}

#endif
