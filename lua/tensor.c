/* SPDX-License-Identifier: MIT
 *
 * The class symm.tensor: properties, elements, copies, printing. Properties are dtype, device,
 * ndim; everything else is a method.
 */
#include "lua/tensor.h"

#include <string.h>

/* Bytes of tensors between two steps of the collector: few enough that what it frees is still in a
 * cache when it is used again. */
#define COLLECTOR_STEP (8 * 1024 * 1024)
#define COLLECTOR_MOST (1024 * 1024 * 1024) /* that it is told at once */

static void *retain_tensor(void *object) { return symm_tensor_retain(object); }
static void release_tensor(void *object) { symm_tensor_release(object); }

/* ---- shared with the other files ---- */

symm_tensor *symmL_check_tensor(lua_State *L, int index, const char *op) {
    return symmL_check_object(L, index, &symmL_tensor_class, op);
}

void symmL_push_view(lua_State *L, symm_tensor *tensor) {
    symmL_push_object(L, &symmL_tensor_class, tensor);
}

/* Registry key of the state's struct symmL_tensor_state. */
static const char state_key;

struct symmL_tensor_state *symmL_tensor_state(lua_State *L) {
    lua_rawgetp(L, LUA_REGISTRYINDEX, &state_key);
    struct symmL_tensor_state *state = lua_touserdata(L, -1);
    lua_pop(L, 1); /* the registry keeps it */
    return state;
}

/* A step as after an allocation of that size; small sums wait until they are worth one. A stopped
 * collector stays stopped. */
static void tell_collector(lua_State *L, int64_t nbytes) {
    struct symmL_tensor_state *state = symmL_tensor_state(L);
    state->untold += nbytes < COLLECTOR_MOST ? nbytes : COLLECTOR_MOST;
    if (state->untold < COLLECTOR_STEP) return;
    int kibibytes = (int)(state->untold / 1024);
    state->untold = 0;
    if (lua_gc(L, LUA_GCISRUNNING)) lua_gc(L, LUA_GCSTEP, kibibytes);
}

void symmL_push_new_tensor(lua_State *L, symm_tensor *tensor) {
    int64_t nbytes = symm_tensor_nbytes(tensor);
    symmL_push_object(L, &symmL_tensor_class, tensor);
    tell_collector(L, nbytes);
}

symm_scalar symmL_arg_scalar(lua_State *L, int index, const char *op, const char *name,
                             symm_dtype dtype) {
    if (lua_isboolean(L, index)) return symm_scalar_bool(lua_toboolean(L, index));
    if (!lua_isinteger(L, index)) return symm_scalar_float(symmL_arg_number(L, index, op, name));
    lua_Integer value = lua_tointeger(L, index);
    return dtype == SYMM_DTYPE_uint64 ? symm_scalar_uint((uint64_t)value) : symm_scalar_int(value);
}

void symmL_push_scalar(lua_State *L, symm_scalar value) {
    switch (value.kind) {
    case SYMM_KIND_FLOAT: lua_pushnumber(L, value.value.f); break;
    case SYMM_KIND_INT: lua_pushinteger(L, value.value.i); break;
    case SYMM_KIND_UINT: lua_pushinteger(L, (lua_Integer)value.value.u); break;
    case SYMM_KIND_BOOL: lua_pushboolean(L, value.value.u != 0); break;
    }
}

void symmL_push_shape(lua_State *L, const int64_t *shape, int ndim) {
    int64_t copy[SYMM_MAX_DIMS]; /* whose tensor may be closed by a finalizer */
    memcpy(copy, shape, (size_t)ndim * sizeof *copy);
    lua_createtable(L, ndim, 0);
    for (int i = 0; i < ndim; i++) {
        lua_pushinteger(L, copy[i]);
        lua_rawseti(L, -2, i + 1);
    }
}

int symmL_arg_dims(lua_State *L, int index, const char *op, const char *name,
                   int64_t dims_out[SYMM_MAX_DIMS]) {
    int count = lua_gettop(L) - index + 1;
    if (lua_istable(L, index)) {
        symmL_arg_count(L, index, op);
        return symmL_arg_shape(L, index, op, name, dims_out);
    }
    if (count > SYMM_MAX_DIMS) {
        symmL_fail(L, SYMM_EINVALID, op, "%s has %d dimensions; at most %d are supported", name,
                   count, SYMM_MAX_DIMS);
    }
    for (int i = 0; i < count; i++) dims_out[i] = symmL_arg_int(L, index + i, op, name);
    return count;
}

/* ---- reading metadata ---- */

static int tensor_size(lua_State *L) {
    const char *op = "size";
    symm_tensor *tensor = symmL_check_tensor(L, 1, op);
    symmL_arg_count(L, 2, op);
    int ndim = symm_tensor_ndim(tensor);
    if (lua_isnoneornil(L, 2)) {
        symmL_push_shape(L, symm_tensor_shape(tensor), ndim);
        return 1;
    }
    int dim = symmL_arg_int32(L, 2, op, "dim");
    if (dim < -ndim || dim >= ndim) {
        symmL_fail(L, SYMM_EINVALID, op, "there is no dimension %d; the tensor has %d", dim, ndim);
    }
    lua_pushinteger(L, symm_tensor_shape(tensor)[dim < 0 ? dim + ndim : dim]);
    return 1;
}

static int tensor_shape(lua_State *L) {
    symm_tensor *tensor = symmL_check_tensor(L, 1, "shape");
    symmL_push_shape(L, symm_tensor_shape(tensor), symm_tensor_ndim(tensor));
    return 1;
}

static int tensor_stride(lua_State *L) {
    symm_tensor *tensor = symmL_check_tensor(L, 1, "stride");
    symmL_push_shape(L, symm_tensor_stride(tensor), symm_tensor_ndim(tensor));
    return 1;
}

#define INTEGER_METHOD(name, function)                                              \
    static int tensor_##name(lua_State *L) {                                        \
        lua_pushinteger(L, (lua_Integer)function(symmL_check_tensor(L, 1, #name))); \
        return 1;                                                                   \
    }
INTEGER_METHOD(storage_offset, symm_tensor_storage_offset)
INTEGER_METHOD(numel, symm_tensor_numel)
INTEGER_METHOD(nbytes, symm_tensor_nbytes)
INTEGER_METHOD(dim, symm_tensor_ndim)
INTEGER_METHOD(data_ptr, (intptr_t)symm_tensor_data)

static int tensor_is_contiguous(lua_State *L) {
    lua_pushboolean(L, symm_tensor_is_contiguous(symmL_check_tensor(L, 1, "is_contiguous")));
    return 1;
}

/* ---- elements ---- */

static int tensor_item(lua_State *L) {
    symm_scalar value;
    symmL_check(L, symm_tensor_item(symmL_check_tensor(L, 1, "item"), &value));
    symmL_push_scalar(L, value);
    return 1;
}

/* t:get(i, j, ...): as many indices as dimensions, from 0. */
static int tensor_get(lua_State *L) {
    int64_t index[SYMM_MAX_DIMS];
    symm_scalar value;
    symm_tensor *tensor = symmL_check_tensor(L, 1, "get");
    int count = symmL_arg_dims(L, 2, "get", "index", index);
    symmL_check(L, symm_tensor_get(tensor, index, count, &value));
    symmL_push_scalar(L, value);
    return 1;
}

/* t:set(i, j, ..., value) */
static int tensor_set(lua_State *L) {
    const char *op = "set";
    int64_t index[SYMM_MAX_DIMS];
    symm_tensor *tensor = symmL_check_tensor(L, 1, op);
    int last = lua_gettop(L);
    if (last < 2) symmL_fail(L, SYMM_EINVALID, op, "a value is required");
    symm_scalar value = symmL_arg_scalar(L, last, op, "value", symm_tensor_dtype(tensor));
    lua_settop(L, last - 1);
    int count = symmL_arg_dims(L, 2, op, "index", index);
    symmL_check(L, symm_tensor_set(tensor, index, count, value));
    lua_settop(L, 1);
    return 1;
}

/* ---- copies ---- */

/* Pushes a result that may be the tensor at 1 itself, which is then the same object in Lua too. */
static int push_result(lua_State *L, const symm_tensor *tensor, symm_tensor *result) {
    if (result == tensor) {
        symm_tensor_release(result);
        lua_settop(L, 1);
    } else {
        symmL_push_new_tensor(L, result);
    }
    return 1;
}

static int tensor_contiguous(lua_State *L) {
    symm_tensor *result = NULL, *tensor = symmL_check_tensor(L, 1, "contiguous");
    symmL_check(L, symm_tensor_contiguous(tensor, &result));
    return push_result(L, tensor, result);
}

static int tensor_clone(lua_State *L) {
    symm_tensor *result = NULL;
    symmL_check(L, symm_tensor_clone(symmL_check_tensor(L, 1, "clone"), &result));
    symmL_push_new_tensor(L, result);
    return 1;
}

static int tensor_to(lua_State *L) {
    symm_tensor *result = NULL, *tensor = symmL_check_tensor(L, 1, "to");
    symmL_arg_count(L, 2, "to");
    symmL_check(L, symm_tensor_to(tensor, symmL_arg_dtype(L, 2, "to", "dtype"), &result));
    return push_result(L, tensor, result);
}

static int tensor_copy_(lua_State *L) {
    symm_tensor *tensor = symmL_check_tensor(L, 1, "copy_");
    symmL_arg_count(L, 2, "copy_");
    symmL_check(L, symm_tensor_copy(tensor, symmL_check_tensor(L, 2, "copy_")));
    lua_settop(L, 1);
    return 1;
}

static int tensor_fill_(lua_State *L) {
    symm_tensor *tensor = symmL_check_tensor(L, 1, "fill_");
    symmL_arg_count(L, 2, "fill_");
    symm_scalar value = symmL_arg_scalar(L, 2, "fill_", "value", symm_tensor_dtype(tensor));
    symmL_check(L, symm_tensor_fill(tensor, value));
    lua_settop(L, 1);
    return 1;
}

static int tensor_zero_(lua_State *L) {
    symm_tensor *tensor = symmL_check_tensor(L, 1, "zero_");
    symmL_arg_count(L, 1, "zero_");
    symmL_check(L, symm_tensor_fill(tensor, symm_scalar_int(0)));
    return 1;
}

static int tensor_tobytes(lua_State *L) {
    luaL_Buffer buffer;
    symm_tensor *tensor = symmL_pin(L, 1, &symmL_tensor_class, "tobytes");
    int64_t nbytes = symm_tensor_nbytes(tensor);
    int pin = lua_gettop(L);
    char *bytes = luaL_buffinitsize(L, &buffer, (size_t)nbytes);
    symmL_check(L, symm_tensor_get_bytes(tensor, bytes, nbytes));
    symmL_unpin(L, pin, &symmL_tensor_class);
    luaL_pushresultsize(&buffer, (size_t)nbytes);
    return 1;
}

/* ---- metamethods ---- */

static int push_property(lua_State *L, void *object, const char *key) {
    const symm_tensor *tensor = object;
    if (strcmp(key, "dtype") == 0) {
        lua_pushstring(L, symm_dtype_name(symm_tensor_dtype(tensor)));
    } else if (strcmp(key, "device") == 0) {
        lua_pushstring(L, symm_tensor_device(tensor));
    } else if (strcmp(key, "ndim") == 0) {
        lua_pushinteger(L, symm_tensor_ndim(tensor));
    } else {
        return 0;
    }
    return 1;
}

static int tensor_newindex(lua_State *L) {
    const char *key = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : luaL_typename(L, 2);
    symmL_fail(L, SYMM_EINVALID, "tensor",
               "a tensor's '%s' cannot be assigned; use set, fill_ or copy_", key);
}

static int tensor_tostring(lua_State *L) {
    luaL_Buffer buffer;
    if (!*symmL_check_box(L, 1, &symmL_tensor_class, "tostring")) {
        lua_pushliteral(L, "tensor(closed)");
        return 1;
    }
    symm_tensor *tensor = symmL_pin(L, 1, &symmL_tensor_class, "tostring");
    int pin = lua_gettop(L);
    int64_t length = symm_tensor_describe(tensor, NULL, 0);
    char *text = luaL_buffinitsize(L, &buffer, (size_t)length + 1);
    /* Another rank may write meanwhile, and numbers become longer. */
    int64_t now = symm_tensor_describe(tensor, text, (size_t)length + 1);
    symmL_unpin(L, pin, &symmL_tensor_class);
    luaL_pushresultsize(&buffer, (size_t)(now < length ? now : length));
    return 1;
}

static int tensor_len(lua_State *L) {
    symm_tensor *tensor = symmL_check_tensor(L, 1, "#");
    if (symm_tensor_ndim(tensor) == 0) {
        symmL_fail(L, SYMM_EINVALID, "#", "a tensor without dimensions has no length");
    }
    lua_pushinteger(L, symm_tensor_shape(tensor)[0]);
    return 1;
}

static const luaL_Reg methods[] = {{"size", tensor_size},
                                   {"shape", tensor_shape},
                                   {"stride", tensor_stride},
                                   {"storage_offset", tensor_storage_offset},
                                   {"numel", tensor_numel},
                                   {"nbytes", tensor_nbytes},
                                   {"dim", tensor_dim},
                                   {"data_ptr", tensor_data_ptr},
                                   {"is_contiguous", tensor_is_contiguous},
                                   {"item", tensor_item},
                                   {"get", tensor_get},
                                   {"set", tensor_set},
                                   {"contiguous", tensor_contiguous},
                                   {"clone", tensor_clone},
                                   {"to", tensor_to},
                                   {"copy_", tensor_copy_},
                                   {"fill_", tensor_fill_},
                                   {"zero_", tensor_zero_},
                                   {"tolist", symmL_tensor_tolist},
                                   {"tobytes", tensor_tobytes},
                                   {NULL, NULL}};
static const luaL_Reg metamethods[] = {{"__newindex", tensor_newindex},
                                       {"__tostring", tensor_tostring},
                                       {"__len", tensor_len},
                                       {NULL, NULL}};

const struct symmL_class symmL_tensor_class = {.name = "symm.tensor",
                                               .noun = "tensor",
                                               .elements = "get, select or slice",
                                               .retain = retain_tensor,
                                               .release = release_tensor,
                                               .property = push_property,
                                               .methods = methods,
                                               .metamethods = metamethods};

static void push_dtypes(lua_State *L) {
    lua_createtable(L, SYMM_DTYPE_COUNT, 0);
    for (int i = 0; i < SYMM_DTYPE_COUNT; i++) {
        lua_pushstring(L, symm_dtype_name((symm_dtype)i));
        lua_rawseti(L, -2, i + 1);
    }
}

static void open_state(lua_State *L) {
    struct symmL_tensor_state *state = lua_newuserdatauv(L, sizeof *state, 0);
    memset(state, 0, sizeof *state);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &state_key);
}

static void open_methods(lua_State *L) {
    luaL_getmetatable(L, symmL_tensor_class.name);
    symmL_set_functions(L, symmL_tensor_math_metamethods);
    lua_getfield(L, -1, "methods");
    symmL_set_functions(L, symmL_tensor_view_methods);
    symmL_set_functions(L, symmL_tensor_math_methods);
    lua_pop(L, 2);
}

void symmL_open_tensor(lua_State *L) {
    open_state(L);
    symmL_open_class(L, &symmL_tensor_class);
    open_methods(L);
    symmL_set_functions(L, symmL_tensor_make_functions);
    symmL_set_functions(L, symmL_tensor_npy_functions);
    push_dtypes(L);
    lua_setfield(L, -2, "dtypes");
}
