/* SPDX-License-Identifier: MIT
 *
 * The state of a store by itself: values, counters, waiters, limits.
 */
#include "store/keyspace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <symm/error.h>

#include "tests/support/check.h"

static struct symm__keyspace *space;

static struct symm_slice s(const char *text) { return symm_slice_of(text); }

static int open_space(size_t key, size_t value, size_t keys, size_t memory) {
    struct symm__keyspace_limits limits = {key, value, keys, memory};
    return symm__keyspace_open(&limits, &space);
}

static int open_large(void) { return open_space(1000, 1000, 100, 1 << 20); }

static void check_value(const char *key, const char *want) {
    struct symm_slice value = {NULL, 0};
    CHECK_INT(symm__keyspace_find(space, s(key), &value), 1);
    CHECK_UINT(value.size, strlen(want));
    CHECK(value.data && memcmp(value.data, want, strlen(want)) == 0);
}

static int wait_for(struct symm__waiter *waiter, const char *a, const char *b) {
    struct symm_slice keys[2] = {s(a), s(b ? b : "")};
    return symm__keyspace_wait(space, waiter, keys, b ? 2 : 1);
}

TEST(values_are_kept_replaced_and_deleted) {
    struct symm_slice value;
    REQUIRE_OK(open_large());
    CHECK_INT(symm__keyspace_find(space, s("a"), &value), 0);
    CHECK_OK(symm__keyspace_set(space, s("a"), s("one")));
    check_value("a", "one");
    CHECK_OK(symm__keyspace_set(space, s("a"), s("")));
    check_value("a", "");
    CHECK_INT(symm__keyspace_delete(space, s("a")), 1);
    CHECK_INT(symm__keyspace_delete(space, s("a")), 0);
    CHECK_INT(symm__keyspace_find(space, s("a"), &value), 0);
    symm__keyspace_close(space);
}

TEST(keys_and_values_are_any_bytes) {
    struct symm_slice key = {"a\0b", 3}, cut = {"a", 1}, none = {NULL, 0}, value;
    REQUIRE_OK(open_large());
    CHECK_OK(symm__keyspace_set(space, key, (struct symm_slice){"\0\xff", 2}));
    CHECK_INT(symm__keyspace_find(space, cut, &value), 0);
    CHECK_INT(symm__keyspace_find(space, key, &value), 1);
    CHECK(value.size == 2 && memcmp(value.data, "\0\xff", 2) == 0);
    CHECK_OK(symm__keyspace_set(space, none, none));
    CHECK_INT(symm__keyspace_find(space, s(""), &value), 1);
    CHECK_UINT(value.size, 0);
    symm__keyspace_close(space);
}

TEST(counting_by_prefix) {
    struct symm__waiter waiter = {0};
    REQUIRE_OK(open_large());
    CHECK_OK(symm__keyspace_set(space, s("/a"), s("")));
    CHECK_OK(symm__keyspace_set(space, s("/a/b"), s("")));
    CHECK_OK(symm__keyspace_set(space, s("/a/b"), s("again")));
    CHECK_OK(symm__keyspace_set(space, s("x"), s("")));
    CHECK_OK(symm__keyspace_set(space, s(""), s("")));
    CHECK_INT(wait_for(&waiter, "/a/waited for", NULL), 0); /* does not make it exist */
    CHECK_INT(symm__keyspace_count(space, s("")), 4);
    CHECK_INT(symm__keyspace_count(space, s("/")), 2);
    CHECK_INT(symm__keyspace_count(space, s("/a/")), 1);
    CHECK_INT(symm__keyspace_count(space, s("/a/bc")), 0);
    CHECK_INT(symm__keyspace_delete(space, s("/a")), 1);
    CHECK_INT(symm__keyspace_count(space, s("/")), 1);
    symm__keyspace_cancel(space, &waiter);
    symm__keyspace_close(space);
}

TEST(counters_are_decimal_text) {
    int64_t sum = 0;
    REQUIRE_OK(open_large());
    CHECK_OK(symm__keyspace_add(space, s("n"), 0, &sum));
    CHECK_INT(sum, 0);
    check_value("n", "0");
    CHECK_OK(symm__keyspace_add(space, s("n"), -21, &sum));
    check_value("n", "-21");
    CHECK_OK(symm__keyspace_set(space, s("n"), s("007")));
    CHECK_OK(symm__keyspace_add(space, s("n"), 1, &sum));
    CHECK_INT(sum, 8);
    check_value("n", "8");
    symm__keyspace_close(space);
}

TEST(a_counter_does_not_leave_64_bits) {
    int64_t sum = 5;
    REQUIRE_OK(open_large());
    CHECK_OK(symm__keyspace_add(space, s("n"), INT64_MAX, &sum));
    CHECK_INT(sum, INT64_MAX);
    CHECK_FAILS(symm__keyspace_add(space, s("n"), 1, &sum), SYMM_ESTORE, "64 bits");
    check_value("n", "9223372036854775807");
    CHECK_OK(symm__keyspace_set(space, s("n"), s("-9223372036854775808")));
    CHECK_OK(symm__keyspace_add(space, s("n"), 0, &sum));
    CHECK_INT(sum, INT64_MIN);
    CHECK_FAILS(symm__keyspace_add(space, s("n"), -1, &sum), SYMM_ESTORE, "64 bits");
    CHECK_INT(sum, INT64_MIN);
    symm__keyspace_close(space);
}

TEST(what_is_no_number_is_no_counter) {
    const char *const texts[] = {"",
                                 "-",
                                 "+1",
                                 " 1",
                                 "1 ",
                                 "1x",
                                 "0x10",
                                 "1.0",
                                 "9223372036854775808",
                                 "-9223372036854775809",
                                 "000000000000000000000001"};
    int64_t sum = 5;
    REQUIRE_OK(open_large());
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        CHECK_OK(symm__keyspace_set(space, s("n"), s(texts[i])));
        CHECK_FAILS(symm__keyspace_add(space, s("n"), 1, &sum), SYMM_ESTORE, "no counter");
        check_value("n", texts[i]);
    }
    CHECK_INT(sum, 5);
    symm__keyspace_close(space);
}

TEST(appending) {
    struct symm__waiter waiter = {0};
    REQUIRE_OK(open_space(100, 6, 2, 1000));
    CHECK_INT(wait_for(&waiter, "a", NULL), 0);
    CHECK_OK(symm__keyspace_append(space, s("a"), s("123")));
    CHECK(symm__keyspace_next_ready(space) == &waiter); /* it creates, so it wakes */
    CHECK_OK(symm__keyspace_append(space, s("a"), s("456")));
    check_value("a", "123456");
    CHECK_FAILS(symm__keyspace_append(space, s("a"), s("7")), SYMM_ELIMIT, "value of 7 bytes");
    CHECK_FAILS(symm__keyspace_append(space, s("b"), s("1234567")), SYMM_ELIMIT, "value limit");
    CHECK_OK(symm__keyspace_append(space, s("a"), s("")));
    check_value("a", "123456");
    symm__keyspace_close(space);
}

static void check_compare_set(const char *expected, const char *desired, const char *want) {
    struct symm_slice now = {NULL, 0};
    CHECK_OK(symm__keyspace_compare_set(space, s("k"), s(expected), s(desired), &now));
    CHECK_UINT(now.size, strlen(want));
    CHECK(now.size == 0 || memcmp(now.data, want, now.size) == 0);
}

TEST(comparing_and_setting) {
    struct symm__waiter waiter = {0};
    struct symm_slice now;
    REQUIRE_OK(open_space(100, 6, 2, 1000));
    CHECK_INT(wait_for(&waiter, "k", NULL), 0);
    check_compare_set("x", "new", "x"); /* absent and something expected: nothing is stored */
    CHECK_NULL(symm__keyspace_next_ready(space)); /* so nobody is woken */
    CHECK_INT(symm__keyspace_count(space, s("")), 0);
    check_compare_set("", "one", "one");
    CHECK(symm__keyspace_next_ready(space) == &waiter);
    check_compare_set("on", "two", "one");
    check_compare_set("", "two", "one");
    check_compare_set("one", "two", "two");
    check_value("k", "two");
    CHECK_FAILS(symm__keyspace_compare_set(space, s("k"), s("two"), s("1234567"), &now),
                SYMM_ELIMIT, "value limit");
    check_value("k", "two");
    symm__keyspace_close(space);
}

TEST(a_waiter_is_woken_once_and_only_by_its_key) {
    struct symm__waiter a = {0}, b = {0};
    int64_t sum;
    REQUIRE_OK(open_large());
    CHECK_INT(wait_for(&a, "a", NULL), 0);
    CHECK_INT(wait_for(&b, "b", NULL), 0);
    CHECK_OK(symm__keyspace_set(space, s("a"), s("1")));
    CHECK(symm__keyspace_next_ready(space) == &a);
    CHECK_NULL(symm__keyspace_next_ready(space));
    CHECK_OK(symm__keyspace_set(space, s("a"), s("2")));
    CHECK_NULL(symm__keyspace_next_ready(space));
    CHECK_OK(symm__keyspace_add(space, s("b"), 0, &sum)); /* add creates, so it wakes as well */
    CHECK(symm__keyspace_next_ready(space) == &b);
    CHECK_INT(wait_for(&a, "a", NULL), 1); /* exists: nothing is registered */
    CHECK_INT(a.state, SYMM__WAITER_IDLE);
    symm__keyspace_close(space);
}

TEST(waiters_are_woken_in_their_order) {
    struct symm__waiter waiters[3] = {{0}};
    REQUIRE_OK(open_large());
    for (int i = 0; i < 3; i++) CHECK_INT(wait_for(&waiters[i], "a", NULL), 0);
    CHECK_OK(symm__keyspace_set(space, s("a"), s("")));
    for (int i = 0; i < 3; i++) CHECK(symm__keyspace_next_ready(space) == &waiters[i]);
    symm__keyspace_close(space);
}

TEST(a_wait_on_several_keys_needs_all_at_one_time) {
    struct symm__waiter waiter = {0};
    REQUIRE_OK(open_large());
    CHECK_OK(symm__keyspace_set(space, s("a"), s("")));
    CHECK_INT(wait_for(&waiter, "a", "b"), 0);
    CHECK_INT(symm__keyspace_delete(space, s("a")), 1);
    CHECK_OK(symm__keyspace_set(space, s("b"), s("")));
    CHECK_NULL(symm__keyspace_next_ready(space)); /* `a` did exist, but not with `b` */
    CHECK_OK(symm__keyspace_set(space, s("a"), s("")));
    CHECK(symm__keyspace_next_ready(space) == &waiter);
    symm__keyspace_close(space);
}

TEST(a_key_may_be_named_twice) {
    struct symm__waiter waiter = {0}, other = {0};
    REQUIRE_OK(open_large());
    CHECK_INT(wait_for(&waiter, "a", "a"), 0);
    CHECK_INT(wait_for(&other, "a", NULL), 0);
    CHECK_OK(symm__keyspace_set(space, s("a"), s("")));
    CHECK(symm__keyspace_next_ready(space) == &waiter);
    CHECK(symm__keyspace_next_ready(space) == &other);
    CHECK_NULL(symm__keyspace_next_ready(space));
    symm__keyspace_delete(space, s("a"));
    CHECK_INT(wait_for(&waiter, "a", "a"), 0);
    symm__keyspace_cancel(space, &waiter);
    CHECK_INT(symm__keyspace_count(space, s("")), 0);
    symm__keyspace_close(space);
}

TEST(a_cancelled_waiter_is_not_woken) {
    struct symm__waiter waiting = {0}, ready = {0}, idle = {0};
    REQUIRE_OK(open_large());
    CHECK_INT(wait_for(&waiting, "a", "b"), 0);
    CHECK_INT(wait_for(&ready, "a", NULL), 0);
    symm__keyspace_cancel(space, &waiting);
    CHECK_OK(symm__keyspace_set(space, s("a"), s("")));
    CHECK_OK(symm__keyspace_set(space, s("b"), s("")));
    CHECK_INT(ready.state, SYMM__WAITER_READY);
    symm__keyspace_cancel(space, &ready);
    symm__keyspace_cancel(space, &idle);
    CHECK_NULL(symm__keyspace_next_ready(space));
    CHECK_INT(waiting.state, SYMM__WAITER_IDLE);
    CHECK_INT(ready.state, SYMM__WAITER_IDLE);
    symm__keyspace_close(space);
}

/* A walk over other waiters at each of these cancels would be 10^11 steps. */
TEST(cancelling_does_not_look_at_other_waiters) {
    enum { MANY = 500000 };
    struct symm__waiter *waiters = calloc(MANY, sizeof *waiters), last = {0};
    REQUIRE(waiters);
    REQUIRE_OK(open_large());
    for (int i = 0; i < MANY; i++) wait_for(&waiters[i], "a", NULL);
    CHECK_INT(wait_for(&last, "a", NULL), 0);
    for (int i = MANY - 1; i >= 0; i--) symm__keyspace_cancel(space, &waiters[i]);
    CHECK_OK(symm__keyspace_set(space, s("a"), s("")));
    CHECK(symm__keyspace_next_ready(space) == &last);
    CHECK_NULL(symm__keyspace_next_ready(space));
    symm__keyspace_close(space);
    free(waiters);
}

/* The same for a walk over waiters of other keys at each wake. */
TEST(waking_does_not_look_at_waiters_of_other_keys) {
    enum { MANY = 200000 };
    struct symm__waiter *waiters = calloc(MANY, sizeof *waiters);
    char key[16];
    int woken = 0;
    REQUIRE(waiters);
    REQUIRE_OK(open_space(1000, 1000, 100, (size_t)1 << 30));
    for (int i = 0; i < MANY; i++) {
        snprintf(key, sizeof key, "%d", i);
        wait_for(&waiters[i], key, NULL);
    }
    for (int i = 0; i < MANY; i++) {
        snprintf(key, sizeof key, "%d", i);
        symm__keyspace_set(space, s(key), s(""));
        woken += symm__keyspace_next_ready(space) == &waiters[i];
    }
    CHECK_INT(woken, MANY);
    symm__keyspace_close(space);
    free(waiters);
}

TEST(limits_hold_at_their_edge) {
    struct symm__waiter waiter = {0};
    struct symm_slice three[3] = {s("a"), s("b"), s("c")};
    int64_t sum;
    REQUIRE_OK(open_space(4, 6, 2, 1000));
    CHECK_OK(symm__keyspace_set(space, s("1234"), s("123456")));
    CHECK_FAILS(symm__keyspace_set(space, s("12345"), s("1")), SYMM_ELIMIT, "key limit of 4");
    CHECK_FAILS(symm__keyspace_set(space, s("1234"), s("1234567")), SYMM_ELIMIT,
                "value limit of 6");
    check_value("1234", "123456");
    CHECK_FAILS(symm__keyspace_add(space, s("12345"), 1, &sum), SYMM_ELIMIT, "key limit of 4");
    CHECK_INT(symm__keyspace_wait(space, &waiter, three, 2), 0);
    symm__keyspace_cancel(space, &waiter);
    CHECK_FAILS(symm__keyspace_wait(space, &waiter, three, 3), SYMM_ELIMIT, "limit of 2");
    three[1] = s("12345");
    CHECK_FAILS(symm__keyspace_wait(space, &waiter, three, 2), SYMM_ELIMIT, "key limit of 4");
    CHECK_INT(symm__keyspace_count(space, s("")), 1);
    symm__keyspace_close(space);
}

TEST(memory_is_limited_and_given_back) {
    int64_t sum;
    REQUIRE_OK(open_space(100, 100, 2, 20));
    CHECK_OK(symm__keyspace_set(space, s("a"), s("123456789")));
    CHECK_OK(symm__keyspace_set(space, s("b"), s("123456789")));
    CHECK_FAILS(symm__keyspace_set(space, s("c"), s("")), SYMM_ELIMIT, "memory limit of 20");
    CHECK_FAILS(symm__keyspace_add(space, s("c"), 1, &sum), SYMM_ELIMIT, "memory limit");
    CHECK_FAILS(symm__keyspace_set(space, s("b"), s("1234567890")), SYMM_ELIMIT, "memory limit");
    check_value("b", "123456789");
    CHECK_INT(symm__keyspace_count(space, s("")), 2);
    CHECK_INT(symm__keyspace_delete(space, s("a")), 1);
    CHECK_OK(symm__keyspace_set(space, s("c"), s("123456789")));
    CHECK_OK(symm__keyspace_set(space, s("c"), s("1")));
    CHECK_OK(symm__keyspace_set(space, s("d"), s("1234567")));
    symm__keyspace_close(space);
}

TEST(keys_that_are_waited_for_count_too) {
    struct symm__waiter one = {0}, two = {0};
    REQUIRE_OK(open_space(100, 100, 2, 20));
    CHECK_INT(wait_for(&one, "1234567890", "123456789"), 0);
    CHECK_INT(wait_for(&two, "1234567890", "x"), 0);
    symm__keyspace_cancel(space, &two);
    CHECK_FAILS(wait_for(&two, "1234567890", "yz"), SYMM_ELIMIT, "memory limit of 20");
    CHECK_FAILS(symm__keyspace_set(space, s("ab"), s("")), SYMM_ELIMIT, "memory limit of 20");
    symm__keyspace_cancel(space, &one);
    CHECK_OK(symm__keyspace_set(space, s("ab"), s("345678901234567890")));
    symm__keyspace_close(space);
}
