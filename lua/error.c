/* SPDX-License-Identifier: MIT
 *
 * Error objects: tables with metatable "symm.error" and the fields code, message, where, and, as
 * far as they apply, op, rank, peer, channel, seq, group. tostring gives one line.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lua/binding.h"

#define ERROR_METATABLE "symm.error"

static void set_text(lua_State *L, const char *field, const char *text) {
    if (!*text) return;
    lua_pushstring(L, text);
    lua_setfield(L, -2, field);
}

static void set_number(lua_State *L, const char *field, int64_t number) {
    if (number < 0) return;
    lua_pushinteger(L, (lua_Integer)number);
    lua_setfield(L, -2, field);
}

void symmL_push_error(lua_State *L, const struct symm_error *error) {
    struct symm_error copy = *error; /* pushing may run finalizers that fail in their turn */
    luaL_checkstack(L, 4, "error object");
    lua_createtable(L, 0, 8);
    set_text(L, "code", symm_status_name(copy.code));
    set_text(L, "message", copy.message);
    set_text(L, "op", copy.op);
    set_text(L, "group", copy.group);
    set_number(L, "rank", copy.rank);
    set_number(L, "peer", copy.peer);
    set_number(L, "channel", copy.channel);
    set_number(L, "seq", copy.seq);
    luaL_where(L, 1);
    lua_setfield(L, -2, "where");
    luaL_setmetatable(L, ERROR_METATABLE);
}

/* Raises the error, which becomes one of the registered function that runs, if one does: what has
 * no upvalue 2 gives NULL. */
_Noreturn static void raise_error(lua_State *L, struct symm_error *error) {
    const char *name = lua_touserdata(L, lua_upvalueindex(2));
    if (name) snprintf(error->op, sizeof error->op, "%s", name);
    symmL_push_error(L, error);
    lua_error(L);
    __builtin_unreachable();
}

void symmL_raise(lua_State *L) {
    struct symm_error error = *symm_last_error();
    raise_error(L, &error);
}

void symmL_fail(lua_State *L, int code, const char *op, const char *format, ...) {
    struct symm_error error = {
        .size = sizeof error, .code = code, .rank = -1, .peer = -1, .channel = -1, .seq = -1};
    if (op) snprintf(error.op, sizeof error.op, "%s", op);
    va_list args;
    va_start(args, format);
    vsnprintf(error.message, sizeof error.message, format, args);
    va_end(args);
    raise_error(L, &error);
}

static int code_of(const char *name) {
#define MATCH(code, number, text) \
    if (strcmp(name, #code) == 0) return SYMM_E##code;
    SYMM_STATUS_LIST(MATCH)
#undef MATCH
    return SYMM_ESCRIPT;
}

static void get_text(lua_State *L, int index, const char *field, char *to, size_t size) {
    lua_pushstring(L, field);
    lua_rawget(L, index);
    if (lua_type(L, -1) == LUA_TSTRING) snprintf(to, size, "%s", lua_tostring(L, -1));
    lua_pop(L, 1);
}

static int64_t get_number(lua_State *L, int index, const char *field) {
    lua_pushstring(L, field);
    lua_rawget(L, index);
    int64_t value = lua_isinteger(L, -1) ? (int64_t)lua_tointeger(L, -1) : -1;
    lua_pop(L, 1);
    return value;
}

int symmL_to_error(lua_State *L, int index, struct symm_error *out) {
    index = lua_absindex(L, index);
    if (!lua_istable(L, index) || !lua_getmetatable(L, index)) return 0;
    luaL_getmetatable(L, ERROR_METATABLE);
    int same = lua_rawequal(L, -1, -2);
    lua_pop(L, 2);
    if (!same) return 0;
    char code[32] = "";
    memset(out, 0, sizeof *out);
    out->size = sizeof *out;
    get_text(L, index, "code", code, sizeof code);
    out->code = code_of(code);
    get_text(L, index, "op", out->op, sizeof out->op);
    get_text(L, index, "group", out->group, sizeof out->group);
    get_text(L, index, "message", out->message, sizeof out->message);
    out->rank = (int)get_number(L, index, "rank");
    out->peer = (int)get_number(L, index, "peer");
    out->channel = (int)get_number(L, index, "channel");
    out->seq = get_number(L, index, "seq");
    return 1;
}

/* " (group 0, rank 1, peer 2, channel 0, seq 7)" of what applies, or nothing. */
static void push_place(lua_State *L, const struct symm_error *e) {
    luaL_Buffer b;
    char part[SYMM_ERROR_GROUP_SIZE + 16];
    const char *separator = " (";
    luaL_buffinit(L, &b);
#define PART(applies, ...)                        \
    if (applies) {                                \
        snprintf(part, sizeof part, __VA_ARGS__); \
        luaL_addstring(&b, separator);            \
        luaL_addstring(&b, part);                 \
        separator = ", ";                         \
    }
    PART(e->group[0], "group %s", e->group)
    PART(e->rank >= 0, "rank %d", e->rank)
    PART(e->peer >= 0, "peer %d", e->peer)
    PART(e->channel >= 0, "channel %d", e->channel)
    PART(e->seq >= 0, "seq %lld", (long long)e->seq)
#undef PART
    if (separator[0] == ',') luaL_addchar(&b, ')');
    luaL_pushresult(&b);
}

static int error_tostring(lua_State *L) {
    struct symm_error e;
    if (!symmL_to_error(L, 1, &e)) {
        lua_pushliteral(L, "symm.error");
        return 1;
    }
    char where[512] = "";
    get_text(L, 1, "where", where, sizeof where);
    push_place(L, &e);
    lua_pushfstring(L, "%s%s%s%s%s: %s", where, symm_status_name(e.code), e.op[0] ? " in " : "",
                    e.op, lua_tostring(L, -1), e.message);
    return 1;
}

void symmL_open_error(lua_State *L) {
    if (luaL_newmetatable(L, ERROR_METATABLE)) {
        lua_pushcfunction(L, error_tostring);
        lua_setfield(L, -2, "__tostring");
    }
    lua_pop(L, 1);
}
