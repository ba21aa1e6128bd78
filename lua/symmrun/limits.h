/* SPDX-License-Identifier: MIT
 *
 * What this machine allows the process, as small readings of /proc and of the control groups (both
 * versions). Nothing here fails: what cannot be read is "unknown".
 */
#ifndef SYMM_SYMMRUN_LIMITS_H
#define SYMM_SYMMRUN_LIMITS_H

#include <stdint.h>

#define LIMIT_UNKNOWN INT64_C(-1)
#define LIMIT_NONE INT64_MAX

/* The number in a file of one number. */
int64_t limit_file(const char *path);
/* A field of /proc/meminfo in bytes ("MemAvailable"). */
int64_t limit_meminfo(const char *field);
/* Processes and threads that may still be started, by the control groups (each above this one has a
 * limit of its own) and RLIMIT_NPROC. `root` is "" for the machine's own /proc and /sys. */
int64_t limit_tasks_left(const char *root);

#endif
