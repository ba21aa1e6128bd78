/* SPDX-License-Identifier: MIT
 *
 * The kernels of each device by its name. The CPU needs no registration.
 */
#include "tensor/kernels.h"

#include <string.h>

#include "base/registry.h"
#include "device/device.h"

static struct symm__registry kernels_by_device = SYMM__REGISTRY_INIT("set of kernels", NULL);

static int is_cpu(const char *device) {
    return device == symm__device_cpu.name || strcmp(device, symm__device_cpu.name) == 0;
}

int symm__kernels_register(const char *device, const struct symm__kernels *kernels) {
    if (is_cpu(device)) return symm__fail(SYMM_EEXISTS, "the cpu has its kernels already");
    return symm__registry_add(&kernels_by_device, device, (void *)(uintptr_t)kernels);
}

int symm__kernels_of(const char *op, const symm_tensor *tensor, const struct symm__kernels **out) {
    const char *device = symm_tensor_device(tensor);
    void *found = NULL;
    if (is_cpu(device)) {
        *out = &symm__kernels_cpu;
        return SYMM_OK;
    }
    if (symm__registry_find(&kernels_by_device, device, &found) < 0) {
        return symm__fail_at(SYMM__IN(op), SYMM_EUNSUPPORTED,
                             "tensors on %s have no element operations", device);
    }
    *out = found;
    return SYMM_OK;
}

int symm__check_host(const char *op, const symm_tensor *tensor) {
    if (is_cpu(symm_tensor_device(tensor))) return SYMM_OK;
    return symm__fail_at(SYMM__IN(op), SYMM_EUNSUPPORTED, "the tensor must be on cpu, not on %s",
                         symm_tensor_device(tensor));
}
