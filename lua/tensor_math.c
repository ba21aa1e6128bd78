/* SPDX-License-Identifier: MIT
 *
 * Arithmetic, comparisons and reductions. A method takes a tensor or a number, and {out = tensor}
 * to write the result there; with a trailing underscore it writes its own tensor. Lua's == on
 * tensors stays identity.
 */
#include "lua/tensor.h"

#include <string.h>

/* ---- binary methods ---- */

/* The tensor of {out = tensor} at `index`, which stays on the stack as the result; or NULL. */
static symm_tensor *out_option(lua_State *L, int index, const char *op) {
    static const char *const keys[] = {"out", NULL};
    symmL_named(L, index, op, keys);
    if (!symmL_field(L, index, "out")) return NULL;
    symm_tensor *out = symmL_test_object(L, -1, &symmL_tensor_class, op);
    if (!out)
        symmL_fail(L, SYMM_EINVALID, op, "out must be a tensor, not %s", luaL_typename(L, -1));
    return out;
}

/* a op b, where b at index 2 is a tensor or a number. Into `into` if that is not NULL, else a new
 * tensor is pushed. */
static void compute(lua_State *L, const char *name, symm_binary op, symm_tensor *a,
                    symm_tensor *into) {
    symm_tensor *result = NULL, *b = symmL_test_object(L, 2, &symmL_tensor_class, name);
    if (b) {
        symmL_check(L, into ? symm_tensor_binary_into(op, a, b, into)
                            : symm_tensor_binary(op, a, b, &result));
    } else {
        if (!lua_isboolean(L, 2) && lua_type(L, 2) != LUA_TNUMBER) {
            symmL_fail(L, SYMM_EINVALID, name,
                       "the other operand must be a tensor or a number, not %s",
                       luaL_typename(L, 2));
        }
        symm_scalar number = symmL_arg_scalar(L, 2, name, "the number", symm_tensor_dtype(a));
        symmL_check(L, into ? symm_tensor_binary_scalar_into(op, a, number, into)
                            : symm_tensor_binary_scalar(op, a, number, &result));
    }
    if (result) symmL_push_new_tensor(L, result);
}

static int binary_method(lua_State *L, const char *name, symm_binary op) {
    symm_tensor *a = symmL_check_tensor(L, 1, name);
    symmL_arg_count(L, 3, name);
    symm_tensor *out = out_option(L, 3, name);
    compute(L, name, op, a, out);
    return 1;
}

static int in_place_method(lua_State *L, const char *name, symm_binary op) {
    symm_tensor *a = symmL_check_tensor(L, 1, name);
    symmL_arg_count(L, 2, name);
    compute(L, name, op, a, a);
    lua_settop(L, 1);
    return 1;
}

#define BINARY_METHOD(op) \
    static int tensor_##op(lua_State *L) { return binary_method(L, #op, SYMM_BINARY_##op); }
SYMM_BINARY_LIST(BINARY_METHOD)
#undef BINARY_METHOD

#define IN_PLACE_LIST(X) X(add) X(sub) X(mul) X(div) X(pow) X(maximum) X(minimum)
#define IN_PLACE_METHOD(op)                                   \
    static int tensor_##op##_(lua_State *L) {                 \
        return in_place_method(L, #op "_", SYMM_BINARY_##op); \
    }
IN_PLACE_LIST(IN_PLACE_METHOD)
#undef IN_PLACE_METHOD

/* ---- operators ---- */

/* number op tensor: the number becomes a tensor without dimensions. */
static void number_on_the_left(lua_State *L, const char *name, symm_binary op) {
    symm_tensor *left = NULL, *result = NULL, *b = symmL_check_tensor(L, 2, name);
    symm_dtype dtype = symm_tensor_dtype(b);
    symm_scalar number = symmL_arg_scalar(L, 1, name, "the number", dtype);
    symmL_check(L, symm_tensor_full(NULL, 0, number, dtype, symm_tensor_device(b), &left));
    int rc = symm_tensor_binary(op, left, b, &result);
    symm_tensor_release(left);
    symmL_check(L, rc);
    symmL_push_new_tensor(L, result);
}

static int operator(lua_State *L, const char *name, symm_binary op) {
    symm_tensor *a = symmL_test_object(L, 1, &symmL_tensor_class, name);
    if (a) {
        compute(L, name, op, a, NULL);
    } else {
        number_on_the_left(L, name, op);
    }
    return 1;
}

#define OPERATOR(name, text, op) \
    static int meta_##name(lua_State *L) { return operator(L, text, SYMM_BINARY_##op); }
OPERATOR(add, "+", add)
OPERATOR(sub, "-", sub)
OPERATOR(mul, "*", mul)
OPERATOR(div, "/", div)
OPERATOR(pow, "^", pow)

/* ---- unary ---- */

static int unary_method(lua_State *L, const char *name, symm_unary op) {
    symm_tensor *result = NULL, *a = symmL_check_tensor(L, 1, name);
    symmL_arg_count(L, 2, name); /* Lua hands the operand of - over twice */
    symmL_check(L, symm_tensor_unary(op, a, &result));
    symmL_push_new_tensor(L, result);
    return 1;
}

static int unary_in_place(lua_State *L, const char *name, symm_unary op) {
    symm_tensor *a = symmL_check_tensor(L, 1, name);
    symmL_arg_count(L, 1, name);
    symmL_check(L, symm_tensor_unary_into(op, a, a));
    return 1;
}

#define UNARY_METHOD(op)                                                                   \
    static int tensor_##op(lua_State *L) { return unary_method(L, #op, SYMM_UNARY_##op); } \
    static int tensor_##op##_(lua_State *L) { return unary_in_place(L, #op "_", SYMM_UNARY_##op); }
SYMM_UNARY_LIST(UNARY_METHOD)
#undef UNARY_METHOD

/* ---- reductions ---- */

/* method(), method(dim[, keepdim]) or method{dim =, keepdim =} */
static symm_tensor *reduce(lua_State *L, const char *name, symm_reduction op, int *is_whole_out) {
    static const char *const keys[] = {"dim", "keepdim", NULL};
    symm_tensor *result = NULL, *tensor = symmL_check_tensor(L, 1, name);
    int dim = SYMM_ALL_DIMS, keepdim = 0;
    symmL_arg_count(L, 3, name);
    if (lua_istable(L, 2)) {
        symmL_arg_count(L, 2, name);
        symmL_named(L, 2, name, keys);
        dim = symmL_field_int32(L, 2, name, "dim", SYMM_ALL_DIMS);
        keepdim = symmL_field_bool(L, 2, name, "keepdim", 0);
    } else {
        if (!lua_isnoneornil(L, 2)) dim = symmL_arg_int32(L, 2, name, "dim");
        if (!lua_isnoneornil(L, 3)) keepdim = symmL_arg_bool(L, 3, name, "keepdim");
    }
    symmL_check(L, symm_tensor_reduce(op, tensor, dim, keepdim, &result));
    *is_whole_out = dim == SYMM_ALL_DIMS && !keepdim;
    return result;
}

static int number_reduction(lua_State *L, const char *name, symm_reduction op) {
    int is_whole = 0;
    symmL_push_new_tensor(L, reduce(L, name, op, &is_whole));
    return 1;
}

/* all() and any() of a whole tensor are what `if` and assert ask for: a boolean. */
static int truth_reduction(lua_State *L, const char *name, symm_reduction op) {
    int is_whole = 0;
    symm_scalar value;
    symm_tensor *result = reduce(L, name, op, &is_whole);
    symmL_push_new_tensor(L, result);
    if (is_whole) {
        symmL_check(L, symm_tensor_item(result, &value));
        symmL_push_scalar(L, value);
    }
    return 1;
}

#define REDUCTION(kind, op) \
    static int tensor_##op(lua_State *L) { return kind##_reduction(L, #op, SYMM_REDUCTION_##op); }
REDUCTION(number, sum)
REDUCTION(number, prod)
REDUCTION(number, max)
REDUCTION(number, min)
REDUCTION(number, mean)
REDUCTION(truth, all)
REDUCTION(truth, any)

/* ---- comparing whole tensors ---- */

static int tensor_equal(lua_State *L) {
    int equal = 0;
    symm_tensor *a = symmL_check_tensor(L, 1, "equal");
    symmL_arg_count(L, 2, "equal");
    symmL_check(L, symm_tensor_equal(a, symmL_check_tensor(L, 2, "equal"), &equal));
    lua_pushboolean(L, equal);
    return 1;
}

static double field_number(lua_State *L, int index, const char *op, const char *name,
                           double otherwise) {
    if (!symmL_field(L, index, name)) return otherwise;
    double value = symmL_arg_number(L, -1, op, name);
    lua_pop(L, 1);
    return value;
}

/* allclose(other[, {rtol =, atol =, equal_nan =}]) */
static int tensor_allclose(lua_State *L) {
    const char *op = "allclose";
    static const char *const keys[] = {"rtol", "atol", "equal_nan", NULL};
    int close = 0;
    symm_tensor *a = symmL_check_tensor(L, 1, op), *b = symmL_check_tensor(L, 2, op);
    symmL_arg_count(L, 3, op);
    symmL_named(L, 3, op, keys);
    double rtol = field_number(L, 3, op, "rtol", 1e-5), atol = field_number(L, 3, op, "atol", 1e-8);
    int equal_nan = symmL_field_bool(L, 3, op, "equal_nan", 0);
    symmL_check(L, symm_tensor_allclose(a, b, rtol, atol, equal_nan, &close));
    lua_pushboolean(L, close);
    return 1;
}

/* ---- matrix product ---- */

static int tensor_matmul(lua_State *L) {
    const char *op = "matmul";
    symm_tensor *result = NULL;
    symm_tensor *a = symmL_check_tensor(L, 1, op), *b = symmL_check_tensor(L, 2, op);
    symmL_arg_count(L, 3, op);
    symm_tensor *out = out_option(L, 3, op);
    if (out) {
        symmL_check(L, symm_tensor_matmul_into(a, b, out));
    } else {
        symmL_check(L, symm_tensor_matmul(a, b, &result));
        symmL_push_new_tensor(L, result);
    }
    return 1;
}

const luaL_Reg symmL_tensor_math_methods[] = {
#define METHOD(op) {#op, tensor_##op},
    SYMM_BINARY_LIST(METHOD) SYMM_UNARY_LIST(METHOD) SYMM_REDUCTION_LIST(METHOD)
#undef METHOD
#define METHOD(op) {#op "_", tensor_##op##_},
        IN_PLACE_LIST(METHOD) SYMM_UNARY_LIST(METHOD)
#undef METHOD
            {"equal", tensor_equal},
    {"allclose", tensor_allclose},
    {"matmul", tensor_matmul},
    {NULL, NULL}};

const luaL_Reg symmL_tensor_math_metamethods[] = {
    {"__add", meta_add}, {"__sub", meta_sub},   {"__mul", meta_mul}, {"__div", meta_div},
    {"__pow", meta_pow}, {"__unm", tensor_neg}, {NULL, NULL}};
