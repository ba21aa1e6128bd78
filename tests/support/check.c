/* SPDX-License-Identifier: MIT
 *
 * Runs the tests that constructors have registered. Invariant: every test prints exactly one line
 * that begins with "ok" or "not ok", whatever it does.
 */
#include "tests/support/check.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <symm/error.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 512, MOST_ARGUMENTS = 32, SKIPPED = 77, TIME_LIMIT_S = 60 };

extern char **environ;

static struct {
    const char *name;
    check_test *test;
    check_role *role;
} entries[MOST];
static int entry_count;

static atomic_int failures; /* relaxed: read after every thread of the test has been joined */
static const char *running = "";

#if defined(__SANITIZE_THREAD__)
/* ThreadSanitizer of gcc 12 does not see pthread_mutex_clocklock: here is one that it sees. */
int pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *until) {
    struct timespec now, wall;
    clock_gettime(clock, &now);
    clock_gettime(CLOCK_REALTIME, &wall);
    int64_t ns = (until->tv_sec - now.tv_sec) * INT64_C(1000000000) + until->tv_nsec - now.tv_nsec;
    ns += wall.tv_sec * INT64_C(1000000000) + wall.tv_nsec;
    struct timespec at = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    return pthread_mutex_timedlock(mutex, &at);
}
#endif

static void add(const char *name, check_test *test, check_role *role) {
    if (entry_count == MOST) {
        fprintf(stderr, "check.c: more than %d tests in one file\n", MOST);
        exit(2);
    }
    entries[entry_count].name = name;
    entries[entry_count].test = test;
    entries[entry_count++].role = role;
}

void check_add_test(const char *name, check_test *function) { add(name, function, NULL); }
void check_add_role(const char *name, check_role *function) { add(name, NULL, function); }

static int find(const char *name, int is_role) {
    for (int i = 0; i < entry_count; i++) {
        if (!entries[i].role == !is_role && strcmp(entries[i].name, name) == 0) return i;
    }
    fprintf(stderr, "no %s '%s' here\n", is_role ? "role" : "test", name);
    exit(2);
}

__attribute__((format(printf, 3, 4))) static int fail(const char *file, int line,
                                                      const char *format, ...) {
    char text[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    atomic_fetch_add_explicit(&failures, 1, memory_order_relaxed);
    printf("# %s:%d: %s\n", file, line, text);
    fflush(stdout);
    return 0;
}

int check_true(const char *file, int line, int ok, const char *text) {
    return ok ? 1 : fail(file, line, "not true: %s", text);
}

int check_int(const char *file, int line, int64_t got, int64_t want, const char *text) {
    if (got == want) return 1;
    return fail(file, line, "%s is %" PRId64 ", not %" PRId64, text, got, want);
}

int check_uint(const char *file, int line, uint64_t got, uint64_t want, const char *text) {
    if (got == want) return 1;
    return fail(file, line, "%s is %" PRIu64 ", not %" PRIu64, text, got, want);
}

int check_double(const char *file, int line, double got, double want, const char *text) {
    if (got == want || (isnan(got) && isnan(want))) return 1;
    return fail(file, line, "%s is %.17g, not %.17g", text, got, want);
}

int check_str(const char *file, int line, const char *got, const char *want, const char *text) {
    if (got && want ? strcmp(got, want) == 0 : got == want) return 1;
    return fail(file, line, "%s is \"%s\", not \"%s\"", text, got ? got : "(NULL)",
                want ? want : "(NULL)");
}

int check_contains(const char *file, int line, const char *got, const char *part,
                   const char *text) {
    if (got && strstr(got, part)) return 1;
    return fail(file, line, "%s is \"%s\", which has no \"%s\" in it", text, got ? got : "(NULL)",
                part);
}

int check_ok(const char *file, int line, int rc, const char *text) {
    if (rc >= 0) return 1;
    return fail(file, line, "%s failed: %s: %s", text, symm_status_name(rc),
                symm_last_error()->message);
}

int check_fails(const char *file, int line, int rc, int want, const char *part, const char *text) {
    if (rc != want) {
        return fail(file, line, "%s gave %d (%s), not %s", text, rc, symm_status_name(rc),
                    symm_status_name(want));
    }
    if (symm_last_error()->code != want) {
        return fail(file, line, "%s gave %s, but symm_last_error() says %s", text,
                    symm_status_name(rc), symm_status_name(symm_last_error()->code));
    }
    return check_contains(file, line, symm_last_error()->message, part, text);
}

void check_skip(const char *reason) {
    fflush(NULL);
    if (atomic_load_explicit(&failures, memory_order_relaxed)) {
        printf("not ok - %s\n", running);
        fflush(stdout);
        _exit(1);
    }
    printf("ok - %s # SKIP %s\n", running, reason);
    fflush(stdout);
    _exit(SKIPPED);
}

static pid_t start(char *const argv[]) {
    char path[4096]; /* by name: under valgrind the link itself leads to valgrind */
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    path[n > 0 ? n : 0] = '\0';
    pid_t pid = -1;
    fflush(NULL);
    int error = posix_spawn(&pid, path, NULL, NULL, argv, environ);
    if (error) {
        fail(__FILE__, __LINE__, "posix_spawn: %s", strerror(error));
        return -1;
    }
    return pid;
}

pid_t check_spawn(const char *role, ...) {
    char *argv[MOST_ARGUMENTS + 4] = {"role", "--role", (char *)(uintptr_t)role};
    va_list args;
    va_start(args, role);
    for (int i = 3; i < MOST_ARGUMENTS + 3; i++) {
        argv[i] = va_arg(args, char *);
        if (!argv[i]) break;
    }
    va_end(args);
    return start(argv);
}

int check_wait(pid_t pid) {
    int status = 0;
    if (pid <= 0 || waitpid(pid, &status, 0) != pid) return 127;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int failed(void) { return atomic_load_explicit(&failures, memory_order_relaxed) != 0; }

static int run_here(const char *name) {
    int i = find(name, 0);
    running = name;
    atomic_store_explicit(&failures, 0, memory_order_relaxed);
    entries[i].test();
    fflush(NULL);
    printf("%s - %s\n", failed() ? "not ok" : "ok", name);
    fflush(stdout);
    return failed();
}

static int run_role(int argc, char **argv) {
    int i = find(argv[0], 1);
    alarm(TIME_LIMIT_S);
    int rc = entries[i].role(argc, argv);
    fflush(NULL);
    return rc ? rc : failed();
}

/* Runs one test in a process of its own; 1 if it failed. */
static int run_apart(const char *name) {
    char *argv[] = {"test", "--test", (char *)(uintptr_t)name, NULL};
    int status = check_wait(start(argv));
    if (status <= 1 || status == SKIPPED) return status == 1;
    if (status == 128 + SIGALRM) {
        printf("# still running after %d s\n", TIME_LIMIT_S);
    } else {
        printf("# ended with status %d (%s)\n", status,
               status > 128 ? strsignal(status - 128) : "not the test's own");
    }
    printf("not ok - %s\n", name);
    fflush(stdout);
    return 1;
}

int main(int argc, char **argv) {
    int bad = 0;
    if (argc >= 3 && strcmp(argv[1], "--role") == 0) return run_role(argc - 2, argv + 2);
    if (argc == 3 && strcmp(argv[1], "--test") == 0) {
        alarm(TIME_LIMIT_S);
        return run_here(argv[2]);
    }
    for (int i = 1; i < argc; i++) bad |= run_here(argv[i]);
    if (argc > 1) return bad;
    for (int i = 0; i < entry_count; i++) {
        if (entries[i].test) bad |= run_apart(entries[i].name);
    }
    return bad;
}
