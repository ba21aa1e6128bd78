/* SPDX-License-Identifier: MIT
 *
 * The CPU device: ordinary memory of this process.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/error.h"
#include "device/device.h"

#define ALIGNMENT 64
#define HUGE_PAGE (2 * 1024 * 1024)
#define HUGE_FROM (2 * HUGE_PAGE) /* smaller ones would waste too much of a page */

static int allocate(int64_t nbytes, void **data_out) {
    void *data = NULL;
    if (nbytes < 0 || nbytes > INT64_MAX - HUGE_PAGE) return symm__fail_oom((size_t)nbytes);
    size_t alignment = nbytes >= HUGE_FROM ? HUGE_PAGE : ALIGNMENT;
    if (posix_memalign(&data, alignment, nbytes ? (size_t)nbytes : 1) != 0) {
        return symm__fail_oom((size_t)nbytes);
    }
    /* Fewer faults when it is first written; where the kernel cannot, nothing is lost. */
    if (alignment == HUGE_PAGE) madvise(data, (size_t)nbytes, MADV_HUGEPAGE);
    *data_out = data;
    return SYMM_OK;
}

static void deallocate(void *data, int64_t nbytes) {
    (void)nbytes;
    free(data);
}

static int copy(void *to, const void *from, int64_t nbytes) {
    memcpy(to, from, (size_t)nbytes);
    return SYMM_OK;
}

const struct symm__device symm__device_cpu = {
    .size = sizeof(struct symm__device),
    .name = "cpu",
    .allocate = allocate,
    .deallocate = deallocate,
    .copy = copy,
};
