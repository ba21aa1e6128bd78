/* SPDX-License-Identifier: MIT
 *
 * What the files of the tensor binding share: tensor.c (the class), tensor_make.c, tensor_table.c,
 * tensor_view.c, tensor_math.c, tensor_npy.c.
 */
#ifndef SYMM_LUA_TENSOR_H
#define SYMM_LUA_TENSOR_H

#include "lua/binding.h"

symm_tensor *symmL_check_tensor(lua_State *L, int index, const char *op);
/* Pushes a tensor with memory of its own, taking over the reference, and tells the collector how
 * much that is: it only sees eight bytes. */
void symmL_push_new_tensor(lua_State *L, symm_tensor *tensor);
/* Pushes a view, or the very tensor again. */
void symmL_push_view(lua_State *L, symm_tensor *tensor);

/* What a Lua state keeps for its tensors. */
struct symmL_tensor_state {
    int64_t untold; /* bytes that the collector has not been told of */
    symm_generator generator;
    int has_seed; /* else the generator takes one from the system when first used */
};
struct symmL_tensor_state *symmL_tensor_state(lua_State *L);

/* A number or boolean for an element of `dtype`. Lua's integers are 64 bits without a sign of their
 * own where the dtype is uint64: -1 is its largest number, in both directions. */
symm_scalar symmL_arg_scalar(lua_State *L, int index, const char *op, const char *name,
                             symm_dtype dtype);
void symmL_push_scalar(lua_State *L, symm_scalar value);
void symmL_push_shape(lua_State *L, const int64_t *shape, int ndim);
/* The arguments from `index` on: a list of integers, or the integers themselves; gives their count.
 */
int symmL_arg_dims(lua_State *L, int index, const char *op, const char *name,
                   int64_t dims_out[SYMM_MAX_DIMS]);

/* What may follow the main arguments of a function that makes a tensor: dtype, device, and a table
 * {dtype =, device =, seed =}, each optional. */
struct symmL_tensor_options {
    symm_dtype dtype;
    int has_dtype;
    const char *device; /* NULL: "cpu"; anchored by the stack */
    int64_t seed;
    int has_seed;
};
void symmL_tensor_options(lua_State *L, int index, const char *op, int takes_seed,
                          struct symmL_tensor_options *out);

/* Methods of each file, added to the class's. */
extern const luaL_Reg symmL_tensor_view_methods[];
extern const luaL_Reg symmL_tensor_math_methods[];
extern const luaL_Reg symmL_tensor_math_metamethods[];
/* Functions of each file, added to the module. */
extern const luaL_Reg symmL_tensor_make_functions[];
extern const luaL_Reg symmL_tensor_npy_functions[];
/* tensor_table.c */
int symmL_tensor_from_table(lua_State *L);
int symmL_tensor_tolist(lua_State *L);

#endif
