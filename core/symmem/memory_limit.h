/* SPDX-License-Identifier: MIT
 *
 * How much more memory this process may take: the smallest of what the machine has available, what
 * each cgroup above it leaves, and SYMM_SHM_LIMIT.
 */
#ifndef SYMM_SYMMEM_MEMORY_LIMIT_H
#define SYMM_SYMMEM_MEMORY_LIMIT_H

#include <stdint.h>

struct symm__memory_limit {
    int64_t bytes;  /* INT64_MAX: none known */
    char name[160]; /* what limits, and where it stands: "cgroup /a (memory.max)" */
};

/* Reads <root>/proc and <root>/sys; root "" is the machine's own. A reserve stays free for the rest
 * of the process: a sixteenth, at most 64 MiB. Never fails: what cannot be read does not limit. */
void symm__memory_limit_of_host(const char *root, struct symm__memory_limit *out);
/* `used`: bytes of symmetric memory that this process holds. SYMM_EINVALID if SYMM_SHM_LIMIT is no
 * size. */
int symm__memory_limit_of_variable(int64_t used, struct symm__memory_limit *out);

#endif
