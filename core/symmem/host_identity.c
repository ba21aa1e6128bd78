/* SPDX-License-Identifier: MIT
 *
 * Sources: random(4) for boot_id, namespaces(7) for the identity of a network namespace, the
 * kernel's cgroup-v2.rst (cpu.max) and scheduler/sched-bwc.rst (cpu.cfs_quota_us).
 */
#include "symmem/host_identity.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

void symm__host_identity_read(struct symm__host_identity *out) {
    struct stat ns;
    memset(out, 0, sizeof *out);
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (file) {
        if (fscanf(file, "%39s", out->boot_id) != 1) out->boot_id[0] = '\0';
        fclose(file);
    }
    if (!out->boot_id[0]) memcpy(out->boot_id, "unknown", sizeof "unknown");
    if (stat("/proc/self/ns/net", &ns) == 0) out->network_namespace = (uint64_t)ns.st_ino;
    if (gethostname(out->host_name, sizeof out->host_name - 1) < 0 || !out->host_name[0]) {
        memcpy(out->host_name, "unnamed", sizeof "unnamed");
    }
}

int symm__host_identity_same(const struct symm__host_identity *a,
                             const struct symm__host_identity *b) {
    return strcmp(a->boot_id, b->boot_id) == 0 && a->network_namespace == b->network_namespace;
}

void symm__host_identity_print(const struct symm__host_identity *identity, char *text,
                               size_t size) {
    snprintf(text, size, "%s %llu %s", identity->boot_id,
             (unsigned long long)identity->network_namespace, identity->host_name);
}

int symm__host_identity_parse(const char *text, struct symm__host_identity *out) {
    unsigned long long ns = 0;
    memset(out, 0, sizeof *out);
    if (sscanf(text, "%39s %llu %64s", out->boot_id, &ns, out->host_name) != 3) {
        return symm__fail(SYMM_EMISMATCH, "'%.100s' is not a host's identity", text);
    }
    out->network_namespace = ns;
    return SYMM_OK;
}

void symm__cpu_mask_read(uint8_t mask[SYMM__CPU_MASK_BYTES]) {
    cpu_set_t cpus;
    memset(mask, 0, SYMM__CPU_MASK_BYTES);
    CPU_ZERO(&cpus);
    if (sched_getaffinity(0, sizeof cpus, &cpus) < 0) {
        long online = sysconf(_SC_NPROCESSORS_ONLN);
        for (int i = 0; i < online && i < 1024; i++) CPU_SET((size_t)i, &cpus);
    }
    for (int i = 0; i < 1024; i++) {
        if (CPU_ISSET((size_t)i, &cpus)) mask[i / 8] |= (uint8_t)(1u << (i % 8));
    }
}

static int quota_from(const char *path, const char *format, long long *quota, long long *period) {
    FILE *file = fopen(path, "re");
    if (!file) return 0;
    int fields = fscanf(file, format, quota, period);
    fclose(file);
    return fields;
}

int symm__cpu_quota(void) {
    long long quota = -1, period = -1, unused = 0;
    if (quota_from("/sys/fs/cgroup/cpu.max", "%lld %lld", &quota, &period) != 2) {
        quota_from("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "%lld", &quota, &unused);
        quota_from("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "%lld", &period, &unused);
    }
    if (quota <= 0 || period <= 0) return 0;
    long long cpus = (quota + period - 1) / period;
    return cpus > 1024 ? 0 : (int)cpus;
}

int symm__random_bytes(void *to, size_t bytes) {
    for (size_t done = 0; done < bytes;) {
        ssize_t n = getrandom((char *)to + done, bytes - done, 0);
        if (n < 0 && errno != EINTR) return symm__fail_errno(errno, "getrandom");
        if (n > 0) done += (size_t)n;
    }
    return SYMM_OK;
}
