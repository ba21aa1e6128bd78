/* SPDX-License-Identifier: MIT
 *
 * The C tests' framework. A test file is a program of its own:
 *
 *     #include "tests/support/check.h"
 *
 *     TEST(registry_refuses_a_taken_name) {
 *         CHECK_OK(symm__registry_add(&registry, "a", &x));
 *         CHECK_FAILS(symm__registry_add(&registry, "a", &y), SYMM_EEXISTS, "exists already");
 *     }
 *
 * main is in check.c. It runs each test in a process of its own, so that a crash or a hang is that
 * test's failure alone, and prints a line each: "ok - NAME", "not ok - NAME" or
 * "ok - NAME # SKIP REASON". With names as arguments it runs only those, in this very process (for
 * a debugger). A failed CHECK prints where and what, counts, and goes on; a failed REQUIRE ends
 * the function it stands in. Checks may be used from any thread and from roles.
 */
#ifndef SYMM_TESTS_CHECK_H
#define SYMM_TESTS_CHECK_H

#include <stdint.h>
#include <sys/types.h>

typedef void check_test(void);
typedef int check_role(int argc, char **argv);

void check_add_test(const char *name, check_test *function);
void check_add_role(const char *name, check_role *function);

#define TEST(name)                                                   \
    static void test_##name(void);                                   \
    __attribute__((constructor)) static void add_test_##name(void) { \
        check_add_test(#name, test_##name);                          \
    }                                                                \
    static void test_##name(void)

/* A role is what another process of a test does: check_spawn starts one with arguments of its
 * own (argv[0] is its name). It ends with 0 if the function gave 0 and no check failed. */
#define ROLE(name)                                                   \
    static int role_##name(int argc, char **argv);                   \
    __attribute__((constructor)) static void add_role_##name(void) { \
        check_add_role(#name, role_##name);                          \
    }                                                                \
    static int role_##name(__attribute__((unused)) int argc, __attribute__((unused)) char **argv)

/* Starts a role with arguments up to a NULL: check_spawn("peer", "1", NULL). Gives its pid; a
 * process that cannot be started is a failed check and gives -1. */
pid_t check_spawn(const char *role, ...) __attribute__((sentinel));
/* Waits for one; gives its exit status, or 128 + the signal that ended it. The test's own time
 * limit bounds the wait. */
int check_wait(pid_t pid);

/* Ends the test: it does not count as passed, and the totals say why. */
_Noreturn void check_skip(const char *reason);
#define SKIP(reason) check_skip(reason)

int check_true(const char *file, int line, int ok, const char *text);
int check_int(const char *file, int line, int64_t got, int64_t want, const char *text);
int check_uint(const char *file, int line, uint64_t got, uint64_t want, const char *text);
int check_double(const char *file, int line, double got, double want, const char *text);
int check_str(const char *file, int line, const char *got, const char *want, const char *text);
int check_contains(const char *file, int line, const char *got, const char *part, const char *text);
int check_ok(const char *file, int line, int rc, const char *text);
int check_fails(const char *file, int line, int rc, int want, const char *part, const char *text);

/* Each gives 1 if the check held. */
#define CHECK(condition) check_true(__FILE__, __LINE__, !!(condition), #condition)
#define CHECK_INT(got, want) check_int(__FILE__, __LINE__, (int64_t)(got), (int64_t)(want), #got)
#define CHECK_UINT(got, want) \
    check_uint(__FILE__, __LINE__, (uint64_t)(got), (uint64_t)(want), #got)
/* Equal, or both not a number. */
#define CHECK_DOUBLE(got, want) check_double(__FILE__, __LINE__, (got), (want), #got)
#define CHECK_STR(got, want) check_str(__FILE__, __LINE__, (got), (want), #got)
#define CHECK_CONTAINS(got, part) check_contains(__FILE__, __LINE__, (got), (part), #got)
#define CHECK_NULL(got) check_true(__FILE__, __LINE__, (got) == NULL, #got " == NULL")
#define CHECK_NOT_NULL(got) check_true(__FILE__, __LINE__, (got) != NULL, #got " != NULL")
/* A call of the library that must succeed (shows symm_last_error()), or fail with this code and a
 * message that has `part` in it. */
#define CHECK_OK(call) check_ok(__FILE__, __LINE__, (call), #call)
#define CHECK_FAILS(call, code, part) check_fails(__FILE__, __LINE__, (call), (code), (part), #call)

#define REQUIRE(condition)             \
    do {                               \
        if (!CHECK(condition)) return; \
    } while (0)
#define REQUIRE_OK(call)             \
    do {                             \
        if (!CHECK_OK(call)) return; \
    } while (0)

#endif
