/* SPDX-License-Identifier: MIT
 *
 * Deadlines in monotonic nanoseconds, and the two things that every slice of a wait looks at.
 */
#ifndef SYMM_BASE_DEADLINE_H
#define SYMM_BASE_DEADLINE_H

#include <symm/wait.h>

#define SYMM__NEVER INT64_MAX

/* Resolves a user's timeout against a default (itself > 0 or -1) and gives the deadline.
 * SYMM_EINVALID for timeouts below -1. */
int symm__deadline(int64_t timeout_ms, int64_t default_ms, int64_t *deadline_ns_out);
/* Milliseconds left, rounded up, 0 when passed, capped to `cap_ms` (>= 0). */
int64_t symm__deadline_left_ms(int64_t deadline_ns, int64_t cap_ms);
static inline int symm__deadline_passed(int64_t deadline_ns) {
    return deadline_ns != SYMM__NEVER && symm_now_ns() >= deadline_ns;
}
/* Runs this thread's wait hook: 0, or the code with which the wait ends (error already filled). */
int symm__wait_poll(void);
/* Sleeps a slice: until `ms` have passed or a signal came; for retry loops. */
void symm__sleep_ms(int64_t ms);

#endif
