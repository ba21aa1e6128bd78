/* SPDX-License-Identifier: MIT
 *
 * The C tests' framework itself: a check that fails must fail its process.
 */
#include "tests/support/check.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static int fails_with(int code) { return symm__fail(code, "the reason is %d", 42); }

/* Runs one check that must fail; the parent sees it by the status. */
ROLE(failing) {
    const char *which = argv[1];
    if (strcmp(which, "true") == 0) CHECK(argc == 0);
    if (strcmp(which, "int") == 0) CHECK_INT(-1, 1);
    if (strcmp(which, "uint") == 0) CHECK_UINT(UINT64_MAX, 1);
    if (strcmp(which, "double") == 0) CHECK_DOUBLE(0.1, 0.2);
    if (strcmp(which, "nan") == 0) CHECK_DOUBLE(NAN, 0.0);
    if (strcmp(which, "str") == 0) CHECK_STR("a", "b");
    if (strcmp(which, "null") == 0) CHECK_STR(NULL, "b");
    if (strcmp(which, "contains") == 0) CHECK_CONTAINS("abc", "d");
    if (strcmp(which, "ok") == 0) CHECK_OK(fails_with(SYMM_EIO));
    if (strcmp(which, "code") == 0) CHECK_FAILS(fails_with(SYMM_EIO), SYMM_ELIMIT, "42");
    if (strcmp(which, "message") == 0) CHECK_FAILS(fails_with(SYMM_EIO), SYMM_EIO, "43");
    if (strcmp(which, "silent") == 0) {
        symm_clear_error();
        CHECK_FAILS(SYMM_EIO, SYMM_EIO, "");
    }
    return 0;
}

ROLE(passing) {
    CHECK(argc == 2);
    CHECK_INT(-1, -1);
    CHECK_UINT(UINT64_MAX, UINT64_MAX);
    CHECK_DOUBLE(NAN, NAN);
    CHECK_STR(argv[1], "argument");
    CHECK_STR(NULL, NULL);
    CHECK_CONTAINS("abc", "bc");
    CHECK_NULL(NULL);
    CHECK_NOT_NULL(argv);
    CHECK_OK(SYMM_OK);
    CHECK_FAILS(fails_with(SYMM_EIO), SYMM_EIO, "reason is 42");
    return 0;
}

ROLE(ending) {
    if (strcmp(argv[1], "killed") == 0) raise(SIGKILL);
    return atoi(argv[1]);
}

TEST(each_failed_check_fails_its_process) {
    static const char *const kinds[] = {"true", "int",      "uint", "double", "nan",     "str",
                                        "null", "contains", "ok",   "code",   "message", "silent"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        int status = check_wait(check_spawn("failing", kinds[i], NULL));
        if (!CHECK_INT(status, 1)) CHECK_STR(kinds[i], "a check that fails");
    }
    CHECK_INT(check_wait(check_spawn("failing", "none of them", NULL)), 0);
}

TEST(checks_that_hold_pass) { CHECK_INT(check_wait(check_spawn("passing", "argument", NULL)), 0); }

TEST(the_end_of_a_process_is_seen) {
    CHECK_INT(check_wait(check_spawn("ending", "0", NULL)), 0);
    CHECK_INT(check_wait(check_spawn("ending", "7", NULL)), 7);
    CHECK_INT(check_wait(check_spawn("ending", "killed", NULL)), 128 + SIGKILL);
    CHECK_INT(check_wait(-1), 127);
}
