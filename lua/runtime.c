/* SPDX-License-Identifier: MIT
 *
 * Opening and closing of runtimes.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lualib.h>
#include <uv.h>

#include "lua/faces.h"
#include "lua/runtime_state.h"

/* How long blocking calls of finalizers may go on while a runtime closes. */
#define CLOSING_MS 2000

/* Registry key of the runtime's userdata. */
static const char runtime_key;

int symmL_report(int code, const char *op, const char *format, ...) {
    struct symm_error error = {
        .size = sizeof error, .code = code, .rank = -1, .peer = -1, .channel = -1, .seq = -1};
    if (op) snprintf(error.op, sizeof error.op, "%s", op);
    va_list args;
    va_start(args, format);
    vsnprintf(error.message, sizeof error.message, format, args);
    va_end(args);
    return symm_set_error(&error);
}

int symmL_report_top(lua_State *L, int status, const char *op) {
    struct symm_error error;
    int code = SYMM_ESCRIPT;
    if (status == LUA_ERRMEM) {
        code = symmL_report(SYMM_EOOM, op, "out of memory in Lua");
    } else if (symmL_to_error(L, -1, &error)) {
        code = symm_set_error(&error);
    } else {
        const char *text = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
        code = symmL_report(SYMM_ESCRIPT, op, "%.400s", text ? text : luaL_typename(L, -1));
    }
    lua_pop(L, 1);
    return code;
}

symm_runtime *symmL_runtime_of(lua_State *L) {
    lua_rawgetp(L, LUA_REGISTRYINDEX, &runtime_key);
    symm_runtime *runtime = lua_touserdata(L, -1);
    lua_pop(L, 1);
    return runtime;
}

int symmL_runtime_check(const symm_runtime *runtime, const char *op) {
    if (!runtime) return symmL_report(SYMM_EINVALID, op, "the runtime is NULL");
    if (runtime->phase != SYMML_OPEN) {
        return symmL_report(SYMM_ECLOSED, op, "the runtime is closed");
    }
    if (!pthread_equal(runtime->thread, pthread_self())) {
        return symmL_report(SYMM_EINVALID, op,
                            "a runtime belongs to the thread that opened it; other threads use "
                            "symm_runtime_post");
    }
    return SYMM_OK;
}

/* ---- what `require` finds ---- */

static int open_preloaded(lua_State *L) { return symmL_open_module(L, symmL_runtime_of(L)); }

static void load_face(lua_State *L, const struct symmL_face *face) {
    char chunk_name[64];
    snprintf(chunk_name, sizeof chunk_name, "@%.50s.lua", face->name);
    if (luaL_loadbufferx(L, face->source, face->size, chunk_name, "t") != LUA_OK) lua_error(L);
}

/* Loader of one face module; upvalue 1 is its face. */
static int open_face(lua_State *L) {
    load_face(L, lua_touserdata(L, lua_upvalueindex(1)));
    lua_pushvalue(L, 1);
    lua_call(L, 1, 1);
    return 1;
}

static void preload(lua_State *L) {
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
    lua_pushcfunction(L, open_preloaded);
    lua_setfield(L, -2, "symm");
    for (const struct symmL_face *face = symmL_faces; face->name; face++) {
        if (strcmp(face->name, "symm") == 0) continue;
        lua_pushlightuserdata(L, (void *)(uintptr_t)face);
        lua_pushcclosure(L, open_face, 1);
        lua_setfield(L, -2, face->name);
    }
    lua_pop(L, 1);
}

/* init.lua, where there is one, gets the module table and adds to it. */
static void run_init_face(lua_State *L) {
    for (const struct symmL_face *face = symmL_faces; face->name; face++) {
        if (strcmp(face->name, "symm") != 0) continue;
        load_face(L, face);
        lua_pushvalue(L, -2);
        lua_call(L, 1, 0);
    }
}

int symmL_open_module(lua_State *L, symm_runtime *runtime) {
    if (!runtime || runtime->phase != SYMML_OPEN) {
        symmL_fail(L, SYMM_ECLOSED, "require", "the runtime of this state is closed");
    }
    luaL_checkstack(L, 8, "symm");
    lua_newtable(L);
    lua_pushliteral(L, SYMM_VERSION);
    lua_setfield(L, -2, "version");
    symmL_open_error(L);
    symmL_open_clock(L);
    symmL_open_tensor(L);
    symmL_open_store(L);
    symmL_open_symmem(L);
    symmL_open_group(L);
    run_init_face(L);
    return 1;
}

/* ---- opening ---- */

static int collect_runtime(lua_State *L);

static symm_runtime *new_runtime(lua_State *L) {
    symm_runtime *runtime = lua_newuserdatauv(L, sizeof *runtime, 0);
    memset(runtime, 0, sizeof *runtime);
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, collect_runtime);
    lua_setfield(L, -2, "__gc");
    lua_setmetatable(L, -2);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &runtime_key);
    return runtime;
}

/* debug.sethook leaves a C function as hook, which is learnt here: see plain_interrupt. */
static lua_Hook learn_debug_library_hook(lua_State *L) {
    lua_Hook seen = NULL;
    if (lua_gethook(L)) return NULL; /* the script debugs itself: leave it alone */
    if (luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE) &&
        lua_getfield(L, -1, LUA_DBLIBNAME) == LUA_TTABLE &&
        lua_getfield(L, -1, "sethook") == LUA_TFUNCTION) {
        lua_pushvalue(L, -1); /* any function: the hook is gone before an event comes */
        lua_pushliteral(L, "");
        lua_pushinteger(L, 1 << 30);
        if (lua_pcall(L, 3, 0, 0) == LUA_OK) seen = lua_gethook(L);
        lua_sethook(L, NULL, 0, 0);
    }
    return seen;
}

/* Everything of opening that may raise. Argument: options; result: the runtime. */
static int open_protected(lua_State *L) {
    const struct symm_runtime_options *options = lua_touserdata(L, 1);
    symm_runtime *runtime = symmL_runtime_of(L);
    if (runtime && runtime->phase != SYMML_CLOSED) {
        symmL_fail(L, SYMM_EEXISTS, "symm_runtime_open", "the state has a runtime already");
    }
    if (!options->state) luaL_openlibs(L);
    if (!runtime) runtime = new_runtime(L);
    lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
    runtime->main = runtime->current = lua_tothread(L, -1);
    runtime->owns_state = !options->state;
    runtime->loop = options->loop;
    runtime->owns_loop = 0;
    runtime->terminate_after = 0;
    runtime->thread = pthread_self();
    runtime->debug_library_hook = learn_debug_library_hook(L);
    symmL_open_error(L);
    if (runtime->owns_state) symmL_replace_exit(L);
    preload(L);
    lua_pushlightuserdata(L, runtime);
    return 1;
}

/* Fills *to with what the caller's version of the options has. */
static int read_options(const struct symm_runtime_options *options,
                        struct symm_runtime_options *to) {
    if (!options) return SYMM_OK;
    if (options->size < sizeof(size_t) || options->size > sizeof *to) {
        return symmL_report(SYMM_EINVALID, "symm_runtime_open",
                            "options.size is %zu; begin with SYMM_RUNTIME_OPTIONS_INIT",
                            options->size);
    }
    memcpy(to, options, options->size);
    return SYMM_OK;
}

int symm_runtime_open(const struct symm_runtime_options *options, symm_runtime **out) {
    struct symm_runtime_options chosen = SYMM_RUNTIME_OPTIONS_INIT;
    int rc = read_options(options, &chosen);
    if (rc < 0) return rc;
    lua_State *L = chosen.state ? chosen.state : luaL_newstate();
    if (!L || !lua_checkstack(L, LUA_MINSTACK)) {
        return symmL_report(SYMM_EOOM, "symm_runtime_open", "no memory for a Lua state");
    }
    lua_pushcfunction(L, open_protected);
    lua_pushlightuserdata(L, &chosen);
    int status = lua_pcall(L, 1, 1, 0);
    symm_runtime *runtime = status == LUA_OK ? lua_touserdata(L, -1) : NULL;
    if (!runtime) {
        rc = symmL_report_top(L, status, "symm_runtime_open");
        goto fail_state;
    }
    lua_pop(L, 1);
    atomic_store_explicit(&runtime->requests, 0, memory_order_relaxed);
    if (runtime->loop) rc = symmL_mailbox_attach(runtime);
    if (rc < 0) goto fail_state;
    runtime->phase = SYMML_OPEN;
    symmL_interrupt_enter(runtime);
    symmL_mailbox_enter(runtime);
    *out = runtime;
    return SYMM_OK;

fail_state:
    if (!chosen.state) lua_close(L);
    return rc;
}

/* ---- closing ---- */

static void close_handle(uv_handle_t *handle, void *unused) {
    (void)unused;
    if (!uv_is_closing(handle)) uv_close(handle, NULL);
}

/* Our own loop: what the script or the application left in it is closed with it. */
static void close_loop(uv_loop_t *loop) {
    uv_run(loop, UV_RUN_NOWAIT);
    if (uv_loop_close(loop) == UV_EBUSY) {
        uv_walk(loop, close_handle, NULL);
        for (int turn = 0; turn < 100 && uv_loop_close(loop) == UV_EBUSY; turn++) {
            uv_run(loop, UV_RUN_NOWAIT);
        }
    }
    free(loop);
}

/* Everything but the state itself. From here on posts fail, and waits of finalizers are bounded. */
static void shut(symm_runtime *runtime) {
    symmL_mailbox_leave(runtime);
    symmL_mailbox_drain(runtime);
    runtime->closing_deadline_ns = symm_now_ns() + CLOSING_MS * INT64_C(1000000);
    runtime->phase = SYMML_CLOSING;
    symmL_mailbox_detach(runtime);
}

/* The runtime's userdata goes: its state is closing. An application's state may do so, and that of
 * plain lua5.4 always does, without symm_runtime_close. */
static int collect_runtime(lua_State *L) {
    symm_runtime *runtime = lua_touserdata(L, 1);
    if (runtime->phase == SYMML_OPEN) {
        shut(runtime);
        symmL_interrupt_leave(runtime);
        if (runtime->owns_loop) close_loop(runtime->loop);
        runtime->loop = NULL;
    }
    runtime->phase = SYMML_CLOSED;
    free(runtime->error_text);
    runtime->error_text = NULL;
    return 0;
}

void symm_runtime_close(symm_runtime *runtime) {
    if (!runtime || symmL_runtime_check(runtime, "symm_runtime_close") < 0) return;
    if (runtime->depth > 0 || runtime->draining) {
        symmL_report(SYMM_EINVALID, "symm_runtime_close",
                     "the runtime cannot be closed from inside a call of it");
        return;
    }
    shut(runtime);
    uv_loop_t *own_loop = runtime->owns_loop ? runtime->loop : NULL;
    lua_State *own_state = runtime->owns_state ? runtime->main : NULL;
    symmL_interrupt_leave(runtime);
    if (own_state) {
        lua_close(own_state); /* the runtime goes with it */
    } else {
        lua_gc(runtime->main,
               LUA_GCCOLLECT); /* what the script dropped is let go before the return */
        free(runtime->error_text);
        runtime->error_text = NULL;
        runtime->loop = NULL;
        runtime->phase = SYMML_CLOSED;
    }
    if (own_loop) close_loop(own_loop);
}

/* ---- looking at it ---- */

lua_State *symm_runtime_state(symm_runtime *runtime) {
    if (symmL_runtime_check(runtime, "symm_runtime_state") < 0) return NULL;
    return runtime->current;
}

uv_loop_t *symm_runtime_loop(symm_runtime *runtime) {
    static const char op[] = "symm_runtime_loop";
    if (symmL_runtime_check(runtime, op) < 0) return NULL;
    if (runtime->loop) return runtime->loop;
    uv_loop_t *loop = malloc(sizeof *loop);
    int rc = loop ? uv_loop_init(loop) : UV_ENOMEM;
    if (rc < 0) {
        free(loop);
        symmL_report(rc == UV_ENOMEM ? SYMM_EOOM : SYMM_EIO, op, "no loop: %s", uv_strerror(rc));
        return NULL;
    }
    runtime->loop = loop;
    runtime->owns_loop = 1;
    if (symmL_mailbox_attach(runtime) < 0) {
        close_loop(loop);
        runtime->loop = NULL;
        runtime->owns_loop = 0;
        return NULL;
    }
    return loop;
}
