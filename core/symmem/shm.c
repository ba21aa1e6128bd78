/* SPDX-License-Identifier: MIT
 *
 * The shared-memory allocator of the CPU device: one memfd a segment. Its pages are reserved before
 * anybody can touch them, and its size is sealed, so no access inside a mapping ever faults, here
 * or in a peer. The reservation is held against the limits first, one process at a time.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <symm/symmem.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/deadline.h"
#include "base/error.h"
#include "base/log.h"
#include "device/device.h"
#include "symmem/allocator.h"
#include "symmem/memory_limit.h"

#define LOCK_PATIENCE_MS 1000

/* Bytes of segments that this process made. Relaxed: a sum, read only for the limit. */
static _Atomic int64_t bytes_in_use;

/* Ranks of one host measure and reserve one after the other, else each would find the same free
 * memory and together they would take it twice. An advisory lock on a folder leaves nothing behind;
 * where it cannot be had within a second (anybody may hold it), the reservation goes on without it,
 * and *lock_out is -1. Fails only by the wait hook. */
static int lock_host(int *lock_out) {
    int fd = open("/dev/shm", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int64_t deadline = symm_now_ns() + (int64_t)LOCK_PATIENCE_MS * 1000000;
    int rc = SYMM_OK;
    *lock_out = -1;
    while (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0) {
        int is_held = errno == EWOULDBLOCK || errno == EINTR;
        rc = symm__wait_poll();
        if (rc < 0 || !is_held || symm__deadline_passed(deadline)) {
            close(fd);
            return rc;
        }
        symm__sleep_ms(1);
    }
    *lock_out = fd;
    return rc;
}

static int find_limit(struct symm__memory_limit *least_out) {
    struct symm__memory_limit host, variable;
    symm__memory_limit_of_host("", &host);
    int rc = symm__memory_limit_of_variable(
        atomic_load_explicit(&bytes_in_use, memory_order_relaxed), &variable);
    if (rc == SYMM_OK) *least_out = variable.bytes < host.bytes ? variable : host;
    return rc;
}

static int check_limits(int64_t bytes) {
    struct symm__memory_limit least;
    int rc = find_limit(&least);
    if (rc < 0 || bytes <= least.bytes) return rc;
    return symm__fail(SYMM_EOOM,
                      "%lld bytes of shared memory are more than %s allows: %lld bytes are left",
                      (long long)bytes, least.name, (long long)least.bytes);
}

int symm_memory_available(int64_t *bytes_out, char *reason, size_t size) {
    struct symm__memory_limit least;
    int rc = find_limit(&least);
    if (rc < 0) return rc;
    snprintf(reason, size, "%s", least.name);
    *bytes_out = least.bytes;
    return SYMM_OK;
}

static int reserve(int fd, int64_t bytes) {
    int lock = -1;
    int rc = lock_host(&lock);
    if (rc < 0) return rc;
    rc = check_limits(bytes);
    if (rc == SYMM_OK) {
        int error = 0;
        do {
            error = fallocate(fd, 0, 0, bytes) < 0 ? errno : 0;
        } while (error == EINTR && (rc = symm__wait_poll()) == SYMM_OK);
        if (rc == SYMM_OK && error) {
            rc = error == ENOSPC ? symm__fail(SYMM_EOOM, "%lld bytes of shared memory do not fit",
                                              (long long)bytes)
                                 : symm__fail_errno(error, "reserving %lld bytes of shared memory",
                                                    (long long)bytes);
        }
    }
    if (lock >= 0) close(lock);
    return rc;
}

static int map_shared(int fd, int64_t bytes, void **base_out) {
    void *base = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED) {
        return symm__fail_errno(errno, "mapping %lld bytes of shared memory", (long long)bytes);
    }
    *base_out = base;
    return SYMM_OK;
}

static int shm_allocate(int64_t bytes, struct symm__segment *out) {
    int64_t page = sysconf(_SC_PAGESIZE);
    if (bytes <= 0 || bytes > INT64_MAX - page) {
        return symm__fail(SYMM_EINVALID, "cannot allocate %lld bytes", (long long)bytes);
    }
    int64_t size = (bytes + page - 1) / page * page;
    int fd = memfd_create("symm", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) return symm__fail_errno(errno, "memfd_create");
    void *base = NULL;
    int rc = check_limits(size);
    if (rc == SYMM_OK && ftruncate(fd, size) < 0) {
        rc = symm__fail_errno(errno, "sizing %lld bytes of shared memory", (long long)size);
    }
    if (rc == SYMM_OK) rc = reserve(fd, size);
    if (rc == SYMM_OK && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0) {
        rc = symm__fail_errno(errno, "sealing shared memory");
    }
    if (rc == SYMM_OK) rc = map_shared(fd, size, &base);
    if (rc < 0) {
        close(fd);
        return rc;
    }
    atomic_fetch_add_explicit(&bytes_in_use, size, memory_order_relaxed);
    *out = (struct symm__segment){base, size, fd};
    return SYMM_OK;
}

/* A peer's descriptor is trusted only as far as its seals and size say that touching it is safe. */
static int shm_map(int fd, int64_t bytes, struct symm__segment *out) {
    int seals = fcntl(fd, F_GET_SEALS);
    off_t size = lseek(fd, 0, SEEK_END);
    if (seals < 0 || !(seals & F_SEAL_SHRINK) || size < bytes) {
        return symm__fail(SYMM_EMISMATCH,
                          "the descriptor received is no sealed block of %lld bytes",
                          (long long)bytes);
    }
    void *base = NULL;
    int rc = map_shared(fd, bytes, &base);
    if (rc < 0) return rc;
    *out = (struct symm__segment){base, bytes, -1};
    return SYMM_OK;
}

static void shm_release(struct symm__segment *segment) {
    if (segment->base && munmap(segment->base, (size_t)segment->size) < 0) {
        symm__log(SYMM_LOG_WARN, "symmem", "unmapping shared memory failed: %s", strerror(errno));
    }
    if (segment->fd >= 0) {
        close(segment->fd);
        atomic_fetch_sub_explicit(&bytes_in_use, segment->size, memory_order_relaxed);
    }
    *segment = (struct symm__segment){NULL, 0, -1};
}

const struct symm__allocator_ops symm__shm_allocator = {
    .size = sizeof(struct symm__allocator_ops),
    .name = "shm",
    .device_type = "cpu",
    .allocate = shm_allocate,
    .map = shm_map,
    .release = shm_release,
};

int symm__allocator_for(const char *device, const struct symm__allocator_ops **out) {
    const struct symm__device *found = NULL;
    int rc = symm__device_find(device, &found);
    if (rc < 0) return rc;
    if (found != &symm__device_cpu) {
        return symm__fail(SYMM_EUNSUPPORTED, "device '%.64s' has no symmetric memory", device);
    }
    *out = &symm__shm_allocator;
    return SYMM_OK;
}
