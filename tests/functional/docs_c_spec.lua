-- SPDX-License-Identifier: MIT
--
-- docs/c-api.md against the public headers and the libraries' symbols, and the lists that C has once
-- (status codes, dtypes) against every page that repeats them. The example programs are built and run.

local launch = require "tests.support.launch"
local reference = require "tests.support.reference"

local page = reference.page("docs/c-api.md")
local lua_page = reference.page("docs/lua-api.md")
local headers = reference.headers()

local function config(name)
  return reference.read(launch.build .. "/config.ninja"):match("\n" .. name .. " = *([^\n]*)")
end

local function same(expected, found, what)
  assert.is_nil(reference.lacking(expected, found), what .. " that are missing")
  assert.is_nil(reference.lacking(found, expected), what .. " that do not exist")
end

-- Builds a program and gives what f(path) gives.
local function with_program(source, f)
  return launch.with_directory(function(directory)
    local file = assert(io.open(directory .. "/program.c", "w"))
    file:write(source)
    file:close()
    local build = launch.capture("realpath " .. launch.build)
    local result = launch.shell(("%s %s -Icore/include -Ilua/include -o %s/program %s/program.c -L%s -lsymmlua -lsymm "
      .. "-Wl,-rpath,%s %s %s"):format(config "cc", config "cflags", directory, directory, build, build,
      config "ldflags", config "lua_libs"))
    assert.equal(0, result.code, result.err)
    return f(directory .. "/program")
  end)
end

describe("docs/c-api.md", function()
  it("has every public function in its header's section, with its parameters", function()
    local found = {}
    for _, entry in ipairs(page.entries) do
      for _, head in ipairs(entry.heads) do
        local declared = assert(headers.functions[head.name], "there is no " .. head.name)
        assert.is_nil(found[head.name], head.name .. " stands there twice")
        assert.equal(declared.header, entry.section, head.name)
        assert.equal(table.concat(declared.parameters, ", "), head.arguments, head.name)
        found[head.name] = true
      end
    end
    same(headers.functions, found, "functions")
  end)

  it("tells of every public type and constant", function()
    for name, header in pairs(headers.public) do
      local found = page.prose:find("%f[%w_]" .. name .. "%f[^%w_]")
      assert(found, ("%s of %s is not on the page"):format(name, header))
    end
  end)

  it("names nothing that does not exist", function()
    local text = reference.read("docs/c-api.md")
    for name in text:gmatch("%f[%w_][Ss][Yy][Mm][Mm]_[%w_]+") do
      assert(headers.words[name] or name:match("^SYMM_E%u+$") or name:match("^SYMM_DTYPE_"), "there is no " .. name)
    end
  end)
end)

describe("the libraries", function()
  it("show every public function, and no other that begins with symm_", function()
    local shown, declared = {}, {}
    for _, library in ipairs { "libsymm.so", "libsymmlua.so" } do
      local command = ("nm -D --defined-only %s/%s"):format(launch.build, library)
      for _, line in ipairs(reference.lines_of(command)) do
        local name = line:match(" T (symm_[%w_]+)$")
        if name then shown[name] = true end
      end
    end
    for name, declaration in pairs(headers.functions) do
      if not declaration.is_inline then declared[name] = true end
    end
    same(declared, shown, "symbols")
  end)
end)

-- ---- lists ----

-- Lines of what a program prints of a list of the headers.
local function list_of_header(header, macro, item)
  local source = ("#include <stdio.h>\n#include <symm/%s>\n#define ITEM%s\nint main(void) { %s(ITEM) return 0; }\n")
    :format(header, item, macro)
  return with_program(source, function(program) return reference.lines_of(program) end)
end

describe("the list", function()
  it("of status codes is the same everywhere", function()
    local lines = list_of_header("status.h", "SYMM_STATUS_LIST",
      '(name, number, text) printf("%s %d %s\\n", #name, number, text);')
    local rows, values = {}, {}
    for _, row in ipairs(lua_page.rows) do
      local name, number, text = (row.cells[1] or ""):match("^`(%u[%u_]+)`$"), row.cells[2], row.cells[3]
      if row.section == "Errors" and name then rows[#rows + 1] = ("%s %s %s"):format(name, number, text) end
    end
    for _, value in ipairs(reference.meta().classes["symm.code"].values) do values[#values + 1] = value end
    assert(#lines >= 22)
    assert.same(lines, rows)
    assert.equal(#lines, #values)
    for i, line in ipairs(lines) do
      local name, text = line:match("^(%S+) %d+ (.*)$")
      assert.same({ name, text }, values[i])
      assert(page.prose:find("`" .. name .. "`", 1, true), "docs/c-api.md lacks " .. name)
    end
  end)

  it("of dtypes is the same everywhere", function()
    local names = list_of_header("dtype.h", "SYMM_DTYPE_LIST", '(name, type, bytes, kind, npy) puts(#name);')
    assert.same(names, require("symm").dtypes)
    local values = {}
    for _, value in ipairs(reference.meta().classes["symm.dtype"].values) do values[#values + 1] = value[1] end
    assert.same(names, values)
    local list = "`" .. table.concat(names, "`, `") .. "`"
    for path, text in pairs { ["docs/c-api.md"] = page.prose, ["docs/lua-api.md"] = lua_page.prose } do
      assert(text:gsub("\n%s*", " "):find(list, 1, true), path .. " lacks " .. list)
    end
  end)
end)

-- ---- programs ----

local examples = {}
for _, block in ipairs(page.blocks) do
  if block.info == "c" then examples[block.section] = block.text end
end

describe("the program of the page", function()
  it("about libsymm runs as one rank and as two", function()
    with_program(examples["An example"], function(program)
      local alone = launch.shell(program, { env = { RANK = false, WORLD_SIZE = false } })
      assert.same({ 0, "rank 0 of 1: the sum is 1\n", "" }, { alone.code, alone.out, alone.err })
      local both = launch.shell(([[
        export WORLD_SIZE=2 MASTER_ADDR=@symm-docs-$$
        RANK=1 %s & RANK=0 %s; code=$?; wait $! && exit $code]]):format(program, program))
      assert.equal(0, both.code, both.err)
      for rank = 0, 1 do
        assert(both.out:find(("rank %d of 2: the sum is 3\n"):format(rank), 1, true), both.out)
      end
    end)
  end)

  it("about libsymmlua runs", function()
    with_program(examples["symm/runtime.h"], function(program)
      local result = launch.shell(program)
      assert.same({ 0, "6\n", "" }, { result.code, result.out, result.err })
    end)
  end)
end)
