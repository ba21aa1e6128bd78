-- SPDX-License-Identifier: MIT
--
-- The applications of tests/embed, built against the installed tree through pkg-config, and the
-- page that shows their code.

local launch = require "tests.support.launch"
local installed = require "tests.support.installed"

local script = [[
script = { add = function(a, b) return a + b end }
print("arguments", arg[0]:match("[^/]+$"), #arg, ...)
]]

describe("an application that embeds the interpreter", function()
  local tree
  setup(function() tree = installed.tree() end)
  teardown(function() tree.remove() end)

  it("is built by pkg-config alone, and does all that the page tells", function()
    local program = tree.compile("tests/embed/app.c", "symmlua libuv")
    local r = launch.run(script, { command = { program, "%s" }, env = tree.environment })
    assert.equal(0, r.code, r.err .. r.out)
    assert.equal("", r.err)
    assert.matches("^arguments\tscript.lua\t2\tfirst\tsecond\na function of the script was called\n",
      r.out)
    assert.matches("another thread has ended a wait\n", r.out)
    assert.matches("and so was the state\n$", r.out)
  end)

  it("is ended by its script's errors only if it wants to be", function()
    local program = tree.compile("tests/embed/app.c", "symmlua libuv")
    local r = launch.run("error 'mine'", { command = { program, "%s" }, env = tree.environment })
    assert.equal(1, r.code)
    assert.matches("^[^\n]*script.lua:1: mine\nstack traceback:\n", r.err)
  end)

  it("has the installed symmrun beside it", function()
    local r = launch.shell(tree.prefix .. "/bin/symmrun -n 2 -e 'print(require(\"symm\").version)'")
    assert.equal(0, r.code, r.err)
    assert.matches("%[rank 1%] %d", r.out)
  end)

  it("needs nothing but the C API for an all-reduce of its own", function()
    local program = tree.compile("tests/embed/all_reduce.c", "symm")
    local env = { WORLD_SIZE = 2, MASTER_ADDR = "@symm-embed-" .. os.time() }
    env.LD_LIBRARY_PATH = tree.environment.LD_LIBRARY_PATH
    local r = launch.shell(("RANK=1 %s & RANK=0 %s; a=$?; wait $! && exit $a"):format(program,
      program), { env = env })
    assert.equal(0, r.code, r.err .. r.out)
  end)
end)

describe("docs/embedding.md", function()
  local function read(path)
    local file = assert(io.open(path))
    local text = file:read("a")
    file:close()
    return text
  end

  it("shows code that is in the application", function()
    local page, code = read("docs/embedding.md"), read("tests/embed/app.c")
    local count = 0
    for block in page:gmatch("```c\n(.-)```") do
      count = count + 1
      assert(code:find(block, 1, true), "not in tests/embed/app.c:\n" .. block)
    end
    assert.is_true(count >= 5)
  end)

  it("names every function of symm/runtime.h", function()
    local page = read("docs/embedding.md")
    for name in read("lua/include/symm/runtime.h"):gmatch("[%s*](symm_runtime_[%w_]+)%(") do
      assert(page:find(name, 1, true), name)
    end
  end)
end)
