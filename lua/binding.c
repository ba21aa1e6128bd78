/* SPDX-License-Identifier: MIT
 *
 * Boxes: how an object of the C API lives in Lua.
 */
#include "lua/binding.h"

#include <string.h>

/* Registry key of the weak-valued table object -> userdata. */
static const char unique_key;

/* close(), __close and __gc are this one function: it tolerates every order of them. */
static int box_close(lua_State *L) {
    const struct symmL_class *class = lua_touserdata(L, lua_upvalueindex(3));
    void **box = luaL_testudata(L, 1, class->name);
    if (!box) symmL_fail(L, SYMM_EINVALID, "close", "not a %s", class->name);
    void *object = *box;
    *box = NULL;
    if (object) class->release(object);
    return 0;
}

static int box_is_closed(lua_State *L) {
    const struct symmL_class *class = lua_touserdata(L, lua_upvalueindex(3));
    void **box = luaL_testudata(L, 1, class->name);
    if (!box) symmL_fail(L, SYMM_EINVALID, "is_closed", "not a %s", class->name);
    lua_pushboolean(L, *box == NULL);
    return 1;
}

/* Upvalues: the class, its methods. Methods come first: they are what a loop asks for. */
static int box_index(lua_State *L) {
    lua_settop(L, 2);
    lua_pushvalue(L, 2);
    if (lua_rawget(L, lua_upvalueindex(2)) != LUA_TNIL) return 1;
    const struct symmL_class *class = lua_touserdata(L, lua_upvalueindex(1));
    void *object = symmL_check_object(L, 1, class, class->noun);
    const char *key = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : NULL;
    if (key && class->property(L, object, key)) return 1;
    if (key) symmL_fail(L, SYMM_EINVALID, class->noun, "a %s has no '%s'", class->noun, key);
    luaL_tolstring(L, 2, NULL);
    symmL_fail(L, SYMM_EINVALID, class->noun, "a %s has no [%s]%s%s", class->noun,
               lua_tostring(L, -1), class->elements ? "; use " : "",
               class->elements ? class->elements : "");
}

/* What a script writes to call the function of a field; NULL for an event that it does not name. */
static const char *operation_of(const char *field) {
    static const char *const events[][2] = {
        {"__add", "+"}, {"__sub", "-"}, {"__mul", "*"},    {"__div", "/"},      {"__pow", "^"},
        {"__unm", "-"}, {"__len", "#"}, {"__gc", "close"}, {"__close", "close"}};
    if (strncmp(field, "__", 2) != 0) return field;
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        if (strcmp(field, events[i][0]) == 0) return events[i][1];
    }
    return NULL;
}

/* Sets a field of the table on top; `class` is upvalue 3 where it is not NULL. */
static void set_function(lua_State *L, const char *field, lua_CFunction function,
                         const struct symmL_class *class) {
    lua_pushlightuserdata(L, symmL_runtime_of(L));
    lua_pushlightuserdata(L, (void *)(uintptr_t)operation_of(field));
    if (class) lua_pushlightuserdata(L, (void *)(uintptr_t) class);
    lua_pushcclosure(L, function, class ? 3 : 2);
    lua_setfield(L, -2, field);
}

void symmL_set_functions(lua_State *L, const luaL_Reg *functions) {
    for (; functions->name; functions++) set_function(L, functions->name, functions->func, NULL);
}

void symmL_open_class(lua_State *L, const struct symmL_class *class) {
    if (!luaL_newmetatable(L, class->name)) {
        lua_pop(L, 1);
        return;
    }
    symmL_set_functions(L, class->metamethods);
    set_function(L, "__gc", box_close, class);
    set_function(L, "__close", box_close, class);
    lua_newtable(L);
    symmL_set_functions(L, class->methods);
    set_function(L, "close", box_close, class);
    set_function(L, "is_closed", box_is_closed, class);
    lua_pushvalue(L, -1);
    lua_setfield(L, -3, "methods");
    lua_pushlightuserdata(L, (void *)(uintptr_t) class);
    lua_insert(L, -2);
    lua_pushcclosure(L, box_index, 2);
    lua_setfield(L, -2, "__index");
    lua_pop(L, 1);
}

void **symmL_new_box(lua_State *L, const struct symmL_class *class) {
    void **box = lua_newuserdatauv(L, sizeof *box, 0);
    *box = NULL;
    luaL_setmetatable(L, class->name);
    return box;
}

static int protected_new_box(lua_State *L) {
    symmL_new_box(L, lua_touserdata(L, 1));
    return 1;
}

/* Pushes a closed box; if memory fails, gives `object` back before the error goes on. */
static void **new_box_for(lua_State *L, const struct symmL_class *class, void *object) {
    if (lua_checkstack(L, 3)) {
        lua_pushcfunction(L, protected_new_box);
        lua_pushlightuserdata(L, (void *)(uintptr_t) class);
        if (lua_pcall(L, 1, 1, 0) == LUA_OK) return lua_touserdata(L, -1);
        class->release(object);
        lua_error(L);
    }
    class->release(object);
    luaL_error(L, "stack overflow");
    return NULL;
}

void symmL_push_object(lua_State *L, const struct symmL_class *class, void *object) {
    *new_box_for(L, class, object) = object;
}

static void push_unique_table(lua_State *L) {
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &unique_key) == LUA_TTABLE) return;
    lua_pop(L, 1);
    lua_newtable(L);
    lua_createtable(L, 0, 1);
    lua_pushliteral(L, "v");
    lua_setfield(L, -2, "__mode");
    lua_setmetatable(L, -2);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &unique_key);
}

void symmL_push_unique(lua_State *L, const struct symmL_class *class, void *object) {
    /* The box comes first, so that `object` is owned by it before anything else can fail. */
    void **box = new_box_for(L, class, object);
    *box = object;
    push_unique_table(L);
    if (lua_rawgetp(L, -1, object) == LUA_TUSERDATA) {
        void **known = lua_touserdata(L, -1);
        if (*known == object) { /* else it was closed, and the address is in use again */
            *box = NULL;
            class->release(object);
            lua_replace(L, -3);
            lua_pop(L, 1);
            return;
        }
    }
    lua_pop(L, 1);
    lua_pushvalue(L, -2);
    lua_rawsetp(L, -2, object);
    lua_pop(L, 1);
}

void *symmL_test_object(lua_State *L, int index, const struct symmL_class *class, const char *op) {
    void **box = luaL_testudata(L, index, class->name);
    if (!box) return NULL;
    if (!*box) symmL_fail(L, SYMM_ECLOSED, op, "the %s is closed", strchr(class->name, '.') + 1);
    return *box;
}

void *symmL_check_object(lua_State *L, int index, const struct symmL_class *class, const char *op) {
    void *object = symmL_test_object(L, index, class, op);
    return object ? object : *symmL_check_box(L, index, class, op);
}

void **symmL_check_box(lua_State *L, int index, const struct symmL_class *class, const char *op) {
    void **box = luaL_testudata(L, index, class->name);
    if (!box) {
        symmL_fail(L, SYMM_EINVALID, op, "argument %d must be a %s, not %s", index, class->name,
                   luaL_typename(L, index));
    }
    return box;
}

void *symmL_pin(lua_State *L, int index, const struct symmL_class *class, const char *op) {
    void *object = class->retain(symmL_check_object(L, index, class, op));
    symmL_push_object(L, class, object);
    return object;
}

void symmL_unpin(lua_State *L, int index, const struct symmL_class *class) {
    void **box = lua_touserdata(L, index);
    void *object = *box;
    *box = NULL;
    class->release(object);
}
