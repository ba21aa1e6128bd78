/* SPDX-License-Identifier: MIT
 *
 * Condition variables on the monotonic clock, slept on in slices.
 */
#ifndef SYMM_STORE_CONDITION_H
#define SYMM_STORE_CONDITION_H

#include <pthread.h>
#include <time.h>

#include "base/deadline.h"

static inline void symm__condition_init(pthread_cond_t *condition) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

/* With `lock` held: sleeps until woken, one slice or the deadline, then runs the wait hook without
 * the lock. 0, or the code with which the hook ends the wait. Wakes for no reason, too. */
static inline int symm__condition_slice(pthread_cond_t *condition, pthread_mutex_t *lock,
                                        int64_t deadline_ns) {
    struct timespec until;
    int64_t ms = symm__deadline_left_ms(deadline_ns, SYMM_WAIT_SLICE_MS);
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += (long)ms * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    if (pthread_cond_timedwait(condition, lock, &until) == 0) return 0;
    pthread_mutex_unlock(lock);
    int rc = symm__wait_poll();
    pthread_mutex_lock(lock);
    return rc;
}

#endif
