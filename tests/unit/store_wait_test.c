/* SPDX-License-Identifier: MIT
 *
 * Waiting, with several threads on one object: over hash, tcp and prefix stores alike.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <symm/error.h>
#include <symm/store.h>
#include <symm/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/check.h"

/* ---- the kinds ---- */

static symm_store *base;

static int open_hash(symm_store **out) { return symm_store_open_hash(out); }

static int open_master(symm_store **out) {
    struct symm_tcp_store_options options = SYMM_TCP_STORE_OPTIONS_INIT;
    options.port = 0;
    options.is_master = 1;
    return symm_store_open_tcp(&options, out);
}

static int open_client(symm_store **out) {
    struct symm_tcp_store_options options = SYMM_TCP_STORE_OPTIONS_INIT;
    int rc = open_master(&base);
    if (rc < 0) return rc;
    options.port = symm_store_port(base);
    return symm_store_open_tcp(&options, out);
}

static int open_unix(symm_store **out) {
    struct symm_tcp_store_options options = SYMM_TCP_STORE_OPTIONS_INIT;
    char name[64];
    snprintf(name, sizeof name, "@store-wait-test-%d", (int)getpid());
    options.host = name;
    options.is_master = 1;
    return symm_store_open_tcp(&options, out);
}

static int open_prefix(symm_store **out) {
    int rc = open_master(&base);
    return rc < 0 ? rc : symm_store_open_prefix(symm_slice_of("p"), base, out);
}

static const struct {
    const char *name;
    int (*open)(symm_store **out);
} kinds[] = {{"hash", open_hash},
             {"tcp master", open_master},
             {"tcp client", open_client},
             {"tcp unix", open_unix},
             {"prefix", open_prefix}};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* Runs a test body over all kinds; a failed check is preceded by the kind's name. */
static void over_all(void (*body)(symm_store *store)) {
    for (int i = 0; i < KINDS; i++) {
        symm_store *store = NULL;
        printf("# %s\n", kinds[i].name);
        if (CHECK_OK(kinds[i].open(&store))) body(store);
        symm_store_release(store);
        symm_store_release(base);
        base = NULL;
    }
}

static struct symm_slice s(const char *text) { return symm_slice_of(text); }

static void sleep_ms(long ms) {
    struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&pause, NULL);
}

/* ---- a call on a thread of its own ---- */

struct caller {
    pthread_t thread;
    symm_store *store;
    const char *key;
    int64_t timeout_ms;
    int rc;
    struct symm_error error;
    struct symm_bytes value;
    atomic_int begun, done; /* seq_cst; `begun` is set just before the call */
};

static void *get_in_thread(void *context) {
    struct caller *caller = context;
    atomic_store(&caller->begun, 1);
    caller->rc = symm_store_get(caller->store, s(caller->key), caller->timeout_ms, &caller->value);
    caller->error = *symm_last_error();
    atomic_store(&caller->done, 1);
    return NULL;
}

static void start(struct caller *caller, symm_store *store, const char *key, int64_t timeout_ms) {
    memset(caller, 0, sizeof *caller);
    caller->store = store;
    caller->key = key;
    caller->timeout_ms = timeout_ms;
    CHECK_INT(pthread_create(&caller->thread, NULL, get_in_thread, caller), 0);
    while (!atomic_load(&caller->begun)) sleep_ms(1);
    sleep_ms(20); /* most likely it waits by now; every verdict holds if it does not */
}

static void finish(struct caller *caller) { pthread_join(caller->thread, NULL); }

/* ---- tests ---- */

static void wake_by_set(symm_store *store) {
    struct caller caller;
    start(&caller, store, "late", -1);
    CHECK_INT(atomic_load(&caller.done), 0);
    CHECK_OK(symm_store_set(store, s("other"), s("x")));
    CHECK_OK(symm_store_set(store, s("late"), s("value")));
    finish(&caller);
    CHECK_OK(caller.rc);
    CHECK_STR(caller.value.data, "value");
    symm_bytes_free(&caller.value);
}
TEST(a_get_waits_for_a_set) { over_all(wake_by_set); }

static void wake_by_add(symm_store *store) {
    struct caller caller;
    int64_t sum;
    start(&caller, store, "n", 30000);
    CHECK_OK(symm_store_add(store, s("n"), 42, &sum));
    finish(&caller);
    CHECK_OK(caller.rc);
    CHECK_STR(caller.value.data, "42");
    symm_bytes_free(&caller.value);
}
TEST(a_get_waits_for_an_add) { over_all(wake_by_add); }

static void many_wait(symm_store *store) {
    enum { MANY = 8 };
    struct caller callers[MANY];
    for (int i = 0; i < MANY; i++) start(&callers[i], store, i % 2 ? "odd" : "even", 30000);
    CHECK_OK(symm_store_set(store, s("odd"), s("1")));
    for (int i = 1; i < MANY; i += 2) finish(&callers[i]);
    for (int i = 0; i < MANY; i += 2) CHECK_INT(atomic_load(&callers[i].done), 0);
    CHECK_OK(symm_store_set(store, s("even"), s("0")));
    for (int i = 0; i < MANY; i += 2) finish(&callers[i]);
    for (int i = 0; i < MANY; i++) {
        CHECK_OK(callers[i].rc);
        CHECK_STR(callers[i].value.data, i % 2 ? "1" : "0");
        symm_bytes_free(&callers[i].value);
    }
}
TEST(many_waits_on_one_object) { over_all(many_wait); }

struct adder {
    pthread_t thread;
    symm_store *store;
    int failures;
};

static void *add_often(void *context) {
    struct adder *adder = context;
    char key[32];
    for (int i = 0; i < 300; i++) {
        struct symm_bytes value;
        int64_t sum;
        snprintf(key, sizeof key, "own-%p", (void *)adder);
        adder->failures += symm_store_add(adder->store, s("shared"), 1, &sum) < 0;
        adder->failures += symm_store_set(adder->store, s(key), s(key)) < 0;
        if (symm_store_get(adder->store, s(key), 0, &value) < 0) {
            adder->failures++;
        } else {
            adder->failures += strcmp(value.data, key) != 0;
            symm_bytes_free(&value);
        }
    }
    return NULL;
}

static void share_one_object(symm_store *store) {
    enum { THREADS = 6 };
    struct adder adders[THREADS];
    struct caller waiting;
    int64_t sum = 0;
    start(&waiting, store, "end", -1);
    for (int i = 0; i < THREADS; i++) {
        adders[i].store = store;
        adders[i].failures = 0;
        pthread_create(&adders[i].thread, NULL, add_often, &adders[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(adders[i].thread, NULL);
        CHECK_INT(adders[i].failures, 0);
    }
    CHECK_INT(atomic_load(&waiting.done), 0);
    CHECK_OK(symm_store_add(store, s("shared"), 0, &sum));
    CHECK_INT(sum, THREADS * 300);
    CHECK_OK(symm_store_set(store, s("end"), s("")));
    finish(&waiting);
    CHECK_OK(waiting.rc);
    symm_bytes_free(&waiting.value);
}
TEST(threads_share_an_object_and_a_wait_holds_up_none) { over_all(share_one_object); }

static void time_out(symm_store *store) {
    struct symm_bytes value = {NULL, 0};
    struct symm_slice keys[] = {s("a"), s("b"), s("c"), s("d"), s("e"), s("f")};
    int64_t before = symm_now_ns();
    CHECK_FAILS(symm_store_get(store, s("absent"), 50, &value), SYMM_ETIMEOUT,
                "key 'absent' did not appear within ");
    CHECK(symm_now_ns() - before >= 50 * 1000000);
    CHECK_STR(symm_last_error()->op, "get");
    CHECK_NULL(value.data);
    CHECK_FAILS(symm_store_get(store, s("absent"), 1, &value), SYMM_ETIMEOUT, "did not appear");
    CHECK_OK(symm_store_set(store, s("a"), s("")));
    CHECK_FAILS(symm_store_wait(store, keys, 6, 1), SYMM_ETIMEOUT,
                "keys 'a', 'b', 'c', 'd' and 2 more did not appear");
    CHECK_STR(symm_last_error()->op, "wait");
    CHECK_OK(symm_store_wait(store, keys, 1, 1));
    CHECK_OK(symm_store_wait(store, keys, 0, 1));
    CHECK_OK(symm_store_get(store, s("a"), 1, &value)); /* the object is as good as before */
    symm_bytes_free(&value);
}
TEST(a_wait_ends_with_its_time) { over_all(time_out); }

static void edges_of_timeouts(symm_store *store) {
    struct symm_bytes value;
    struct symm_slice key = s("absent");
    CHECK_FAILS(symm_store_get(store, key, -2, &value), SYMM_EINVALID, "timeout_ms");
    CHECK_FAILS(symm_store_wait(store, &key, 1, INT64_MIN), SYMM_EINVALID, "timeout_ms");
    CHECK_INT(symm_store_timeout(store), SYMM_STORE_DEFAULT_TIMEOUT_MS);
    CHECK_FAILS(symm_store_set_timeout(store, 0), SYMM_EINVALID, "above 0");
    CHECK_FAILS(symm_store_set_timeout(store, -2), SYMM_EINVALID, "above 0");
    CHECK_OK(symm_store_set_timeout(store, -1));
    CHECK_INT(symm_store_timeout(store), -1);
    CHECK_OK(symm_store_set_timeout(store, 30));
    CHECK_INT(symm_store_timeout(store), 30);
    CHECK_FAILS(symm_store_get(store, key, 0, &value), SYMM_ETIMEOUT, "within "); /* the default */
    CHECK_FAILS(symm_store_wait(store, &key, 1, 0), SYMM_ETIMEOUT, "within ");
    CHECK_OK(symm_store_set(store, key, s("x")));
    CHECK_OK(symm_store_get(store, key, INT64_MAX, &value));
    symm_bytes_free(&value);
}
TEST(timeouts_at_their_edges) { over_all(edges_of_timeouts); }

static void deleted_keys(symm_store *store) {
    struct symm_bytes value;
    int deleted = -1, all = -1;
    struct symm_slice key = s("k");
    CHECK_OK(symm_store_set(store, key, s("x")));
    CHECK_OK(symm_store_delete_key(store, key, &deleted));
    CHECK_INT(deleted, 1);
    CHECK_OK(symm_store_delete_key(store, key, &deleted));
    CHECK_INT(deleted, 0);
    CHECK_OK(symm_store_check(store, &key, 1, &all));
    CHECK_INT(all, 0);
    CHECK_FAILS(symm_store_get(store, key, 10, &value), SYMM_ETIMEOUT, "'k'");
}
TEST(a_deleted_key_is_waited_for_again) { over_all(deleted_keys); }

/* ---- signals ---- */

static void ignore(int number) { (void)number; }

static void catch_signals(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = ignore; /* without SA_RESTART: system calls end with EINTR */
    sigaction(SIGUSR1, &action, NULL);
}

static void storm(symm_store *store) {
    struct caller lucky, unlucky;
    catch_signals();
    int64_t before = symm_now_ns();
    start(&unlucky, store, "never", 200);
    start(&lucky, store, "late", 30000);
    while (!atomic_load(&unlucky.done)) {
        pthread_kill(unlucky.thread, SIGUSR1);
        pthread_kill(lucky.thread, SIGUSR1);
        sleep_ms(1);
    }
    CHECK(symm_now_ns() - before >= 200 * 1000000); /* no signal cut it short */
    CHECK_OK(symm_store_set(store, s("late"), s("value")));
    finish(&unlucky);
    finish(&lucky);
    CHECK_INT(unlucky.rc, SYMM_ETIMEOUT);
    CHECK_OK(lucky.rc);
    symm_bytes_free(&lucky.value);
}
TEST(signals_change_no_deadline) { over_all(storm); }

static int stop_after(void *context) {
    int *slices = context;
    return --*slices > 0 ? SYMM_OK : SYMM_EINTERRUPTED;
}

static void interrupted(symm_store *store) {
    struct symm_bytes value = {NULL, 0};
    int slices = 2;
    symm_set_wait_hook(stop_after, &slices, NULL, NULL);
    CHECK_FAILS(symm_store_get(store, s("never"), -1, &value), SYMM_EINTERRUPTED, "interrupted");
    CHECK_STR(symm_last_error()->op, "get");
    symm_set_wait_hook(NULL, NULL, NULL, NULL);
    CHECK_INT(slices, 0);
    CHECK_OK(symm_store_set(store, s("never"), s("after all")));
    CHECK_OK(symm_store_get(store, s("never"), 0, &value));
    CHECK_STR(value.data, "after all");
    symm_bytes_free(&value);
}
TEST(the_wait_hook_ends_a_wait_and_the_object_lives) { over_all(interrupted); }

static void interrupted_among_others(symm_store *store) {
    struct caller other;
    struct symm_bytes value;
    int slices = 1;
    start(&other, store, "late", 30000);
    symm_set_wait_hook(stop_after, &slices, NULL, NULL);
    CHECK_FAILS(symm_store_get(store, s("never"), -1, &value), SYMM_EINTERRUPTED, "interrupted");
    symm_set_wait_hook(NULL, NULL, NULL, NULL);
    CHECK_OK(symm_store_set(store, s("late"), s("value")));
    finish(&other);
    CHECK_OK(other.rc);
    symm_bytes_free(&other.value);
}
TEST(an_interrupted_wait_leaves_the_others_alone) { over_all(interrupted_among_others); }

/* ---- arguments ---- */

static void wrong_arguments(symm_store *store) {
    struct symm_slice none = {NULL, 3}, key = s("k");
    struct symm_bytes value;
    int64_t sum;
    int flag;
    CHECK_FAILS(symm_store_set(store, none, key), SYMM_EINVALID, "key is NULL");
    CHECK_FAILS(symm_store_set(store, key, none), SYMM_EINVALID, "value is NULL");
    CHECK_FAILS(symm_store_get(store, none, 0, &value), SYMM_EINVALID, "key is NULL");
    CHECK_FAILS(symm_store_add(store, none, 1, &sum), SYMM_EINVALID, "key is NULL");
    CHECK_FAILS(symm_store_wait(store, NULL, 1, 0), SYMM_EINVALID, "list of keys is NULL");
    CHECK_FAILS(symm_store_check(store, &none, 1, &flag), SYMM_EINVALID, "key is NULL");
    CHECK_FAILS(symm_store_delete_key(store, none, &flag), SYMM_EINVALID, "key is NULL");
    CHECK_FAILS(symm_store_set(NULL, key, key), SYMM_EINVALID, "store is NULL");
}
TEST(wrong_arguments_are_named) { over_all(wrong_arguments); }

static void limits(symm_store *store) {
    enum { LONGEST = 64 << 20, KEY = 8000 };
    char *large = calloc(1, LONGEST + 1);
    struct symm_bytes value;
    REQUIRE(large);
    memset(large, 'k', LONGEST);
    CHECK_OK(symm_store_set(store, (struct symm_slice){large, KEY}, s("x")));
    CHECK_FAILS(symm_store_set(store, (struct symm_slice){large, 8192}, s("x")), SYMM_ELIMIT,
                "key limit");
    CHECK_FAILS(symm_store_set(store, s("v"), (struct symm_slice){large, LONGEST + 1}), SYMM_ELIMIT,
                "value limit of 67108864");
    CHECK_FAILS(symm_store_get(store, s("v"), 1, &value), SYMM_ETIMEOUT, "'v'");
    CHECK_OK(symm_store_set(store, s("v"), (struct symm_slice){large, LONGEST}));
    CHECK_OK(symm_store_get(store, s("v"), 0, &value));
    CHECK(value.size == LONGEST && memcmp(value.data, large, LONGEST) == 0);
    CHECK_INT(value.data[value.size], 0);
    symm_bytes_free(&value);
    free(large);
}
TEST(the_largest_values_pass_and_larger_ones_do_not) { over_all(limits); }
