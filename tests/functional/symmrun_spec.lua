-- SPDX-License-Identifier: MIT
--
-- symmrun on one rank: its command line, what a script finds, how it ends.

local launch = require "tests.support.launch"

local lua = launch.capture("sed -n 's/^lua = //p' " .. launch.build .. "/config.ninja")

-- symmrun with these words alone.
local function symmrun(words, options)
  local all = { launch.symmrun }
  for _, word in ipairs(words) do all[#all + 1] = word end
  local chosen = { command = all }
  for key, value in pairs(options or {}) do chosen[key] = value end
  return launch.run("", chosen)
end

local function code(text) return symmrun { "-e", text } end

describe("symmrun's command line", function()
  it("prints its version", function()
    local r = symmrun { "--version" }
    assert.equal(0, r.code)
    assert.matches("^symmrun %d+%.%d+%.%d+ %(Lua 5%.4%.%d+%)\n$", r.out)
  end)

  it("prints help that names every option", function()
    local r = symmrun { "--help" }
    assert.equal(0, r.code)
    for _, option in ipairs { "-n N", "-e CODE", "-i", "--info", "--version", "--help" } do
      assert.truthy(r.out:find(option, 1, true), option)
    end
  end)

  it("tells what the machine offers, and why the rest is not there", function()
    local r = symmrun { "--info" }
    assert.equal(0, r.code)
    for _, row in ipairs { "CPUs", "topology", "symmetric", "descriptors", "memfd", "futex",
      "pidfd", "process_vm_readv", "CUDA", "NCCL", "MPI", "rank" } do
      assert.matches("\n  " .. row .. " +%S", r.out)
    end
    for reason in r.out:gmatch("\n  %w+ +no: ([^\n]*)") do assert.matches("%w", reason) end
  end)

  it("tells in --info what limits symmetric memory", function()
    local r = symmrun({ "--info" }, { env = { SYMM_SHM_LIMIT = "3MiB" } })
    assert.matches("symmetric +3.0 MiB may be allocated, by SYMM_SHM_LIMIT=3MiB", r.out)
    r = symmrun({ "--info" }, { env = { SYMM_SHM_LIMIT = "much" } })
    assert.equal(0, r.code)
    assert.matches("symmetric +unclear: SYMM_SHM_LIMIT", r.out)
  end)

  it("tells in --info where a launcher has put it", function()
    local r = symmrun({ "--info" },
      { env = { RANK = 2, WORLD_SIZE = 4, MASTER_ADDR = "h", MASTER_PORT = 7 } })
    assert.matches("rank +2 of 4", r.out)
    assert.matches("store +h:7\n", r.out)
    r = symmrun({ "--info" }, { env = { RANK = 0, WORLD_SIZE = 2, MASTER_ADDR = "@symm-place" } })
    assert.matches("store +@symm%-place\n", r.out)
  end)

  it("runs code, in order, and then the script", function()
    local r = launch.run("print('script', x, y)", { options = { "-e", "x = 1", "-ey = x + 1" } })
    assert.same({ 0, "script\t1\t2\n" }, { r.code, r.out })
  end)

  it("does not run the script when the code before it fails", function()
    local r = launch.run("print 'script'", { options = { "-e", "error 'early'" } })
    assert.same({ 1, "" }, { r.code, r.out })
    assert.matches("symmrun: %(command line%):1: early", r.err)
  end)

  it("takes the script from standard input, with arguments after -", function()
    local r = symmrun({ "-", "a" }, { stdin = "print('in', ..., arg[1], arg[0])" })
    assert.same({ 0, "in\ta\ta\t-\n" }, { r.code, r.out })
  end)

  it("takes the script from standard input without any argument", function()
    local r = symmrun({}, { stdin = "print('piped')" })
    assert.same({ 0, "piped\n" }, { r.code, r.out })
  end)

  it("ends its options at --", function()
    local r = launch.with_directory(function(directory)
      local file = assert(io.open(directory .. "/-e.lua", "w"))
      file:write("print('dash')")
      file:close()
      return launch.shell(("cd %s && %s -- -e.lua"):format(directory,
        launch.capture("realpath " .. launch.symmrun)))
    end)
    assert.same({ 0, "dash\n" }, { r.code, r.out })
  end)

  local wrong = {
    { { "-x" }, "unknown option '%-x'" },
    { { "--word" }, "unknown option '%-%-word'" },
    { { "-n" }, "%-n needs the number" },
    { { "-n", "0", "x.lua" }, "1 to 1024 ranks, not 0" },
    { { "-n", "-1", "x.lua" }, "1 to 1024 ranks, not %-1" },
    { { "-n", "1025", "x.lua" }, "1 to 1024 ranks, not 1025" },
    { { "-n", "100000", "x.lua" }, "1 to 1024 ranks, not 100000" },
    { { "-n", "99999999999999999999", "x.lua" }, "1 to 1024 ranks" },
    { { "-n", "x", "x.lua" }, "a number of ranks, not 'x'" },
    { { "-n", "2.5", "x.lua" }, "a number of ranks, not '2.5'" },
    { { "-n", "", "x.lua" }, "a number of ranks, not ''" },
    { { "-n", "2" }, "needs a script" },
    { { "-n", "2", "-i", "x.lua" }, "one rank" },
    { { "-e" }, "%-e needs Lua code" },
  }
  for _, case in ipairs(wrong) do
    it("refuses " .. table.concat(case[1], " "), function()
      local r = symmrun(case[1])
      assert.equal(2, r.code)
      assert.equal("", r.out)
      assert.matches("^symmrun: [^\n]*" .. case[2] .. "[^\n]*\n$", r.err)
    end)
  end
end)

describe("a script of symmrun", function()
  it("finds arg and its arguments as Lua's own interpreter gives them", function()
    local script = [[
      local low = 0
      while arg[low - 1] do low = low - 1 end
      print(#arg, low, select("#", ...), ...)
      for i = low + 1, #arg do print(i, (arg[i]:gsub(".*/", ""))) end]]
    local ours = launch.run(script, { args = { "one", "", "two words" } })
    local theirs = launch.run(script,
      { command = { lua, "%s" }, args = { "one", "", "two words" } })
    assert.equal(0, ours.code)
    assert.equal(theirs.out, ours.out)
  end)

  it("finds symm without any path", function()
    local r = launch.run("print(require('symm').version)",
      { env = { LUA_PATH = "/nowhere/?.lua", LUA_CPATH = "/nowhere/?.so" } })
    assert.equal(0, r.code)
    assert.matches("^%d+%.%d+%.%d+\n$", r.out)
  end)

  it("may use C modules of the system", function()
    local r = code "print(require('lfs').attributes('/', 'mode'), require('system').gettime() > 0)"
    assert.same({ 0, "directory\ttrue\n" }, { r.code, r.out })
  end)

  it("may be busted", function()
    local r = launch.with_directory(function(directory)
      local file = assert(io.open(directory .. "/x_spec.lua", "w"))
      file:write("it('holds', function() assert.equal(1, 1) end) it('not', function() error 'x' end)")
      file:close()
      return symmrun { "/usr/bin/busted", "-o", "TAP", directory .. "/x_spec.lua" }
    end)
    assert.equal(1, r.code)
    assert.matches("ok 1 %- holds", r.out)
    assert.matches("not ok 2 %- not", r.out)
  end)

  it("may begin with #!", function()
    local r = launch.run("#!/usr/bin/env symmrun\nprint 'run'")
    assert.same({ 0, "run\n" }, { r.code, r.out })
  end)

  it("with a syntax error is one error with its place, and exit code 1", function()
    local r = launch.run("local x = = 1")
    assert.same({ 1, "" }, { r.code, r.out })
    assert.matches("^symmrun: [^\n]*script%.lua:1: unexpected symbol near '='\n$", r.err)
  end)

  it("that is absent is one error, and exit code 1", function()
    local r = symmrun { "/nowhere/x.lua" }
    assert.same({ 1, "" }, { r.code, r.out })
    assert.matches("^symmrun: cannot open /nowhere/x.lua[^\n]*\n$", r.err)
  end)

  it("that fails gives a traceback, and exit code 1", function()
    local r = launch.run("local function f() error 'deep' end\nf()\n")
    assert.equal(1, r.code)
    assert.matches("^symmrun: [^\n]*script%.lua:1: deep\nstack traceback:\n", r.err)
    assert.matches("script%.lua:1: in local 'f'\n", r.err)
    assert.matches("script%.lua:2: in main chunk", r.err)
  end)

  it("that fails with an error object gives its one line and a traceback", function()
    local r = launch.run("local symm = require 'symm'\nsymm.rendezvous(1)\n")
    assert.equal(1, r.code)
    assert.matches("^symmrun: [^\n]*script%.lua:2: INVALID in [^\n]*\nstack traceback:\n", r.err)
    assert.matches("script%.lua:2: in main chunk", r.err)
  end)

  it("that fails with any other value says what it was", function()
    assert.matches("symmrun: %(error object is a table value%)", code("error {}").err)
    assert.matches("symmrun: %(error object is a nil value%)", code("error()").err)
    assert.matches("symmrun: mine\nstack traceback", code(
      "error(setmetatable({}, {__tostring = function() return 'mine' end}))").err)
    assert.equal(1, code("error {}").code)
  end)

  it("that needs more memory than there is fails as any other", function()
    local r = code "local s = string.rep('x', 1 << 20); print(pcall(s.rep, s, 1 << 42)); error 'on'"
    assert.equal(1, r.code)
    assert.matches("^false\t", r.out)
  end)

  it("that recurses without end fails as any other", function()
    local r = code "local function f() return 1 + f() end f()"
    assert.equal(1, r.code)
    assert.matches("stack overflow", r.err)
  end)

  it("chooses its exit code", function()
    assert.equal(3, code("os.exit(3)").code)
    assert.equal(0, code("os.exit(true)").code)
    assert.equal(1, code("os.exit(false)").code)
    assert.equal(0, code("os.exit()").code)
    local r = code "setmetatable({}, {__gc = function() print 'closed' end}) os.exit(7, true)"
    assert.same({ 7, "closed\n" }, { r.code, r.out })
  end)

  it("runs finalizers at its end", function()
    local r = code "x = setmetatable({}, {__gc = function() print 'final' end})"
    assert.same({ 0, "final\n" }, { r.code, r.out })
  end)

  it("has said what it printed, even if it is killed", function()
    local r = launch.shell(launch.symmrun ..
      [[ -e 'print "said" os.execute("kill -9 $PPID")' | cat]])
    assert.equal("said\n", r.out)
  end)

  it("fails if what it printed cannot be written", function()
    local r = launch.shell(launch.symmrun .. " -e 'print(1)' >/dev/full")
    assert.equal(1, r.code)
    assert.matches("standard output", r.err)
  end)
end)

-- Signals come when the script has said that it is ready.
describe("a signal to symmrun", function()
  it("ends Lua code: exit code 130, with the place", function()
    local r = launch.disturbed(launch.ready .. "while true do end", "kill -INT $P")
    assert.equal(130, r.code)
    assert.matches("script%.lua:2: INTERRUPTED: [^\n]*\nstack traceback:", r.err)
  end)

  it("ends a wait: exit code 130, with the operation", function()
    local r = launch.disturbed([[
      local symm = require "symm"
      local store = symm.HashStore()
      ]] .. launch.ready .. [[ store:get("never", {timeout_ms = 60000})]], "kill -INT $P")
    assert.equal(130, r.code)
    assert.matches("INTERRUPTED in get", r.err)
    assert.is_true(r.seconds < 30)
  end)

  it("ends a read", function()
    local r = launch.disturbed([[
      local path = os.getenv("READY") .. "-pipe"
      os.execute("mkfifo " .. path)
      local pipe = io.open(path, "r+")
      ]] .. launch.ready .. [[ pipe:read("a")]], "sleep 0.2; kill -INT $P", { ready = 2 })
    assert.equal(130, r.code)
  end)

  it("may be caught, once each", function()
    local r = launch.disturbed([[
      local symm = require "symm"
      local store = symm.HashStore()
      ]] .. launch.ready .. [[
      local ok, err = pcall(store.get, store, "never", {timeout_ms = 60000})
      print(ok, err.code)
      ok, err = pcall(function() while true do end end)
      print(ok, err.code)]], [[
      kill -INT $P; sleep 0.5; kill -INT $P]])
    assert.same({ 0, "false\tINTERRUPTED\nfalse\tINTERRUPTED\n" }, { r.code, r.out })
  end)

  it("kills at the second time, if nobody has heard the first", function()
    local r = launch.disturbed(launch.ready ..
      "string.find(string.rep('a', 1000), string.rep('a?', 40) .. string.rep('a', 2000))",
      "kill -INT $P; sleep 0.2; kill -INT $P")
    assert.equal(130, r.code)
    assert.not_matches("INTERRUPTED", r.err)
  end)

  it("with SIGTERM ends the rank cleanly: finalizers run, exit code 143", function()
    local r = launch.disturbed(
      "x = setmetatable({}, {__gc = function() print 'final' end})\n" .. launch.ready .. [[
      local y <close> = setmetatable({}, {__close = function() print 'closed' end})
      while true do end]], "kill -TERM $P")
    assert.same({ 143, "closed\nfinal\n" }, { r.code, r.out })
  end)

  it("with SIGTERM ends a C function that never looks up, after ten seconds", function()
    local r = launch.disturbed(launch.ready ..
      "string.find(string.rep('a', 1000), string.rep('a?', 40) .. string.rep('a', 2000))",
      "kill -TERM $P")
    assert.equal(143, r.code)
  end)

  it("with SIGTERM ends a script that catches every error", function()
    local r = launch.disturbed(launch.ready .. [[
      local symm = require "symm"
      local store = symm.HashStore()
      while true do
        pcall(store.get, store, "never", {timeout_ms = 60000})
        pcall(function() while true do end end)
      end]], "kill -TERM $P")
    assert.equal(143, r.code)
  end)
end)
