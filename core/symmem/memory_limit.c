/* SPDX-License-Identifier: MIT
 *
 * Sources: proc(5) for MemAvailable and /proc/self/cgroup; the kernel's cgroup-v2.rst (memory.max,
 * memory.current) and cgroup-v1/memory.rst (memory.limit_in_bytes, memory.usage_in_bytes,
 * total_inactive_file). File cache that the kernel can drop counts as free.
 */
#include "symmem/memory_limit.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <symm/wait.h>

#include "base/error.h"

#define RESERVE_MAX ((int64_t)64 << 20)

struct cgroup_files {
    const char *mount, *limit, *usage, *reclaimable;
};
static const struct cgroup_files version1 = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes",
                                             "memory.usage_in_bytes", "total_inactive_file "};
static const struct cgroup_files version2 = {"/sys/fs/cgroup", "memory.max", "memory.current",
                                             "inactive_file "};

static void take_smaller(struct symm__memory_limit *limit, int64_t bytes, const char *name) {
    if (bytes < 0) bytes = 0;
    if (bytes >= limit->bytes) return;
    limit->bytes = bytes;
    snprintf(limit->name, sizeof limit->name, "%s", name);
}

/* The number after `key` at a line's start ("" : the file's first number); -1 if there is none. */
static int64_t read_number(const char *path, const char *key) {
    char line[256];
    int64_t value = -1;
    FILE *file = fopen(path, "re");
    if (!file) return -1;
    while (fgets(line, sizeof line, file)) {
        if (strncmp(line, key, strlen(key)) != 0) continue;
        char *end = NULL;
        unsigned long long number = strtoull(line + strlen(key), &end, 10);
        if (end != line + strlen(key)) {
            value = number > (unsigned long long)INT64_MAX ? INT64_MAX : (int64_t)number;
        }
        break;
    }
    fclose(file);
    return value;
}

static int64_t read_in(const char *folder, const char *name, const char *key) {
    char path[PATH_MAX];
    if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, name) >= sizeof path) return -1;
    return read_number(path, key);
}

static void look_at_cgroup(const struct cgroup_files *files, const char *folder, const char *group,
                           struct symm__memory_limit *limit) {
    int64_t most = read_in(folder, files->limit, ""), used = read_in(folder, files->usage, "");
    if (most < 0 || used < 0) return; /* "max", or no memory controller here */
    int64_t reclaimable = read_in(folder, "memory.stat", files->reclaimable);
    if (reclaimable > 0 && reclaimable < used) used -= reclaimable;
    char name[sizeof limit->name];
    snprintf(name, sizeof name, "the memory limit of cgroup %.100s (%s)", group, files->limit);
    take_smaller(limit, most - used, name);
}

/* The group and all above it: each may have a limit of its own. */
static void look_at_hierarchy(const char *root, const struct cgroup_files *files, char *group,
                              struct symm__memory_limit *limit) {
    char folder[PATH_MAX];
    for (;;) {
        const char *tail = strcmp(group, "/") == 0 ? "" : group;
        int n = snprintf(folder, sizeof folder, "%s%s%s", root, files->mount, tail);
        if (n > 0 && (size_t)n < sizeof folder) look_at_cgroup(files, folder, group, limit);
        char *slash = strrchr(group, '/');
        if (!slash || !*tail) return;
        slash[slash == group ? 1 : 0] = '\0';
    }
}

static int names_memory(const char *controllers) {
    const char *found = strstr(controllers, "memory");
    return found && (found == controllers || found[-1] == ',') &&
           (found[6] == '\0' || found[6] == ',');
}

static void look_at_cgroups(const char *root, struct symm__memory_limit *limit) {
    char path[PATH_MAX], line[PATH_MAX];
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *file = fopen(path, "re");
    if (!file) return;
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group || group[1] != '/') continue;
        controllers++;
        *group++ = '\0';
        if (!*controllers)
            look_at_hierarchy(root, &version2, group, limit);
        else if (names_memory(controllers))
            look_at_hierarchy(root, &version1, group, limit);
    }
    fclose(file);
}

void symm__memory_limit_of_host(const char *root, struct symm__memory_limit *out) {
    char path[PATH_MAX];
    out->bytes = INT64_MAX;
    out->name[0] = '\0';
    snprintf(path, sizeof path, "%s/proc/meminfo", root);
    int64_t available = read_number(path, "MemAvailable:");
    if (available >= 0) {
        int64_t bytes = available > INT64_MAX / 1024 ? INT64_MAX : available * 1024;
        take_smaller(out, bytes, "the machine's available memory (MemAvailable)");
    }
    look_at_cgroups(root, out);
    if (out->bytes == INT64_MAX) return;
    int64_t reserve = out->bytes / 16;
    out->bytes -= reserve < RESERVE_MAX ? reserve : RESERVE_MAX;
}

int symm__memory_limit_of_variable(int64_t used, struct symm__memory_limit *out) {
    const char *text = getenv("SYMM_SHM_LIMIT");
    int64_t most = 0;
    out->bytes = INT64_MAX;
    out->name[0] = '\0';
    if (!text || !*text) return SYMM_OK;
    if (symm_parse_size(text, &most) < 0) {
        return symm__fail(SYMM_EINVALID, "SYMM_SHM_LIMIT: '%.64s' is not a size", text);
    }
    char name[sizeof out->name];
    snprintf(name, sizeof name, "SYMM_SHM_LIMIT=%.64s (%lld bytes are in use)", text,
             (long long)used);
    take_smaller(out, most - used, name);
    return SYMM_OK;
}
