/* SPDX-License-Identifier: MIT
 *
 * What a memory must do to become symmetric. An allocator serves one device type: it makes
 * segments, exports them as a ticket that another process can map, and maps a peer's ticket.
 * Everything else (groups, record exchange, validation, caching, handles, pads) is written once
 * above it.
 *
 * A segment is one mapping of one piece of memory in this process. Segments are zeroed when made.
 * Functions may be called from any thread; they fail with symm__fail.
 */
#ifndef SYMM_SYMMEM_ALLOCATOR_H
#define SYMM_SYMMEM_ALLOCATOR_H

#include <stddef.h>
#include <stdint.h>

struct symm__segment {
    void *base;
    int64_t size; /* bytes mapped; a multiple of the allocator's granularity */
    int fd;       /* -1: this process did not make it, or the allocator has none */
};

struct symm__allocator_ops {
    size_t size;             /* sizeof this struct */
    const char *name;        /* "shm" */
    const char *device_type; /* "cpu" */
    /* At least `bytes`; SYMM_EOOM names the limit in the way. */
    int (*allocate)(int64_t bytes, struct symm__segment *out);
    /* Maps a peer's segment of `bytes` from its ticket's descriptor, which stays the caller's. */
    int (*map)(int fd, int64_t bytes, struct symm__segment *out);
    /* Unmaps; closes the descriptor. Never fails. */
    void (*release)(struct symm__segment *segment);
};

/* The active allocator of a device type; SYMM_EMISSING_PLUGIN or SYMM_EINVALID naming the known. */
int symm__allocator_for(const char *device, const struct symm__allocator_ops **out);

extern const struct symm__allocator_ops symm__shm_allocator;

#endif
