/* SPDX-License-Identifier: MIT
 *
 * Writing .npy files: one is there whole or not at all.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/deadline.h"
#include "tensor/kernels.h"
#include "tensor/npy_header.h"

#define SLICE (16 * 1024 * 1024) /* bytes between two looks at the wait hook */

/* A file that gets its name when it is whole. Where the file system can, it has none before, so
 * that a killed process leaves nothing behind; elsewhere it has `name` from the start. */
struct draft {
    const char *path;
    char *name;
    int fd;
    int is_named;
};

static int draft_name(const char *path, char **out) {
    uint64_t random = 0;
    if (getrandom(&random, sizeof random, 0) != sizeof random) {
        return symm__fail_errno(errno, "choosing a temporary name");
    }
    size_t size = strlen(path) + 32;
    char *name = malloc(size);
    if (!name) return symm__fail_oom(size);
    snprintf(name, size, "%s.%016llx.tmp", path, (unsigned long long)random);
    *out = name;
    return SYMM_OK;
}

static int open_unnamed(const char *path) {
    char *slash = strrchr(path, '/');
    char *directory =
        slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
    if (!directory) return -1;
    int can_be_linked = access("/proc/self/fd", X_OK) == 0;
    int fd = can_be_linked ? open(directory, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666) : -1;
    free(directory);
    return fd;
}

static int draft_open(const char *path, struct draft *draft) {
    draft->path = path;
    int rc = draft_name(path, &draft->name);
    if (rc < 0) return rc;
    draft->fd = open_unnamed(path);
    if (draft->fd >= 0) return SYMM_OK;
    draft->fd = open(draft->name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
    draft->is_named = draft->fd >= 0;
    if (draft->fd >= 0) return SYMM_OK;
    rc = symm__fail_errno(errno, "creating %.200s", path);
    free(draft->name);
    return rc;
}

static int draft_publish(struct draft *draft) {
    char unnamed[48];
    snprintf(unnamed, sizeof unnamed, "/proc/self/fd/%d", draft->fd);
    if (!draft->is_named) {
        if (linkat(AT_FDCWD, unnamed, AT_FDCWD, draft->name, AT_SYMLINK_FOLLOW) < 0) {
            return symm__fail_errno(errno, "creating %.200s", draft->path);
        }
        draft->is_named = 1;
    }
    if (rename(draft->name, draft->path) < 0) {
        return symm__fail_errno(errno, "replacing %.200s", draft->path);
    }
    draft->is_named = 0; /* nothing is left to be removed */
    return SYMM_OK;
}

static void draft_close(struct draft *draft) {
    if (draft->is_named) unlink(draft->name);
    if (draft->fd >= 0) close(draft->fd);
    free(draft->name);
}

static int write_all(const struct draft *draft, const char *from, int64_t nbytes) {
    while (nbytes > 0) {
        ssize_t n = write(draft->fd, from, (size_t)(nbytes < SLICE ? nbytes : SLICE));
        if (n < 0 && errno != EINTR) return symm__fail_errno(errno, "writing %.200s", draft->path);
        if (n < 0 || nbytes > n) {
            int rc = symm__wait_poll();
            if (rc < 0) return rc;
        }
        if (n < 0) continue;
        from += n;
        nbytes -= n;
    }
    return SYMM_OK;
}

static int is_fortran(const symm_tensor *tensor) {
    int64_t step = 1;
    for (int i = 0; i < tensor->ndim; i++) {
        if (tensor->shape[i] == 1) continue;
        if (tensor->stride[i] != step) return 0;
        step *= tensor->shape[i];
    }
    return 1;
}

static int write_draft(const char *path, const struct symm_npy_info *info,
                       const symm_tensor *packed) {
    struct draft draft = {.fd = -1};
    char header[SYMM__NPY_WRITE_MAX];
    int rc = draft_open(path, &draft);
    if (rc < 0) return rc;
    rc = write_all(&draft, header, (int64_t)symm__npy_format(info, header));
    if (rc == SYMM_OK) rc = write_all(&draft, symm_tensor_data(packed), symm_tensor_nbytes(packed));
    if (rc == SYMM_OK) rc = draft_publish(&draft);
    draft_close(&draft);
    return rc;
}

/* The elements as one run, in the order that `info` says. */
static int pack(const symm_tensor *tensor, struct symm_npy_info *info, symm_tensor **out) {
    info->fortran_order = !symm_tensor_is_contiguous(tensor) && is_fortran(tensor);
    if (!info->fortran_order) return symm_tensor_contiguous((symm_tensor *)(uintptr_t)tensor, out);
    *out = symm_tensor_retain((symm_tensor *)(uintptr_t)tensor);
    return SYMM_OK;
}

int symm_npy_save(const char *path, const symm_tensor *tensor) {
    struct symm_npy_info info = {.dtype = tensor->dtype, .ndim = tensor->ndim};
    symm_tensor *packed = NULL;
    memcpy(info.shape, tensor->shape, sizeof info.shape);
    int rc = symm__check_host("npy_save", tensor);
    if (rc == SYMM_OK) rc = pack(tensor, &info, &packed);
    if (rc < 0) return rc;
    rc = write_draft(path, &info, packed);
    symm_tensor_release(packed);
    return rc;
}
