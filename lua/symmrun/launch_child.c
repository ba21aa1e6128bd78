/* SPDX-License-Identifier: MIT
 *
 * Starting ranks: what the machine must allow, what a rank inherits, and the rank's first steps.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lua/symmrun/job.h"
#include "lua/symmrun/limits.h"

/* Of rank 0, which needs most: for each other rank the store's connection, the mesh's socket, a
 * pidfd and, for a moment, a block. The launcher has two pipes a rank. */
#define DESCRIPTORS_A_RANK 4
#define DESCRIPTORS_BESIDES 64
/* A rank and the library's own thread; and the launcher's for its two outputs. */
#define TASKS_A_RANK 2
#define TASKS_BESIDES 2

#define LAUNCHER_VARIABLE "SYMM_LAUNCHER_PID"
#define LISTEN_VARIABLE "SYMM_MASTER_LISTEN_FD"

extern char **environ;

int job_check_limits(int ranks) {
    rlim_t needed = (rlim_t)ranks * DESCRIPTORS_A_RANK + DESCRIPTORS_BESIDES;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < needed) {
        symmrun_say("-n %d needs %llu descriptors a process; this one may have %llu (ulimit -Hn)",
                    ranks, (unsigned long long)needed, (unsigned long long)limit.rlim_cur);
        return EXIT_USAGE;
    }
    int64_t tasks = limit_tasks_left("");
    int tasks_needed = ranks * TASKS_A_RANK + TASKS_BESIDES;
    if (tasks < tasks_needed) {
        symmrun_say("-n %d needs %d processes and threads; %lld are left (pids.max, ulimit -u)",
                    ranks, tasks_needed, (long long)tasks);
        return EXIT_USAGE;
    }
    return 0;
}

int job_bind(struct job *job) {
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) < 0 || listen(fd, SOMAXCONN) < 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) < 0) {
        symmrun_say("no port on 127.0.0.1 for the ranks' store: %s", strerror(errno));
        if (fd >= 0) close(fd);
        return EXIT_FAILED;
    }
    job->listen_fd = fd;
    job->port = ntohs(address.sin_port);
    return 0;
}

/* ---- the environment ---- */

struct environment {
    char **list; /* strings are its own; NULL-ended */
    size_t count, capacity;
};

static int env_add(struct environment *env, char *owned) {
    if (env->count + 2 > env->capacity) {
        size_t capacity = env->capacity ? env->capacity * 2 : 64;
        char **list = realloc(env->list, capacity * sizeof *list);
        if (!list) {
            free(owned);
            return 0;
        }
        env->list = list;
        env->capacity = capacity;
    }
    if (!owned) return 0;
    env->list[env->count++] = owned;
    env->list[env->count] = NULL;
    return 1;
}

static int env_set(struct environment *env, const char *name, const char *format, int value) {
    char text[64], *pair = NULL;
    snprintf(text, sizeof text, format, value);
    if (asprintf(&pair, "%s=%s", name, text) < 0) pair = NULL;
    return env_add(env, pair);
}

static void env_free(struct environment *env) {
    for (size_t i = 0; i < env->count; i++) free(env->list[i]);
    free(env->list);
}

/* What the launcher sets itself is not taken over from its own environment. */
static int is_ours(const char *pair) {
    static const char *const names[] = {
        "RANK",        "LOCAL_RANK",      "WORLD_SIZE",    "LOCAL_WORLD_SIZE",    "MASTER_ADDR",
        "MASTER_PORT", LAUNCHER_VARIABLE, LISTEN_VARIABLE, SYMM_ACTIVITY_VARIABLE};
    size_t length = strcspn(pair, "=");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strlen(names[i]) == length && strncmp(names[i], pair, length) == 0) return 1;
    }
    return 0;
}

enum { STATUS_FD = 3, LISTEN_FD = 4 };

/* As many threads of BLAS as there are ranks would fight for the CPUs. */
static int env_set_threads(struct environment *env, int ranks) {
    if (ranks == 1) return 1;
    if (!getenv("OMP_NUM_THREADS") && !env_set(env, "OMP_NUM_THREADS", "%d", 1)) return 0;
    return getenv("OPENBLAS_NUM_THREADS") || env_set(env, "OPENBLAS_NUM_THREADS", "%d", 1);
}

static int env_make(struct environment *env, const struct rank *rank) {
    const struct job *job = rank->job;
    for (char **at = environ; *at; at++) {
        if (!is_ours(*at) && !env_add(env, strdup(*at))) return 0;
    }
    return env_set(env, "RANK", "%d", rank->number) &&
           env_set(env, "LOCAL_RANK", "%d", rank->number) &&
           env_set(env, "WORLD_SIZE", "%d", job->count) &&
           env_set(env, "LOCAL_WORLD_SIZE", "%d", job->count) &&
           env_set(env, "MASTER_ADDR", "127.0.0.1", 0) &&
           env_set(env, "MASTER_PORT", "%d", job->port) &&
           env_set(env, LAUNCHER_VARIABLE, "%d", (int)getpid()) &&
           env_set(env, SYMM_ACTIVITY_VARIABLE, "%d", STATUS_FD) &&
           (rank->number != 0 || env_set(env, LISTEN_VARIABLE, "%d", LISTEN_FD)) &&
           env_set_threads(env, job->count);
}

/* ---- the arguments ---- */

/* The options without -n and its number: what is left is one rank's command line. */
static char **make_arguments(const struct symmrun_options *options) {
    char **list = calloc((size_t)options->argc + 1, sizeof *list);
    int count = 0;
    if (!list) return NULL;
    for (int at = 0; at < options->argc; at++) {
        char *text = options->argv[at];
        int is_option = at > 0 && at < options->script && text[0] == '-';
        if (is_option && text[1] == 'n') {
            if (!text[2]) at++;
            continue;
        }
        list[count++] = text;
        if (is_option && strcmp(text, "-e") == 0) list[count++] = options->argv[++at];
    }
    return list;
}

/* ---- spawning ---- */

static uv_stdio_container_t inherit(int fd) {
    uv_stdio_container_t container = {.flags = fd >= 0 ? UV_INHERIT_FD : UV_IGNORE};
    if (fd >= 0) container.data.fd = fd;
    return container;
}

/* Rank 0 reads the launcher's standard input, as with other launchers; a script that was piped in
 * is read by each from its start. The caller closes what is > 2. */
static int choose_input(const struct rank *rank) {
    char path[64];
    if (rank->job->script_fd >= 0) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", rank->job->script_fd);
        return open(path, O_RDONLY | O_CLOEXEC);
    }
    if (rank->number == 0 && fcntl(STDIN_FILENO, F_GETFD) >= 0) return STDIN_FILENO;
    return -1;
}

static void close_if(int fd) {
    if (fd > STDERR_FILENO) close(fd);
}

struct pipes {
    int input, out[2], err[2]; /* [0] is the launcher's end */
};

static int open_pipes(const struct rank *rank, struct pipes *pipes) {
    *pipes = (struct pipes){choose_input(rank), {-1, -1}, {-1, -1}};
    int rc = uv_pipe(pipes->out, UV_NONBLOCK_PIPE, 0);
    return rc < 0 ? rc : uv_pipe(pipes->err, UV_NONBLOCK_PIPE, 0);
}

static void close_pipes(struct pipes *pipes) {
    close_if(pipes->input);
    close_if(pipes->out[0]);
    close_if(pipes->out[1]);
    close_if(pipes->err[0]);
    close_if(pipes->err[1]);
}

static int spawn(struct rank *rank, const struct pipes *pipes, char **arguments, char **env,
                 uv_exit_cb on_exit) {
    uv_stdio_container_t stdio[LISTEN_FD + 1] = {
        inherit(pipes->input), inherit(pipes->out[1]), inherit(pipes->err[1]),
        inherit(symm_activity_fd(rank->activity)), inherit(rank->job->listen_fd)};
    uv_process_options_t options = {
        .exit_cb = on_exit,
        .file = "/proc/self/exe",
        .args = arguments,
        .env = env,
        .flags = UV_PROCESS_DETACHED, /* a session of its own */
        .stdio_count = rank->number == 0 ? LISTEN_FD + 1 : STATUS_FD + 1,
        .stdio = stdio,
    };
    rank->process.data = rank;
    return uv_spawn(&rank->job->loop, &rank->process, &options);
}

static int start_with(struct rank *rank, struct pipes *pipes, char **arguments, char **env,
                      uv_exit_cb on_exit) {
    struct job *job = rank->job;
    int rc = open_pipes(rank, pipes);
    if (rc == 0) rc = spawn(rank, pipes, arguments, env, on_exit);
    if (rc < 0) return rc;
    rank->state = RANK_RUNS;
    rank->pid = rank->process.pid;
    rank->begin_ns = symm_now_ns();
    job->running++;
    symm_activity_drop_fd(rank->activity);
    if (rank->number == 0) { /* from now on connecting fails when rank 0 is gone */
        close(job->listen_fd);
        job->listen_fd = -1;
    }
    rc = stream_open(&rank->out, rank, &job->out, pipes->out[0]);
    pipes->out[0] = -1;
    if (rc < 0) return rc;
    rc = stream_open(&rank->err, rank, job->err.job ? &job->err : &job->out, pipes->err[0]);
    pipes->err[0] = -1;
    return rc;
}

int rank_start(struct rank *rank, uv_exit_cb on_exit) {
    struct pipes pipes = {-1, {-1, -1}, {-1, -1}};
    struct environment env = {NULL, 0, 0};
    char **arguments = make_arguments(rank->job->options);
    int rc = UV_ENOMEM;
    if (symm_activity_open(&rank->activity) < 0) {
        symmrun_say("rank %d: %s", rank->number, symm_last_error()->message);
        goto fail;
    }
    if (arguments && env_make(&env, rank)) {
        rc = start_with(rank, &pipes, arguments, env.list, on_exit);
    }
    if (rc < 0) symmrun_say("rank %d cannot be started: %s", rank->number, uv_strerror(rc));
fail:
    close_pipes(&pipes);
    env_free(&env);
    free(arguments);
    return rc < 0 ? EXIT_FAILED : 0;
}

/* ---- in the rank ---- */

/* Comes when the launcher dies, and never else. Not SIGTERM, which the launcher itself sends: its
 * threads die one after the other, and to a rank it still looks alive at the first. */
#define LAUNCHER_DIED (SIGRTMAX - 1)

/* Killing a launcher kills its ranks with all that they started: their session's process group. */
static void on_launcher_death(int number) {
    (void)number;
    kill(getpgrp() == getpid() ? 0 : getpid(), SIGKILL);
}

void symmrun_join_launcher(void) {
    const char *text = getenv(LAUNCHER_VARIABLE), *listen_fd = getenv(LISTEN_VARIABLE);
    struct sigaction action;
    if (!text) return;
    pid_t launcher = (pid_t)strtol(text, NULL, 10);
    unsetenv(LAUNCHER_VARIABLE); /* for this process alone, not for what it starts */
    unsetenv(SYMM_ACTIVITY_VARIABLE);
    if (listen_fd) fcntl((int)strtol(listen_fd, NULL, 10), F_SETFD, FD_CLOEXEC);
    prctl(PR_SET_NAME, "symmrun");
    memset(&action, 0, sizeof action);
    action.sa_handler = on_launcher_death;
    sigfillset(&action.sa_mask);
    sigaction(LAUNCHER_DIED, &action, NULL);
    prctl(PR_SET_PDEATHSIG, LAUNCHER_DIED);
    if (getppid() != launcher) _exit(128 + SIGTERM); /* it died before that */
}
