/* SPDX-License-Identifier: MIT
 *
 * Tensors between an application and its scripts: memory is shared, never copied.
 */
#include <symm/dlpack.h>

#include "lua/runtime_state.h"

/* A script that has not required the module yet has no tensors: then it is required here. */
static void require_module(lua_State *L) {
    if (luaL_getmetatable(L, symmL_tensor_class.name) == LUA_TNIL) {
        lua_getglobal(L, "require");
        lua_pushliteral(L, "symm");
        lua_call(L, 1, 0);
    }
    lua_pop(L, 1);
}

static int new_box(lua_State *L) {
    require_module(L);
    symmL_new_box(L, &symmL_tensor_class);
    return 1;
}

/* Pushes a box that has no tensor yet: what may fail is over before a reference changes hands. */
static int push_box(symm_runtime *runtime, const char *op, void ***box_out) {
    lua_State *L = runtime->current;
    if (!lua_checkstack(L, 4)) return symmL_report(SYMM_EOOM, op, "out of memory: the Lua stack");
    lua_pushcfunction(L, new_box);
    int status = lua_pcall(L, 0, 1, 0);
    if (status != LUA_OK) return symmL_report_top(L, status, op);
    *box_out = lua_touserdata(L, -1);
    return SYMM_OK;
}

int symm_runtime_push_tensor(symm_runtime *runtime, symm_tensor *tensor) {
    static const char op[] = "symm_runtime_push_tensor";
    void **box = NULL;
    int rc = symmL_runtime_check(runtime, op);
    if (rc < 0) return rc;
    if (!tensor) return symmL_report(SYMM_EINVALID, op, "the tensor is NULL");
    rc = push_box(runtime, op, &box);
    if (rc == SYMM_OK) *box = symm_tensor_retain(tensor);
    return rc;
}

static int find_tensor(symm_runtime *runtime, int index, const char *op, symm_tensor **out) {
    lua_State *L = runtime->current;
    void **box = lua_checkstack(L, 3) ? luaL_testudata(L, index, symmL_tensor_class.name) : NULL;
    if (!box) {
        return symmL_report(SYMM_EINVALID, op, "the value at %d is a %s, not a tensor", index,
                            luaL_typename(L, index));
    }
    if (!*box) return symmL_report(SYMM_ECLOSED, op, "the tensor at %d is closed", index);
    *out = *box;
    return SYMM_OK;
}

int symm_runtime_to_tensor(symm_runtime *runtime, int index, symm_tensor **out) {
    static const char op[] = "symm_runtime_to_tensor";
    symm_tensor *tensor = NULL;
    int rc = symmL_runtime_check(runtime, op);
    if (rc == SYMM_OK) rc = find_tensor(runtime, index, op, &tensor);
    if (rc == SYMM_OK) *out = symm_tensor_retain(tensor);
    return rc;
}

int symm_runtime_push_dlpack(symm_runtime *runtime, struct DLManagedTensor *managed) {
    static const char op[] = "symm_runtime_push_dlpack";
    symm_tensor *tensor = NULL;
    void **box = NULL;
    int rc = symmL_runtime_check(runtime, op);
    if (rc < 0) return rc;
    if (!managed) return symmL_report(SYMM_EINVALID, op, "the tensor is NULL");
    rc = push_box(runtime, op, &box);
    if (rc < 0) return rc;
    rc = symm_tensor_from_dlpack(managed, &tensor);
    if (rc == SYMM_OK) {
        *box = tensor;
    } else {
        lua_pop(runtime->current, 1);
    }
    return rc;
}

int symm_runtime_to_dlpack(symm_runtime *runtime, int index, struct DLManagedTensor **out) {
    static const char op[] = "symm_runtime_to_dlpack";
    symm_tensor *tensor = NULL;
    int rc = symmL_runtime_check(runtime, op);
    if (rc == SYMM_OK) rc = find_tensor(runtime, index, op, &tensor);
    return rc < 0 ? rc : symm_tensor_to_dlpack(tensor, out);
}
