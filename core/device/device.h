/* SPDX-License-Identifier: MIT
 *
 * What a device must do for tensors to live on it: give memory, take it back, move bytes. Element
 * operations are not here but in tensor/kernels.h, found by the same name.
 * A registered device is static and lives as long as the process.
 */
#ifndef SYMM_DEVICE_DEVICE_H
#define SYMM_DEVICE_DEVICE_H

#include <stddef.h>
#include <stdint.h>

/* No slot may be empty. Any thread. */
struct symm__device {
    size_t size;      /* sizeof(struct symm__device) of who filled it */
    const char *name; /* static text: "cpu" */
    /* Uninitialised memory, aligned for every element type and to a cache line; never NULL on
     * success, even for 0 bytes. SYMM_EOOM. */
    int (*allocate)(int64_t nbytes, void **data_out);
    void (*deallocate)(void *data, int64_t nbytes);
    /* Between two places of this device, which do not overlap. */
    int (*copy)(void *to, const void *from, int64_t nbytes);
};

extern const struct symm__device symm__device_cpu;

/* SYMM_EEXISTS if the name is taken. */
int symm__device_register(const struct symm__device *device);
/* NULL is "cpu". SYMM_EMISSING_PLUGIN where a plugin would bring the device, else SYMM_EINVALID
 * with those that are known. */
int symm__device_find(const char *name, const struct symm__device **out);

#endif
