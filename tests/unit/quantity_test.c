/* SPDX-License-Identifier: MIT
 *
 * Durations, sizes and deadlines.
 */
#include <symm/error.h>
#include <symm/wait.h>

#include "base/deadline.h"
#include "tests/support/check.h"

static int64_t duration(const char *text, int64_t unit) {
    int64_t ms = -77;
    CHECK_OK(symm_parse_duration(text, unit, &ms));
    return ms;
}

static int64_t size(const char *text) {
    int64_t bytes = -77;
    CHECK_OK(symm_parse_size(text, &bytes));
    return bytes;
}

TEST(durations) {
    CHECK_INT(duration("250ms", 1), 250);
    CHECK_INT(duration("2s", 1), 2000);
    CHECK_INT(duration("1.5m", 1), 90000);
    CHECK_INT(duration("1h", 1), 3600000);
    CHECK_INT(duration("7", 1), 7);
    CHECK_INT(duration("7", 1000), 7000);
    CHECK_INT(duration("0.2ms", 1), 1); /* up, never to 0, which means something else */
    CHECK_INT(duration("-1", 1000), SYMM_TIMEOUT_NONE);
    CHECK_INT(duration("3 s", 1), 3000);
}

TEST(durations_that_are_none) {
    int64_t ms = -77;
    const char *bad[] = {"",          "ms",  "-2", "1e3", "0x10", "1.2.3",
                         "5 parsecs", "1s2", " 1", "inf", "nan"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK_FAILS(symm_parse_duration(bad[i], 1, &ms), SYMM_EINVALID, "is not a duration");
    }
    CHECK_FAILS(symm_parse_duration(NULL, 1, &ms), SYMM_EINVALID, "");
    CHECK_FAILS(symm_parse_duration("99999999999999999999h", 1, &ms), SYMM_ELIMIT, "too large");
    CHECK_INT(ms, -77);
}

TEST(sizes) {
    CHECK_INT(size("4096"), 4096);
    CHECK_INT(size("64KiB"), 65536);
    CHECK_INT(size("1.5GiB"), 1610612736);
    CHECK_INT(size("10MB"), 10000000);
    CHECK_INT(size("0"), 0);
    int64_t bytes = -77;
    CHECK_FAILS(symm_parse_size("-1", &bytes), SYMM_EINVALID, "is not a size");
    CHECK_FAILS(symm_parse_size("12 monkeys", &bytes), SYMM_EINVALID, "is not a size");
    CHECK_FAILS(symm_parse_size("9223372036854775808", &bytes), SYMM_ELIMIT, "too large");
    CHECK_INT(bytes, -77);
}

TEST(deadlines) {
    int64_t at = 0, now = symm_now_ns();
    CHECK_OK(symm__deadline(1000, 5, &at));
    CHECK(at >= now + 1000000000);
    CHECK_OK(symm__deadline(0, 60000, &at));
    CHECK(at >= now + 60000000000 && at < now + 120000000000);
    CHECK_OK(symm__deadline(-1, 5, &at));
    CHECK_INT(at, SYMM__NEVER);
    CHECK_OK(symm__deadline(0, -1, &at));
    CHECK_INT(at, SYMM__NEVER);
    CHECK_OK(symm__deadline(INT64_MAX, 5, &at));
    CHECK_INT(at, SYMM__NEVER);
    CHECK_FAILS(symm__deadline(-2, 5, &at), SYMM_EINVALID, "not -2");
    CHECK_INT(symm__deadline_left_ms(SYMM__NEVER, 100), 100);
    CHECK_INT(symm__deadline_left_ms(now - 1, 100), 0);
    CHECK_INT(symm__deadline_left_ms(symm_now_ns() + 60000000000, 100), 100);
}

static int end_wait(void *context) { return *(int *)context; }

TEST(wait_hook_ends_waits_and_is_restored) {
    int code = SYMM_OK;
    symm_wait_hook before = NULL;
    void *context = NULL;
    CHECK_OK(symm__wait_poll());
    symm_set_wait_hook(end_wait, &code, &before, &context);
    CHECK(before == NULL);
    CHECK_OK(symm__wait_poll());
    code = SYMM_EINTERRUPTED;
    CHECK_FAILS(symm__wait_poll(), SYMM_EINTERRUPTED, "signal");
    code = SYMM_EABORTED;
    CHECK_FAILS(symm__wait_poll(), SYMM_EABORTED, "ended");
    symm_set_wait_hook(before, context, NULL, NULL);
    CHECK_OK(symm__wait_poll());
}

TEST(sleep_lasts_and_can_be_ended) {
    int code = SYMM_EINTERRUPTED;
    int64_t before = symm_now_ns();
    CHECK_OK(symm_sleep(5));
    CHECK(symm_now_ns() - before >= 5000000);
    CHECK_OK(symm_sleep(0));
    CHECK_FAILS(symm_sleep(-1), SYMM_EINVALID, "cannot sleep -1 ms");
    symm_set_wait_hook(end_wait, &code, NULL, NULL);
    CHECK_FAILS(symm_sleep(60000), SYMM_EINTERRUPTED, "signal");
}
