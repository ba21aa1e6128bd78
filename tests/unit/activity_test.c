/* SPDX-License-Identifier: MIT
 *
 * The page that tells a launcher what its rank does.
 */
#include "base/activity.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <symm/activity.h>
#include <symm/status.h>
#include <symm/wait.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/check.h"

#define HANDED_ON_FD 200

/* Starts a role that finds `fd` as its page. */
static pid_t start_with(const char *role, int fd) {
    char number[16];
    snprintf(number, sizeof number, "%d", HANDED_ON_FD);
    dup2(fd, HANDED_ON_FD); /* without close-on-exec */
    setenv(SYMM_ACTIVITY_VARIABLE, number, 1);
    pid_t pid = check_spawn(role, NULL);
    unsetenv(SYMM_ACTIVITY_VARIABLE);
    close(HANDED_ON_FD);
    return pid;
}

static const char *describe(const symm_activity *activity) {
    static char text[256];
    symm_activity_describe(activity, text, sizeof text);
    return text;
}

ROLE(killed_in_an_operation) {
    int group = symm__activity_group("workers");
    struct symm__activity_mark outer =
        symm__activity_begin(SYMM__ACT_rendezvous, symm__activity_group("0"), -1, -1);
    symm__activity_end(outer);
    symm__activity_begin(SYMM__ACT_put_signal, group, 3, 7);
    symm__activity_waiting();
    raise(SIGKILL);
    return 0;
}

TEST(a_killed_process_has_said_what_it_was_doing) {
    symm_activity *activity = NULL;
    REQUIRE_OK(symm_activity_open(&activity));
    CHECK_STR(describe(activity), "none yet");
    CHECK_INT(check_wait(start_with("killed_in_an_operation", symm_activity_fd(activity))), 137);
    symm_activity_drop_fd(activity);
    CHECK_INT(symm_activity_fd(activity), -1);
    CHECK_CONTAINS(describe(activity),
                   "in put_signal (group workers, peer 3, channel 7), waiting for ");
    symm_activity_close(activity);
}

ROLE(nests) {
    struct symm__activity_mark outer = symm__activity_begin(SYMM__ACT_rendezvous, 0, -1, -1);
    struct symm__activity_mark inner = symm__activity_begin(SYMM__ACT_store_get, 0, -1, -1);
    symm__activity_end(inner);
    if (argc > 1) return 0;
    symm__activity_end(outer);
    return 0;
}

TEST(an_operation_inside_of_another_is_forgotten_at_its_end) {
    symm_activity *activity = NULL;
    REQUIRE_OK(symm_activity_open(&activity));
    CHECK_INT(check_wait(start_with("nests", symm_activity_fd(activity))), 0);
    CHECK_STR(describe(activity), "rendezvous, ended");
    symm_activity_close(activity);
}

ROLE(fails_twice) {
    symm_activity_fail(SYMM_EPEER_DIED);
    symm_activity_fail(SYMM_ETIMEOUT);
    return 0;
}

TEST(the_first_failure_counts) {
    symm_activity *activity = NULL;
    int code = 0;
    int64_t when = 0, before = symm_now_ns();
    REQUIRE_OK(symm_activity_open(&activity));
    CHECK_INT(symm_activity_failure(activity, &code, &when), 0);
    CHECK_INT(check_wait(start_with("fails_twice", symm_activity_fd(activity))), 0);
    CHECK_INT(symm_activity_failure(activity, &code, &when), 1);
    CHECK_INT(code, SYMM_EPEER_DIED);
    CHECK(when >= before && when <= symm_now_ns());
    symm_activity_close(activity);
}

ROLE(has_no_page) {
    CHECK_NULL(symm__activity_page);
    symm__activity_end(symm__activity_begin(SYMM__ACT_barrier, symm__activity_group("g"), 0, 0));
    symm__activity_waiting();
    symm_activity_fail(SYMM_EIO);
    return 0;
}

TEST(a_descriptor_that_is_no_page_is_left_alone) {
    int fd = memfd_create("other", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    REQUIRE(fd >= 0);
    CHECK_INT(check_wait(start_with("has_no_page", fd)), 0);
    CHECK_INT(ftruncate(fd, sizeof(struct symm__activity_page)), 0);
    CHECK_INT(check_wait(start_with("has_no_page", fd)), 0);
    close(fd);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    CHECK_INT(check_wait(start_with("has_no_page", null)), 0);
    close(null);
    static const char *const wrong[] = {"", "x", "-1", "0", "2", "201", "99999999999999999999"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        setenv(SYMM_ACTIVITY_VARIABLE, wrong[i], 1);
        CHECK_INT(check_wait(check_spawn("has_no_page", NULL)), 0);
    }
}

ROLE(knows_many_groups) {
    char name[32];
    for (int i = 0; i < SYMM__ACTIVITY_GROUPS; i++) {
        snprintf(name, sizeof name, "group-%d", i);
        CHECK_INT(symm__activity_group(name), i + 1);
        CHECK_INT(symm__activity_group(name), i + 1);
    }
    CHECK_INT(symm__activity_group("one too many"), 0);
    symm__activity_end(symm__activity_begin(SYMM__ACT_barrier, SYMM__ACTIVITY_GROUPS, -1, -1));
    return 0;
}

TEST(groups_have_room_for_so_many) {
    symm_activity *activity = NULL;
    REQUIRE_OK(symm_activity_open(&activity));
    CHECK_INT(check_wait(start_with("knows_many_groups", symm_activity_fd(activity))), 0);
    CHECK_STR(describe(activity), "barrier (group group-30), ended");
    symm_activity_close(activity);
}

ROLE(writes_nonsense) {
    memset(symm__activity_page->groups, 'x', sizeof symm__activity_page->groups);
    atomic_store(&symm__activity_page->group_count, 1000000);
    atomic_store(&symm__activity_page->what,
                 (uint64_t)SYMM__ACT_barrier | (uint64_t)SYMM__ACTIVITY_GROUPS << 16);
    return 0;
}

TEST(nonsense_in_a_page_is_harmless) {
    symm_activity *activity = NULL;
    char text[16];
    REQUIRE_OK(symm_activity_open(&activity));
    CHECK_INT(check_wait(start_with("writes_nonsense", symm_activity_fd(activity))), 0);
    CHECK_CONTAINS(describe(activity), "barrier (group xxxxx");
    symm_activity_describe(activity, text, sizeof text);
    CHECK_STR(text, "barrier (group ");
    symm_activity_close(activity);
}
