-- SPDX-License-Identifier: MIT
--
-- symmrun -i: lines from a pipe, and from a terminal (a pseudo-terminal of util-linux's script).

local launch = require "tests.support.launch"

local function piped(text, options)
  local r = launch.shell(launch.symmrun .. " -i " .. (options or ""), { stdin = text })
  assert.equal(0, r.code)
  return r
end

describe("lines from a pipe", function()
  it("are statements, or expressions whose values are printed", function()
    assert.equal("2\n5\nnil\ttrue\n", piped("1 + 1\nx = 5\nx\nnil, true\n").out)
  end)

  it("may say = before an expression, as of old", function()
    assert.equal("3\t4\n", piped("= 3, 4\n").out)
  end)

  it("that are not finished go on", function()
    assert.equal("1\n2\n3\n", piped("for i = 1, 3 do\nprint(i)\n\nend\n").out)
    assert.equal("a\nb\n", piped("x = [[a\nb]]\nx\n").out)
  end)

  it("that end unfinished are an error", function()
    assert.matches("stdin:%d: unexpected symbol near <eof>", piped("x =\n").err)
  end)

  it("that are wrong are an error, and the next one is read", function()
    local r = piped("1 1\nerror 'mine'\nerror()\n'next'\n")
    assert.matches("stdin:1: unexpected symbol near '1'", r.err)
    assert.matches("stdin:1: mine\nstack traceback:", r.err)
    assert.matches("error object is a nil value", r.err)
    assert.equal("next\n", r.out)
  end)

  it("print by the print of the script", function()
    assert.equal("<7>\n", piped("print = function(x) io.write('<', x, '>\\n') end\n7\n").out)
  end)

  it("find symm", function()
    assert.matches("^%d+%.%d+%.%d+\n$", piped("symm.version\n").out)
  end)

  it("come after a script and after -e", function()
    local r = launch.run("x = x + 1", { options = { "-i", "-e", "x = 1" }, stdin = "x\n" })
    assert.same({ 0, "2\n" }, { r.code, r.out })
  end)

  it("come also after a script that has failed", function()
    local r = launch.run("x = 1 error 'mine'", { options = { "-i" }, stdin = "x\n" })
    assert.same({ 0, "1\n" }, { r.code, r.out })
  end)

  it("may end the process", function()
    local r = launch.shell(launch.symmrun .. " -i", { stdin = "os.exit(5)\nprint 'not'\n" })
    assert.same({ 5, "" }, { r.code, r.out })
  end)
end)

describe("lines from a terminal", function()
  local has_script = os.execute("command -v script >/dev/null")

  -- Keys, as printf writes them; a pause comes after each list's element.
  local function typed(keys)
    if not has_script then pending "there is no program 'script' (package bsdutils)" end
    local words = {}
    for _, key in ipairs(keys) do
      words[#words + 1] = "printf " .. launch.quote(key) .. "; sleep 0.3;"
    end
    local r = launch.shell(("(sleep 0.3; %s) | TERM=vt100 script -qec %s /dev/null"):format(
      table.concat(words, " "), launch.quote("exec " .. launch.symmrun))) -- no shell that Ctrl-C ends too
    r.out = r.out:gsub("\r", "")
    return r
  end

  it("are prompted for, and Ctrl-D ends", function()
    local r = typed { "1 + 1\\n", "x = {\\n", "3}\\n", "\\004" }
    assert.equal(0, r.code)
    assert.matches("symmrun %d[^\n]*Ctrl%-D ends", r.out)
    assert.matches("> 1 %+ 1\n2\n", r.out)
    assert.matches("> x = {\n>> 3}\n", r.out)
  end)

  it("may be edited", function()
    assert.matches("\n42\n", typed { "21 * 3", "\\b2\\n", "\\004" }.out)
  end)

  it("come again from the history", function()
    local r = typed { "print('a' .. 1)\\n", "\\033[A\\n", "\\004" }
    local _, count = r.out:gsub("\na1\n", "")
    assert.equal(2, count)
  end)

  it("are given up by Ctrl-C, and what runs is interrupted by it", function()
    local r = typed { "not a line", "\\003", "'after' .. 1\\n", "while true do end\\n", "\\003",
      "'again' .. 2\\n", "\\004" }
    assert.equal(0, r.code)
    assert.matches("\nafter1\n", r.out)
    assert.matches("INTERRUPTED", r.out)
    assert.matches("\nagain2\n", r.out)
    assert.not_matches("near", r.out)
  end)

  it("that are not finished are given up by Ctrl-C as a whole", function()
    local r = typed { "x = {\\n", "\\003", "'after' .. 1\\n", "\\004" }
    assert.matches("\nafter1\n", r.out)
  end)
end)
