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

/* The smallest value of a control group's file over the group and all above it; `name2` is the name
 * in version 2, `controller` and `name1` those of version 1. LIMIT_NONE where none is set. */
int64_t limit_cgroup(const char *name2, const char *controller, const char *name1);
/* The same of the innermost group alone: a use rather than a limit. */
int64_t use_cgroup(const char *name2, const char *controller, const char *name1);
/* A field of /proc/meminfo in bytes ("MemAvailable"). */
int64_t limit_meminfo(const char *field);
/* The number in a file of one number. */
int64_t limit_file(const char *path);
/* Processes and threads that may still be started, by the control groups and RLIMIT_NPROC. */
int64_t limit_tasks_left(void);

#endif
