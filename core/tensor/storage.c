/* SPDX-License-Identifier: MIT
 *
 * Storages: counted runs of bytes. A storage never moves and never changes its size; whoever drops
 * the last reference runs its release function.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "device/device.h"
#include "tensor/tensor.h"

void symm__storage_retain(struct symm__storage *storage) {
    /* Relaxed: the caller's own reference already orders the storage before this. */
    atomic_fetch_add_explicit(&storage->references, 1, memory_order_relaxed);
}

void symm__storage_release(struct symm__storage *storage) {
    if (!storage) return;
    /* Release pairs with the acquire of whoever gets 1 here: all uses come before the freeing. */
    if (atomic_fetch_sub_explicit(&storage->references, 1, memory_order_acq_rel) == 1) {
        storage->release(storage);
    }
}

static void release_own(struct symm__storage *storage) {
    const struct symm__device *device = storage->owner;
    device->deallocate(storage->data, storage->nbytes);
    free(storage);
}

int symm__storage_new(int64_t nbytes, const char *device_name, struct symm__storage **out) {
    const struct symm__device *device = NULL;
    int rc = symm__device_find(device_name, &device);
    if (rc < 0) return rc;
    struct symm__storage *storage = calloc(1, sizeof *storage);
    if (!storage) return symm__fail_oom(sizeof *storage);
    rc = device->allocate(nbytes, &storage->data);
    if (rc < 0) {
        free(storage);
        return rc;
    }
    atomic_init(&storage->references, 1);
    storage->nbytes = nbytes;
    storage->device = device->name;
    storage->release = release_own;
    storage->owner = (void *)(uintptr_t)device;
    *out = storage;
    return SYMM_OK;
}

/* Memory of the caller, with what it wants to hear when the last view is gone. */
struct foreign {
    struct symm__storage storage; /* first: release gets its address */
    void (*release)(void *context);
    void *context;
};

static void release_foreign(struct symm__storage *storage) {
    struct foreign *foreign = (struct foreign *)storage;
    void (*release)(void *) = foreign->release;
    void *context = foreign->context;
    free(foreign);
    if (release) release(context);
}

int symm__storage_foreign(void *data, int64_t nbytes, const char *device_name,
                          struct symm__storage **out) {
    const struct symm__device *device = NULL;
    int rc = symm__device_find(device_name, &device);
    if (rc < 0) return rc;
    struct foreign *foreign = calloc(1, sizeof *foreign);
    if (!foreign) return symm__fail_oom(sizeof *foreign);
    atomic_init(&foreign->storage.references, 1);
    foreign->storage.data = data;
    foreign->storage.nbytes = nbytes;
    foreign->storage.device = device->name;
    foreign->storage.release = release_foreign;
    *out = &foreign->storage;
    return SYMM_OK;
}

void symm__storage_on_release(struct symm__storage *storage, void (*release)(void *context),
                              void *context) {
    struct foreign *foreign = (struct foreign *)storage;
    foreign->release = release;
    foreign->context = context;
}
