/* SPDX-License-Identifier: MIT
 *
 * Time in waits. Every blocking function takes `timeout_ms`:
 *     > 0   that many milliseconds from now
 *       0   the default of the object that is asked (a group's, a store's)
 *      -1   no deadline; only a user may ask for it
 *     < -1  SYMM_EINVALID
 * A wait never sleeps longer than SYMM_WAIT_SLICE_MS at a time; between two slices it looks at its
 * deadline, at its peers and at this thread's wait hook.
 */
#ifndef SYMM_WAIT_H
#define SYMM_WAIT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SYMM_WAIT_SLICE_MS 100
#define SYMM_TIMEOUT_DEFAULT 0
#define SYMM_TIMEOUT_NONE (-1)

/* Monotonic time in nanoseconds since an arbitrary point. Any thread. */
int64_t symm_now_ns(void);

/* Sleeps `ms` milliseconds (0: not at all). Errors: the wait hook's, SYMM_EINVALID if negative. */
int symm_sleep(int64_t ms);

/* Called on the waiting thread in each slice of a blocking wait, and at once when a signal
 * interrupts it. Returns 0 to go on waiting, or a negative status code with which the wait is to
 * end (SYMM_EINTERRUPTED for a signal). Must not call a blocking function of this library. */
typedef int (*symm_wait_hook)(void *context);
/* Sets this thread's hook (NULL: none) and gives back the one before it, to be restored. */
void symm_set_wait_hook(symm_wait_hook hook, void *context, symm_wait_hook *previous_out,
                        void **previous_context_out);

/* One parser for quantities in options, variables and URLs.
 * Durations: "250ms", "2s", "1.5m", "1h"; a plain number is in `default_unit_ms` milliseconds
 * (1 for ms, 1000 for s). Result in milliseconds, rounded up; "-1" is SYMM_TIMEOUT_NONE.
 * Sizes: "64KiB", "1.5GiB", "10MB", "4096"; result in bytes.
 * Errors: SYMM_EINVALID naming the text, SYMM_ELIMIT when it does not fit 63 bits. */
int symm_parse_duration(const char *text, int64_t default_unit_ms, int64_t *ms_out);
int symm_parse_size(const char *text, int64_t *bytes_out);

#ifdef __cplusplus
}
#endif
#endif
