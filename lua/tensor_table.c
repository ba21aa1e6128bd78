/* SPDX-License-Identifier: MIT
 *
 * Between tensors and nested Lua tables, which count from 1.
 */
#include <stdio.h>

#include "lua/tensor.h"

/* ---- symm.tensor(table[, dtype]) ---- */

struct reading {
    const char *op;
    int ndim;
    int64_t shape[SYMM_MAX_DIMS];
    int64_t index[SYMM_MAX_DIMS]; /* where reading is, for messages */
    symm_dtype dtype;
    int has_integers, has_floats, has_booleans;
    symm_tensor *tensor; /* in the second pass */
};

/* "[2][1]", as the script would write it. */
static const char *place(const struct reading *r, int depth, char *text, size_t size) {
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < depth; i++) {
        int n = snprintf(text + used, size - used, "[%lld]", (long long)r->index[i] + 1);
        if (n < 0 || (size_t)n >= size - used) break;
        used += (size_t)n;
    }
    return text;
}

_Noreturn static void ragged(lua_State *L, const struct reading *r, int depth, const char *what) {
    char where[192];
    symmL_fail(L, SYMM_EINVALID, r->op, "the table is not rectangular: t%s %s",
               place(r, depth, where, sizeof where), what);
}

/* The first element of each level says how long the level is. */
static void read_shape(lua_State *L, struct reading *r) {
    int top = lua_gettop(L);
    luaL_checkstack(L, 2 * SYMM_MAX_DIMS + 8, r->op);
    lua_pushvalue(L, 1);
    while (lua_istable(L, -1)) {
        if (r->ndim == SYMM_MAX_DIMS) {
            symmL_fail(L, SYMM_EINVALID, r->op, "the table is nested more than %d deep",
                       SYMM_MAX_DIMS);
        }
        r->shape[r->ndim++] = (int64_t)lua_rawlen(L, -1);
        if (r->shape[r->ndim - 1] == 0) break;
        lua_rawgeti(L, -1, 1);
    }
    lua_settop(L, top);
}

static void read_element(lua_State *L, struct reading *r) {
    char where[192];
    switch (lua_type(L, -1)) {
    case LUA_TBOOLEAN: r->has_booleans = 1; break;
    case LUA_TNUMBER:
        if (lua_isinteger(L, -1))
            r->has_integers = 1;
        else
            r->has_floats = 1;
        break;
    default:
        symmL_fail(L, SYMM_EINVALID, r->op, "t%s must be a number or a boolean, not %s",
                   place(r, r->ndim, where, sizeof where), luaL_typename(L, -1));
    }
    if (!r->tensor) return;
    symm_scalar value = symmL_arg_scalar(L, -1, r->op, "t", r->dtype);
    if (symm_tensor_set(r->tensor, r->index, r->ndim, value) < 0) {
        symmL_fail(L, SYMM_EINVALID, r->op, "t%s: %s", place(r, r->ndim, where, sizeof where),
                   symm_last_error()->message);
    }
}

/* Visits the table on top; checks everything in the first pass, writes in the second. */
static void read_level(lua_State *L, struct reading *r, int depth) {
    if (depth == r->ndim) {
        if (depth > 0 && lua_istable(L, -1)) ragged(L, r, depth, "is a table");
        read_element(L, r);
        return;
    }
    if (!lua_istable(L, -1)) ragged(L, r, depth, "is not a table");
    if ((int64_t)lua_rawlen(L, -1) != r->shape[depth]) ragged(L, r, depth, "has another length");
    for (int64_t i = 0; i < r->shape[depth]; i++) {
        r->index[depth] = i;
        lua_rawgeti(L, -1, i + 1);
        read_level(L, r, depth + 1);
        lua_pop(L, 1);
    }
}

static symm_dtype natural_dtype(lua_State *L, const struct reading *r) {
    if (r->has_booleans && (r->has_integers || r->has_floats)) {
        symmL_fail(L, SYMM_EINVALID, r->op, "the table mixes booleans and numbers; give a dtype");
    }
    if (r->has_booleans) return SYMM_DTYPE_bool;
    return r->has_integers && !r->has_floats ? SYMM_DTYPE_int64 : SYMM_DTYPE_float32;
}

int symmL_tensor_from_table(lua_State *L) {
    struct reading r = {.op = "tensor"};
    struct symmL_tensor_options options;
    if (!lua_istable(L, 1) && !lua_isboolean(L, 1)) symmL_arg_number(L, 1, r.op, "t");
    symmL_tensor_options(L, 2, r.op, 0, &options);
    read_shape(L, &r);
    lua_pushvalue(L, 1);
    read_level(L, &r, 0);
    lua_pop(L, 1);
    r.dtype = options.has_dtype ? options.dtype : natural_dtype(L, &r);
    symmL_check(L, symm_tensor_empty(r.shape, r.ndim, r.dtype, options.device, &r.tensor));
    symmL_push_new_tensor(L, r.tensor);
    lua_pushvalue(L, 1);
    read_level(L, &r, 0);
    lua_pop(L, 1);
    return 1;
}

/* ---- t:tolist() ---- */

static void push_level(lua_State *L, const symm_tensor *tensor, int depth, int64_t *index) {
    int ndim = symm_tensor_ndim(tensor);
    if (depth == ndim) {
        symm_scalar value;
        symmL_check(L, symm_tensor_get(tensor, index, ndim, &value));
        symmL_push_scalar(L, value);
        return;
    }
    int64_t size = symm_tensor_shape(tensor)[depth];
    lua_createtable(L, size < 1 << 24 ? (int)size : 0, 0);
    for (index[depth] = 0; index[depth] < size; index[depth]++) {
        push_level(L, tensor, depth + 1, index);
        lua_rawseti(L, -2, index[depth] + 1);
    }
}

/* A nested table; of a tensor without dimensions the value itself. */
int symmL_tensor_tolist(lua_State *L) {
    int64_t index[SYMM_MAX_DIMS] = {0};
    luaL_checkstack(L, SYMM_MAX_DIMS + 8, "tolist");
    symm_tensor *tensor = symmL_pin(L, 1, &symmL_tensor_class, "tolist");
    int pin = lua_gettop(L);
    push_level(L, tensor, 0, index);
    symmL_unpin(L, pin, &symmL_tensor_class);
    return 1;
}
