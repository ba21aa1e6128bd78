/* SPDX-License-Identifier: MIT
 *
 * The CPU device: ordinary memory of this process.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "device/device.h"

#define ALIGNMENT 64

static int allocate(int64_t nbytes, void **data_out) {
    void *data = NULL;
    if (nbytes < 0 || nbytes > INT64_MAX - ALIGNMENT) return symm__fail_oom((size_t)nbytes);
    if (posix_memalign(&data, ALIGNMENT, nbytes ? (size_t)nbytes : 1) != 0) {
        return symm__fail_oom((size_t)nbytes);
    }
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
