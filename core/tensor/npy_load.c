/* SPDX-License-Identifier: MIT
 *
 * Reading .npy files: the header, and as much of the data as is asked for.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/deadline.h"
#include "tensor/npy_header.h"
#include "tensor/tensor.h"

#define SLICE (16 * 1024 * 1024) /* bytes between two looks at the wait hook */

static const char *const op = "npy_load";

struct file {
    const char *path;
    int fd;
    int64_t size;
    int64_t data_start;
    struct symm_npy_info info;
};

static int truncated(const struct file *file, const char *what) {
    return symm__fail_at(SYMM__IN(op), SYMM_EINVALID, "%.200s is truncated in its %s", file->path,
                         what);
}

static int read_at(const struct file *file, int64_t start, void *to, int64_t nbytes,
                   const char *what) {
    char *next = to;
    while (nbytes > 0) {
        ssize_t n = pread(file->fd, next, (size_t)(nbytes < SLICE ? nbytes : SLICE), start);
        if (n == 0) return truncated(file, what);
        if (n < 0 && errno != EINTR) return symm__fail_errno(errno, "reading %.200s", file->path);
        if (n < 0 || nbytes > n) { /* a whole read of a small file is not a wait */
            int rc = symm__wait_poll();
            if (rc < 0) return rc;
        }
        if (n < 0) continue;
        next += n;
        start += n;
        nbytes -= n;
    }
    return SYMM_OK;
}

static int open_file(const char *path, struct file *file) {
    struct stat status;
    file->path = path;
    file->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (file->fd < 0) {
        int error = errno;
        if (error == ENOENT || error == ENOTDIR) {
            return symm__fail_at(SYMM__IN(op), SYMM_ENOT_FOUND, "there is no file %.200s", path);
        }
        return symm__fail_errno(error, "opening %.200s", path);
    }
    if (fstat(file->fd, &status) == 0 && S_ISREG(status.st_mode)) {
        file->size = status.st_size;
        return SYMM_OK;
    }
    close(file->fd);
    return symm__fail_at(SYMM__IN(op), SYMM_EINVALID, "%.200s is not an ordinary file", path);
}

/* Reads the header, and holds everything that it says against the file's size. */
static int read_header(struct file *file) {
    unsigned char prefix[SYMM__NPY_PREFIX_MAX];
    size_t start = 0, size = 0;
    int64_t numel = 0;
    if (file->size < (int64_t)sizeof prefix) return truncated(file, "header");
    int rc = read_at(file, 0, prefix, sizeof prefix, "header");
    if (rc == SYMM_OK) rc = symm__npy_prefix(file->path, prefix, &start, &size);
    if (rc < 0) return rc;
    if ((int64_t)(start + size) > file->size) return truncated(file, "header");
    if (size > SYMM__NPY_HEADER_MAX) {
        return symm__fail_at(SYMM__IN(op), SYMM_ELIMIT,
                             "%.200s has a header of %zu bytes; at most %d are read", file->path,
                             size, SYMM__NPY_HEADER_MAX);
    }
    char *text = malloc(size ? size : 1);
    if (!text) return symm__fail_oom(size);
    rc = read_at(file, (int64_t)start, text, (int64_t)size, "header");
    if (rc == SYMM_OK) rc = symm__npy_parse(file->path, text, size, &file->info);
    free(text);
    if (rc < 0) return rc;
    file->data_start = (int64_t)(start + size);
    const struct symm_npy_info *info = &file->info;
    rc = symm__shape_check(op, info->shape, info->ndim, info->dtype, &numel);
    if (rc < 0) return rc;
    int64_t nbytes = numel * (int64_t)symm_dtype_size(info->dtype);
    return nbytes > file->size - file->data_start ? truncated(file, "data") : SYMM_OK;
}

int symm_npy_read_info(const char *path, struct symm_npy_info *out) {
    struct file file = {0};
    int rc = open_file(path, &file);
    if (rc < 0) return rc;
    rc = read_header(&file);
    close(file.fd);
    if (rc == SYMM_OK) *out = file.info;
    return rc;
}

static int check_dtype(const struct file *file, symm_dtype wanted) {
    symm_dtype found = file->info.dtype;
    if (wanted == SYMM_DTYPE_COUNT && found == SYMM_DTYPE_bfloat16) {
        return symm__fail_at(
            SYMM__IN(op), SYMM_EUNSUPPORTED,
            "%.200s holds 2-byte elements without a type; ask for dtype bfloat16 if "
            "they are that",
            file->path);
    }
    if (wanted == SYMM_DTYPE_COUNT || wanted == found) return SYMM_OK;
    const char *name = symm_dtype_name(wanted);
    return symm__fail_at(SYMM__IN(op), SYMM_EINVALID, "%.200s holds %s, not %s; convert with to()",
                         file->path, symm_dtype_name(found), name ? name : "that");
}

static int check_rows(const struct file *file, int64_t first, int64_t *count) {
    if (file->info.ndim == 0) {
        if (first == 0 && *count == SYMM_NPY_ALL) return SYMM_OK;
        return symm__fail_at(SYMM__IN(op), SYMM_EINVALID, "%.200s has no rows: its shape is {}",
                             file->path);
    }
    int64_t rows = file->info.shape[0], wanted = *count;
    if (wanted == SYMM_NPY_ALL && first >= 0 && first <= rows) wanted = rows - first;
    if (first < 0 || first > rows || wanted < 0 || wanted > rows - first) {
        return symm__fail_at(SYMM__IN(op), SYMM_EINVALID,
                             "%.200s has %lld rows; %lld from row %lld are not among them",
                             file->path, (long long)rows, (long long)wanted, (long long)first);
    }
    *count = wanted;
    return SYMM_OK;
}

/* Strides of a tensor whose first dimension is the packed one. */
static void fortran_strides(const int64_t *shape, int ndim, int64_t *stride_out) {
    int64_t step = 1;
    for (int i = 0; i < ndim; i++) {
        stride_out[i] = step;
        step *= shape[i] ? shape[i] : 1;
    }
}

/* Rows are a run of a C file, and a run of each column of a Fortran file. */
static int read_rows(const struct file *file, int64_t first, symm_tensor *tensor) {
    const struct symm_npy_info *info = &file->info;
    int64_t nbytes = symm_tensor_nbytes(tensor), rows = info->ndim ? info->shape[0] : 1;
    if (nbytes == 0) return SYMM_OK;
    int64_t count = info->ndim ? symm_tensor_shape(tensor)[0] : 1;
    int64_t runs = info->fortran_order && count < rows ? symm_tensor_numel(tensor) / count : 1;
    int64_t run = nbytes / runs, step = 0, start = file->data_start;
    if (runs > 1 || info->fortran_order) {
        int64_t size = (int64_t)symm_dtype_size(info->dtype);
        start += first * size;
        step = rows * size;
    } else {
        start += first * (nbytes / count);
    }
    char *to = symm_tensor_data(tensor);
    for (int64_t i = 0; i < runs; i++) {
        int rc = read_at(file, start + i * step, to + i * run, run, "data");
        if (rc < 0) return rc;
    }
    return SYMM_OK;
}

static int load_from(const struct file *file, int64_t first, int64_t count, symm_dtype dtype,
                     symm_tensor **out) {
    struct symm_npy_info info = file->info;
    int64_t stride[SYMM_MAX_DIMS];
    symm_tensor *tensor = NULL;
    int rc = check_dtype(file, dtype);
    if (rc == SYMM_OK) rc = check_rows(file, first, &count);
    if (rc < 0) return rc;
    if (info.ndim > 0) info.shape[0] = count;
    if (info.fortran_order) {
        fortran_strides(info.shape, info.ndim, stride);
    } else {
        symm__contiguous_strides(info.shape, info.ndim, stride);
    }
    rc = symm_tensor_empty_strided(info.shape, stride, info.ndim, info.dtype, "cpu", &tensor);
    if (rc < 0) return rc;
    rc = read_rows(file, first, tensor);
    if (rc < 0) {
        symm_tensor_release(tensor);
        return rc;
    }
    *out = tensor;
    return SYMM_OK;
}

int symm_npy_load_as(const char *path, int64_t first, int64_t count, symm_dtype dtype,
                     symm_tensor **out) {
    struct file file = {0};
    int rc = open_file(path, &file);
    if (rc < 0) return rc;
    rc = read_header(&file);
    if (rc == SYMM_OK) rc = load_from(&file, first, count, dtype, out);
    close(file.fd);
    return rc;
}

int symm_npy_load(const char *path, symm_tensor **out) {
    return symm_npy_load_as(path, 0, SYMM_NPY_ALL, SYMM_DTYPE_COUNT, out);
}

int symm_npy_load_rows(const char *path, int64_t first, int64_t count, symm_tensor **out) {
    if (count < 0) {
        return symm__fail_at(SYMM__IN(op), SYMM_EINVALID, "count is negative: %lld",
                             (long long)count);
    }
    return symm_npy_load_as(path, first, count, SYMM_DTYPE_COUNT, out);
}
