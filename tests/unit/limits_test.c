/* SPDX-License-Identifier: MIT
 *
 * What symmrun reads of the control groups, in a /proc and /sys made up for it.
 */
#include "lua/symmrun/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/check.h"

static char root[256];

/* Writes a file below the root, folders and all. */
static void put(const char *path, const char *text) {
    char whole[512];
    snprintf(whole, sizeof whole, "%s%s", root, path);
    for (char *at = whole + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        mkdir(whole, 0755);
        *at = '/';
    }
    FILE *file = fopen(whole, "w");
    if (!CHECK_NOT_NULL(file)) return;
    fputs(text, file);
    fclose(file);
}

static void make_root(void) {
    const char *folder = getenv("TMPDIR");
    snprintf(root, sizeof root, "%s/limits-%d", folder ? folder : "/tmp", (int)getpid());
}

static void remove_root(void) {
    char command[512];
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    CHECK_INT(system(command), 0);
}

/* RLIMIT_NPROC, which holds for all but root, must not be in the way. */
static int64_t tasks_left(void) {
    struct rlimit limit;
    getrlimit(RLIMIT_NPROC, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NPROC, &limit);
    return limit_tasks_left(root);
}

TEST(version_2_limits_by_the_group_and_all_above) {
    make_root();
    put("/proc/self/cgroup", "0::/a/b\n");
    put("/sys/fs/cgroup/a/b/pids.max", "max\n");
    put("/sys/fs/cgroup/a/b/pids.current", "5\n");
    CHECK(tasks_left() > 1000000 || geteuid() != 0);
    put("/sys/fs/cgroup/a/pids.max", "100\n");
    put("/sys/fs/cgroup/a/pids.current", "40\n");
    CHECK_INT(tasks_left(), 60);
    put("/sys/fs/cgroup/a/b/pids.max", "30\n");
    CHECK_INT(tasks_left(), 25);
    put("/sys/fs/cgroup/pids.max", "41\n");
    put("/sys/fs/cgroup/pids.current", "40\n");
    CHECK_INT(tasks_left(), 1);
    put("/sys/fs/cgroup/pids.current", "42\n"); /* set after they were started */
    CHECK_INT(tasks_left(), 0);
    remove_root();
}

TEST(version_1_limits_by_its_own_controller) {
    make_root();
    put("/proc/self/cgroup", "11:cpu,cpuacct:/a\n5:pids:/a\n1:name=systemd:/\n0::/\n");
    put("/sys/fs/cgroup/pids/a/pids.max", "70\n");
    put("/sys/fs/cgroup/pids/a/pids.current", "10\n");
    put("/sys/fs/cgroup/cpu/a/pids.max", "1\n");
    put("/sys/fs/cgroup/cpu/a/pids.current", "1\n");
    CHECK_INT(tasks_left(), 60);
    put("/proc/self/cgroup", "5:cpuset,pids:/a\n");
    CHECK_INT(tasks_left(), 60);
    put("/proc/self/cgroup", "5:spids:/a\n");
    CHECK(tasks_left() > 1000000 || geteuid() != 0);
    remove_root();
}

TEST(what_cannot_be_read_does_not_limit) {
    make_root();
    CHECK(tasks_left() > 1000000 || geteuid() != 0);
    put("/proc/self/cgroup", "\nnonsense\n0:\n0::\n0::relative\n");
    CHECK(tasks_left() > 1000000 || geteuid() != 0);
    put("/proc/self/cgroup", "0::/a\n");
    put("/sys/fs/cgroup/a/pids.max", "x\n");
    put("/sys/fs/cgroup/a/pids.current", "5\n");
    CHECK(tasks_left() > 1000000 || geteuid() != 0);
    put("/sys/fs/cgroup/a/pids.max", "");
    CHECK(tasks_left() > 1000000 || geteuid() != 0);
    remove_root();
}

TEST(meminfo_is_read_in_bytes) {
    CHECK(limit_meminfo("MemTotal") > 1 << 20);
    CHECK(limit_meminfo("MemTotal") >= limit_meminfo("MemAvailable"));
    CHECK_INT(limit_meminfo("Mem"), LIMIT_UNKNOWN);
    CHECK_INT(limit_file("/nowhere"), LIMIT_UNKNOWN);
}
