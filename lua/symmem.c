/* SPDX-License-Identifier: MIT
 *
 * Symmetric memory in Lua: allocation, rendezvous and group info in the module table, everything
 * else on handles. One handle has one userdata as long as that lives.
 */
#include <stdio.h>
#include <string.h>

#include "lua/binding.h"

static void *retain_memory(void *object) { return symm_memory_retain(object); }
static void release_memory(void *object) { symm_memory_release(object); }

/* ---- handle: signals; the hot path, so the table of arguments is gone through only once ---- */

struct signal_call {
    const char *op;
    const char *const *keys; /* all names, NULL-ended */
    const char *rank_key;    /* NULL: no rank */
    int has_rank, rank, channel;
    int64_t timeout_ms;
};

static const char *const put_keys[] = {"dst_rank", "channel", "timeout_ms", NULL};
static const char *const wait_keys[] = {"src_rank", "channel", "timeout_ms", NULL};
static const char *const barrier_keys[] = {"channel", "timeout_ms", NULL};

static void read_argument(lua_State *L, struct signal_call *call) {
    const char *name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "";
    if (call->rank_key && strcmp(name, call->rank_key) == 0) {
        call->rank = symmL_arg_int32(L, -1, call->op, name);
        call->has_rank = 1;
    } else if (strcmp(name, "channel") == 0) {
        call->channel = symmL_arg_int32(L, -1, call->op, name);
    } else if (strcmp(name, "timeout_ms") == 0) {
        call->timeout_ms = symmL_arg_timeout(L, -1, call->op, name);
    } else {
        symmL_named(L, 2, call->op, call->keys); /* says which are known */
    }
}

static symm_memory *read_call(lua_State *L, struct signal_call *call) {
    symm_memory *memory = symmL_check_object(L, 1, &symmL_memory_class, call->op);
    symmL_arg_count(L, 2, call->op);
    if (lua_istable(L, 2)) {
        lua_pushnil(L);
        while (lua_next(L, 2)) {
            read_argument(L, call);
            lua_pop(L, 1);
        }
    } else {
        symmL_named(L, 2, call->op, call->keys);
    }
    if (call->rank_key && !call->has_rank) {
        symmL_fail(L, SYMM_EINVALID, call->op, "%s is required", call->rank_key);
    }
    return memory;
}

static int memory_put_signal(lua_State *L) {
    struct signal_call c = {.op = "put_signal", .keys = put_keys, .rank_key = "dst_rank"};
    symm_memory *memory = read_call(L, &c);
    symmL_check(L,
                symmL_blocking_on(L, symm_memory, memory,
                                  symm_memory_put_signal(memory, c.rank, c.channel, c.timeout_ms)));
    return 0;
}

static int memory_wait_signal(lua_State *L) {
    struct signal_call c = {.op = "wait_signal", .keys = wait_keys, .rank_key = "src_rank"};
    symm_memory *memory = read_call(L, &c);
    symmL_check(
        L, symmL_blocking_on(L, symm_memory, memory,
                             symm_memory_wait_signal(memory, c.rank, c.channel, c.timeout_ms)));
    return 0;
}

static int memory_barrier(lua_State *L) {
    struct signal_call c = {.op = "barrier", .keys = barrier_keys};
    symm_memory *memory = read_call(L, &c);
    symmL_check(L, symmL_blocking_on(L, symm_memory, memory,
                                     symm_memory_barrier(memory, c.channel, c.timeout_ms)));
    return 0;
}

/* ---- handle: tensors ---- */

static int memory_get_buffer(lua_State *L) {
    const char *op = "get_buffer";
    int64_t shape[SYMM_MAX_DIMS];
    symm_tensor *tensor = NULL;
    symm_memory *memory = symmL_check_object(L, 1, &symmL_memory_class, op);
    symmL_arg_count(L, 5, op);
    int rank = symmL_arg_int32(L, 2, op, "rank");
    int ndim = symmL_arg_shape(L, 3, op, "shape", shape);
    symm_dtype dtype = symmL_arg_dtype(L, 4, op, "dtype");
    int64_t offset = symmL_arg_opt_int(L, 5, op, "storage_offset", 0);
    symmL_check(L, symm_memory_get_buffer(memory, rank, shape, ndim, dtype, offset, &tensor));
    symmL_push_object(L, &symmL_tensor_class, tensor);
    return 1;
}

static int memory_get_remote_tensor(lua_State *L) {
    const char *op = "get_remote_tensor";
    int64_t shape[SYMM_MAX_DIMS];
    symm_tensor *tensor = NULL;
    symm_memory *memory = symmL_check_object(L, 1, &symmL_memory_class, op);
    symmL_arg_count(L, 4, op);
    int rank = symmL_arg_int32(L, 2, op, "peer");
    int ndim = symmL_arg_shape(L, 3, op, "shape", shape);
    symm_dtype dtype = symmL_arg_dtype(L, 4, op, "dtype");
    int64_t offset = symm_memory_offset(memory) / (int64_t)symm_dtype_size(dtype);
    symmL_check(L, symm_memory_get_buffer(memory, rank, shape, ndim, dtype, offset, &tensor));
    symmL_push_object(L, &symmL_tensor_class, tensor);
    return 1;
}

static int memory_get_signal_pad(lua_State *L) {
    const char *op = "get_signal_pad";
    int64_t shape[SYMM_MAX_DIMS];
    symm_tensor *tensor = NULL;
    symm_memory *memory = symmL_check_object(L, 1, &symmL_memory_class, op);
    symmL_arg_count(L, 5, op);
    int rank = symmL_arg_int32(L, 2, op, "rank");
    int ndim = lua_isnoneornil(L, 3) ? -1 : symmL_arg_shape(L, 3, op, "shape", shape);
    symm_dtype dtype =
        lua_isnoneornil(L, 4) ? SYMM_DTYPE_uint32 : symmL_arg_dtype(L, 4, op, "dtype");
    int64_t offset = symmL_arg_opt_int(L, 5, op, "storage_offset", 0);
    symmL_check(L, symm_memory_get_signal_pad(memory, rank, shape, ndim, dtype, offset, &tensor));
    symmL_push_object(L, &symmL_tensor_class, tensor);
    return 1;
}

/* ---- handle: properties ---- */

static void push_addresses(lua_State *L, int pads) {
    const symm_memory *memory = symmL_pin(L, 1, &symmL_memory_class, "symmetric memory");
    int world = symm_memory_world_size(memory), pin = lua_gettop(L);
    lua_createtable(L, world, 0);
    for (int r = 0; r < world; r++) {
        const void *address = pads ? (const void *)symm_memory_signal_pad_ptrs(memory)[r]
                                   : symm_memory_buffer_ptrs(memory)[r];
        lua_pushinteger(L, (lua_Integer)(intptr_t)address);
        lua_rawseti(L, -2, r + 1);
    }
    symmL_unpin(L, pin, &symmL_memory_class);
}

static int push_property(lua_State *L, void *object, const char *key) {
    const symm_memory *memory = object;
    if (strcmp(key, "rank") == 0) {
        lua_pushinteger(L, symm_memory_rank(memory));
    } else if (strcmp(key, "world_size") == 0) {
        lua_pushinteger(L, symm_memory_world_size(memory));
    } else if (strcmp(key, "group_name") == 0) {
        lua_pushstring(L, symm_memory_group_name(memory));
    } else if (strcmp(key, "buffer_size") == 0) {
        lua_pushinteger(L, symm_memory_buffer_size(memory));
    } else if (strcmp(key, "signal_pad_size") == 0) {
        lua_pushinteger(L, symm_memory_signal_pad_size(memory));
    } else if (strcmp(key, "offset") == 0) {
        lua_pushinteger(L, symm_memory_offset(memory));
    } else if (strcmp(key, "channels") == 0) {
        lua_pushinteger(L, symm_memory_channels(memory));
    } else if (strcmp(key, "buffer_ptrs") == 0) {
        push_addresses(L, 0);
    } else if (strcmp(key, "signal_pad_ptrs") == 0) {
        push_addresses(L, 1);
    } else if (strcmp(key, "device") == 0) {
        lua_pushstring(L, "cpu");
    } else {
        return 0;
    }
    return 1;
}

static int memory_tostring(lua_State *L) {
    char text[SYMM_ERROR_GROUP_SIZE + 160];
    void **box = symmL_check_box(L, 1, &symmL_memory_class, "tostring");
    if (!*box) {
        lua_pushliteral(L, "symmetric memory (closed)");
        return 1;
    }
    const symm_memory *m = *box;
    snprintf(text, sizeof text,
             "symmetric memory (group %s, rank %d of %d, %lld bytes, %d channels)",
             symm_memory_group_name(m), symm_memory_rank(m), symm_memory_world_size(m),
             (long long)symm_memory_buffer_size(m), symm_memory_channels(m));
    lua_pushstring(L, text);
    return 1;
}

static const luaL_Reg memory_methods[] = {{"put_signal", memory_put_signal},
                                          {"wait_signal", memory_wait_signal},
                                          {"barrier", memory_barrier},
                                          {"get_buffer", memory_get_buffer},
                                          {"get_remote_tensor", memory_get_remote_tensor},
                                          {"get_signal_pad", memory_get_signal_pad},
                                          {NULL, NULL}};
static const luaL_Reg memory_metamethods[] = {{"__tostring", memory_tostring}, {NULL, NULL}};

const struct symmL_class symmL_memory_class = {.name = "symm.memory",
                                               .noun = "symmetric memory",
                                               .retain = retain_memory,
                                               .release = release_memory,
                                               .property = push_property,
                                               .methods = memory_methods,
                                               .metamethods = memory_metamethods};

/* ---- module ---- */

/* What follows shape and stride: in order, or by name in one table. */
static symm_dtype read_options(lua_State *L, const char *op, struct symm_memory_options *options) {
    static const char *const keys[] = {"dtype", "device", "group_name", "alloc_id", NULL};
    symm_dtype dtype = SYMM_DTYPE_float32;
    if (lua_istable(L, 3)) {
        symmL_arg_count(L, 3, op);
        symmL_named(L, 3, op, keys);
        lua_settop(L, 3);
        for (int i = 0; keys[i]; i++) {
            if (!symmL_field(L, 3, keys[i])) lua_pushnil(L);
        }
        lua_remove(L, 3);
        if (!lua_isnil(L, 3)) dtype = symmL_arg_dtype(L, 3, op, "dtype");
    } else {
        dtype = symmL_arg_dtype(L, 3, op, "dtype");
    }
    if (!lua_isnoneornil(L, 4)) options->device = symmL_arg_string(L, 4, op, "device", NULL);
    if (!lua_isnoneornil(L, 5)) {
        options->group_name = symmL_arg_string(L, 5, op, "group_name", NULL);
    }
    options->alloc_id = symmL_arg_opt_int(L, 6, op, "alloc_id", -1);
    if (!lua_isnoneornil(L, 6) && options->alloc_id < 0) {
        symmL_fail(L, SYMM_EINVALID, op, "alloc_id must not be negative");
    }
    return dtype;
}

static int empty_strided_p2p(lua_State *L) {
    const char *op = "empty_strided_p2p";
    int64_t shape[SYMM_MAX_DIMS], stride[SYMM_MAX_DIMS];
    struct symm_memory_options options = SYMM_MEMORY_OPTIONS_INIT;
    symm_tensor *tensor = NULL;
    symmL_arg_count(L, 6, op);
    int ndim = symmL_arg_shape(L, 1, op, "shape", shape);
    int has_stride = !lua_isnoneornil(L, 2);
    int strides = has_stride ? symmL_arg_shape(L, 2, op, "stride", stride) : ndim;
    if (strides != ndim) {
        symmL_fail(L, SYMM_EINVALID, op, "shape has %d dimensions and stride %d", ndim, strides);
    }
    symm_dtype dtype = read_options(L, op, &options);
    symmL_check(L, symm_memory_empty_strided(shape, has_stride ? stride : NULL, ndim, dtype,
                                             &options, &tensor));
    symmL_push_object(L, &symmL_tensor_class, tensor);
    return 1;
}

static const char *opt_group(lua_State *L, int index, const char *op) {
    return lua_isnoneornil(L, index) ? NULL : symmL_arg_string(L, index, op, "group_name", NULL);
}

/* rendezvous(t), rendezvous(t, group_name) or rendezvous(t, {group_name=, timeout_ms=}) */
static int rendezvous(lua_State *L) {
    const char *op = "rendezvous";
    static const char *const keys[] = {"group_name", "timeout_ms", NULL};
    symm_memory *memory = NULL;
    int64_t timeout_ms = 0;
    const char *group = NULL;
    symm_tensor *tensor = symmL_check_object(L, 1, &symmL_tensor_class, op);
    symmL_arg_count(L, 2, op);
    if (lua_istable(L, 2)) {
        symmL_named(L, 2, op, keys);
        group = symmL_field_string(L, 2, op, "group_name");
        timeout_ms = symmL_field_timeout(L, 2, op, "timeout_ms", 0);
    } else {
        group = opt_group(L, 2, op);
    }
    symmL_check(L, symmL_blocking_on(L, symm_tensor, tensor,
                                     symm_memory_rendezvous(tensor, group, timeout_ms, &memory)));
    if (memory)
        symmL_push_unique(L, &symmL_memory_class, memory);
    else
        lua_pushnil(L);
    return 1;
}

static int get_symmetric_memory(lua_State *L) {
    const char *op = "get_symmetric_memory";
    symm_memory *memory = NULL;
    symm_tensor *tensor = symmL_check_object(L, 1, &symmL_tensor_class, op);
    symmL_arg_count(L, 2, op);
    symmL_check(L, symm_memory_of(tensor, opt_group(L, 2, op), &memory));
    if (memory)
        symmL_push_unique(L, &symmL_memory_class, memory);
    else
        lua_pushnil(L);
    return 1;
}

static int is_symm_mem_tensor(lua_State *L) {
    symm_tensor *tensor = symmL_check_object(L, 1, &symmL_tensor_class, "is_symm_mem_tensor");
    lua_pushboolean(L, symm_memory_is_symmetric(tensor));
    return 1;
}

/* set_group_info(name, rank, world_size, store[, timeout_ms]) */
static int set_group_info(lua_State *L) {
    const char *op = "set_group_info";
    symmL_arg_count(L, 5, op);
    const char *name = symmL_arg_string(L, 1, op, "group_name", NULL);
    int rank = symmL_arg_int32(L, 2, op, "rank");
    int world_size = symmL_arg_int32(L, 3, op, "world_size");
    symm_store *store = symmL_check_object(L, 4, &symmL_store_class, op);
    int64_t timeout_ms = lua_isnoneornil(L, 5) ? 0 : symmL_arg_timeout(L, 5, op, "timeout_ms");
    symmL_check(L, symm_memory_set_group_info(name, rank, world_size, store, timeout_ms));
    return 0;
}

static int unset_group_info(lua_State *L) {
    const char *op = "unset_group_info";
    symmL_check(L, symm_memory_unset_group_info(symmL_arg_string(L, 1, op, "group_name", NULL)));
    return 0;
}

static int set_signal_pad_size(lua_State *L) {
    const char *op = "set_signal_pad_size";
    symmL_check(L, symm_memory_set_signal_pad_size(symmL_arg_int(L, 1, op, "bytes")));
    return 0;
}

static int get_signal_pad_size(lua_State *L) {
    symmL_arg_count(L, 0, "get_signal_pad_size");
    lua_pushinteger(L, symm_memory_get_signal_pad_size());
    return 1;
}

static int memset32(lua_State *L) {
    const char *op = "memset32";
    symm_tensor *tensor = symmL_check_object(L, 1, &symmL_tensor_class, op);
    symmL_arg_count(L, 4, op);
    int64_t offset = symmL_arg_int(L, 2, op, "offset");
    int64_t value = symmL_arg_int(L, 3, op, "value");
    int64_t count = symmL_arg_opt_int(L, 4, op, "count", 1);
    symmL_check(L, symm_memory_memset32(tensor, offset, value, count));
    lua_settop(L, 1);
    return 1;
}

static int stream_write_value32(lua_State *L) {
    const char *op = "stream_write_value32";
    symm_tensor *tensor = symmL_check_object(L, 1, &symmL_tensor_class, op);
    symmL_arg_count(L, 3, op);
    int64_t offset = symmL_arg_int(L, 2, op, "offset");
    int64_t value = symmL_arg_int(L, 3, op, "value");
    symmL_check(L, symm_memory_stream_write_value32(tensor, offset, value));
    lua_settop(L, 1);
    return 1;
}

static const luaL_Reg functions[] = {{"empty_strided_p2p", empty_strided_p2p},
                                     {"rendezvous", rendezvous},
                                     {"get_symmetric_memory", get_symmetric_memory},
                                     {"is_symm_mem_tensor", is_symm_mem_tensor},
                                     {"set_group_info", set_group_info},
                                     {"unset_group_info", unset_group_info},
                                     {"set_signal_pad_size", set_signal_pad_size},
                                     {"get_signal_pad_size", get_signal_pad_size},
                                     {"memset32", memset32},
                                     {"stream_write_value32", stream_write_value32},
                                     {NULL, NULL}};

void symmL_open_symmem(lua_State *L) {
    symmL_open_class(L, &symmL_memory_class);
    symmL_set_functions(L, functions);
}
