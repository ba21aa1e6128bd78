/* SPDX-License-Identifier: MIT
 *
 * `require "symm"` in an interpreter that is not ours: a runtime is made around its state and closes
 * with it.
 */
#include "lua/binding.h"

int luaopen_symm(lua_State *L);

int luaopen_symm(lua_State *L) {
    symm_runtime *runtime = symmL_runtime_of(L);
    if (!runtime) {
        struct symm_runtime_options options = SYMM_RUNTIME_OPTIONS_INIT;
        options.state = L;
        symmL_check(L, symm_runtime_open(&options, &runtime));
    }
    return symmL_open_module(L, runtime);
}
