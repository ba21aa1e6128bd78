/* SPDX-License-Identifier: MIT
 *
 * .npy files in the module. Loading may take a while and can be interrupted.
 */
#include "lua/tensor.h"

/* The dtype at `index`, or SYMM_DTYPE_COUNT for the file's own. */
static symm_dtype opt_dtype(lua_State *L, int index, const char *op) {
    return lua_isnoneornil(L, index) ? SYMM_DTYPE_COUNT : symmL_arg_dtype(L, index, op, "dtype");
}

static int load(lua_State *L, const char *op, int64_t first, int64_t count, symm_dtype dtype) {
    symm_tensor *tensor = NULL;
    const char *path = symmL_arg_string(L, 1, op, "path", NULL);
    symmL_check(L, symmL_blocking(L, symm_npy_load_as(path, first, count, dtype, &tensor)));
    symmL_push_new_tensor(L, tensor);
    return 1;
}

/* npy_load(path[, dtype]) */
static int npy_load(lua_State *L) {
    symmL_arg_count(L, 2, "npy_load");
    return load(L, "npy_load", 0, SYMM_NPY_ALL, opt_dtype(L, 2, "npy_load"));
}

/* npy_load_rows(path, first, count[, dtype]) */
static int npy_load_rows(lua_State *L) {
    const char *op = "npy_load_rows";
    symmL_arg_count(L, 4, op);
    int64_t first = symmL_arg_int(L, 2, op, "first"), count = symmL_arg_int(L, 3, op, "count");
    if (count < 0) symmL_fail(L, SYMM_EINVALID, op, "count is negative: %lld", (long long)count);
    return load(L, op, first, count, opt_dtype(L, 4, op));
}

/* npy_save(path, tensor) */
static int npy_save(lua_State *L) {
    const char *op = "npy_save";
    symmL_arg_count(L, 2, op);
    const char *path = symmL_arg_string(L, 1, op, "path", NULL);
    symm_tensor *tensor = symmL_check_tensor(L, 2, op);
    symmL_check(L, symmL_blocking_on(L, symm_tensor, tensor, symm_npy_save(path, tensor)));
    return 0;
}

/* npy_shape(path): shape and dtype of a file, reading its header only. */
static int npy_shape(lua_State *L) {
    struct symm_npy_info info;
    symmL_arg_count(L, 1, "npy_shape");
    symmL_check(L, symm_npy_read_info(symmL_arg_string(L, 1, "npy_shape", "path", NULL), &info));
    symmL_push_shape(L, info.shape, info.ndim);
    lua_pushstring(L, symm_dtype_name(info.dtype));
    return 2;
}

const luaL_Reg symmL_tensor_npy_functions[] = {{"npy_load", npy_load},
                                               {"npy_load_rows", npy_load_rows},
                                               {"npy_save", npy_save},
                                               {"npy_shape", npy_shape},
                                               {NULL, NULL}};
