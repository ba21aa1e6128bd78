/* SPDX-License-Identifier: MIT
 *
 * Inside of a runtime, for lua/runtime*.c, lua/module.c and lua/symmrun.
 *
 * A runtime is a full userdata of its state, anchored in the registry: what runs late (finalizers
 * while the state closes, functions kept by the application after symm_runtime_close) still finds
 * it and sees that it is closed. Its fields belong to its thread, except those that say otherwise.
 */
#ifndef SYMM_LUA_RUNTIME_STATE_H
#define SYMM_LUA_RUNTIME_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "lua/binding.h"

enum symmL_phase { SYMML_CLOSED, SYMML_OPEN, SYMML_CLOSING };

/* Bits of `requests`. */
#define SYMML_INTERRUPT 1 /* one blocking call or run of Lua code is to end */
#define SYMML_TERMINATE 2 /* all of them, from now on */

struct symmL_task {
    symm_runtime_task function;
    void *context;
    struct symmL_task *next;
};

/* The loop's end of the mailbox: lives until the loop has closed it, so it may outlive the runtime.
 */
struct symmL_mailbox;

struct symmL_hook {
    lua_Hook function;
    int mask;
    int count;
};

struct symm_runtime {
    lua_State *main;    /* the state's main thread */
    lua_State *current; /* main, or the coroutine whose blocking call runs */
    pthread_t thread;
    enum symmL_phase phase;
    int owns_state;
    int owns_loop;
    int depth;           /* runs and calls that are going on */
    int draining;        /* tasks are being run */
    int terminate_after; /* instructions until a terminated script is ended again; 0: first time */
    int64_t closing_deadline_ns;
    struct uv_loop_s *loop;      /* NULL: not made yet */
    char *error_text;            /* of the last failed run; NULL: none */
    struct symmL_hook kept_hook; /* the script's own debug hook while ours stands in its place */
    lua_Hook debug_library_hook; /* how a hook set by debug.sethook looks */
    /* Any thread, and signal handlers. Set with release after nothing; taken with acq_rel by the
     * runtime's thread, which only acts on the bits themselves. */
    atomic_int requests;
    /* Under the lock of the live runtimes (runtime_mailbox.c). */
    struct symmL_task *first_task, *last_task;
    struct symmL_mailbox *mailbox;
    symm_runtime *next_live;
    /* Relaxed: only says that looking under the lock is worth it. */
    atomic_int has_tasks;
    symm_runtime *next_on_thread; /* the thread's list (runtime_interrupt.c) */
};

/* ---- runtime.c ---- */

/* 0, or SYMM_EINVALID for another thread and SYMM_ECLOSED for a closed runtime. */
int symmL_runtime_check(const symm_runtime *runtime, const char *op);
/* Fills symm_last_error() and returns `code`. */
int symmL_report(int code, const char *op, const char *format, ...) SYMML_PRINTF(3, 4);
/* Reports what a failed lua_pcall left on top of L, without text for runtime->error_text; pops it.
 */
int symmL_report_top(lua_State *L, int status, const char *op);

/* ---- runtime_run.c ---- */

/* Message handler: gives error objects their `traceback`, text its traceback, and everything else a
 * text with one. */
int symmL_traceback(lua_State *L);
/* Calls what stands below `argument_count` arguments in L, which both are popped. On failure
 * nothing is left, symm_last_error() and error_text are filled and the code is returned. */
int symmL_runtime_call_top(symm_runtime *runtime, lua_State *L, int argument_count,
                           int result_count);
/* Takes the message on top of L into error_text and symm_last_error(); returns the code. `status`
 * is what lua_load or lua_pcall returned. Pops it. */
int symmL_runtime_failed(symm_runtime *runtime, lua_State *L, int status);
/* Puts os.exit out of action: it ends the run instead of the process. */
void symmL_replace_exit(lua_State *L);

/* ---- runtime_mailbox.c ---- */

void symmL_mailbox_enter(symm_runtime *runtime); /* tasks are accepted from here on */
void symmL_mailbox_leave(symm_runtime *runtime); /* and from here on no longer */
void symmL_mailbox_drain(symm_runtime *runtime);
/* Ties the mailbox to runtime->loop, and takes it off again. */
int symmL_mailbox_attach(symm_runtime *runtime);
void symmL_mailbox_detach(symm_runtime *runtime);

/* ---- runtime_interrupt.c ---- */

int symmL_runtime_poll(void *runtime);
void symmL_interrupt_enter(symm_runtime *runtime);
void symmL_interrupt_leave(symm_runtime *runtime);

#endif
