/* SPDX-License-Identifier: MIT
 *
 * Stores in Lua: constructors and rendezvous_url in the module table, operations on the objects.
 * Keys and values are strings of any bytes.
 *
 * Invariant: a call holds a reference of its own and copies of what Lua could take away, because
 * tasks that run in its waits may close the store or change a table.
 */
#include <limits.h>
#include <string.h>

#include "lua/binding.h"

static void *retain_store(void *object) { return symm_store_retain(object); }
static void release_store(void *object) { symm_store_release(object); }

static symm_store *check_store(lua_State *L, const char *op) {
    return symmL_check_object(L, 1, &symmL_store_class, op);
}

/* Makes a blocking call on `store`; raises if it fails. */
#define STORE_CALL(L, store, call) symmL_check(L, symmL_blocking_on(L, symm_store, store, call))

/* ---- arguments ---- */

static struct symm_slice arg_bytes(lua_State *L, int index, const char *op, const char *name) {
    struct symm_slice slice;
    slice.data = symmL_arg_string(L, index, op, name, &slice.size);
    return slice;
}

/* A duration, or {timeout_ms=}, or nothing. */
static int64_t opt_timeout(lua_State *L, int index, const char *op) {
    static const char *const keys[] = {"timeout_ms", NULL};
    if (lua_isnoneornil(L, index)) return SYMM_TIMEOUT_DEFAULT;
    if (!lua_istable(L, index)) return symmL_arg_timeout(L, index, op, "timeout_ms");
    symmL_named(L, index, op, keys);
    return symmL_field_timeout(L, index, op, "timeout_ms", SYMM_TIMEOUT_DEFAULT);
}

/* Pushes a list of the keys of the list at `index` that no Lua code knows of; gives their bytes. */
static size_t push_keys(lua_State *L, int index, const char *op, size_t count) {
    size_t bytes = 0;
    lua_createtable(L, count < INT_MAX ? (int)count : INT_MAX, 0);
    for (size_t i = 1; i <= count; i++) {
        if (lua_rawgeti(L, index, (lua_Integer)i) != LUA_TSTRING) {
            symmL_fail(L, SYMM_EINVALID, op, "keys[%d] must be a string, not %s", (int)i,
                       luaL_typename(L, -1));
        }
        bytes += lua_rawlen(L, -1);
        lua_rawseti(L, -2, (lua_Integer)i);
    }
    return bytes;
}

/* Pushes a copy of a list of keys: slices, then their bytes. Making room may run a finalizer, which
 * may change the list: so what is measured and copied is a list of our own. */
static const struct symm_slice *arg_keys(lua_State *L, int index, const char *op,
                                         size_t *count_out) {
    if (!lua_istable(L, index)) {
        symmL_fail(L, SYMM_EINVALID, op, "keys must be a list of strings, not %s",
                   luaL_typename(L, index));
    }
    size_t count = lua_rawlen(L, index), bytes = push_keys(L, index, op, count);
    struct symm_slice *keys = lua_newuserdatauv(L, count * sizeof *keys + bytes + 1, 0);
    char *at = (char *)(keys + count);
    for (size_t i = 0; i < count; i++) {
        lua_rawgeti(L, -2, (lua_Integer)i + 1);
        const char *text = lua_tolstring(L, -1, &keys[i].size);
        keys[i].data = memcpy(at, text, keys[i].size);
        at += keys[i].size;
        lua_pop(L, 1);
    }
    *count_out = count;
    return keys;
}

/* ---- operations ---- */

static int store_set(lua_State *L) {
    const char *op = "set";
    symm_store *store = check_store(L, op);
    symmL_arg_count(L, 3, op);
    struct symm_slice key = arg_bytes(L, 2, op, "key"), value = arg_bytes(L, 3, op, "value");
    STORE_CALL(L, store, symm_store_set(store, key, value));
    return 0;
}

static int push_bytes(lua_State *L) {
    const struct symm_bytes *bytes = lua_touserdata(L, 1);
    lua_pushlstring(L, bytes->data, bytes->size);
    return 1;
}

static int store_get(lua_State *L) {
    const char *op = "get";
    struct symm_bytes value = {NULL, 0};
    symm_store *store = check_store(L, op);
    symmL_arg_count(L, 3, op);
    struct symm_slice key = arg_bytes(L, 2, op, "key");
    int64_t timeout_ms = opt_timeout(L, 3, op);
    luaL_checkstack(L, 4, op);
    STORE_CALL(L, store, symm_store_get(store, key, timeout_ms, &value));
    lua_pushcfunction(L,
                      push_bytes); /* protected: memory may run out, and `value` is to be freed */
    lua_pushlightuserdata(L, &value);
    int failed = lua_pcall(L, 1, 1, 0);
    symm_bytes_free(&value);
    return failed ? lua_error(L) : 1;
}

static int store_add(lua_State *L) {
    const char *op = "add";
    int64_t sum = 0;
    symm_store *store = check_store(L, op);
    symmL_arg_count(L, 3, op);
    struct symm_slice key = arg_bytes(L, 2, op, "key");
    int64_t amount = symmL_arg_int(L, 3, op, "amount");
    STORE_CALL(L, store, symm_store_add(store, key, amount, &sum));
    lua_pushinteger(L, sum);
    return 1;
}

static int store_wait(lua_State *L) {
    const char *op = "wait";
    size_t count = 0;
    check_store(L, op);
    symmL_arg_count(L, 3, op);
    int64_t timeout_ms = opt_timeout(L, 3, op);
    const struct symm_slice *keys = arg_keys(L, 2, op, &count);
    symm_store *store = check_store(L, op); /* copying may have run a finalizer */
    STORE_CALL(L, store, symm_store_wait(store, keys, count, timeout_ms));
    return 0;
}

static int store_check(lua_State *L) {
    const char *op = "check";
    size_t count = 0;
    int all = 0;
    check_store(L, op);
    symmL_arg_count(L, 2, op);
    const struct symm_slice *keys = arg_keys(L, 2, op, &count);
    symm_store *store = check_store(L, op);
    STORE_CALL(L, store, symm_store_check(store, keys, count, &all));
    lua_pushboolean(L, all);
    return 1;
}

static int store_delete_key(lua_State *L) {
    const char *op = "delete_key";
    int deleted = 0;
    symm_store *store = check_store(L, op);
    symmL_arg_count(L, 2, op);
    struct symm_slice key = arg_bytes(L, 2, op, "key");
    STORE_CALL(L, store, symm_store_delete_key(store, key, &deleted));
    lua_pushboolean(L, deleted);
    return 1;
}

static int store_num_keys(lua_State *L) {
    const char *op = "num_keys";
    int64_t count = 0;
    symm_store *store = check_store(L, op);
    symmL_arg_count(L, 1, op);
    STORE_CALL(L, store, symm_store_num_keys(store, &count));
    lua_pushinteger(L, count);
    return 1;
}

static int store_set_timeout(lua_State *L) {
    const char *op = "set_timeout";
    symm_store *store = check_store(L, op);
    symmL_arg_count(L, 2, op);
    symmL_check(L, symm_store_set_timeout(store, symmL_arg_timeout(L, 2, op, "timeout_ms")));
    return 0;
}

static int store_linger(lua_State *L) {
    const char *op = "linger";
    symm_store *store = check_store(L, op);
    symmL_arg_count(L, 2, op);
    int64_t timeout_ms = opt_timeout(L, 2, op);
    STORE_CALL(L, store, symm_store_linger(store, timeout_ms));
    return 0;
}

/* ---- properties ---- */

static int push_property(lua_State *L, void *object, const char *key) {
    symm_store *store = object;
    if (strcmp(key, "timeout") == 0) {
        lua_pushinteger(L, symm_store_timeout(store));
    } else if (strcmp(key, "kind") == 0) {
        lua_pushstring(L, symm_store_kind(store));
    } else if (strcmp(key, "port") == 0) {
        int port = symm_store_port(store);
        if (port < 0) {
            lua_pushnil(L);
        } else {
            lua_pushinteger(L, port);
        }
    } else {
        return 0;
    }
    return 1;
}

static int store_tostring(lua_State *L) {
    char text[512];
    void **box = symmL_check_box(L, 1, &symmL_store_class, "tostring");
    if (*box) {
        symm_store_describe(*box, text, sizeof text);
        lua_pushstring(L, text);
    } else {
        lua_pushliteral(L, "store (closed)");
    }
    return 1;
}

static const luaL_Reg store_methods[] = {
    {"set", store_set},           {"get", store_get},
    {"add", store_add},           {"wait", store_wait},
    {"check", store_check},       {"delete_key", store_delete_key},
    {"num_keys", store_num_keys}, {"set_timeout", store_set_timeout},
    {"linger", store_linger},     {NULL, NULL}};
static const luaL_Reg store_metamethods[] = {{"__tostring", store_tostring}, {NULL, NULL}};

const struct symmL_class symmL_store_class = {.name = "symm.store",
                                              .noun = "store",
                                              .retain = retain_store,
                                              .release = release_store,
                                              .property = push_property,
                                              .methods = store_methods,
                                              .metamethods = store_metamethods};

/* ---- module ---- */

/* TCPStore{host=, port=, world_size=, is_master=, wait_for_workers=, timeout=, listen_fd=} */
static int tcp_store(lua_State *L) {
    const char *op = "TCPStore";
    static const char *const keys[] = {"host",    "port",      "world_size",       "is_master",
                                       "timeout", "listen_fd", "wait_for_workers", NULL};
    struct symm_tcp_store_options options = SYMM_TCP_STORE_OPTIONS_INIT;
    symm_store *store = NULL;
    symmL_arg_count(L, 1, op);
    symmL_named(L, 1, op, keys);
    if (symmL_field(L, 1, "host")) { /* stays on the stack, which keeps it alive */
        options.host = symmL_arg_string(L, -1, op, "host", NULL);
    }
    options.listen_fd = symmL_field_int32(L, 1, op, "listen_fd", -1);
    int port = options.listen_fd >= 0 ? 0 : options.port;
    options.port = symmL_field_int32(L, 1, op, "port", port);
    options.world_size = symmL_field_int32(L, 1, op, "world_size", -1);
    options.is_master = symmL_field_bool(L, 1, op, "is_master", 0);
    options.wait_for_workers = symmL_field_bool(L, 1, op, "wait_for_workers", 1);
    options.timeout_ms = symmL_field_timeout(L, 1, op, "timeout", 0);
    symmL_check(L, symmL_blocking(L, symm_store_open_tcp(&options, &store)));
    symmL_push_object(L, &symmL_store_class, store);
    return 1;
}

static int hash_store(lua_State *L) {
    symm_store *store = NULL;
    symmL_arg_count(L, 0, "HashStore");
    symmL_check(L, symm_store_open_hash(&store));
    symmL_push_object(L, &symmL_store_class, store);
    return 1;
}

static int prefix_store(lua_State *L) {
    const char *op = "PrefixStore";
    symm_store *store = NULL;
    symmL_arg_count(L, 2, op);
    struct symm_slice prefix = arg_bytes(L, 1, op, "prefix");
    symm_store *base = symmL_check_object(L, 2, &symmL_store_class, op);
    symmL_check(L, symm_store_open_prefix(prefix, base, &store));
    symmL_push_object(L, &symmL_store_class, store);
    return 1;
}

/* rendezvous_url(url[, {rank=, world_size=, timeout=}]) -> store, rank, world_size */
static int rendezvous_url(lua_State *L) {
    const char *op = "rendezvous_url";
    static const char *const keys[] = {"rank", "world_size", "timeout", NULL};
    struct symm_rendezvous place;
    symmL_arg_count(L, 2, op);
    const char *url = symmL_arg_string(L, 1, op, "url", NULL);
    symmL_named(L, 2, op, keys);
    int rank = symmL_field_int32(L, 2, op, "rank", -1);
    int world_size = symmL_field_int32(L, 2, op, "world_size", -1);
    int64_t timeout_ms = symmL_field_timeout(L, 2, op, "timeout", 0);
    symmL_check(L,
                symmL_blocking(L, symm_rendezvous_url(url, rank, world_size, timeout_ms, &place)));
    symmL_push_object(L, &symmL_store_class, place.store);
    lua_pushinteger(L, place.rank);
    lua_pushinteger(L, place.world_size);
    return 3;
}

static const luaL_Reg functions[] = {{"TCPStore", tcp_store},
                                     {"HashStore", hash_store},
                                     {"PrefixStore", prefix_store},
                                     {"rendezvous_url", rendezvous_url},
                                     {NULL, NULL}};

void symmL_open_store(lua_State *L) {
    symmL_open_class(L, &symmL_store_class);
    symmL_set_functions(L, functions);
}
