/* SPDX-License-Identifier: MIT
 *
 * Arguments: types and ranges are checked here, once, with the name the user knows.
 */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lua/binding.h"

_Noreturn static void wrong_type(lua_State *L, int index, const char *op, const char *name,
                                 const char *wanted) {
    const char *got = luaL_typename(L, index);
    if (lua_type(L, index) == LUA_TNUMBER && !lua_isinteger(L, index)) {
        symmL_fail(L, SYMM_EINVALID, op, "%s must be %s, not %.17g", name, wanted,
                   lua_tonumber(L, index));
    }
    symmL_fail(L, SYMM_EINVALID, op, "%s must be %s, not %s", name, wanted, got);
}

int64_t symmL_arg_int(lua_State *L, int index, const char *op, const char *name) {
    int is_integer = 0;
    if (lua_type(L, index) != LUA_TNUMBER) wrong_type(L, index, op, name, "an integer");
    lua_Integer value = lua_tointegerx(L, index, &is_integer);
    if (!is_integer) wrong_type(L, index, op, name, "an integer");
    return (int64_t)value;
}

int64_t symmL_arg_opt_int(lua_State *L, int index, const char *op, const char *name,
                          int64_t otherwise) {
    return lua_isnoneornil(L, index) ? otherwise : symmL_arg_int(L, index, op, name);
}

int symmL_arg_int32(lua_State *L, int index, const char *op, const char *name) {
    int64_t value = symmL_arg_int(L, index, op, name);
    if (value < INT_MIN || value > INT_MAX) {
        symmL_fail(L, SYMM_EINVALID, op, "%s is out of range: %lld", name, (long long)value);
    }
    return (int)value;
}

double symmL_arg_number(lua_State *L, int index, const char *op, const char *name) {
    if (lua_type(L, index) != LUA_TNUMBER) wrong_type(L, index, op, name, "a number");
    return lua_tonumber(L, index);
}

const char *symmL_arg_string(lua_State *L, int index, const char *op, const char *name,
                             size_t *size_out) {
    if (lua_type(L, index) != LUA_TSTRING) wrong_type(L, index, op, name, "a string");
    return lua_tolstring(L, index, size_out);
}

int symmL_arg_bool(lua_State *L, int index, const char *op, const char *name) {
    if (lua_type(L, index) != LUA_TBOOLEAN) wrong_type(L, index, op, name, "a boolean");
    return lua_toboolean(L, index);
}

/* A list has the keys 1 to count and no other: zeros{size=4} is a slip, not a scalar. */
static void check_list(lua_State *L, int index, lua_Unsigned count, const char *op,
                       const char *name) {
    lua_pushnil(L);
    while (lua_next(L, index)) {
        lua_pop(L, 1);
        int is_position = lua_isinteger(L, -1) && lua_tointeger(L, -1) >= 1 &&
                          (lua_Unsigned)lua_tointeger(L, -1) <= count;
        if (is_position) continue;
        const char *key =
            lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : luaL_typename(L, -1);
        symmL_fail(L, SYMM_EINVALID, op, "%s must be a list of integers; it has the key '%s'", name,
                   key);
    }
}

int symmL_arg_shape(lua_State *L, int index, const char *op, const char *name,
                    int64_t shape_out[SYMM_MAX_DIMS]) {
    if (lua_type(L, index) != LUA_TTABLE) wrong_type(L, index, op, name, "a list of integers");
    index = lua_absindex(L, index);
    lua_Unsigned count = lua_rawlen(L, index);
    if (count > SYMM_MAX_DIMS) {
        symmL_fail(L, SYMM_EINVALID, op, "%s has %llu dimensions; at most %d are supported", name,
                   (unsigned long long)count, SYMM_MAX_DIMS);
    }
    for (int i = 0; i < (int)count; i++) {
        char element[64];
        snprintf(element, sizeof element, "%.40s[%d]", name, i + 1);
        lua_rawgeti(L, index, i + 1);
        shape_out[i] = symmL_arg_int(L, -1, op, element);
        lua_pop(L, 1);
    }
    check_list(L, index, count, op, name);
    return (int)count;
}

symm_dtype symmL_arg_dtype(lua_State *L, int index, const char *op, const char *name) {
    symm_dtype dtype = SYMM_DTYPE_float32;
    const char *text = symmL_arg_string(L, index, op, name, NULL);
    if (symm_dtype_parse(text, &dtype) < 0) {
        symmL_fail(L, SYMM_EINVALID, op, "%s: %s", name, symm_last_error()->message);
    }
    return dtype;
}

int64_t symmL_arg_timeout(lua_State *L, int index, const char *op, const char *name) {
    int64_t ms = 0;
    if (lua_type(L, index) == LUA_TSTRING) {
        if (symm_parse_duration(lua_tostring(L, index), 1, &ms) < 0) {
            symmL_fail(L, SYMM_EINVALID, op, "%s: %s", name, symm_last_error()->message);
        }
        return ms;
    }
    double value = symmL_arg_number(L, index, op, name);
    if (!(value >= -1 && value < 9e15)) {
        symmL_fail(L, SYMM_EINVALID, op,
                   "%s must be milliseconds above 0, 0 (the default) or -1 (none), not %.17g", name,
                   value);
    }
    return (int64_t)ceil(value);
}

void symmL_arg_count(lua_State *L, int count, const char *op) {
    if (lua_gettop(L) > count) {
        symmL_fail(L, SYMM_EINVALID, op, "takes at most %d arguments, not %d", count,
                   lua_gettop(L));
    }
}

static int is_known(const char *key, const char *const known[]) {
    for (; *known; known++) {
        if (strcmp(key, *known) == 0) return 1;
    }
    return 0;
}

_Noreturn static void unknown_key(lua_State *L, const char *op, const char *const known[]) {
    char list[256] = "";
    for (; *known; known++) {
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", *known);
    }
    const char *key = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : luaL_typename(L, -1);
    if (lua_isinteger(L, -1)) {
        symmL_fail(L, SYMM_EINVALID, op, "arguments are named: {%s}; [%lld] has no name", list,
                   (long long)lua_tointeger(L, -1));
    }
    symmL_fail(L, SYMM_EINVALID, op, "unknown argument '%s'; known: %s", key, list);
}

void symmL_named(lua_State *L, int index, const char *op, const char *const known[]) {
    if (lua_isnoneornil(L, index)) return;
    if (lua_type(L, index) != LUA_TTABLE) wrong_type(L, index, op, "the argument", "a table");
    index = lua_absindex(L, index);
    lua_pushnil(L);
    while (lua_next(L, index)) {
        lua_pop(L, 1);
        if (lua_type(L, -1) != LUA_TSTRING || !is_known(lua_tostring(L, -1), known)) {
            unknown_key(L, op, known);
        }
    }
}

/* Pushes t[name] of a table with a metatable, or nothing. Pushing the name for lua_rawget could run
 * a finalizer; looking for it cannot. */
static int find_field(lua_State *L, int index, const char *name) {
    lua_pushnil(L);
    while (lua_next(L, index)) {
        if (lua_type(L, -2) == LUA_TSTRING && strcmp(lua_tostring(L, -2), name) == 0) {
            lua_remove(L, -2);
            return 1;
        }
        lua_pop(L, 1);
    }
    return 0;
}

int symmL_field(lua_State *L, int index, const char *name) {
    if (!lua_istable(L, index)) return 0;
    if (lua_getmetatable(L, index)) {
        lua_pop(L, 1);
        return find_field(L, lua_absindex(L, index), name);
    }
    lua_getfield(L, index, name); /* without a metatable this is raw */
    if (!lua_isnil(L, -1)) return 1;
    lua_pop(L, 1);
    return 0;
}

int symmL_field_int32(lua_State *L, int index, const char *op, const char *name, int otherwise) {
    if (!symmL_field(L, index, name)) return otherwise;
    int value = symmL_arg_int32(L, -1, op, name);
    lua_pop(L, 1);
    return value;
}

int64_t symmL_field_int(lua_State *L, int index, const char *op, const char *name,
                        int64_t otherwise) {
    if (!symmL_field(L, index, name)) return otherwise;
    int64_t value = symmL_arg_int(L, -1, op, name);
    lua_pop(L, 1);
    return value;
}

int64_t symmL_field_timeout(lua_State *L, int index, const char *op, const char *name,
                            int64_t otherwise) {
    if (!symmL_field(L, index, name)) return otherwise;
    int64_t value = symmL_arg_timeout(L, -1, op, name);
    lua_pop(L, 1);
    return value;
}

int symmL_field_bool(lua_State *L, int index, const char *op, const char *name, int otherwise) {
    if (!symmL_field(L, index, name)) return otherwise;
    int value = symmL_arg_bool(L, -1, op, name);
    lua_pop(L, 1);
    return value;
}

const char *symmL_field_string(lua_State *L, int index, const char *op, const char *name) {
    if (!symmL_field(L, index, name)) return NULL;
    return symmL_arg_string(L, -1, op, name, NULL);
}
