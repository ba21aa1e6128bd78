/* SPDX-License-Identifier: MIT
 *
 * --info: what this machine offers, and for what is not there the reason. Everything is tried, not
 * looked up: a call that is there may still be forbidden.
 */
#include <dlfcn.h>
#include <errno.h>
#include <hwloc.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <symm/error.h>
#include <symm/launch.h>
#include <symm/symmem.h>
#include <symm/version.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <uv.h>

#include "lua/symmrun/limits.h"
#include "lua/symmrun/symmrun.h"

__attribute__((format(printf, 2, 3))) static void row(const char *name, const char *format, ...) {
    va_list args;
    printf("  %-24s ", name);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
}

static const char *size_text(int64_t bytes, char *text, size_t size) {
    if (bytes == LIMIT_NONE) {
        snprintf(text, size, "no limit");
    } else if (bytes < 0) {
        snprintf(text, size, "unknown");
    } else if (bytes >= INT64_C(1) << 30) {
        snprintf(text, size, "%.1f GiB", (double)bytes / 1073741824.0);
    } else if (bytes >= INT64_C(1) << 20) {
        snprintf(text, size, "%.1f MiB", (double)bytes / 1048576.0);
    } else {
        snprintf(text, size, "%.0f KiB", (double)bytes / 1024.0);
    }
    return text;
}

/* ---- machine ---- */

static void cpu_model(char *text, size_t size) {
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "re");
    snprintf(text, size, "unknown");
    if (!file) return;
    while (fgets(line, sizeof line, file)) {
        char *value = strchr(line, ':');
        if (!value || strncmp(line, "model name", 10) != 0) continue;
        value[strcspn(value, "\n")] = '\0';
        snprintf(text, size, "%s", value + 2);
        break;
    }
    fclose(file);
}

static int allowed_cpus(void) {
    int count = -1;
    for (int cpus = 1024; cpus <= 1 << 16 && count < 0; cpus *= 4) {
        cpu_set_t *set = CPU_ALLOC((size_t)cpus);
        size_t size = CPU_ALLOC_SIZE((size_t)cpus);
        if (!set) break;
        if (sched_getaffinity(0, size, set) == 0) count = CPU_COUNT_S(size, set);
        CPU_FREE(set);
    }
    return count;
}

static void show_machine(void) {
    struct utsname kernel;
    char model[200];
    cpu_model(model, sizeof model);
    printf("machine\n");
    if (uname(&kernel) == 0) {
        row("system", "%s %s, %s", kernel.sysname, kernel.release, kernel.machine);
        row("host name", "%s", kernel.nodename);
    }
    row("processor", "%s", model);
    row("CPUs", "%ld online, %d allowed to this process", sysconf(_SC_NPROCESSORS_ONLN),
        allowed_cpus());
}

static int count_of(hwloc_topology_t topology, hwloc_obj_type_t type) {
    int count = hwloc_get_nbobjs_by_type(topology, type);
    return count < 0 ? 0 : count;
}

static void show_caches(hwloc_topology_t topology) {
    static const hwloc_obj_type_t types[] = {HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L2CACHE,
                                             HWLOC_OBJ_L3CACHE};
    for (int level = 0; level < 3; level++) {
        hwloc_obj_t cache = hwloc_get_next_obj_by_type(topology, types[level], NULL);
        char name[32], text[32];
        if (!cache) continue;
        snprintf(name, sizeof name, "L%d cache", level + 1);
        row(name, "%d of %s", count_of(topology, types[level]),
            size_text((int64_t)cache->attr->cache.size, text, sizeof text));
    }
}

static void show_topology(void) {
    hwloc_topology_t topology;
    if (hwloc_topology_init(&topology) < 0) {
        row("topology", "unknown: hwloc could not begin");
        return;
    }
    if (hwloc_topology_load(topology) < 0) {
        row("topology", "unknown: hwloc: %s", strerror(errno));
    } else {
        row("topology", "packages: %d, NUMA nodes: %d, cores: %d, hardware threads: %d",
            count_of(topology, HWLOC_OBJ_PACKAGE), count_of(topology, HWLOC_OBJ_NUMANODE),
            count_of(topology, HWLOC_OBJ_CORE), count_of(topology, HWLOC_OBJ_PU));
        show_caches(topology);
    }
    hwloc_topology_destroy(topology);
}

/* ---- memory and limits ---- */

static void show_memory(void) {
    char one[32], two[32], reason[200];
    int64_t bytes = 0;
    printf("memory\n");
    row("of the machine", "%s, %s available", size_text(limit_meminfo("MemTotal"), one, sizeof one),
        size_text(limit_meminfo("MemAvailable"), two, sizeof two));
    if (symm_memory_available(&bytes, reason, sizeof reason) < 0) {
        row("symmetric", "unclear: %s", symm_last_error()->message);
    } else if (bytes == LIMIT_NONE) {
        row("symmetric", "no limit is known");
    } else {
        row("symmetric", "%s may be allocated, by %s", size_text(bytes, one, sizeof one), reason);
    }
}

static void show_descriptors(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0) return;
    row("descriptors", "%llu, may be raised to %llu", (unsigned long long)limit.rlim_cur,
        (unsigned long long)limit.rlim_max);
}

static void show_locked_memory(void) {
    struct rlimit limit;
    char text[32];
    if (getrlimit(RLIMIT_MEMLOCK, &limit) < 0) return;
    int has_limit = limit.rlim_cur != RLIM_INFINITY;
    row("locked memory", "%s",
        size_text(has_limit ? (int64_t)limit.rlim_cur : LIMIT_NONE, text, sizeof text));
}

static void show_limits(void) {
    int64_t tasks = limit_tasks_left("");
    printf("limits\n");
    show_descriptors();
    show_locked_memory();
    if (tasks == LIMIT_NONE) {
        row("processes and threads", "no limit");
    } else {
        row("processes and threads", "%lld more", (long long)tasks);
    }
}

/* ---- what the kernel lets us do ---- */

static int try_memfd(void) {
    int fd = memfd_create("symmrun-probe", MFD_CLOEXEC);
    if (fd < 0) return 0;
    int error = posix_fallocate(fd, 0, 4096);
    close(fd);
    errno = error;
    return error == 0;
}

static int try_futex(void) {
    uint32_t word = 0;
    return syscall(SYS_futex, &word, FUTEX_WAKE, 1, NULL, NULL, 0) >= 0;
}

static int try_pidfd(void) {
    long fd = syscall(SYS_pidfd_open, getpid(), 0);
    if (fd < 0) return 0;
    close((int)fd);
    return 1;
}

/* Of itself: whether a sibling may be read is for its owner and for ptrace_scope to say. */
static int try_vm_readv(void) {
    int from = 42, to = 0;
    struct iovec local = {&to, sizeof to}, remote = {&from, sizeof from};
    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)sizeof to && to == 42;
}

static int try_abstract_socket(void) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int length = snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "symmrun-probe-%d",
                          (int)getpid());
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return 0;
    socklen_t size = (socklen_t)(sizeof(sa_family_t) + 1 + (size_t)length);
    int ok = bind(fd, (struct sockaddr *)&address, size) == 0;
    int error = errno;
    close(fd);
    errno = error;
    return ok;
}

static void show_try(const char *name, int (*attempt)(void), const char *use) {
    errno = 0;
    if (attempt()) {
        row(name, "yes");
    } else {
        row(name, "no: %s; %s", strerror(errno), use);
    }
}

static void show_kernel(void) {
    int64_t scope = limit_file("/proc/sys/kernel/yama/ptrace_scope");
    printf("kernel\n");
    show_try("memfd", try_memfd, "symmetric memory needs it");
    show_try("futex", try_futex, "waits need it");
    show_try("abstract Unix sockets", try_abstract_socket, "symmetric memory needs them");
    show_try("pidfd", try_pidfd, "a peer's death is then seen by its closed socket alone");
    show_try("process_vm_readv", try_vm_readv, "ordinary memory of peers then goes by a copy");
    if (scope > 0) row("", "ptrace_scope is %lld: peers may refuse it", (long long)scope);
}

/* ---- what may be there ---- */

/* Opens the first of the libraries; NULL with the reason of the last. */
static void *open_library(const char *const names[], char *reason, size_t size) {
    for (; *names; names++) {
        void *library = dlopen(*names, RTLD_LAZY | RTLD_LOCAL);
        if (library) return library;
        const char *text = dlerror();
        snprintf(reason, size, "%s", text ? text : "unknown");
    }
    return NULL;
}

/* ISO C knows no conversion from an object's address to a function's. */
static void find(void *library, const char *name, void *function_out) {
    void *address = dlsym(library, name);
    memcpy(function_out, &address, sizeof address);
}

static void show_cuda(void) {
    static const char *const names[] = {"libcuda.so.1", NULL};
    char reason[256];
    int (*init)(unsigned) = NULL, (*count)(int *) = NULL;
    int devices = 0;
    void *library = open_library(names, reason, sizeof reason);
    if (!library) {
        row("CUDA", "no: %s", reason);
        return;
    }
    find(library, "cuInit", &init);
    find(library, "cuDeviceGetCount", &count);
    int error = init && count ? init(0) : -1;
    if (error == 0) error = count(&devices);
    if (error == 0) {
        row("CUDA", "driver found, %d %s", devices, devices == 1 ? "device" : "devices");
    } else {
        row("CUDA", "no: the driver is there, but gives error %d", error);
    }
}

static void show_nccl(void) {
    static const char *const names[] = {"libnccl.so.2", NULL};
    char reason[256];
    int (*get_version)(int *) = NULL;
    int version = 0;
    void *library = open_library(names, reason, sizeof reason);
    if (library) find(library, "ncclGetVersion", &get_version);
    if (!library) {
        row("NCCL", "no: %s", reason);
    } else if (!get_version || get_version(&version) != 0) {
        row("NCCL", "no: the library gives no version");
    } else {
        row("NCCL", "version %d.%d.%d", version / 10000, version / 100 % 100, version % 100);
    }
}

static void show_mpi(void) {
    static const char *const names[] = {"libmpi.so.40", "libmpi.so.12", "libmpich.so.12", NULL};
    char reason[256], text[8192] = "";
    int (*get_version)(char *, int *) = NULL;
    int length = 0;
    void *library = open_library(names, reason, sizeof reason);
    if (library) find(library, "MPI_Get_library_version", &get_version);
    if (!library) {
        row("MPI", "no: %s", reason);
    } else if (!get_version || get_version(text, &length) != 0) {
        row("MPI", "no: the library gives no version");
    } else {
        row("MPI", "%.*s", (int)strcspn(text, ",\n"), text);
    }
}

static void show_place(void) {
    struct symm_launch launch;
    printf("this process\n");
    if (symm_launch_detect(NULL, NULL, &launch) < 0) {
        row("rank", "unclear: %s", symm_last_error()->message);
    } else if (strcmp(launch.launcher, "none") == 0) {
        row("rank", "0 of 1 (no launcher)");
    } else {
        row("rank", "%d of %d (variables of %s)", launch.rank, launch.world_size, launch.launcher);
        char port[16] = "";
        if (launch.port >= 0) snprintf(port, sizeof port, ":%d", launch.port);
        if (launch.host[0]) row("store", "%s%s", launch.host, port);
    }
}

int symmrun_info(void) {
    printf("symmrun %s, %s, libuv %s\n", symm_version(), LUA_RELEASE, uv_version_string());
    show_machine();
    show_topology();
    show_memory();
    show_limits();
    show_kernel();
    printf("beyond the CPU\n");
    show_cuda();
    show_nccl();
    show_mpi();
    show_place();
    return 0;
}
