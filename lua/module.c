/* SPDX-License-Identifier: MIT
 *
 * `require "symm"` in an interpreter that is not ours: a runtime is made around its state, and
 * closes with it. Uses the public interface alone, which is all that libsymmlua.so shows.
 */
#include <lauxlib.h>
#include <lua.h>
#include <symm/error.h>
#include <symm/runtime.h>

int luaopen_symm(lua_State *L);

int luaopen_symm(lua_State *L) {
    struct symm_runtime_options options = SYMM_RUNTIME_OPTIONS_INIT;
    symm_runtime *runtime = NULL;
    options.state = L;
    int rc = symm_runtime_open(&options, &runtime);
    if (rc < 0 && rc != SYMM_EEXISTS) return luaL_error(L, "%s", symm_last_error()->message);
    /* Opening has put the module where `require` looks first. */
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
    lua_getfield(L, -1, "symm");
    lua_call(L, 0, 1);
    return 1;
}
