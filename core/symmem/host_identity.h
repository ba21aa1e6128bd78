/* SPDX-License-Identifier: MIT
 *
 * Which host, process and CPUs: what ranks compare to know whether they can share memory.
 * Same host = same boot_id and same network namespace (abstract sockets do not cross those).
 */
#ifndef SYMM_SYMMEM_HOST_IDENTITY_H
#define SYMM_SYMMEM_HOST_IDENTITY_H

#include <stddef.h>
#include <stdint.h>

#define SYMM__CPU_MASK_BYTES 128

struct symm__host_identity {
    char boot_id[40];
    uint64_t network_namespace; /* inode of /proc/self/ns/net; 0: unknown */
    char host_name[65];         /* for messages only */
};

void symm__host_identity_read(struct symm__host_identity *out);
/* 1 if both are one host. */
int symm__host_identity_same(const struct symm__host_identity *a,
                             const struct symm__host_identity *b);
/* One line, and back; the line never holds anything but what it names. */
void symm__host_identity_print(const struct symm__host_identity *identity, char *text, size_t size);
int symm__host_identity_parse(const char *text, struct symm__host_identity *out);

/* The CPUs this process may use, a bit each (the first 1024). */
void symm__cpu_mask_read(uint8_t mask[SYMM__CPU_MASK_BYTES]);
/* CPUs' worth of time that the cgroup grants, rounded up; 0: no quota. */
int symm__cpu_quota(void);
/* `bytes` of the kernel's random numbers. */
int symm__random_bytes(void *to, size_t bytes);

#endif
