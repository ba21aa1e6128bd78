/* SPDX-License-Identifier: MIT
 *
 * The few lines at the end of a job that failed: which rank was first, how it ended, what it was
 * doing and what it said.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <symm/status.h>

#include "lua/symmrun/job.h"

/* A rank that says that another one is gone does not begin a failure. */
static int is_consequence(const struct rank *rank) {
    int code = 0;
    int64_t when = 0;
    if (rank->signal || !symm_activity_failure(rank->activity, &code, &when)) return 0;
    return code == SYMM_EPEER_DIED || code == SYMM_ENETWORK || code == SYMM_EABORTED ||
           code == SYMM_EDESTROYED;
}

static int64_t failed_at(const struct rank *rank) {
    int code = 0;
    int64_t when = 0;
    if (!rank->signal && symm_activity_failure(rank->activity, &code, &when)) return when;
    return rank->end_ns;
}

void job_note_failure(struct job *job, struct rank *rank) {
    int64_t when = failed_at(rank);
    /* What it says may be older than what we have asked of it. */
    rank->ended_by_us = job->stopping && when >= job->stop_ns;
    if (job->first_failed >= 0) {
        const struct rank *first = &job->ranks[job->first_failed];
        int later = is_consequence(first) == is_consequence(rank) && when >= failed_at(first);
        int only_found_out = !is_consequence(first) && is_consequence(rank);
        if (rank->ended_by_us || later || only_found_out) return;
    }
    job->first_failed = rank->number;
}

/* ---- text ---- */

static void describe_end(const struct rank *rank, char *text, size_t size) {
    if (rank->signal) {
        snprintf(text, size, "killed by signal %d (%s)", rank->signal, strsignal(rank->signal));
    } else {
        snprintf(text, size, "exit code %d", rank->exit_code);
    }
}

static void print_last_lines(const struct rank *rank) {
    unsigned count = rank->line_count < JOB_LAST_LINES ? rank->line_count : JOB_LAST_LINES;
    if (count == 0) {
        symmrun_say("  it printed nothing");
        return;
    }
    symmrun_say("  its last %s:", count == 1 ? "line" : "lines");
    for (unsigned i = rank->line_count - count; i < rank->line_count; i++) {
        symmrun_say("  | %s", rank->last_lines[i % JOB_LAST_LINES]);
    }
}

static void print_first_failure(const struct rank *rank) {
    char end[128], activity[256];
    double seconds = (double)(rank->end_ns - rank->begin_ns) / 1e9;
    describe_end(rank, end, sizeof end);
    symm_activity_describe(rank->activity, activity, sizeof activity);
    symmrun_say("rank %d failed first: %s (pid %d, after %.1f s)", rank->number, end, rank->pid,
                seconds);
    symmrun_say("  its last operation: %s", activity);
    print_last_lines(rank);
}

void job_print_summary(const struct job *job, int exit_code) {
    const struct rank *first = job->first_failed >= 0 ? &job->ranks[job->first_failed] : NULL;
    if (exit_code == 0) return;
    if (first && !first->ended_by_us) print_first_failure(first);
    if (job->received) {
        symmrun_say("stopped by signal %d (%s)", job->received, strsignal(job->received));
    }
    symmrun_say("exit code %d", exit_code);
}
