/* SPDX-License-Identifier: MIT
 *
 * Running Lua code from outside: every entry is protected, and every failure becomes a code, this
 * thread's symm_last_error() and a text with a traceback.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lua/runtime_state.h"

/* Metatable of what os.exit raises in a state of the runtime's own: {status = integer}. */
#define EXIT_METATABLE "symm.exit"

/* ---- errors ---- */

static void add_traceback(lua_State *L, int index) {
    index = lua_absindex(L, index);
    lua_pushliteral(L, "traceback");
    if (lua_rawget(L, index) == LUA_TNIL) {
        luaL_traceback(L, L, NULL, 1);
        lua_setfield(L, index, "traceback");
    }
    lua_pop(L, 1);
}

int symmL_traceback(lua_State *L) {
    struct symm_error ignored;
    if (luaL_testudata(L, 1, EXIT_METATABLE)) return 1;
    if (symmL_to_error(L, 1, &ignored)) {
        add_traceback(L, 1);
        return 1;
    }
    const char *text = lua_tostring(L, 1);
    if (!text && luaL_callmeta(L, 1, "__tostring") && lua_type(L, -1) == LUA_TSTRING) {
        text = lua_tostring(L, -1);
    }
    if (!text) text = lua_pushfstring(L, "(error object is a %s value)", luaL_typename(L, 1));
    luaL_traceback(L, L, text, 1);
    return 1;
}

/* Argument: the message; result: the whole text. */
static int whole_text(lua_State *L) {
    struct symm_error ignored;
    int is_object = symmL_to_error(L, 1, &ignored);
    luaL_tolstring(L, 1, NULL);
    if (!is_object || lua_getfield(L, 1, "traceback") != LUA_TSTRING) {
        lua_settop(L, 2);
        return 1;
    }
    lua_pushfstring(L, "%s\n%s", lua_tostring(L, 2), lua_tostring(L, 3));
    return 1;
}

static void keep_text(symm_runtime *runtime, lua_State *L) {
    free(runtime->error_text);
    runtime->error_text = NULL;
    lua_pushcfunction(L, whole_text);
    lua_pushvalue(L, -2);
    if (lua_pcall(L, 1, 1, 0) == LUA_OK) runtime->error_text = strdup(lua_tostring(L, -1));
    lua_pop(L, 1);
}

/* "chunk:1: message" without the traceback that follows in the text. */
static int report_first_line(int code, const char *text) {
    return symmL_report(code, NULL, "%.*s", (int)strcspn(text, "\n"), text);
}

int symmL_runtime_failed(symm_runtime *runtime, lua_State *L, int status) {
    struct symm_error error;
    const int *exit_status = luaL_testudata(L, -1, EXIT_METATABLE);
    int code = SYMM_ESCRIPT;
    if (exit_status) {
        lua_pushfstring(L, "the script called os.exit(%d)", *exit_status);
        lua_replace(L, -2);
    }
    keep_text(runtime, L);
    if (status == LUA_ERRMEM) {
        code = symmL_report(SYMM_EOOM, NULL, "out of memory in Lua");
    } else if (symmL_to_error(L, -1, &error)) {
        code = symm_set_error(&error);
    } else {
        if (status == LUA_ERRSYNTAX) code = SYMM_EINVALID;
        if (status == LUA_ERRFILE) code = SYMM_EIO;
        report_first_line(code, symm_runtime_error_text(runtime));
    }
    lua_pop(L, 1);
    return code;
}

const char *symm_runtime_error_text(const symm_runtime *runtime) {
    return runtime && runtime->error_text ? runtime->error_text : "";
}

static void forget_error(symm_runtime *runtime) {
    free(runtime->error_text);
    runtime->error_text = NULL;
}

/* ---- os.exit ---- */

static int raise_exit(lua_State *L) {
    int status = EXIT_SUCCESS;
    if (lua_isboolean(L, 1)) {
        status = lua_toboolean(L, 1) ? EXIT_SUCCESS : EXIT_FAILURE;
    } else {
        status = (int)luaL_optinteger(L, 1, EXIT_SUCCESS);
    }
    int *kept = lua_newuserdatauv(L, sizeof *kept, 0);
    *kept = status;
    luaL_setmetatable(L, EXIT_METATABLE);
    return lua_error(L);
}

void symmL_replace_exit(lua_State *L) {
    luaL_newmetatable(L, EXIT_METATABLE);
    lua_pop(L, 1);
    if (lua_getglobal(L, "os") == LUA_TTABLE) {
        lua_pushcfunction(L, raise_exit);
        lua_setfield(L, -2, "exit");
    }
    lua_pop(L, 1);
}

static int ended_well(lua_State *L) {
    const int *exit_status = luaL_testudata(L, -1, EXIT_METATABLE);
    return exit_status && *exit_status == EXIT_SUCCESS;
}

/* ---- calls ---- */

int symmL_runtime_call_top(symm_runtime *runtime, lua_State *L, int argument_count,
                           int result_count) {
    int base = lua_gettop(L) - argument_count;
    lua_pushcfunction(L, symmL_traceback);
    lua_insert(L, base);
    forget_error(runtime);
    runtime->depth++;
    int status = lua_pcall(L, argument_count, result_count, base);
    runtime->depth--;
    if (status == LUA_OK) {
        lua_remove(L, base);
        return SYMM_OK;
    }
    lua_remove(L, base);
    if (ended_well(L) && result_count <= 0) {
        lua_pop(L, 1);
        return SYMM_OK;
    }
    return symmL_runtime_failed(runtime, L, status);
}

struct chunk {
    const char *path; /* of a file, or NULL */
    const char *text; /* of a string */
    const char *name; /* what arg[0] says */
    int argc;
    char *const *argv;
    int status; /* of loading */
};

static void set_arg(lua_State *L, const struct chunk *chunk) {
    lua_createtable(L, chunk->argc, 1);
    lua_pushstring(L, chunk->name);
    lua_rawseti(L, -2, 0);
    for (int i = 0; i < chunk->argc; i++) {
        lua_pushstring(L, chunk->argv[i]);
        lua_rawseti(L, -2, i + 1);
    }
    lua_setglobal(L, "arg");
}

static void load_chunk(lua_State *L, struct chunk *chunk) {
    if (chunk->path) {
        chunk->status = luaL_loadfile(L, chunk->path);
        return;
    }
    int is_plain = strchr("=@", chunk->name[0]) == NULL;
    const char *name = is_plain ? lua_pushfstring(L, "=%s", chunk->name) : chunk->name;
    chunk->status = luaL_loadbufferx(L, chunk->text, strlen(chunk->text), name, "t");
}

/* Argument: the chunk. Results: the function and its arguments; or one message, chunk->status not
 * LUA_OK. */
static int prepare(lua_State *L) {
    struct chunk *chunk = lua_touserdata(L, 1);
    set_arg(L, chunk);
    load_chunk(L, chunk);
    if (chunk->status != LUA_OK) return 1;
    luaL_checkstack(L, chunk->argc, "too many arguments to script");
    for (int i = 0; i < chunk->argc; i++) lua_pushstring(L, chunk->argv[i]);
    return 1 + chunk->argc;
}

static int run_chunk(symm_runtime *runtime, struct chunk *chunk) {
    lua_State *L = runtime->current;
    int base = lua_gettop(L);
    forget_error(runtime);
    if (!lua_checkstack(L, chunk->argc + LUA_MINSTACK)) {
        return symmL_report(SYMM_EOOM, "symm_runtime_run", "out of memory: the Lua stack");
    }
    lua_pushcfunction(L, prepare);
    lua_pushlightuserdata(L, chunk);
    int status = lua_pcall(L, 1, LUA_MULTRET, 0);
    if (status == LUA_OK) status = chunk->status;
    if (status != LUA_OK) return symmL_runtime_failed(runtime, L, status);
    return symmL_runtime_call_top(runtime, L, lua_gettop(L) - base - 1, 0);
}

int symm_runtime_run_file(symm_runtime *runtime, const char *path, int argc, char *const argv[]) {
    static const char op[] = "symm_runtime_run_file";
    int rc = symmL_runtime_check(runtime, op);
    if (rc < 0) return rc;
    if (!path || argc < 0 || (argc > 0 && !argv)) {
        return symmL_report(SYMM_EINVALID, op, "path, argc or argv is missing");
    }
    struct chunk chunk = {.path = path, .name = path, .argc = argc, .argv = argv};
    FILE *file = fopen(path, "r");
    if (!file) {
        forget_error(runtime);
        int code = errno == ENOENT || errno == ENOTDIR ? SYMM_ENOT_FOUND : SYMM_EIO;
        code = symmL_report(code, op, "cannot open %s: %s", path, strerror(errno));
        runtime->error_text = strdup(symm_last_error()->message);
        return code;
    }
    fclose(file);
    return run_chunk(runtime, &chunk);
}

int symm_runtime_run_string(symm_runtime *runtime, const char *text, const char *chunk_name) {
    static const char op[] = "symm_runtime_run_string";
    int rc = symmL_runtime_check(runtime, op);
    if (rc < 0) return rc;
    if (!text) return symmL_report(SYMM_EINVALID, op, "the chunk is NULL");
    struct chunk chunk = {.text = text, .name = chunk_name ? chunk_name : "(string)"};
    return run_chunk(runtime, &chunk);
}

static int has_metafield(lua_State *L, const char *field) {
    if (luaL_getmetafield(L, -1, field) == LUA_TNIL) return 0;
    lua_pop(L, 1);
    return 1;
}

/* Argument: the name; result: the function of that name. */
static int find_function(lua_State *L) {
    const char *name = lua_touserdata(L, 1), *part = name;
    lua_pushglobaltable(L);
    while (*part && (lua_istable(L, -1) || has_metafield(L, "__index"))) {
        size_t length = strcspn(part, ".");
        lua_pushlstring(L, part, length);
        lua_gettable(L, -2);
        part += length;
        if (*part == '.') part++;
    }
    if (!*part && (lua_isfunction(L, -1) || has_metafield(L, "__call"))) return 1;
    symmL_fail(L, SYMM_ENOT_FOUND, "symm_runtime_call", "there is no function '%s'", name);
}

int symm_runtime_call(symm_runtime *runtime, const char *name, int argument_count,
                      int result_count) {
    static const char op[] = "symm_runtime_call";
    int rc = symmL_runtime_check(runtime, op);
    if (rc < 0) return rc;
    lua_State *L = runtime->current;
    if (!name || !*name || argument_count < 0 || argument_count > lua_gettop(L) ||
        result_count < LUA_MULTRET) {
        return symmL_report(SYMM_EINVALID, op, "name, argument_count or result_count is wrong");
    }
    int wanted = (result_count > 0 ? result_count : 0) + LUA_MINSTACK;
    forget_error(runtime);
    if (!lua_checkstack(L, wanted))
        return symmL_report(SYMM_EOOM, op, "out of memory: the Lua stack");
    int base = lua_gettop(L) - argument_count;
    lua_pushcfunction(L, find_function);
    lua_pushlightuserdata(L, (void *)(uintptr_t)name);
    int status = lua_pcall(L, 1, 1, 0);
    if (status != LUA_OK) {
        rc = symmL_runtime_failed(runtime, L, status);
        lua_settop(L, base);
        return rc;
    }
    lua_insert(L, base + 1);
    return symmL_runtime_call_top(runtime, L, argument_count, result_count);
}
