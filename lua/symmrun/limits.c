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

/* "hierarchy:controllers:path", where version 2 has no controllers: gives the folder that its paths
 * count from, and the path; NULL for a line that says nothing about processes. */
static const char *mount_of(char *line, char **path_out) {
    char *controllers = strchr(line, ':');
    char *path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path || path[1] != '/') return NULL;
    *path++ = '\0';
    path[strcspn(path, "\n")] = '\0';
    *path_out = path;
    if (!*++controllers) return "/sys/fs/cgroup";
    for (char *word = strtok(controllers, ","); word; word = strtok(NULL, ",")) {
        if (strcmp(word, "pids") == 0) return "/sys/fs/cgroup/pids";
    }
    return NULL;
}

static int64_t left_in(const char *folder) {
    char name[4500];
    snprintf(name, sizeof name, "%s/pids.max", folder);
    int64_t most = limit_file(name);
    snprintf(name, sizeof name, "%s/pids.current", folder);
    int64_t used = limit_file(name);
    if (most < 0 || most == LIMIT_NONE || used < 0) return LIMIT_NONE;
    return most > used ? most - used : 0;
}

/* The group and all above it. */
static int64_t left_in_hierarchy(const char *root, const char *mount, char *path) {
    char folder[4400];
    int64_t least = LIMIT_NONE;
    for (;;) {
        snprintf(folder, sizeof folder, "%s%s%s", root, mount, path);
        int64_t left = left_in(folder);
        if (left < least) least = left;
        char *slash = strrchr(path, '/');
        if (!slash) return least;
        *slash = '\0';
    }
}

static int64_t left_in_cgroups(const char *root) {
    char line[4096], *path = NULL;
    int64_t least = LIMIT_NONE;
    snprintf(line, sizeof line, "%s/proc/self/cgroup", root);
    FILE *file = fopen(line, "re");
    if (!file) return least;
    while (fgets(line, sizeof line, file)) {
        const char *mount = mount_of(line, &path);
        int64_t left = mount ? left_in_hierarchy(root, mount, path) : LIMIT_NONE;
        if (left < least) least = left;
    }
    fclose(file);
    return least;
}

int64_t limit_tasks_left(const char *root) {
    int64_t left = left_in_cgroups(root);
    struct rlimit limit;
    /* RLIMIT_NPROC counts all of a user's tasks, and does not hold for root. */
    if (geteuid() != 0 && getrlimit(RLIMIT_NPROC, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
        int64_t tasks = limit.rlim_cur > (rlim_t)INT64_MAX ? LIMIT_NONE : (int64_t)limit.rlim_cur;
        if (tasks < left) left = tasks;
    }
    return left;
}
