/* SPDX-License-Identifier: MIT
 *
 * The runtime and other threads: posted tasks, loops, interrupts, closing.
 */
#include <lauxlib.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#include "tests/support/runtime.h"

static void sleep_ms(long ms) {
    struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&pause, NULL);
}

/* ---- threads ---- */

static void nothing(symm_runtime *runtime, void *context) {
    (void)runtime;
    (void)context;
}

static void *use_from_elsewhere(void *argument) {
    symm_runtime *runtime = argument;
    static const char part[] = "belongs to the thread";
    symm_tensor *tensor = NULL;
    CHECK_FAILS(run(runtime, "x = 1"), SYMM_EINVALID, part);
    CHECK_FAILS(symm_runtime_run_file(runtime, "x", 0, NULL), SYMM_EINVALID, part);
    CHECK_FAILS(symm_runtime_call(runtime, "f", 0, 0), SYMM_EINVALID, part);
    CHECK_FAILS(symm_runtime_to_tensor(runtime, 1, &tensor), SYMM_EINVALID, part);
    CHECK_NULL(symm_runtime_state(runtime));
    CHECK_NULL(symm_runtime_loop(runtime));
    symm_runtime_close(runtime);
    CHECK_CONTAINS(symm_last_error()->message, part);
    CHECK_OK(symm_runtime_post(runtime, nothing, NULL));
    return NULL;
}

TEST(another_thread_gets_an_error) {
    symm_runtime *runtime = open_new();
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, use_from_elsewhere, runtime) == 0);
    pthread_join(thread, NULL);
    CHECK_OK(run(runtime, "x = 1"));
    symm_runtime_close(runtime);
}

static void *live_apart(void *argument) {
    (void)argument;
    for (int i = 0; i < 5; i++) {
        symm_runtime *runtime = open_new();
        CHECK_OK(
            run(runtime, "local symm = require 'symm' assert(symm.ones({3}):sum():item() == 3)"));
        symm_runtime_close(runtime);
    }
    return NULL;
}

TEST(threads_have_runtimes_of_their_own) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) REQUIRE(pthread_create(&threads[i], NULL, live_apart, NULL) == 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
}

static int close_inside(lua_State *L) {
    symm_runtime *runtime = lua_touserdata(L, lua_upvalueindex(1));
    symm_runtime_close(runtime);
    CHECK_CONTAINS(symm_last_error()->message, "from inside a call");
    return 0;
}

TEST(closing_from_inside_is_refused) {
    symm_runtime *runtime = open_new();
    lua_State *L = symm_runtime_state(runtime);
    lua_pushlightuserdata(L, runtime);
    lua_pushcclosure(L, close_inside, 1);
    lua_setglobal(L, "close");
    CHECK_OK(run(runtime, "close() x = 1"));
    CHECK_OK(run(runtime, "assert(x == 1)"));
    symm_runtime_close(runtime);
}

static int run_inside(lua_State *L) {
    symm_runtime *runtime = lua_touserdata(L, lua_upvalueindex(1));
    CHECK_OK(run(runtime, "inner = 1"));
    CHECK_FAILS(run(runtime, "error 'inner'"), SYMM_ESCRIPT, "inner");
    return 0;
}

TEST(runs_nest) {
    symm_runtime *runtime = open_new();
    lua_State *L = symm_runtime_state(runtime);
    lua_pushlightuserdata(L, runtime);
    lua_pushcclosure(L, run_inside, 1);
    lua_setglobal(L, "run");
    CHECK_OK(run(runtime, "run() assert(inner == 1)"));
    symm_runtime_close(runtime);
}

/* ---- tasks ---- */

static void note(symm_runtime *runtime, void *context) {
    lua_State *L = symm_runtime_state(runtime);
    lua_getglobal(L, "log");
    lua_pushstring(L, context);
    lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1); /* and leaves the table on the stack */
}

static void raise_error(symm_runtime *runtime, void *context) {
    luaL_error(symm_runtime_state(runtime), "%s", (const char *)context);
}

static void *post_some(void *argument) {
    symm_runtime *runtime = argument;
    sleep_ms(50);
    CHECK_OK(symm_runtime_post(runtime, note, "one"));
    CHECK_OK(symm_runtime_post(runtime, raise_error, "harmless"));
    CHECK_OK(symm_runtime_post(runtime, note, "two"));
    return NULL;
}

TEST(tasks_run_in_waits) {
    symm_runtime *runtime = open_new();
    pthread_t thread;
    CHECK_OK(run(runtime, "log = {} symm = require 'symm' store = symm.HashStore()"));
    REQUIRE(pthread_create(&thread, NULL, post_some, runtime) == 0);
    CHECK_OK(run(runtime,
                 "repeat pcall(store.get, store, 'never', {timeout_ms = 20}) until #log == 2\n"
                 "assert(log[1] == 'one' and log[2] == 'two')"));
    pthread_join(thread, NULL);
    symm_runtime_close(runtime);
}

TEST(tasks_run_in_a_coroutines_wait) {
    symm_runtime *runtime = open_new();
    CHECK_OK(run(runtime, "log = {} symm = require 'symm' store = symm.HashStore()"));
    CHECK_OK(symm_runtime_post(runtime, note, "one"));
    CHECK_OK(
        run(runtime,
            "local co = coroutine.create(function(a)\n"
            "  repeat pcall(store.get, store, 'never', {timeout_ms = 20}) until #log == 1\n"
            "  return a, coroutine.yield(2), 3 end)\n"
            "local ok, a = coroutine.resume(co, 1) assert(ok and a == 2)\n"
            "local ok, x, y, z = coroutine.resume(co, 4) assert(x == 1 and y == 4 and z == 3)"));
    symm_runtime_close(runtime);
}

TEST(tasks_run_in_the_loop) {
    symm_runtime *runtime = open_new();
    pthread_t thread;
    CHECK_OK(run(runtime, "log = {}"));
    CHECK_OK(symm_runtime_post(runtime, note, "before the loop"));
    uv_loop_t *loop = symm_runtime_loop(runtime);
    REQUIRE(loop);
    CHECK(symm_runtime_loop(runtime) == loop);
    REQUIRE(pthread_create(&thread, NULL, post_some, runtime) == 0);
    for (int turn = 0; turn < 1000; turn++) {
        uv_run(loop, UV_RUN_NOWAIT);
        if (run(runtime, "assert(#log == 3)") == 0) break;
        sleep_ms(5);
    }
    pthread_join(thread, NULL);
    CHECK_OK(run(runtime, "assert(log[1] == 'before the loop' and log[3] == 'two')"));
    CHECK_INT(lua_gettop(symm_runtime_state(runtime)), 0);
    symm_runtime_close(runtime);
}

static void count(symm_runtime *runtime, void *context) {
    (void)runtime;
    ++*(int *)context;
}

TEST(tasks_that_are_queued_run_when_the_runtime_closes) {
    symm_runtime *runtime = open_new();
    int counted = 0;
    for (int i = 0; i < 100; i++) CHECK_OK(symm_runtime_post(runtime, count, &counted));
    CHECK_FAILS(symm_runtime_post(runtime, NULL, NULL), SYMM_EINVALID, "NULL");
    symm_runtime_close(runtime);
    CHECK_INT(counted, 100);
    CHECK_FAILS(symm_runtime_post(runtime, count, &counted), SYMM_ECLOSED, "closed");
    CHECK_INT(counted, 100);
}

struct flood {
    symm_runtime *runtime;
    atomic_int accepted;
    int counted;
};

static void count_flood(symm_runtime *runtime, void *context) {
    (void)runtime;
    ((struct flood *)context)->counted++;
}

static void *post_until_closed(void *argument) {
    struct flood *flood = argument;
    while (symm_runtime_post(flood->runtime, count_flood, flood) == 0) {
        atomic_fetch_add(&flood->accepted, 1);
    }
    CHECK_INT(symm_last_error()->code, SYMM_ECLOSED);
    return NULL;
}

/* Every post that was accepted is run, exactly once, however it races with the close. */
TEST(posts_race_with_closing) {
    for (int round = 0; round < 20; round++) {
        struct flood flood = {open_new(), 0, 0};
        pthread_t threads[3];
        if (round % 2) symm_runtime_loop(flood.runtime);
        for (int i = 0; i < 3; i++) {
            REQUIRE(pthread_create(&threads[i], NULL, post_until_closed, &flood) == 0);
        }
        sleep_ms(2);
        symm_runtime_close(flood.runtime);
        for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
        CHECK_INT(flood.counted, atomic_load(&flood.accepted));
    }
}

static void on_timer(uv_timer_t *timer) { ++*(int *)timer->data; }

TEST(an_own_loop_stays_the_applications) {
    struct symm_runtime_options options = SYMM_RUNTIME_OPTIONS_INIT;
    symm_runtime *runtime = NULL;
    uv_loop_t loop;
    uv_timer_t timer;
    int ticks = 0;
    REQUIRE(uv_loop_init(&loop) == 0);
    uv_timer_init(&loop, &timer);
    timer.data = &ticks;
    uv_timer_start(&timer, on_timer, 1, 0);
    options.loop = &loop;
    REQUIRE_OK(symm_runtime_open(&options, &runtime));
    CHECK(symm_runtime_loop(runtime) == &loop);
    CHECK_OK(run(runtime, "log = {}"));
    CHECK_OK(symm_runtime_post(runtime, note, "one"));
    CHECK_INT(uv_run(&loop, UV_RUN_DEFAULT), 0); /* ends with the timer */
    CHECK_INT(ticks, 1);
    CHECK_OK(run(runtime, "assert(log[1] == 'one')"));
    symm_runtime_close(runtime);
    uv_timer_start(&timer, on_timer, 1, 0); /* works on */
    uv_run(&loop, UV_RUN_DEFAULT);
    CHECK_INT(ticks, 2);
    uv_close((uv_handle_t *)&timer, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    CHECK_INT(uv_loop_close(&loop), 0); /* nothing of the runtime is left in it */
}

TEST(handles_left_in_the_runtimes_own_loop_are_closed) {
    symm_runtime *runtime = open_new();
    uv_timer_t timer;
    int ticks = 0;
    uv_timer_init(symm_runtime_loop(runtime), &timer);
    timer.data = &ticks;
    uv_timer_start(&timer, on_timer, 100000, 0);
    symm_runtime_close(runtime);
    CHECK(uv_is_closing((uv_handle_t *)&timer));
    CHECK_INT(ticks, 0);
}

/* ---- interrupts ---- */

/* Lua code that would run for ever. ThreadSanitizer holds signals back until the C library is
 * called; Lua itself calls nothing. */
#if defined(__SANITIZE_THREAD__)
#define BUSY "while true do os.time() end"
#else
#define BUSY "while true do end"
#endif

static void *interrupt_later(void *argument) {
    sleep_ms(50);
    symm_runtime_interrupt(argument);
    return NULL;
}

static void check_interrupted(const char *text) {
    symm_runtime *runtime = open_new();
    pthread_t thread;
    CHECK_OK(run(runtime, "symm = require 'symm' store = symm.HashStore()"));
    REQUIRE(pthread_create(&thread, NULL, interrupt_later, runtime) == 0);
    CHECK_FAILS(run(runtime, text), SYMM_EINTERRUPTED, "interrupted");
    pthread_join(thread, NULL);
    CHECK_OK(run(runtime, "for i = 1, 1e5 do end assert(debug.gethook() == nil)"));
    symm_runtime_close(runtime);
}

TEST(another_thread_interrupts_code) { check_interrupted(BUSY); }

TEST(another_thread_interrupts_a_wait) {
    check_interrupted("store:get('never', {timeout_ms = 60000})");
}

TEST(another_thread_interrupts_a_coroutines_wait) {
    check_interrupted("local ok, err = coroutine.resume(coroutine.create(function()\n"
                      "store:get('never', {timeout_ms = 60000}) end)) error(err)");
}

static symm_runtime *for_handler;

static void on_usr1(int number) {
    (void)number;
    symm_runtime_interrupt(for_handler);
}

static void *signal_later(void *argument) {
    sleep_ms(50);
    pthread_kill(*(pthread_t *)argument, SIGUSR1);
    return NULL;
}

static void check_signal_interrupts(const char *text) {
    struct sigaction action = {.sa_handler = on_usr1};
    pthread_t self = pthread_self(), thread;
    sigaction(SIGUSR1, &action, NULL);
    for_handler = open_new();
    CHECK_OK(run(for_handler, "store = require 'symm'.HashStore()"));
    REQUIRE(pthread_create(&thread, NULL, signal_later, &self) == 0);
    CHECK_FAILS(run(for_handler, text), SYMM_EINTERRUPTED, "interrupted");
    pthread_join(thread, NULL);
    symm_runtime_close(for_handler);
}

TEST(a_signal_handler_interrupts_code) { check_signal_interrupts(BUSY); }

TEST(a_signal_handler_interrupts_a_wait) {
    check_signal_interrupts("store:get('never', {timeout_ms = 60000})");
}

TEST(an_interrupt_of_nothing_ends_the_next_run) {
    symm_runtime *runtime = open_new();
    symm_runtime_interrupt(runtime);
    CHECK_FAILS(run(runtime, "x = 1"), SYMM_EINTERRUPTED, "interrupted");
    CHECK_OK(run(runtime, "assert(x == nil)"));
    symm_runtime_interrupt(runtime);
    symm_runtime_interrupt(runtime); /* once is all the same */
    CHECK_FAILS(run(runtime, "x = 1"), SYMM_EINTERRUPTED, "interrupted");
    CHECK_OK(run(runtime, "x = 1"));
    symm_runtime_interrupt(NULL);
    symm_runtime_close(runtime);
}

TEST(an_interrupt_reaches_the_runtime_that_is_meant) {
    symm_runtime *one = open_new(), *two = open_new(), *three = open_new();
    symm_runtime_interrupt(two);
    CHECK_OK(run(one, "x = 1"));
    CHECK_OK(run(three, "x = 1"));
    CHECK_FAILS(run(two, "x = 1"), SYMM_EINTERRUPTED, "interrupted");
    symm_runtime_close(two); /* the middle of the thread's list */
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, interrupt_later, one) == 0);
    CHECK_FAILS(run(one, BUSY), SYMM_EINTERRUPTED, "interrupted");
    pthread_join(thread, NULL);
    symm_runtime_close(one);
    CHECK_OK(run(three, "x = 1"));
    symm_runtime_close(three);
}

TEST(an_interrupt_gives_a_scripts_own_hook_back) {
    symm_runtime *runtime = open_new();
    CHECK_OK(run(runtime, "count = 0 debug.sethook(function() count = count + 1 end, '', 100)"));
    symm_runtime_interrupt(runtime);
    CHECK_FAILS(run(runtime, "x = 1"), SYMM_EINTERRUPTED, "interrupted");
    CHECK_OK(run(runtime, "count = 0 for i = 1, 10000 do end assert(count > 50)\n"
                          "local _, mask, every = debug.gethook() assert(every == 100)"));
    symm_runtime_close(runtime);
}

static volatile sig_atomic_t urgent;

static void on_urgent(int number) {
    (void)number;
    urgent++;
}

TEST(an_applications_handler_of_the_knock_is_called_too) {
    struct sigaction action = {.sa_handler = on_urgent};
    sigaction(SIGURG, &action, NULL);
    check_interrupted(BUSY);
    CHECK(urgent >= 1);
}

TEST(termination_ends_everything_from_then_on) {
    symm_runtime *runtime = open_new();
    CHECK_OK(run(runtime, "symm = require 'symm' store = symm.HashStore()"));
    symm_runtime_terminate(runtime);
    CHECK_FAILS(run(runtime, "while true do pcall(function() while true do end end) end"),
                SYMM_EINTERRUPTED, "interrupted");
    CHECK_FAILS(run(runtime, "store:get('never', {timeout_ms = 60000})"), SYMM_EINTERRUPTED, "");
    CHECK_FAILS(run(runtime, "while true do end"), SYMM_EINTERRUPTED, "interrupted");
    symm_runtime_terminate(NULL);
    symm_runtime_close(runtime);
}

TEST(termination_leaves_time_for_closing) {
    symm_runtime *runtime = open_new();
    symm_runtime_terminate(runtime);
    CHECK_FAILS(run(runtime, "local x <close> = setmetatable({}, {__close = function()\n"
                             "  for i = 1, 10000 do closed = i end end})\n"
                             "while true do end"),
                SYMM_EINTERRUPTED, "interrupted");
    lua_getglobal(symm_runtime_state(runtime), "closed");
    /* The first request comes before <close> is in place, or while it is: both are fine. */
    CHECK(lua_isnil(symm_runtime_state(runtime), -1) ||
          lua_tointeger(symm_runtime_state(runtime), -1) == 10000);
    symm_runtime_close(runtime);
}

/* A wait of a finalizer gets two seconds, not for ever. */
TEST(waits_of_finalizers_are_bounded) {
    symm_runtime *runtime = open_new();
    CHECK_OK(run(runtime, "local store = require 'symm'.HashStore()\n"
                          "x = setmetatable({}, {__gc = function()\n"
                          "  store:get('never', {timeout_ms = 3600000}) end})"));
    symm_runtime_close(runtime);
}
