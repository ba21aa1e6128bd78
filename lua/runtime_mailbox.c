/* SPDX-License-Identifier: MIT
 *
 * The mailbox: what other threads want done on a runtime's thread.
 *
 * One lock guards the list of live runtimes, their queues and their loop's wake-up, so that a post
 * and a close that race meet under it: the post is either accepted, and then run, or refused. Every
 * accepted task is run once, at the latest by the close. The loop is woken under the lock, after
 * the task is in the queue, and drains the whole queue: uv_async_send may fold several wakes into
 * one.
 */
#include <stdlib.h>

#include <uv.h>

#include "lua/runtime_state.h"

struct symmL_mailbox {
    uv_async_t wake;
    symm_runtime *runtime; /* NULL once detached; only the runtime's thread uses it */
};

static pthread_mutex_t live_lock = PTHREAD_MUTEX_INITIALIZER;
static symm_runtime *live;

void symmL_mailbox_enter(symm_runtime *runtime) {
    pthread_mutex_lock(&live_lock);
    runtime->next_live = live;
    live = runtime;
    pthread_mutex_unlock(&live_lock);
}

void symmL_mailbox_leave(symm_runtime *runtime) {
    pthread_mutex_lock(&live_lock);
    for (symm_runtime **at = &live; *at; at = &(*at)->next_live) {
        if (*at != runtime) continue;
        *at = runtime->next_live;
        break;
    }
    pthread_mutex_unlock(&live_lock);
}

static int is_live(const symm_runtime *runtime) {
    for (const symm_runtime *at = live; at; at = at->next_live) {
        if (at == runtime) return 1;
    }
    return 0;
}

static void append(symm_runtime *runtime, struct symmL_task *task) {
    if (runtime->last_task) {
        runtime->last_task->next = task;
    } else {
        runtime->first_task = task;
    }
    runtime->last_task = task;
    atomic_store_explicit(&runtime->has_tasks, 1, memory_order_relaxed);
    if (runtime->mailbox) uv_async_send(&runtime->mailbox->wake);
}

int symm_runtime_post(symm_runtime *runtime, symm_runtime_task function, void *context) {
    static const char op[] = "symm_runtime_post";
    if (!function) return symmL_report(SYMM_EINVALID, op, "the task is NULL");
    struct symmL_task *task = malloc(sizeof *task);
    if (!task) return symmL_report(SYMM_EOOM, op, "out of memory");
    *task = (struct symmL_task){function, context, NULL};
    pthread_mutex_lock(&live_lock);
    int accepted = is_live(runtime);
    if (accepted) append(runtime, task);
    pthread_mutex_unlock(&live_lock);
    if (accepted) return SYMM_OK;
    free(task);
    return symmL_report(SYMM_ECLOSED, op, "the runtime is closed");
}

static struct symmL_task *take_all(symm_runtime *runtime) {
    pthread_mutex_lock(&live_lock);
    struct symmL_task *first = runtime->first_task;
    runtime->first_task = runtime->last_task = NULL;
    atomic_store_explicit(&runtime->has_tasks, 0, memory_order_relaxed);
    pthread_mutex_unlock(&live_lock);
    return first;
}

static int call_task(lua_State *L) {
    const struct symmL_task *task = lua_touserdata(L, 1);
    lua_settop(L, 0);
    task->function(symmL_runtime_of(L), task->context);
    return 0;
}

/* A task that raises harms nobody else: like an error in a finalizer it becomes a warning. */
static void warn(lua_State *L) {
    const char *text = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : luaL_typename(L, -1);
    lua_warning(L, "symm: error in a posted task (", 1);
    lua_warning(L, text, 1);
    lua_warning(L, ")", 0);
}

void symmL_mailbox_drain(symm_runtime *runtime) {
    lua_State *L = runtime->current;
    if (runtime->draining || !lua_checkstack(L, 4)) return;
    runtime->draining = 1;
    struct symmL_task *task = take_all(runtime);
    while (task) {
        struct symmL_task *next = task->next;
        lua_pushcfunction(L, call_task);
        lua_pushlightuserdata(L, task);
        if (lua_pcall(L, 1, 0, 0) != LUA_OK) {
            warn(L);
            lua_pop(L, 1);
        }
        free(task);
        task = next;
    }
    runtime->draining = 0;
}

static void woken(uv_async_t *wake) {
    struct symmL_mailbox *mailbox = wake->data;
    if (mailbox->runtime) symmL_mailbox_drain(mailbox->runtime);
}

int symmL_mailbox_attach(symm_runtime *runtime) {
    static const char op[] = "symm_runtime_loop";
    struct symmL_mailbox *mailbox = calloc(1, sizeof *mailbox);
    if (!mailbox) return symmL_report(SYMM_EOOM, op, "out of memory");
    int rc = uv_async_init(runtime->loop, &mailbox->wake, woken);
    if (rc < 0) {
        free(mailbox);
        return symmL_report(SYMM_EIO, op, "no wake-up in the loop: %s", uv_strerror(rc));
    }
    mailbox->wake.data = mailbox;
    mailbox->runtime = runtime;
    /* An application's loop ends when the application has nothing left to do. */
    if (!runtime->owns_loop) uv_unref((uv_handle_t *)&mailbox->wake);
    pthread_mutex_lock(&live_lock);
    runtime->mailbox = mailbox;
    if (runtime->first_task) uv_async_send(&mailbox->wake);
    pthread_mutex_unlock(&live_lock);
    return SYMM_OK;
}

static void closed(uv_handle_t *wake) { free(wake->data); }

void symmL_mailbox_detach(symm_runtime *runtime) {
    pthread_mutex_lock(&live_lock);
    struct symmL_mailbox *mailbox = runtime->mailbox;
    runtime->mailbox = NULL;
    pthread_mutex_unlock(&live_lock);
    if (!mailbox) return;
    mailbox->runtime = NULL;
    uv_close((uv_handle_t *)&mailbox->wake, closed);
}
