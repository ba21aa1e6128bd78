/* SPDX-License-Identifier: MIT */
#include "base/deadline.h"

#include <time.h>

#include "base/error.h"

/* Set and restored around every blocking call, so it has to be cheap: the initial-exec model
 * reaches it by one load, without a call. Its 16 bytes fit what a loader keeps for libraries opened
 * late. */
static _Thread_local struct {
    symm_wait_hook call;
    void *context;
} wait_hook __attribute__((tls_model("initial-exec")));

int64_t symm_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int symm__deadline(int64_t timeout_ms, int64_t default_ms, int64_t *deadline_ns_out) {
    if (timeout_ms < SYMM_TIMEOUT_NONE) {
        return symm__fail(SYMM_EINVALID,
                          "timeout_ms must be positive, 0 (the default) or -1 (none), not %lld",
                          (long long)timeout_ms);
    }
    int64_t ms = timeout_ms == SYMM_TIMEOUT_DEFAULT ? default_ms : timeout_ms;
    int64_t now = symm_now_ns();
    if (ms == SYMM_TIMEOUT_NONE || ms > (INT64_MAX - now) / 1000000 - 1) {
        *deadline_ns_out = SYMM__NEVER;
    } else {
        *deadline_ns_out = now + ms * 1000000;
    }
    return SYMM_OK;
}

int64_t symm__deadline_left_ms(int64_t deadline_ns, int64_t cap_ms) {
    if (deadline_ns == SYMM__NEVER) return cap_ms;
    int64_t left = deadline_ns - symm_now_ns();
    if (left <= 0) return 0;
    left = left / 1000000 + (left % 1000000 != 0);
    return left < cap_ms ? left : cap_ms;
}

void symm_set_wait_hook(symm_wait_hook hook, void *context, symm_wait_hook *previous_out,
                        void **previous_context_out) {
    if (previous_out) *previous_out = wait_hook.call;
    if (previous_context_out) *previous_context_out = wait_hook.context;
    wait_hook.call = hook;
    wait_hook.context = context;
}

int symm__wait_poll(void) {
    if (!wait_hook.call) return SYMM_OK;
    int code = wait_hook.call(wait_hook.context);
    if (code == SYMM_OK) return SYMM_OK;
    if (code == SYMM_EINTERRUPTED) return symm__fail(code, "interrupted by a signal while waiting");
    return symm__fail(code, "the wait was ended: %s", symm_status_text(code));
}

void symm__sleep_ms(int64_t ms) {
    struct timespec pause = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};
    nanosleep(&pause, NULL); /* a signal may cut it short; callers look at their deadline again */
}

int symm_sleep(int64_t ms) {
    int64_t deadline = 0;
    if (ms < 0) return symm__fail(SYMM_EINVALID, "cannot sleep %lld ms", (long long)ms);
    if (ms == 0) return SYMM_OK;
    int rc = symm__deadline(ms, ms, &deadline);
    while (rc == SYMM_OK && !symm__deadline_passed(deadline)) {
        symm__sleep_ms(symm__deadline_left_ms(deadline, SYMM_WAIT_SLICE_MS));
        rc = symm__wait_poll();
    }
    return rc;
}
