/* SPDX-License-Identifier: MIT
 *
 * The runtime as an application sees it: opening, runs, calls, errors, tensors.
 */
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <dlpack/dlpack.h>

#include "tests/support/runtime.h"

/* ---- opening and closing ---- */

TEST(a_runtime_has_lua_and_symm) {
    symm_runtime *runtime = open_new();
    CHECK_OK(run(runtime, "assert(string.format('%d', 3) == '3')\n"
                          "local symm = require 'symm'\n"
                          "assert(symm == require 'symm' and symm.version)\n"
                          "assert(symm.full({2}, 4, 'int64'):sum():item() == 8)"));
    CHECK_STR(symm_runtime_error_text(runtime), "");
    symm_runtime_close(runtime);
    symm_runtime_close(NULL);
}

TEST(several_runtimes_share_nothing) {
    symm_runtime *one = open_new(), *two = open_new();
    CHECK_OK(run(one, "x = 1"));
    CHECK_OK(run(two, "assert(x == nil) x = 2"));
    CHECK_OK(run(one, "assert(x == 1)"));
    symm_runtime_close(one);
    CHECK_OK(run(two, "assert(x == 2)"));
    symm_runtime_close(two);
}

TEST(options_are_looked_at) {
    symm_runtime *runtime = NULL;
    struct symm_runtime_options options = SYMM_RUNTIME_OPTIONS_INIT;
    options.size = 0;
    CHECK_FAILS(symm_runtime_open(&options, &runtime), SYMM_EINVALID, "options.size");
    options.size = sizeof options + 8;
    CHECK_FAILS(symm_runtime_open(&options, &runtime), SYMM_EINVALID, "options.size");
    CHECK_NULL(runtime);
}

TEST(an_own_state_stays_the_applications) {
    struct symm_runtime_options options = SYMM_RUNTIME_OPTIONS_INIT;
    symm_runtime *runtime = NULL, *second = NULL;
    lua_State *L = luaL_newstate();
    luaL_openlibs(L);
    options.state = L;
    REQUIRE_OK(symm_runtime_open(&options, &runtime));
    CHECK(symm_runtime_state(runtime) == L);
    CHECK_INT(lua_gettop(L), 0);
    CHECK_FAILS(symm_runtime_open(&options, &second), SYMM_EEXISTS, "has a runtime already");
    CHECK_INT(lua_gettop(L), 0);
    CHECK_OK(run(runtime, "symm = require 'symm'"));
    symm_runtime_close(runtime);
    CHECK_INT(luaL_dostring(L, "return symm.version"), LUA_OK);
    /* The module's functions still know that their runtime is closed. */
    CHECK_INT(luaL_dostring(L, "local s = symm.HashStore() "
                               "local ok, err = pcall(s.get, s, 'never', {timeout_ms = 60000}) "
                               "return err.code"),
              LUA_OK);
    CHECK_STR(lua_tostring(L, -1), "CLOSED");
    lua_settop(L, 0);
    REQUIRE_OK(symm_runtime_open(&options, &second)); /* and again */
    CHECK_OK(run(second, "assert(require 'symm' == symm)"));
    symm_runtime_close(second);
    lua_close(L);
}

TEST(a_state_may_close_before_its_runtime) {
    struct symm_runtime_options options = SYMM_RUNTIME_OPTIONS_INIT;
    symm_runtime *runtime = NULL;
    lua_State *L = luaL_newstate();
    luaL_openlibs(L);
    options.state = L;
    REQUIRE_OK(symm_runtime_open(&options, &runtime));
    CHECK_OK(run(runtime, "x = require 'symm'.full({2}, 1)"));
    lua_close(L);
    CHECK_FAILS(symm_runtime_post(runtime, (symm_runtime_task)abort, NULL), SYMM_ECLOSED, "closed");
}

TEST(a_state_without_libraries_will_do) {
    struct symm_runtime_options options = SYMM_RUNTIME_OPTIONS_INIT;
    symm_runtime *runtime = NULL;
    options.state = luaL_newstate();
    REQUIRE_OK(symm_runtime_open(&options, &runtime));
    CHECK_OK(run(runtime, "x = 1 + 1"));
    CHECK_FAILS(run(runtime, "print(x)"), SYMM_ESCRIPT, "nil value (global 'print')");
    symm_runtime_close(runtime);
    lua_close(options.state);
}

TEST(a_coroutine_as_state_means_its_main_thread) {
    struct symm_runtime_options options = SYMM_RUNTIME_OPTIONS_INIT;
    symm_runtime *runtime = NULL;
    lua_State *L = luaL_newstate();
    options.state = lua_newthread(L);
    REQUIRE_OK(symm_runtime_open(&options, &runtime));
    CHECK(symm_runtime_state(runtime) == L);
    symm_runtime_close(runtime);
    lua_close(L);
}

static void *allocate_up_to(void *budget, void *block, size_t old_size, size_t size) {
    size_t *left = budget;
    if (size == 0) {
        free(block);
        return NULL;
    }
    size_t more = !block ? size : size > old_size ? size - old_size : 0;
    if (more > *left) return NULL;
    *left -= more;
    return realloc(block, size);
}

/* With ever more memory: each time the runtime opens and runs, or says that memory is out. */
TEST(memory_may_run_out_anywhere) {
    int opened = 0, ran = 0;
    for (size_t budget = 2000; budget < 400000; budget += 997) {
        struct symm_runtime_options options = SYMM_RUNTIME_OPTIONS_INIT;
        symm_runtime *runtime = NULL;
        size_t left = budget;
        lua_State *L = lua_newstate(allocate_up_to, &left);
        if (!L) continue;
        options.state = L;
        int rc = symm_runtime_open(&options, &runtime);
        if (rc < 0) {
            CHECK_INT(rc, SYMM_EOOM);
        } else {
            opened++;
            rc = run(runtime, "local t = {} for i = 1, 500 do t[i] = {i} end");
            CHECK(rc == SYMM_OK || rc == SYMM_EOOM);
            ran += rc == SYMM_OK;
            if (rc < 0) CHECK_CONTAINS(symm_last_error()->message, "memory");
            symm_runtime_close(runtime);
        }
        lua_close(L);
    }
    CHECK(opened > ran && ran > 0);
}

/* ---- runs and their errors ---- */

TEST(errors_have_codes_texts_and_tracebacks) {
    symm_runtime *runtime = open_new();
    CHECK_FAILS(run(runtime, "x ="), SYMM_EINVALID, "test:1: unexpected symbol near <eof>");
    CHECK_STR(symm_runtime_error_text(runtime), "test:1: unexpected symbol near <eof>");
    CHECK_FAILS(run(runtime, "local function f() error 'mine' end\nf()"), SYMM_ESCRIPT,
                "test:1: mine");
    CHECK_CONTAINS(symm_runtime_error_text(runtime), "test:1: mine\nstack traceback:\n");
    CHECK_CONTAINS(symm_runtime_error_text(runtime), "test:2: in main chunk");
    CHECK_FAILS(run(runtime, "error {}"), SYMM_ESCRIPT, "(error object is a table value)");
    CHECK_FAILS(run(runtime, "error()"), SYMM_ESCRIPT, "(error object is a nil value)");
    CHECK_FAILS(
        run(runtime, "error(setmetatable({}, {__tostring = function() return 'mine' end}))"),
        SYMM_ESCRIPT, "mine");
    CHECK_FAILS(
        run(runtime, "error(setmetatable({}, {__tostring = function() error 'worse' end}))"),
        SYMM_ESCRIPT, "");
    CHECK_FAILS(run(runtime, "local function f() return 1 + f() end f()"), SYMM_ESCRIPT,
                "stack overflow");
    CHECK_OK(run(runtime, "x = 1"));
    CHECK_STR(symm_runtime_error_text(runtime), "");
    CHECK_INT(lua_gettop(symm_runtime_state(runtime)), 0);
    symm_runtime_close(runtime);
}

TEST(error_objects_keep_their_fields) {
    symm_runtime *runtime = open_new();
    CHECK_FAILS(run(runtime, "local symm = require 'symm'\n"
                             "local s = symm.HashStore()\n"
                             "s:get('never', {timeout_ms = 1})"),
                SYMM_ETIMEOUT, "never");
    CHECK_STR(symm_last_error()->op, "get");
    CHECK_CONTAINS(symm_runtime_error_text(runtime), "test:3: TIMEOUT in get");
    CHECK_CONTAINS(symm_runtime_error_text(runtime), "\nstack traceback:\n");
    CHECK_OK(run(runtime, "local symm = require 'symm'\n"
                          "local ok, err = xpcall(symm.rendezvous, debug.traceback)\n"
                          "assert(err.code == 'INVALID' and err.traceback == nil)"));
    symm_runtime_close(runtime);
}

TEST(files_run_with_their_arguments) {
    symm_runtime *runtime = open_new();
    const char *folder = getenv("TMPDIR");
    char path[256];
    char *const arguments[] = {"one", "two"};
    snprintf(path, sizeof path, "%s/runtime-%d.lua", folder ? folder : "/tmp", (int)getpid());
    FILE *file = fopen(path, "w");
    REQUIRE(file);
    fputs("#!/usr/bin/env symmrun\n"
          "got = {arg[0], #arg, arg[1], arg[2], ...}",
          file);
    fclose(file);
    CHECK_OK(symm_runtime_run_file(runtime, path, 2, arguments));
    lua_State *L = symm_runtime_state(runtime);
    lua_pushstring(L, path);
    lua_setglobal(L, "path");
    CHECK_OK(run(runtime, "assert(table.concat(got, ',') == path .. ',2,one,two,one,two')\n"
                          "assert(arg[0] == 'test' and #arg == 0 and select('#', ...) == 0)"));
    unlink(path);
    CHECK_FAILS(symm_runtime_run_file(runtime, path, 0, NULL), SYMM_ENOT_FOUND, "cannot open");
    CHECK_CONTAINS(symm_runtime_error_text(runtime), "cannot open");
    CHECK_FAILS(symm_runtime_run_file(runtime, "/", 0, NULL), SYMM_EIO, "cannot read");
    CHECK_FAILS(symm_runtime_run_file(runtime, NULL, 0, NULL), SYMM_EINVALID, "path");
    CHECK_FAILS(symm_runtime_run_file(runtime, path, -1, NULL), SYMM_EINVALID, "argc");
    CHECK_FAILS(symm_runtime_run_string(runtime, NULL, NULL), SYMM_EINVALID, "chunk");
    symm_runtime_close(runtime);
}

TEST(os_exit_ends_the_run_and_not_the_process) {
    symm_runtime *runtime = open_new();
    CHECK_OK(run(runtime, "os.exit(0) x = 1"));
    CHECK_OK(run(runtime, "os.exit(true)"));
    CHECK_OK(run(runtime, "os.exit()"));
    CHECK_FAILS(run(runtime, "os.exit(3)"), SYMM_ESCRIPT, "os.exit(3)");
    CHECK_FAILS(run(runtime, "os.exit(false, true)"), SYMM_ESCRIPT, "os.exit(1)");
    CHECK_OK(run(runtime, "assert(x == nil)"));
    symm_runtime_close(runtime);
}

TEST(functions_are_called_by_name) {
    symm_runtime *runtime = open_new();
    lua_State *L = symm_runtime_state(runtime);
    CHECK_OK(run(runtime, "function add(a, b) return a + b, 'more' end m = {n = {add = add}}\n"
                          "function fail() error 'mine' end c = setmetatable({}, {__call = "
                          "function(_, x) return x end})"));
    lua_pushliteral(L, "below");
    lua_pushinteger(L, 3);
    lua_pushinteger(L, 4);
    CHECK_OK(symm_runtime_call(runtime, "add", 2, 1));
    CHECK_INT(lua_tointeger(L, -1), 7);
    CHECK_INT(lua_gettop(L), 2);
    lua_pushinteger(L, 5);
    CHECK_OK(symm_runtime_call(runtime, "m.n.add", 2, LUA_MULTRET));
    CHECK_INT(lua_tointeger(L, -2), 12);
    CHECK_INT(lua_gettop(L), 3);
    lua_settop(L, 1);
    lua_pushinteger(L, 6);
    CHECK_OK(symm_runtime_call(runtime, "c", 1, 1));
    CHECK_INT(lua_tointeger(L, -1), 6);
    lua_settop(L, 1);
    lua_pushinteger(L, 1);
    CHECK_FAILS(symm_runtime_call(runtime, "fail", 1, 3), SYMM_ESCRIPT, "mine");
    CHECK_INT(lua_gettop(L), 1);
    static const char *const absent[] = {"none", "m.none", "none.at.all", "m.n.add.x", "x y"};
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++) {
        lua_pushinteger(L, 1);
        CHECK_FAILS(symm_runtime_call(runtime, absent[i], 1, 0), SYMM_ENOT_FOUND, absent[i]);
        CHECK_INT(lua_gettop(L), 1);
    }
    CHECK_FAILS(symm_runtime_call(runtime, "add", 2, 0), SYMM_EINVALID, "argument_count");
    CHECK_FAILS(symm_runtime_call(runtime, "add", -1, 0), SYMM_EINVALID, "argument_count");
    CHECK_FAILS(symm_runtime_call(runtime, "add", 0, -2), SYMM_EINVALID, "result_count");
    CHECK_FAILS(symm_runtime_call(runtime, "", 0, 0), SYMM_EINVALID, "name");
    CHECK_STR(lua_tostring(L, -1), "below");
    symm_runtime_close(runtime);
}

/* ---- tensors ---- */

TEST(tensors_are_shared_with_scripts) {
    symm_runtime *runtime = open_new();
    lua_State *L = symm_runtime_state(runtime);
    const int64_t shape[2] = {2, 3};
    symm_tensor *tensor = NULL, *back = NULL;
    REQUIRE_OK(symm_tensor_empty(shape, 2, SYMM_DTYPE_float32, NULL, &tensor));
    float *data = symm_tensor_data(tensor);
    for (int i = 0; i < 6; i++) data[i] = (float)i;
    REQUIRE_OK(symm_runtime_push_tensor(runtime, tensor)); /* the script has not said require yet */
    lua_setglobal(L, "t");
    CHECK_OK(run(runtime, "assert(t:sum():item() == 15) t:fill_(7)"));
    CHECK_DOUBLE(data[5], 7);
    symm_tensor_release(tensor);
    lua_getglobal(L, "t");
    REQUIRE_OK(symm_runtime_to_tensor(runtime, -1, &back));
    CHECK(back == tensor);
    lua_pushinteger(L, 1);
    CHECK_FAILS(symm_runtime_to_tensor(runtime, -1, &back), SYMM_EINVALID,
                "a number, not a tensor");
    CHECK_FAILS(symm_runtime_to_tensor(runtime, 9, &back), SYMM_EINVALID, "not a tensor");
    CHECK_FAILS(symm_runtime_push_tensor(runtime, NULL), SYMM_EINVALID, "NULL");
    CHECK_OK(run(runtime, "t:close()"));
    CHECK_FAILS(symm_runtime_to_tensor(runtime, -2, &back), SYMM_ECLOSED, "closed");
    symm_runtime_close(runtime);
    CHECK_DOUBLE(((float *)symm_tensor_data(back))[0], 7); /* outlives the runtime */
    symm_tensor_release(back);
}

static int deleted;

static void delete_managed(DLManagedTensor *managed) {
    deleted++;
    free(managed);
}

static DLManagedTensor *new_managed(void *data, int64_t *shape, uint8_t bits) {
    DLManagedTensor *managed = calloc(1, sizeof *managed);
    managed->dl_tensor.data = data;
    managed->dl_tensor.device.device_type = kDLCPU;
    managed->dl_tensor.ndim = 1;
    managed->dl_tensor.dtype = (DLDataType){kDLFloat, bits, 1};
    managed->dl_tensor.shape = shape;
    managed->deleter = delete_managed;
    return managed;
}

TEST(dlpack_goes_in_and_out) {
    symm_runtime *runtime = open_new();
    lua_State *L = symm_runtime_state(runtime);
    float data[4] = {1, 2, 3, 4};
    int64_t shape[1] = {4};
    DLManagedTensor *out = NULL;
    REQUIRE_OK(symm_runtime_push_dlpack(runtime, new_managed(data, shape, 32)));
    lua_setglobal(L, "t");
    CHECK_OK(run(runtime, "t:mul_(10) out = t:narrow(0, 1, 2)"));
    CHECK_DOUBLE(data[3], 40);
    lua_getglobal(L, "out");
    REQUIRE_OK(symm_runtime_to_dlpack(runtime, -1, &out));
    lua_settop(L, 0);
    CHECK_INT(out->dl_tensor.shape[0], 2);
    CHECK(out->dl_tensor.data == (void *)(data + 1));
    symm_runtime_close(runtime);
    CHECK_INT(deleted, 0); /* what went out keeps it */
    out->deleter(out);
    CHECK_INT(deleted, 1);
}

TEST(dlpack_that_is_refused_stays_the_applications) {
    symm_runtime *runtime = open_new();
    float data[4] = {1, 2, 3, 4};
    int64_t shape[1] = {4};
    DLManagedTensor *managed = new_managed(data, shape, 7);
    CHECK_FAILS(symm_runtime_push_dlpack(runtime, managed), SYMM_EUNSUPPORTED, "");
    CHECK_INT(lua_gettop(symm_runtime_state(runtime)), 0);
    CHECK_FAILS(symm_runtime_push_dlpack(runtime, NULL), SYMM_EINVALID, "NULL");
    CHECK_INT(deleted, 0);
    symm_runtime_close(runtime);
    free(managed);
}
