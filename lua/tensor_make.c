/* SPDX-License-Identifier: MIT
 *
 * Functions of the module that make tensors. After their main arguments come dtype and device, or a
 * table that names them; seeds are only in the table.
 */
#include <errno.h>
#include <sys/random.h>

#include "lua/tensor.h"

/* ---- options ---- */

static void named_options(lua_State *L, int index, const char *op, int takes_seed,
                          struct symmL_tensor_options *out) {
    static const char *const plain[] = {"dtype", "device", NULL};
    static const char *const seeded[] = {"dtype", "device", "seed", NULL};
    symmL_named(L, index, op, takes_seed ? seeded : plain);
    if (symmL_field(L, index, "dtype")) {
        out->dtype = symmL_arg_dtype(L, -1, op, "dtype");
        out->has_dtype = 1;
        lua_pop(L, 1);
    }
    const char *device = symmL_field_string(L, index, op, "device");
    if (device) out->device = device;
    if (takes_seed && symmL_field(L, index, "seed")) {
        out->seed = symmL_arg_int(L, -1, op, "seed");
        out->has_seed = 1;
        lua_pop(L, 1);
    }
}

void symmL_tensor_options(lua_State *L, int index, const char *op, int takes_seed,
                          struct symmL_tensor_options *out) {
    *out = (struct symmL_tensor_options){.dtype = SYMM_DTYPE_float32};
    if (!lua_isnoneornil(L, index) && !lua_istable(L, index)) {
        out->dtype = symmL_arg_dtype(L, index, op, "dtype");
        out->has_dtype = 1;
    }
    if (!lua_istable(L, index)) index++;
    if (!lua_isnoneornil(L, index) && !lua_istable(L, index)) {
        out->device = symmL_arg_string(L, index, op, "device", NULL);
    }
    if (!lua_istable(L, index)) index++;
    symmL_arg_count(L, index, op);
    named_options(L, index, op, takes_seed, out);
}

/* ---- filled ---- */

static int make_filled(lua_State *L, const char *op, symm_scalar value) {
    int64_t shape[SYMM_MAX_DIMS];
    struct symmL_tensor_options options;
    symm_tensor *tensor = NULL;
    int ndim = symmL_arg_shape(L, 1, op, "shape", shape);
    symmL_tensor_options(L, 2, op, 0, &options);
    symmL_check(L, symm_tensor_full(shape, ndim, value, options.dtype, options.device, &tensor));
    symmL_push_new_tensor(L, tensor);
    return 1;
}

static int make_zeros(lua_State *L) { return make_filled(L, "zeros", symm_scalar_int(0)); }
static int make_ones(lua_State *L) { return make_filled(L, "ones", symm_scalar_int(1)); }

/* The dtype that a Lua value has when none is asked for. */
static symm_dtype dtype_of_value(lua_State *L, int index) {
    if (lua_isboolean(L, index)) return SYMM_DTYPE_bool;
    return lua_isinteger(L, index) ? SYMM_DTYPE_int64 : SYMM_DTYPE_float32;
}

static int make_full(lua_State *L) {
    const char *op = "full";
    int64_t shape[SYMM_MAX_DIMS];
    struct symmL_tensor_options options;
    symm_tensor *tensor = NULL;
    int ndim = symmL_arg_shape(L, 1, op, "shape", shape);
    symmL_tensor_options(L, 3, op, 0, &options);
    if (!options.has_dtype) options.dtype = dtype_of_value(L, 2);
    symm_scalar value = symmL_arg_scalar(L, 2, op, "value", options.dtype);
    symmL_check(L, symm_tensor_full(shape, ndim, value, options.dtype, options.device, &tensor));
    symmL_push_new_tensor(L, tensor);
    return 1;
}

/* ---- uninitialised ---- */

static int make_empty(lua_State *L) {
    const char *op = "empty";
    int64_t shape[SYMM_MAX_DIMS];
    struct symmL_tensor_options options;
    symm_tensor *tensor = NULL;
    int ndim = symmL_arg_shape(L, 1, op, "shape", shape);
    symmL_tensor_options(L, 2, op, 0, &options);
    symmL_check(L, symm_tensor_empty(shape, ndim, options.dtype, options.device, &tensor));
    symmL_push_new_tensor(L, tensor);
    return 1;
}

static int make_empty_strided(lua_State *L) {
    const char *op = "empty_strided";
    int64_t shape[SYMM_MAX_DIMS], stride[SYMM_MAX_DIMS];
    struct symmL_tensor_options options;
    symm_tensor *tensor = NULL;
    int ndim = symmL_arg_shape(L, 1, op, "shape", shape);
    int strides = symmL_arg_shape(L, 2, op, "stride", stride);
    if (strides != ndim) {
        symmL_fail(L, SYMM_EINVALID, op, "shape has %d dimensions and stride %d", ndim, strides);
    }
    symmL_tensor_options(L, 3, op, 0, &options);
    symmL_check(
        L, symm_tensor_empty_strided(shape, stride, ndim, options.dtype, options.device, &tensor));
    symmL_push_new_tensor(L, tensor);
    return 1;
}

/* ---- ranges ---- */

/* arange(stop), arange(start, stop[, step]) */
static int make_arange(lua_State *L) {
    const char *op = "arange";
    static const char *const names[] = {"start", "stop", "step"};
    struct symmL_tensor_options options;
    symm_tensor *tensor = NULL;
    symm_scalar value[3];
    int count = 0, is_whole = 1;
    while (count < 3 && lua_type(L, count + 1) == LUA_TNUMBER) {
        is_whole &= lua_isinteger(L, ++count);
    }
    if (count == 0) symmL_arg_number(L, 1, op, "stop");
    symmL_tensor_options(L, count + 1, op, 0, &options);
    if (!options.has_dtype) options.dtype = is_whole ? SYMM_DTYPE_int64 : SYMM_DTYPE_float32;
    for (int i = 0; i < count; i++) {
        value[i] = symmL_arg_scalar(L, i + 1, op, names[i], SYMM_DTYPE_int64);
    }
    if (count < 3) value[2] = symm_scalar_int(1);
    if (count < 2) {
        value[1] = value[0];
        value[0] = symm_scalar_int(0);
    }
    symmL_check(L, symm_tensor_arange(value[0], value[1], value[2], options.dtype, options.device,
                                      &tensor));
    symmL_push_new_tensor(L, tensor);
    return 1;
}

/* ---- random ---- */

static int manual_seed(lua_State *L) {
    struct symmL_tensor_state *state = symmL_tensor_state(L);
    symmL_arg_count(L, 1, "manual_seed");
    uint64_t seed = (uint64_t)symmL_arg_int(L, 1, "manual_seed", "seed");
    state->generator = (symm_generator){.seed = seed, .block = 0};
    state->has_seed = 1;
    return 0;
}

static symm_generator *state_generator(lua_State *L, const char *op) {
    struct symmL_tensor_state *state = symmL_tensor_state(L);
    if (state->has_seed) return &state->generator;
    uint64_t seed = 0;
    if (getrandom(&seed, sizeof seed, 0) != sizeof seed) {
        symmL_fail(L, SYMM_EIO, op, "the system gives no random seed (errno %d)", errno);
    }
    state->generator = (symm_generator){.seed = seed, .block = 0};
    state->has_seed = 1;
    return &state->generator;
}

static int make_random(lua_State *L, const char *op,
                       int (*fill)(symm_tensor *tensor, symm_generator *generator)) {
    int64_t shape[SYMM_MAX_DIMS];
    struct symmL_tensor_options options;
    symm_tensor *tensor = NULL;
    int ndim = symmL_arg_shape(L, 1, op, "shape", shape);
    symmL_tensor_options(L, 2, op, 1, &options);
    symm_generator own = {.seed = (uint64_t)options.seed, .block = 0};
    symm_generator *generator = options.has_seed ? &own : state_generator(L, op);
    symmL_check(L, symm_tensor_empty(shape, ndim, options.dtype, options.device, &tensor));
    symmL_push_new_tensor(L, tensor);
    symmL_check(L, fill(tensor, generator));
    return 1;
}

static int make_rand(lua_State *L) { return make_random(L, "rand", symm_tensor_rand); }
static int make_randn(lua_State *L) { return make_random(L, "randn", symm_tensor_randn); }

/* ---- bytes ---- */

/* The number of whole elements in so many bytes. */
static int64_t whole_elements(lua_State *L, const char *op, size_t size, symm_dtype dtype) {
    size_t of_one = symm_dtype_size(dtype);
    if (size % of_one != 0) {
        symmL_fail(L, SYMM_EINVALID, op, "%llu bytes were given; %s needs a multiple of %d",
                   (unsigned long long)size, symm_dtype_name(dtype), (int)of_one);
    }
    return (int64_t)(size / of_one);
}

/* frombytes(bytes, dtype[, shape]): a copy of the bytes; one dimension if no shape is given. */
static int make_frombytes(lua_State *L) {
    const char *op = "frombytes";
    int64_t shape[SYMM_MAX_DIMS];
    size_t size = 0;
    int ndim = 1;
    symm_tensor *tensor = NULL;
    symmL_arg_count(L, 3, op);
    const char *bytes = symmL_arg_string(L, 1, op, "bytes", &size);
    symm_dtype dtype = symmL_arg_dtype(L, 2, op, "dtype");
    if (!lua_isnoneornil(L, 3)) {
        ndim = symmL_arg_shape(L, 3, op, "shape", shape);
    } else {
        shape[0] = whole_elements(L, op, size, dtype);
    }
    symmL_check(L, symm_tensor_empty(shape, ndim, dtype, NULL, &tensor));
    symmL_push_new_tensor(L, tensor);
    if ((int64_t)size != symm_tensor_nbytes(tensor)) {
        symmL_fail(L, SYMM_EINVALID, op, "%llu bytes were given; the tensor needs %lld",
                   (unsigned long long)size, (long long)symm_tensor_nbytes(tensor));
    }
    symmL_check(L, symm_tensor_set_bytes(tensor, bytes, (int64_t)size));
    return 1;
}

const luaL_Reg symmL_tensor_make_functions[] = {{"empty", make_empty},
                                                {"empty_strided", make_empty_strided},
                                                {"zeros", make_zeros},
                                                {"ones", make_ones},
                                                {"full", make_full},
                                                {"arange", make_arange},
                                                {"rand", make_rand},
                                                {"randn", make_randn},
                                                {"manual_seed", manual_seed},
                                                {"frombytes", make_frombytes},
                                                {"tensor", symmL_tensor_from_table},
                                                {NULL, NULL}};
