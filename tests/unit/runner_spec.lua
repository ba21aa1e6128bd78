-- SPDX-License-Identifier: MIT
--
-- The test runner itself: what it counts, and what it does not let pass.

local function quote(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

-- Runs shell scripts as test programs; gives what the runner printed and its exit status.
local function run(...)
  local words = { "lua5.4 tests/support/runner.lua" }
  for _, script in ipairs { ... } do
    if script:sub(1, 2) == "--" then
      words[#words + 1] = script
    else
      words[#words + 1] = "--program " .. quote("sh -c " .. quote(script))
    end
  end
  local pipe = assert(io.popen(table.concat(words, " ") .. " 2>&1; echo status $?"))
  local text = pipe:read("a")
  pipe:close()
  return text, tonumber(text:match("status (%d+)\n$"))
end

local function totals(text) return text:match("\n([^\n]*)\nstatus %d+\n$") end

local function has(text, part)
  assert(text:find(part, 1, true), ("no %q in:\n%s"):format(part, text))
end

describe("the test runner", function()
  it("adds up what programs print", function()
    local text, status = run("echo 'ok - a'; echo 'ok - b # SKIP no GPU here'", "echo 'ok - c'")
    assert.equal("2 passed, 0 failed, 1 skipped", totals(text))
    assert.equal(0, status)
    has(text, "b: no GPU here")
  end)

  it("shows a failure with the lines before it", function()
    local text, status = run("echo ok - a; echo '# x.c:1: wrong'; echo not ok - b; exit 1")
    assert.equal("1 passed, 1 failed, 0 skipped", totals(text))
    assert.equal(1, status)
    has(text, ": b\n    # x.c:1: wrong\n")
  end)

  it("counts a program that ends badly after its tests have passed", function()
    local text, status = run("echo ok - a; kill -SEGV $$")
    assert.equal("1 passed, 1 failed, 0 skipped", totals(text))
    assert.equal(1, status)
    assert.equal("1 passed, 1 failed, 0 skipped", totals((run("echo ok - a; exit 3"))))
  end)

  it("counts a program that runs no test, or that is not there", function()
    assert.equal("0 passed, 1 failed, 0 skipped", totals((run("exit 0"))))
    has(run("exit 0"), "ran no test")
    local text, status = run("exec /nonexistent/program")
    assert.equal("0 passed, 1 failed, 0 skipped", totals(text))
    assert.equal(1, status)
  end)

  it("ends what runs too long", function()
    local text = run("--limit 1", "echo ok - a; exec sleep 60")
    assert.equal("1 passed, 1 failed, 0 skipped", totals(text))
    has(text, "still running after 1 s")
  end)

  it("finds and ends a process that is left behind", function()
    local text = run("echo ok - a; setsid sleep 61.25 >/dev/null 2>&1 &")
    assert.equal("1 passed, 1 failed, 0 skipped", totals(text))
    local pid = assert(text:match("process (%d+): sleep 61.25"))
    local file = io.open("/proc/" .. pid .. "/cmdline")
    local command = file and file:read("a") or ""
    if file then file:close() end
    assert.is_nil(command:find("61.25", 1, true))
  end)

  it("finds a file that is left behind", function()
    local text = run('echo ok - a; touch "$TMPDIR/left"')
    assert.equal("1 passed, 1 failed, 0 skipped", totals(text))
    has(text, "temporary file ")
  end)

  it("finds shared memory that is left behind", function()
    local name = "/dev/shm/symm-runner-spec-" .. os.time()
    finally(function() os.remove(name) end)
    local text = run("echo ok - a; touch " .. name)
    assert.equal("1 passed, 1 failed, 0 skipped", totals(text))
    has(text, "shared memory " .. name)
  end)

  it("fails when nothing is executed", function()
    local text, status = run("--limit 9", "echo 'ok - a # SKIP not today'")
    assert.equal("0 passed, 0 failed, 1 skipped", totals(text))
    assert.equal(1, status)
    has(text, "no test was executed")
  end)

  it("hides a launcher's variables from the tests", function()
    local program = "sh -c " .. quote('echo "ok - a # SKIP [$RANK$WORLD_SIZE]"')
    local pipe = assert(io.popen("RANK=3 WORLD_SIZE=4 lua5.4 tests/support/runner.lua --program " ..
      quote(program)))
    local text = pipe:read("a")
    pipe:close()
    has(text, "[]")
  end)
end)
