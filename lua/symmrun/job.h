/* SPDX-License-Identifier: MIT
 *
 * A job of the launcher: its ranks, their output and its end. One thread, one loop.
 *
 * Invariant: each rank leads a session and process group of its own, so that what it started ends
 * with it; a rank is in exactly one of the states below, and only forward.
 */
#ifndef SYMM_SYMMRUN_JOB_H
#define SYMM_SYMMRUN_JOB_H

#include <pthread.h>
#include <symm/activity.h>
#include <symm/error.h>
#include <symm/wait.h>
#include <uv.h>

#include "lua/symmrun/symmrun.h"

#define JOB_LAST_LINES 12
#define JOB_LAST_LINE_SIZE 200

struct job;
struct rank;

/* ---- launch_output.c ---- */

/* One descriptor that lines are written to, by a thread of its own, so that a reader who stops
 * stops the ranks and not the launcher. (libuv's own pool would do, but ends the process where no
 * thread can be had.) */
struct sink {
    struct job *job; /* NULL: not open */
    int fd;
    int failed; /* nobody reads any longer: what comes is dropped */
    int full;   /* the ranks' pipes are not read until it has gone down */
    pthread_t thread;
    uv_async_t progress; /* the thread has written something, or failed */
    pthread_mutex_t lock;
    pthread_cond_t more;
    /* Under the lock. */
    char *waiting; /* lines, in order */
    size_t waiting_size, waiting_capacity;
    int busy; /* a write is going on */
    int error;
    int closing;
};

/* One pipe of one rank: collects bytes until a line is whole. */
struct stream {
    uv_pipe_t pipe;
    struct rank *rank;
    struct sink *sink;
    int is_open;
    char *line;
    size_t length, capacity;
};

enum rank_state { RANK_NEW, RANK_RUNS, RANK_ENDED };

struct rank {
    struct job *job;
    int number;
    enum rank_state state;
    int ended_by_us; /* it failed because we had asked it to end */
    int exit_code;
    int signal;
    int pid;
    int64_t begin_ns, end_ns;
    uv_process_t process;
    struct stream out, err;
    symm_activity *activity;
    char last_lines[JOB_LAST_LINES][JOB_LAST_LINE_SIZE];
    unsigned line_count;
};

enum { JOB_SIGNALS = 4 };

struct job {
    const struct symmrun_options *options;
    uv_loop_t loop;
    uv_signal_t signals[JOB_SIGNALS];
    uv_timer_t grace;  /* from asking the ranks to end, to killing them */
    uv_timer_t linger; /* from the last rank's end, to giving up on its pipes */
    struct rank *ranks;
    int count, running, streams;
    int first_failed; /* rank, -1: none */
    int stopping;     /* the ranks were asked to end, at stop_ns */
    int64_t stop_ns;
    int received; /* signal that the launcher got, 0: none */
    int ending;   /* everything is being closed */
    int listen_fd, port;
    int script_fd; /* standard input as a file, -1: the script is none */
    struct sink out, err;
    char buffer[65536]; /* what a read of any pipe gives; used up before the next */
};

/* 0, or EXIT_FAILED after a line on stderr. */
int sink_open(struct sink *sink, struct job *job, int fd);
/* Only when it is idle. */
void sink_close(struct sink *sink);
int sink_is_idle(struct sink *sink);
/* Reads `fd` (which it takes over) as `rank`'s output. 0 or libuv's error. */
int stream_open(struct stream *stream, struct rank *rank, struct sink *sink, int fd);
void stream_close(struct stream *stream);

/* ---- launch.c ---- */

/* An output changed state: is the job over? */
void job_check_end(struct job *job);
/* Asks every rank to end, and kills after a while what did not. */
void job_stop(struct job *job, int signal_number);

/* ---- launch_child.c ---- */

/* What a job needs of this machine; 0, or EXIT_USAGE after a line on stderr. */
int job_check_limits(int ranks);
/* The port of the store, bound once. 0 or EXIT_FAILED after a line on stderr. */
int job_bind(struct job *job);
/* Starts a rank; 0 or EXIT_FAILED after a line on stderr. */
int rank_start(struct rank *rank, uv_exit_cb on_exit);

/* ---- summary.c ---- */

/* Which rank failed first, by cause rather than by chance. */
void job_note_failure(struct job *job, struct rank *rank);
void job_print_summary(const struct job *job, int exit_code);

#endif
