/* SPDX-License-Identifier: MIT
 *
 * Time in Lua.
 */
#include "lua/binding.h"

/* now_ns(): monotonic nanoseconds since an arbitrary point */
static int now_ns(lua_State *L) {
    symmL_arg_count(L, 0, "now_ns");
    lua_pushinteger(L, (lua_Integer)symm_now_ns());
    return 1;
}

/* sleep(duration): milliseconds, or a text such as "0.2s"; ended by SIGINT like every wait */
static int sleep_for(lua_State *L) {
    symmL_arg_count(L, 1, "sleep");
    int64_t ms = symmL_arg_timeout(L, 1, "sleep", "duration");
    symmL_check(L, symmL_blocking(L, symm_sleep(ms)));
    return 0;
}

static const luaL_Reg functions[] = {{"now_ns", now_ns}, {"sleep", sleep_for}, {NULL, NULL}};

void symmL_open_clock(lua_State *L) { symmL_set_functions(L, functions); }
