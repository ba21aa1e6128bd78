/* SPDX-License-Identifier: MIT */
#include "lua/symmrun/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

int64_t limit_file(const char *path) {
    char text[64] = "";
    FILE *file = fopen(path, "re");
    if (!file) return LIMIT_UNKNOWN;
    char *got = fgets(text, sizeof text, file);
    fclose(file);
    if (!got) return LIMIT_UNKNOWN;
    if (strncmp(text, "max", 3) == 0) return LIMIT_NONE;
    char *end = NULL;
    long long value = strtoll(text, &end, 10);
    if (end == text || value < 0) return LIMIT_UNKNOWN;
    return value >= INT64_C(1) << 62 ? LIMIT_NONE : value; /* version 1 says "none" so */
}

int64_t limit_meminfo(const char *field) {
    char line[256];
    size_t length = strlen(field);
    int64_t bytes = LIMIT_UNKNOWN;
    FILE *file = fopen("/proc/meminfo", "re");
    if (!file) return bytes;
    while (fgets(line, sizeof line, file)) {
        if (strncmp(line, field, length) != 0 || line[length] != ':') continue;
        bytes = strtoll(line + length + 1, NULL, 10) * 1024;
        break;
    }
    fclose(file);
    return bytes;
}

/* ---- control groups ---- */

/* Does the comma-separated list have the word? */
static int lists(const char *list, const char *word) {
    size_t length = strlen(word);
    for (const char *at = list; (at = strstr(at, word)) != NULL; at += length) {
        int begins = at == list || at[-1] == ',';
        if (begins && (at[length] == ',' || at[length] == '\0')) return 1;
    }
    return 0;
}

/* The folder of this process's group: "hierarchy:controllers:path" in /proc/self/cgroup. Version 2
 * has no controllers there. Gives the length of the root's part, below which nothing is a group. */
static size_t find_folder(const char *controller, char *folder, size_t size) {
    char line[4096];
    size_t root = 0;
    FILE *file = fopen("/proc/self/cgroup", "re");
    if (!file) return 0;
    while (root == 0 && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':');
        char *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path) continue;
        *path++ = '\0';
        controllers++;
        if (controller ? !lists(controllers, controller) : *controllers != '\0') continue;
        root = strlen("/sys/fs/cgroup") + (controller ? 1 + strlen(controller) : 0);
        snprintf(folder, size, "/sys/fs/cgroup%s%s%s", controller ? "/" : "",
                 controller ? controller : "", path);
    }
    fclose(file);
    return root;
}

/* A container may see its group as "/" or not see its path at all, so every level that has the file
 * counts. */
static int64_t smallest(const char *controller, const char *name, int all_levels) {
    char folder[4200], path[4400];
    int64_t least = LIMIT_UNKNOWN;
    size_t root = find_folder(controller, folder, sizeof folder);
    if (root == 0) return least;
    for (;;) {
        snprintf(path, sizeof path, "%s/%s", folder, name);
        int64_t value = limit_file(path);
        if (value >= 0 && (least < 0 || value < least)) least = value;
        if (least >= 0 && !all_levels) break;
        char *slash = strrchr(folder, '/');
        if (!slash || strlen(folder) <= root) break;
        *slash = '\0';
    }
    return least;
}

static int64_t either(const char *name2, const char *controller, const char *name1,
                      int all_levels) {
    int64_t value = smallest(NULL, name2, all_levels);
    return value >= 0 ? value : smallest(controller, name1, all_levels);
}

int64_t limit_cgroup(const char *name2, const char *controller, const char *name1) {
    int64_t value = either(name2, controller, name1, 1);
    return value < 0 ? LIMIT_NONE : value;
}

int64_t use_cgroup(const char *name2, const char *controller, const char *name1) {
    return either(name2, controller, name1, 0);
}

int64_t limit_tasks_left(void) {
    int64_t left = LIMIT_NONE;
    int64_t most = limit_cgroup("pids.max", "pids", "pids.max");
    int64_t used = use_cgroup("pids.current", "pids", "pids.current");
    if (most != LIMIT_NONE && used >= 0) left = most > used ? most - used : 0;
    struct rlimit limit;
    /* RLIMIT_NPROC counts all of a user's tasks, and does not hold for root. */
    if (geteuid() != 0 && getrlimit(RLIMIT_NPROC, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
        int64_t tasks = limit.rlim_cur > (rlim_t)INT64_MAX ? LIMIT_NONE : (int64_t)limit.rlim_cur;
        if (tasks < left) left = tasks;
    }
    return left;
}
