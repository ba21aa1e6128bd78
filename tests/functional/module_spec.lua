-- SPDX-License-Identifier: MIT
--
-- `require "symm"` in Lua's own interpreter, from the installed tree.

local launch = require "tests.support.launch"
local installed = require "tests.support.installed"

local lua = launch.capture("sed -n 's/^lua = //p' " .. launch.build .. "/config.ninja")

describe("the module in Lua's own interpreter", function()
  local tree
  setup(function() tree = installed.tree() end)
  teardown(function() tree.remove() end)

  local function with_module(options)
    local chosen = { command = { lua, "%s" } }
    for key, value in pairs(options or {}) do chosen[key] = value end
    local env = { LUA_CPATH = tree.prefix .. "/lib/lua/5.4/?.so" }
    for key, value in pairs(chosen.env or {}) do env[key] = value end
    chosen.env = env
    return chosen
  end
  local function run(script, options) return launch.run(script, with_module(options)) end

  it("is found where it was installed, with its libraries", function()
    local r = run([[
      local symm = require "symm"
      assert(symm == require "symm")
      print(symm.version, symm.full({2, 2}, 3, "int32"):sum():item())]])
    assert.same({ 0, "" }, { r.code, r.err })
    assert.matches("^%d+%.%d+%.%d+\t12\n$", r.out)
  end)

  it("makes nothing global", function()
    local r = run([[
      local before = {}
      for name in pairs(_G) do before[name] = true end
      require "symm"
      for name in pairs(_G) do assert(before[name], name) end]])
    assert.same({ 0, "" }, { r.code, r.err })
  end)

  it("is a rank of a job", function()
    local r = launch.disturbed(launch.ready .. [[
      local symm = require "symm"
      local pg = symm.init_process_group()
      local t = symm.empty_strided_p2p({1}, {1}, "int64", "cpu", pg.group_name)
      local h = symm.rendezvous(t)
      if pg.rank == 1 then h:get_buffer(0, {1}, "int64"):fill_(42) end
      h:barrier()
      if pg.rank == 0 then print(t:item()) end
      h:barrier()
      pg:destroy()]],
      ("RANK=1 %s $(dirname $READY)/script.lua"):format(lua), with_module {
        env = { RANK = 0, WORLD_SIZE = 2, MASTER_ADDR = "@symm-module-" .. os.time() },
      })
    assert.same({ 0, "42\n", "" }, { r.code, r.out, r.err })
  end)

  it("raises error objects that the interpreter can print", function()
    local r = run("require('symm').rendezvous(1)")
    assert.equal(1, r.code)
    assert.matches("INVALID in rendezvous[^\n]*: ", r.err)
  end)

  local waiting = [[
    local symm = require "symm"
    local store = symm.HashStore()
  ]]

  it("lets SIGINT end a wait", function()
    local r = launch.disturbed(waiting .. launch.ready .. [[
      local ok, err = pcall(store.get, store, "never", {timeout_ms = 60000})
      print(ok, err.code, debug.gethook())
      for i = 1, 1000 do end
      print "on"]], "sleep 0.1; kill -INT $P", with_module())
    assert.same({ 0, "false\tINTERRUPTED\tnil\non\n" }, { r.code, r.out })
    assert.is_true(r.seconds < 30)
  end)

  it("lets SIGINT end a wait in a coroutine", function()
    local r = launch.disturbed(waiting .. launch.ready .. [[
      print(coroutine.wrap(function()
        local ok, err = pcall(store.get, store, "never", {timeout_ms = 60000})
        return ok, err.code
      end)())]], "sleep 0.1; kill -INT $P", with_module())
    assert.same({ 0, "false\tINTERRUPTED\n" }, { r.code, r.out })
  end)

  it("does not take a script's own debug hook for a signal", function()
    local r = run(waiting .. [[
      local lines = 0
      debug.sethook(function() lines = lines + 1 end, "crl", 1)
      local ok, err = pcall(store.get, store, "never", {timeout_ms = 300})
      local hook, mask, count = debug.gethook()
      debug.sethook()
      print(ok, err.code, hook ~= nil, mask, count)]])
    assert.same({ 0, "false\tTIMEOUT\ttrue\tcrl\t1\n" }, { r.code, r.out })
  end)

  it("may be required while a script debugs itself", function()
    local r = run([[
      local lines = 0
      local function hook() lines = lines + 1 end
      debug.sethook(hook, "", 10)
      require "symm"
      print(debug.gethook() == hook, lines > 0)]])
    assert.same({ 0, "true\ttrue\n" }, { r.code, r.out })
  end)

  it("closes with the interpreter, whatever is left", function()
    local r = run([[
      local symm = require "symm"
      keep = {symm.ones({1000}), symm.HashStore(), symm.init_process_group()}
      late = setmetatable({}, {__gc = function()
        print(pcall(keep[2].get, keep[2], "never", {timeout_ms = 10}))
      end})]])
    assert.same({ 0, "" }, { r.code, r.err })
    assert.matches("^false\t", r.out)
  end)

  it("survives os.exit that closes the state, and one that does not", function()
    assert.equal(4, run("require 'symm' os.exit(4, true)").code)
    assert.equal(5, run("x = require('symm').HashStore() os.exit(5)").code)
  end)

  it("may be required anew", function()
    local r = run([[
      local first = require "symm"
      package.loaded.symm = nil
      local second = require "symm"
      print(first ~= second, first.ones({2}):eq(second.ones({2})):all())]])
    assert.same({ 0, "" }, { r.code, r.err })
    assert.matches("^true\t", r.out)
  end)
end)
