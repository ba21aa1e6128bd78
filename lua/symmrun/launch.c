/* SPDX-License-Identifier: MIT
 *
 * The launcher: starts the ranks, passes signals on, ends the job when one rank fails, and always
 * sees every rank reaped before it ends.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lauxlib.h>

#include "lua/symmrun/job.h"

/* After a rank has failed, the others find out by themselves, and say so, before they are asked to
 * end; from asking to killing; and for what escaped from a rank's session with its pipes. */
#define NOTICE_MS 1000
#define GRACE_MS 5000
#define LINGER_MS 500

/* ---- ending ---- */

static void signal_ranks(struct job *job, int number) {
    for (int i = 0; i < job->count; i++) {
        const struct rank *rank = &job->ranks[i];
        if (rank->state == RANK_RUNS) kill(-rank->pid, number);
    }
}

static void kill_ranks(uv_timer_t *timer) { signal_ranks(timer->data, SIGKILL); }

void job_stop(struct job *job, int signal_number) {
    if (job->stopping) return;
    job->stopping = 1;
    job->stop_ns = symm_now_ns();
    signal_ranks(job, signal_number);
    uv_timer_start(&job->grace, kill_ranks, GRACE_MS, 0);
}

static void stop_after_failure(uv_timer_t *timer) { job_stop(timer->data, SIGTERM); }

static void fail(struct job *job, struct rank *rank) {
    job_note_failure(job, rank);
    if (job->stopping || uv_is_active((uv_handle_t *)&job->grace)) return;
    uv_timer_start(&job->grace, stop_after_failure, NOTICE_MS, 0);
}

static void on_job_signal(uv_signal_t *handle, int number) {
    struct job *job = handle->data;
    if (job->received) { /* the second one means it */
        signal_ranks(job, SIGKILL);
        if (!job->running) _exit(128 + number); /* what is left is output that nobody reads */
        return;
    }
    job->received = number;
    if (job->stopping) {
        signal_ranks(job, number);
    } else {
        job_stop(job, number);
    }
}

static void close_streams(uv_timer_t *timer) {
    struct job *job = timer->data;
    for (int i = 0; i < job->count; i++) {
        stream_close(&job->ranks[i].out);
        stream_close(&job->ranks[i].err);
    }
    job_check_end(job);
}

void job_check_end(struct job *job) {
    if (job->running || job->ending || job->streams) return;
    if (!sink_is_idle(&job->out) || !sink_is_idle(&job->err)) return;
    job->ending = 1;
    for (int i = 0; i < JOB_SIGNALS; i++) uv_close((uv_handle_t *)&job->signals[i], NULL);
    uv_close((uv_handle_t *)&job->grace, NULL);
    uv_close((uv_handle_t *)&job->linger, NULL);
    sink_close(&job->out);
    sink_close(&job->err);
}

static void all_have_ended(struct job *job) {
    uv_timer_stop(&job->grace);
    uv_timer_start(&job->linger, close_streams, LINGER_MS, 0);
    job_check_end(job);
}

static void on_rank_exit(uv_process_t *process, int64_t status, int signal_number) {
    struct rank *rank = process->data;
    struct job *job = rank->job;
    rank->state = RANK_ENDED;
    rank->end_ns = symm_now_ns();
    rank->exit_code = (int)status;
    rank->signal = signal_number;
    kill(-rank->pid, SIGKILL); /* what it has left running in its session */
    uv_close((uv_handle_t *)process, NULL);
    job->running--;
    if (status != 0 || signal_number != 0) fail(job, rank);
    if (!job->running) all_have_ended(job);
}

/* ---- the script, looked at once rather than by every rank ---- */

static int copy_input(int fd) {
    char buffer[65536];
    ssize_t size;
    while ((size = read(STDIN_FILENO, buffer, sizeof buffer)) != 0) {
        if (size < 0 && errno == EINTR) continue;
        if (size < 0 || write(fd, buffer, (size_t)size) != size) return -1;
    }
    return 0;
}

static int keep_input(struct job *job) {
    job->script_fd = memfd_create("symmrun-script", MFD_CLOEXEC);
    if (job->script_fd >= 0 && copy_input(job->script_fd) == 0) return 0;
    symmrun_say("the script cannot be read from standard input: %s", strerror(errno));
    return EXIT_FAILED;
}

/* An absent file or a syntax error is one message, not one a rank. Only what can be read twice is
 * looked at; a rank finds the rest. */
static int check_script(const struct symmrun_options *options) {
    const char *path = options->argv[options->script];
    struct stat status;
    int code = 0;
    if (stat(path, &status) < 0) {
        symmrun_say("cannot open %s: %s", path, strerror(errno));
        return EXIT_FAILED;
    }
    if (S_ISDIR(status.st_mode)) {
        symmrun_say("cannot read %s: it is a directory", path);
        return EXIT_FAILED;
    }
    if (!S_ISREG(status.st_mode)) return 0;
    lua_State *L = luaL_newstate();
    if (L && luaL_loadfile(L, path) != LUA_OK) {
        symmrun_say("%s", lua_tostring(L, -1));
        code = EXIT_FAILED;
    }
    if (L) lua_close(L);
    return code;
}

static int prepare_script(struct job *job) {
    const struct symmrun_options *options = job->options;
    if (options->script == options->argc) return 0;
    if (strcmp(options->argv[options->script], "-") == 0) return keep_input(job);
    return check_script(options);
}

/* ---- the job ---- */

/* Both to one place: one writer, so that lines stay whole and in order. */
static int share_output(void) {
    struct stat out, err;
    return fstat(STDOUT_FILENO, &out) == 0 && fstat(STDERR_FILENO, &err) == 0 &&
           out.st_dev == err.st_dev && out.st_ino == err.st_ino;
}

/* nohup has its way; SIGINT and SIGQUIT are ignored by mere shells for what runs behind. */
static int is_ignored_for_good(int number) {
    struct sigaction action;
    return number == SIGHUP && sigaction(number, NULL, &action) == 0 &&
           action.sa_handler == SIG_IGN;
}

/* 0, or EXIT_FAILED; what is open then is closed by job_check_end. */
static int open_handles(struct job *job) {
    static const int numbers[JOB_SIGNALS] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    signal(SIGPIPE, SIG_IGN); /* libuv gives the ranks the default back */
    for (int i = 0; i < JOB_SIGNALS; i++) {
        uv_signal_init(&job->loop, &job->signals[i]);
        job->signals[i].data = job;
        if (is_ignored_for_good(numbers[i])) continue;
        uv_signal_start(&job->signals[i], on_job_signal, numbers[i]);
    }
    uv_timer_init(&job->loop, &job->grace);
    uv_timer_init(&job->loop, &job->linger);
    job->grace.data = job->linger.data = job;
    int code = sink_open(&job->out, job, STDOUT_FILENO);
    if (code == 0 && !share_output()) code = sink_open(&job->err, job, STDERR_FILENO);
    return code;
}

static int start_ranks(struct job *job) {
    for (int i = 0; i < job->count; i++) {
        struct rank *rank = &job->ranks[i];
        rank->job = job;
        rank->number = i;
        int code = rank_start(rank, on_rank_exit);
        if (code) return code;
    }
    return 0;
}

static int exit_code_of(const struct job *job, int started) {
    if (job->first_failed >= 0) {
        const struct rank *rank = &job->ranks[job->first_failed];
        if (!rank->ended_by_us) return rank->signal ? 128 + rank->signal : rank->exit_code;
    }
    if (job->received) return 128 + job->received;
    if (started != 0) return started;
    if (job->out.failed) return 128 + SIGPIPE;
    return 0;
}

static int run_job(struct job *job) {
    int started = open_handles(job);
    if (started == 0) started = start_ranks(job);
    if (started != 0) {
        job_stop(job, SIGTERM);
        if (!job->running) all_have_ended(job);
    }
    uv_run(&job->loop, UV_RUN_DEFAULT);
    int code = exit_code_of(job, started);
    job_print_summary(job, code);
    return code;
}

int symmrun_launch(const struct symmrun_options *options) {
    int code = job_check_limits(options->ranks);
    if (code) return code;
    struct job *job = calloc(1, sizeof *job);
    struct rank *ranks = calloc((size_t)options->ranks, sizeof *ranks);
    if (!job || !ranks || uv_loop_init(&job->loop) < 0) {
        symmrun_say("no memory for %d ranks", options->ranks);
        code = EXIT_FAILED;
        goto fail;
    }
    job->options = options;
    job->ranks = ranks;
    job->count = options->ranks;
    job->first_failed = job->listen_fd = job->script_fd = -1;
    code = prepare_script(job);
    if (code == 0) code = job_bind(job);
    if (code == 0) code = run_job(job);
    for (int i = 0; i < job->count; i++) symm_activity_close(ranks[i].activity);
    if (job->listen_fd >= 0) close(job->listen_fd);
    if (job->script_fd >= 0) close(job->script_fd);
    uv_loop_close(&job->loop);
fail:
    free(ranks);
    free(job);
    return code;
}
