/* SPDX-License-Identifier: MIT
 *
 * Tasks that take away what a blocking call uses, while it waits: objects are closed, tables are
 * emptied, and everything is collected. Sanitizers see what is used after that.
 */
#include <string.h>

#include "tests/support/runtime.h"

/* What a task does to the globals of a script. */
static const char take_away[] =
    "for _, name in ipairs{'h', 't', 'pg', 'store'} do\n"
    "  if _G[name] then _G[name]:close() _G[name] = nil end\n"
    "end\n"
    "for key in pairs(options or {}) do options[key] = nil end\n"
    "collectgarbage() collectgarbage()\n"
    "for i = 1, 200 do garbage = ('other text %d'):format(i):rep(4) end\n"
    "taken = true\n";

static void task(symm_runtime *runtime, void *context) {
    CHECK_OK(symm_runtime_run_string(runtime, context, "task"));
}

/* Runs `prepare`, and then `call` with a task that comes in its first wait. */
static void disturbed(const char *prepare, const char *call) {
    symm_runtime *runtime = open_new();
    REQUIRE_OK(run(runtime, prepare));
    REQUIRE_OK(symm_runtime_post(runtime, task, (void *)(uintptr_t)take_away));
    if (run(runtime, call) < 0) CHECK_STR(symm_runtime_error_text(runtime), "");
    CHECK_OK(run(runtime, "assert(taken, 'the call has not waited')"));
    symm_runtime_close(runtime);
}

#define FAILS                                                    \
    "local function fails(f, ...)\n"                             \
    "  local ok, err = pcall(f, ...)\n"                          \
    "  assert(not ok and type(err) == 'table', tostring(err))\n" \
    "  return err\n"                                             \
    "end\n"

static const char handle[] =
    "symm = require 'symm' store = symm.HashStore()\n"
    "pg = symm.init_process_group{store = store, rank = 0, world_size = 1}\n"
    "t = symm.empty_strided_p2p({4}, nil, 'float32', 'cpu', pg.group_name)\n"
    "h = symm.rendezvous(t)\n";

TEST(a_handle_closed_while_it_waits_for_a_signal) {
    disturbed(handle, FAILS "fails(h.wait_signal, h, {src_rank = 0, timeout_ms = 300})");
}

TEST(a_handle_closed_while_a_signal_waits_for_room) {
    disturbed(handle, FAILS "h:put_signal{dst_rank = 0}\n"
                            "fails(h.put_signal, h, {dst_rank = 0, timeout_ms = 300})");
}

TEST(a_store_closed_while_it_waits) {
    disturbed("symm = require 'symm' store = symm.HashStore()",
              FAILS "local err = fails(store.wait, store, {'a key', 'another'}, 300)\n"
                    "assert(err.code == 'TIMEOUT', tostring(err))");
}

/* Rank 0 of two: the other never comes. */
TEST(a_group_that_is_being_made_loses_its_options) {
    disturbed("symm = require 'symm' store = symm.HashStore()\n"
              "options = {group_name = ('name'):rep(12) .. 1, store = store, rank = 0,\n"
              "           world_size = 2, timeout = 300}\n",
              FAILS "local err = fails(symm.init_process_group, options)\n"
                    "assert(err.group == nil or err.group == ('name'):rep(12) .. 1, err.group)");
}

/* The name's text is only in the table that the task empties. */
TEST(a_rendezvous_loses_its_options_and_its_tensor) {
    disturbed("symm = require 'symm'\n"
              "store = symm.HashStore()\n"
              "symm.set_group_info(('info'):rep(12) .. 1, 0, 2, store, 300)\n"
              "t = symm.empty_strided_p2p({4}, nil, 'float32', 'cpu', ('info'):rep(12) .. 1)\n"
              "options = {group_name = ('info'):rep(12) .. 1, timeout_ms = 300}\n",
              FAILS "fails(symm.rendezvous, t, options)");
}
