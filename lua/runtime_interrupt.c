/* SPDX-License-Identifier: MIT
 *
 * What reaches a runtime while it is busy: interrupts, and posted tasks in waits.
 *
 * A request is a bit in `requests`; who waits sees it in the wait hook. Running Lua code sees it
 * through a debug hook, which only the runtime's own thread may set: a request from there (a signal
 * handler, or between two runs) sets it at once, one from another thread knocks with SIGURG, whose
 * handler sets it. SIGURG is ignored by default, so a late one does no harm; a handler that the
 * application has for it is called as well.
 */
#include <signal.h>
#include <string.h>

#include "lua/runtime_state.h"

#define KNOCK SIGURG
/* After a termination Lua code is ended again after so many instructions, which is room for
 * `<close>`, and then after a tenth of that, and so on: code that catches all errors ends too. */
#define TERMINATE_AFTER 1000000

/* Runtimes of this thread; read by its handler of KNOCK. */
static _Thread_local symm_runtime *volatile on_thread;
/* The application's handler of KNOCK. Written before ours is installed. */
static struct sigaction kept_action;

/* ---- the wait hook ---- */

void symmL_wait_begin(lua_State *L, struct symmL_wait *saved) {
    symm_runtime *runtime = lua_touserdata(L, lua_upvalueindex(1));
    saved->runtime = runtime;
    if (!runtime) return;
    saved->state = runtime->current;
    runtime->current = L;
    symm_set_wait_hook(symmL_runtime_poll, runtime, &saved->hook, &saved->context);
}

void symmL_wait_end(const struct symmL_wait *saved) {
    if (!saved->runtime) return;
    saved->runtime->current = saved->state;
    symm_set_wait_hook(saved->hook, saved->context, NULL, NULL);
}

/* ---- the debug hook ---- */

static void on_event(lua_State *L, lua_Debug *event);

static void set_hook(symm_runtime *runtime, int mask, int count) {
    lua_State *L = runtime->main;
    if (lua_gethook(L) != on_event) {
        runtime->kept_hook =
            (struct symmL_hook){lua_gethook(L), lua_gethookmask(L), lua_gethookcount(L)};
    }
    lua_sethook(L, on_event, mask, count);
}

static void restore_hook(symm_runtime *runtime) {
    const struct symmL_hook *kept = &runtime->kept_hook;
    if (lua_gethook(runtime->main) != on_event) return;
    lua_sethook(runtime->main, kept->function, kept->mask, kept->count);
}

/* The hook goes before the bit is taken: a request that comes in between leaves its hook, which
 * finds nothing to do, and not its bit, which nobody would look at. */
static int take_request(symm_runtime *runtime) {
    if (!atomic_load_explicit(&runtime->requests, memory_order_relaxed)) return 0;
    restore_hook(runtime);
    /* Pairs with the release in request(). */
    int bits =
        atomic_fetch_and_explicit(&runtime->requests, ~SYMML_INTERRUPT, memory_order_acq_rel);
    if (bits & SYMML_TERMINATE) {
        int after = runtime->terminate_after;
        set_hook(runtime, LUA_MASKCOUNT, after > 0 ? after : TERMINATE_AFTER);
        runtime->terminate_after = after > 10 ? after / 10 : after > 0 ? 1 : TERMINATE_AFTER / 10;
    }
    return bits != 0;
}

_Noreturn static void raise_interrupted(lua_State *L) {
    symmL_report(SYMM_EINTERRUPTED, NULL, "interrupted by a signal");
    symmL_push_error(L, symm_last_error());
    luaL_where(L, 0); /* a hook is no function of its own: level 0 is where it was called */
    lua_setfield(L, -2, "where");
    lua_error(L);
    __builtin_unreachable();
}

static void on_event(lua_State *L, lua_Debug *event) {
    (void)event;
    symm_runtime *runtime = symmL_runtime_of(L);
    if (take_request(runtime)) raise_interrupted(L);
    restore_hook(runtime);
    if (lua_gethook(L) == on_event) lua_sethook(L, NULL, 0, 0); /* a coroutine inherited it */
}

/* Lua's own interpreter answers SIGINT with a hook of its own on every event, once. A hook that is
 * no one's of debug.sethook and looks like that is it: the wait ends, and the hook with it. */
static int plain_interrupt(symm_runtime *runtime) {
    const int every = LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT;
    lua_State *L = runtime->main;
    lua_Hook hook = lua_gethook(L);
    if (!hook || hook == on_event || hook == runtime->debug_library_hook) return 0;
    if (lua_gethookmask(L) != every || lua_gethookcount(L) != 1) return 0;
    lua_sethook(L, NULL, 0, 0);
    return 1;
}

int symmL_runtime_poll(void *context) {
    symm_runtime *runtime = context;
    if (take_request(runtime) || plain_interrupt(runtime)) return SYMM_EINTERRUPTED;
    if (runtime->phase == SYMML_OPEN) {
        if (atomic_load_explicit(&runtime->has_tasks, memory_order_relaxed)) {
            symmL_mailbox_drain(runtime);
        }
        return SYMM_OK;
    }
    if (runtime->phase == SYMML_CLOSED) return SYMM_ECLOSED;
    return symm_now_ns() < runtime->closing_deadline_ns ? SYMM_OK : SYMM_EABORTED;
}

/* ---- requests ---- */

static void arm(symm_runtime *runtime) {
    set_hook(runtime, LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT, 1);
}

static void on_knock(int number, siginfo_t *info, void *context) {
    for (symm_runtime *at = on_thread; at; at = at->next_on_thread) {
        if (atomic_load_explicit(&at->requests, memory_order_acquire)) arm(at);
    }
    if (kept_action.sa_flags & SA_SIGINFO) {
        kept_action.sa_sigaction(number, info, context);
    } else if (kept_action.sa_handler != SIG_DFL && kept_action.sa_handler != SIG_IGN) {
        kept_action.sa_handler(number);
    }
}

/* Whatever the application did with the signal since: ours stands before the knock. */
static void listen_for_knocks(void) {
    struct sigaction now, ours;
    sigaction(KNOCK, NULL, &now);
    if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_knock) return;
    memset(&ours, 0, sizeof ours);
    ours.sa_sigaction = on_knock;
    ours.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
    sigemptyset(&ours.sa_mask);
    kept_action = now;
    sigaction(KNOCK, &ours, NULL);
}

static void request(symm_runtime *runtime, int bits) {
    /* Pairs with the acquire in take_request() and on_knock(). */
    atomic_fetch_or_explicit(&runtime->requests, bits, memory_order_release);
    if (pthread_equal(runtime->thread, pthread_self())) {
        arm(runtime);
    } else {
        listen_for_knocks();
        pthread_kill(runtime->thread, KNOCK);
    }
}

void symm_runtime_interrupt(symm_runtime *runtime) {
    if (runtime) request(runtime, SYMML_INTERRUPT);
}

void symm_runtime_terminate(symm_runtime *runtime) {
    if (runtime) request(runtime, SYMML_TERMINATE);
}

/* ---- the thread's list ---- */

void symmL_interrupt_enter(symm_runtime *runtime) {
    runtime->next_on_thread = on_thread;
    on_thread = runtime;
}

void symmL_interrupt_leave(symm_runtime *runtime) {
    restore_hook(runtime);
    if (on_thread == runtime) {
        on_thread = runtime->next_on_thread;
        return;
    }
    for (symm_runtime *at = on_thread; at; at = at->next_on_thread) {
        if (at->next_on_thread == runtime) at->next_on_thread = runtime->next_on_thread;
    }
}
