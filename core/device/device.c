/* SPDX-License-Identifier: MIT
 *
 * The devices of this process by name. The CPU needs no registration.
 */
#include "device/device.h"

#include <string.h>

#include "base/error.h"
#include "base/registry.h"

static struct symm__registry devices = SYMM__REGISTRY_INIT("device", NULL);

static int is_cpu(const char *name) {
    return !name || name == symm__device_cpu.name || strcmp(name, symm__device_cpu.name) == 0;
}

int symm__device_register(const struct symm__device *device) {
    if (is_cpu(device->name)) {
        return symm__fail(SYMM_EEXISTS, "a device named 'cpu' exists already");
    }
    return symm__registry_add(&devices, device->name, (void *)(uintptr_t)device);
}

int symm__device_find(const char *name, const struct symm__device **out) {
    if (is_cpu(name)) {
        *out = &symm__device_cpu;
        return SYMM_OK;
    }
    void *found = NULL;
    if (symm__registry_find(&devices, name, &found) < 0) {
        char known[256];
        if (strncmp(name, "cuda", 4) == 0) {
            return symm__fail(SYMM_EMISSING_PLUGIN,
                              "device '%.64s' needs libsymm_cuda.so, which is not loaded", name);
        }
        symm__registry_names(&devices, known, sizeof known);
        return symm__fail(SYMM_EINVALID, "there is no device named '%.64s' (known: cpu%s%s)", name,
                          *known ? ", " : "", known);
    }
    *out = found;
    return SYMM_OK;
}
