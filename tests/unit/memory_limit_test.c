/* SPDX-License-Identifier: MIT
 *
 * Memory limits, read from made-up /proc and /sys trees.
 */
#include "symmem/memory_limit.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <symm/status.h>
#include <sys/stat.h>

#include "tests/support/check.h"

#define MIB ((int64_t)1 << 20)

static char root[64];

static void make_root(void) {
    snprintf(root, sizeof root, "/tmp/symm-limit-XXXXXX");
    REQUIRE(mkdtemp(root) != NULL);
}

static void remove_root(void) {
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    CHECK_INT(system(command), 0);
}

/* Writes a file below the root, with its folders. */
__attribute__((format(printf, 2, 3))) static void put(const char *path, const char *format, ...) {
    char whole[256], command[400];
    snprintf(whole, sizeof whole, "%s%s", root, path);
    snprintf(command, sizeof command, "mkdir -p \"$(dirname '%s')\"", whole);
    REQUIRE(system(command) == 0);
    FILE *file = fopen(whole, "w");
    REQUIRE(file != NULL);
    va_list args;
    va_start(args, format);
    vfprintf(file, format, args);
    va_end(args);
    fclose(file);
}

static void put_machine(int64_t available_mib) {
    put("/proc/meminfo", "MemTotal: 99999999 kB\nMemFree: 1 kB\nMemAvailable: %lld kB\n",
        (long long)(available_mib * 1024));
}

TEST(machine_alone_limits_less_a_reserve) {
    struct symm__memory_limit limit;
    make_root();
    put_machine(160);
    symm__memory_limit_of_host(root, &limit);
    CHECK_INT(limit.bytes, 150 * MIB); /* a sixteenth stays free */
    CHECK_CONTAINS(limit.name, "MemAvailable");
    put_machine(100 * 1024);
    symm__memory_limit_of_host(root, &limit);
    CHECK_INT(limit.bytes, (100 * 1024 - 64) * MIB); /* but at most 64 MiB */
    remove_root();
}

TEST(nothing_readable_does_not_limit) {
    struct symm__memory_limit limit;
    make_root();
    symm__memory_limit_of_host(root, &limit);
    CHECK_INT(limit.bytes, INT64_MAX);
    remove_root();
}

TEST(version_2_counts_its_use_and_its_parents) {
    struct symm__memory_limit limit;
    make_root();
    put_machine(100000);
    put("/proc/self/cgroup", "0::/job/step\n");
    put("/sys/fs/cgroup/job/step/memory.max", "max\n");
    put("/sys/fs/cgroup/job/step/memory.current", "%lld\n", (long long)(10 * MIB));
    put("/sys/fs/cgroup/job/memory.max", "%lld\n", (long long)(336 * MIB));
    put("/sys/fs/cgroup/job/memory.current", "%lld\n", (long long)(96 * MIB));
    put("/sys/fs/cgroup/job/memory.stat", "anon 1\ninactive_file %lld\n", (long long)(80 * MIB));
    symm__memory_limit_of_host(root, &limit);
    CHECK_INT(limit.bytes, 320 * MIB - 20 * MIB); /* 336 - (96 - 80), less a sixteenth */
    CHECK_CONTAINS(limit.name, "cgroup /job (memory.max)");
    remove_root();
}

TEST(version_1_is_read_beside_other_controllers) {
    struct symm__memory_limit limit;
    make_root();
    put_machine(100000);
    put("/proc/self/cgroup", "3:cpu,cpuacct:/elsewhere\n2:memory:/box\n1:name=systemd:/\n");
    put("/sys/fs/cgroup/memory/box/memory.limit_in_bytes", "%lld\n", (long long)(64 * MIB));
    put("/sys/fs/cgroup/memory/box/memory.usage_in_bytes", "%lld\n", (long long)(48 * MIB));
    symm__memory_limit_of_host(root, &limit);
    CHECK_INT(limit.bytes, 15 * MIB);
    CHECK_CONTAINS(limit.name, "cgroup /box (memory.limit_in_bytes)");
    remove_root();
}

TEST(use_over_the_limit_leaves_nothing) {
    struct symm__memory_limit limit;
    make_root();
    put("/proc/self/cgroup", "0::/\n");
    put("/sys/fs/cgroup/memory.max", "1000\n");
    put("/sys/fs/cgroup/memory.current", "2000\n");
    symm__memory_limit_of_host(root, &limit);
    CHECK_INT(limit.bytes, 0);
    remove_root();
}

TEST(variable_counts_what_is_in_use) {
    struct symm__memory_limit limit;
    setenv("SYMM_SHM_LIMIT", "1MiB", 1);
    CHECK_OK(symm__memory_limit_of_variable(MIB / 4, &limit));
    CHECK_INT(limit.bytes, 3 * MIB / 4);
    CHECK_CONTAINS(limit.name, "SYMM_SHM_LIMIT=1MiB");
    setenv("SYMM_SHM_LIMIT", "plenty", 1);
    CHECK_FAILS(symm__memory_limit_of_variable(0, &limit), SYMM_EINVALID, "SYMM_SHM_LIMIT");
    unsetenv("SYMM_SHM_LIMIT");
    CHECK_OK(symm__memory_limit_of_variable(0, &limit));
    CHECK_INT(limit.bytes, INT64_MAX);
}
