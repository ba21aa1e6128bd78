/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <symm/version.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lua/symmrun/symmrun.h"

static int print_version(void) {
    printf("symmrun %s (%s)\n", symm_version(), LUA_RELEASE);
    return 0;
}

static int act(const struct symmrun_options *options) {
    switch (options->action) {
    case ACTION_HELP: symmrun_print_help(); return 0;
    case ACTION_VERSION: return print_version();
    case ACTION_INFO: return symmrun_info();
    case ACTION_RUN: break;
    }
    return options->ranks > 0 ? symmrun_launch(options) : symmrun_run(options);
}

/* Where one of the three is closed, the next pipe or socket would take its number, and be written
 * to by a print. */
static void occupy_standard_descriptors(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) < 0) return;
    }
}

/* Whoever started this may have blocked signals for itself; a rank that hears none cannot be ended.
 */
static void hear_signals(void) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* The soft limit of descriptors is low by tradition, for programs that select(); ranks hold several
 * for every other rank, and inherit this. */
static void raise_descriptors(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0) return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit); /* refused: what there is has to do, and errors name it */
}

int main(int argc, char **argv) {
    struct symmrun_options options;
    occupy_standard_descriptors();
    hear_signals();
    raise_descriptors();
    symmrun_join_launcher();
    int code = symmrun_options_read(argc, argv, &options);
    if (code == 0) code = act(&options);
    return symmrun_flush(code);
}
