-- SPDX-License-Identifier: MIT
--
-- docs/lua-api.md against the program: environment variables, options, and the examples, which are
-- run: "```lua" on one rank, "```lua ranks=2" on two; "-->" begins what they print.

local launch = require "tests.support.launch"
local reference = require "tests.support.reference"

local page = reference.page("docs/lua-api.md")

local function same(expected, found, what)
  assert.is_nil(reference.lacking(expected, found), what .. " that the page lacks")
  assert.is_nil(reference.lacking(found, expected), what .. " that do not exist")
end

-- ---- environment variables ----

-- Every literal of the sources that is spelled as a variable is.
local function variables_of_sources()
  local names = {}
  for _, path in ipairs(reference.lines_of("find core lua kernels -name '*.[ch]' -o -name '*.lua' 2>/dev/null")) do
    local text = reference.read(path)
    if not path:match("meta[%w_]*%.lua$") then
      for name in text:gmatch('"(%u[%u%d]*_[%u%d_]+)"') do names[name] = true end
      for name in text:gmatch('getenv%("(%u+)"%)') do names[name] = true end
      if text:find('"RANK"', 1, true) then names.RANK = true end
    end
  end
  for _, code in ipairs(reference.meta().classes["symm.code"].values) do names[code[1]] = nil end
  return names
end

describe("environment variables", function()
  it("of the sources are on the page, and no other", function()
    local found = {}
    for _, row in ipairs(page.rows) do
      local name = row.section == "Environment variables" and row.cells[1]:match("^`(%u[%u%d_]+)`$")
      if name then found[name] = true end
    end
    same(variables_of_sources(), found, "variables")
  end)

  it("that symmrun sets are on the page", function()
    local result = launch.run("os.execute('env')", { n = 2, env = { PATH = os.getenv("PATH") },
      command = { "env", "-i", "PATH=" .. os.getenv("PATH"), launch.symmrun, "-n", "2", "%s" } })
    assert.equal(0, result.code, result.err)
    local count = 0
    for name in result.out:gmatch("%[rank %d%] ([%u%d_]+)=") do
      if not reference.set { "PATH", "PWD", "OLDPWD", "SHLVL", "_" }[name] then
        assert(page.prose:find("`" .. name .. "`", 1, true), "the page lacks " .. name)
        count = count + 1
      end
    end
    assert(count >= 12, "symmrun has set only " .. count)
  end)
end)

-- ---- options ----

local function is_known(option)
  local result = launch.shell(launch.symmrun .. " " .. launch.quote(option))
  return not result.err:find("unknown option", 1, true)
end

local function options_of_page()
  local options = {}
  for _, row in ipairs(page.rows) do
    if row.section == "symmrun" then
      for code in row.cells[1]:gmatch("`(%-[^`]*)`") do options[code:match("^%S+")] = true end
    end
  end
  return options
end

describe("options of symmrun", function()
  it("on the page exist", function()
    for option in pairs(options_of_page()) do assert(is_known(option), option .. " does not exist") end
    assert(options_of_page()["--info"] and options_of_page()["-n"])
  end)

  it("of one letter are on the page", function()
    local found = options_of_page()
    for letter in ("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"):gmatch(".") do
      local option = "-" .. letter
      assert(found[option] or not is_known(option), "the page lacks " .. option)
    end
  end)

  it("of one word are on the page", function()
    local found = options_of_page()
    for option in reference.read("lua/symmrun/options.c"):gmatch('"(%-%-%l[%l-]*)"') do
      assert(found[option], "the page lacks " .. option)
    end
    local help = launch.shell(launch.symmrun .. " --help").out
    for option in help:gmatch("\n  (%-%S+)") do assert(found[option], "the page lacks " .. option) end
  end)
end)

-- ---- examples ----

local function plain(text) return (text:gsub("%s+", " "):gsub("^ ", ""):gsub(" $", "")) end

local function run_example(block)
  local ranks = tonumber(block.info:match("ranks=(%d+)"))
  local result = launch.ranks(ranks, 'local symm = require "symm"\n' .. block.text,
    { env = not ranks and { RANK = false, WORLD_SIZE = false } or nil })
  local expected = {}
  for line in block.text:gmatch("%-%->([^\n]*)") do expected[#expected + 1] = line end
  assert.equal(plain(ranks and "" or table.concat(expected, "\n")), plain(ranks and "" or result.out))
end

describe("the example of", function()
  local count = {}
  for _, block in ipairs(page.blocks) do
    if block.info:match("^lua") then
      count[block.section] = (count[block.section] or 0) + 1
      it(block.section .. " runs (" .. count[block.section] .. ")", function() run_example(block) end)
    end
  end

  it("each part of the page is there", function()
    for _, section in ipairs { "Conventions", "Errors", "Making tensors", "Elements and copies", "Views", "Arithmetic",
      "Reductions", ".npy files", "Stores", "Process groups", "Symmetric memory" } do
      assert(count[section], section .. " has no example")
    end
  end)
end)
