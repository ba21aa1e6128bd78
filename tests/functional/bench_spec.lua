-- SPDX-License-Identifier: MIT
--
-- The benches run and say what they have to say. What they measure decides nothing here.

local json = require "dkjson"
local launch = require "tests.support.launch"

local KEYS = { "bench", "case", "unit", "ours", "peers", "ratio", "target", "ok", "spread" }

local EXPECTED = {
  signal = {
    unit = "us",
    ["C"] = { target = "<= 1.5 x flag", peers = { "flag" } },
    ["Lua"] = { target = "<= C + 0.25 us", peers = { "C", "flag" } },
    ["Lua, tables made once"] = { peers = { "C", "flag" } },
    ["Lua, loop alone"] = { peers = {} },
  },
  barrier = {
    unit = "us",
    ["C of 2 ranks"] = { target = "<= 0.6 x openmpi", peers = { "flag" } },
    ["Lua of 2 ranks"] = { target = "<= C + 0.25 us", peers = { "C", "flag" } },
    ["Lua, loop alone"] = { peers = {} },
    ["C of 4 ranks"] = { peers = { "flag" } },
    ["Lua of 4 ranks"] = { peers = { "C", "flag" } },
  },
  rendezvous = {
    unit = "ms",
    ["first, median rank"] = { target = "<= 5 ms", peers = {} },
    ["later, median rank"] = { target = "<= 5 ms", peers = {} },
    ["with allocation, median rank"] = { peers = {} },
    ["first, slowest rank"] = { target = "<= 5 ms", peers = {} },
    ["later, slowest rank"] = { target = "<= 5 ms", peers = {} },
    ["with allocation, slowest rank"] = { peers = {} },
  },
}

local function run(command, options)
  options = options or {}
  options.timeout = options.timeout or 200
  local result = launch.shell(command, options)
  assert(result.code == 0, ("%s ended with %d\n%s%s"):format(command, result.code, result.out,
    result.err))
  return result
end

-- The rows of a run by case, each a line of JSON of the one form.
local function rows_of(out)
  local rows = {}
  for line in out:gmatch("[^\n]+") do
    local row, at, problem = json.decode(line, 1, json.null)
    assert(row, ("%s at %s: %s"):format(problem, at, line))
    assert.is_true(at > #line, "more than one value: " .. line)
    local known = {}
    for _, key in ipairs(KEYS) do
      assert.is_not_nil(row[key], key .. " is missing: " .. line)
      known[key] = true
    end
    for key in pairs(row) do assert.is_true(known[key], key .. " is unknown: " .. line) end
    local name = row.bench .. ": " .. row.case
    assert.is_nil(rows[name], "twice: " .. name)
    rows[name] = row
  end
  return rows
end

local function check_spread(row)
  local names = { ours = row.ours }
  for name, value in pairs(row.peers) do names[name] = value end
  for name, value in pairs(names) do
    local least, most = row.spread[name][1], row.spread[name][2]
    assert.is_true(0 < least and least <= value and value <= most, name .. " of " .. row.case)
  end
  for name in pairs(row.spread) do assert.is_not_nil(names[name]) end
end

-- A ratio where there is something to compare with; a verdict where there is also a target.
local function check_row(row, expected, unit)
  assert.equal(unit, row.unit)
  assert.equal(expected.target or json.null, row.target)
  for _, peer in ipairs(expected.peers) do assert.equal("number", type(row.peers[peer]), peer) end
  check_spread(row)
  local target = expected.target or ""
  local named = target:match("(%a+) %+") or target:match("x (%a+)$")
  local compared = named and row.peers[named] or not named and next(row.peers)
  local ratio_type = row.ratio == json.null and "null" or type(row.ratio)
  assert.equal(compared and "number" or "null", ratio_type)
  local judged = expected.target and (compared or not named)
  assert.equal(judged and "boolean" or "null", row.ok == json.null and "null" or type(row.ok))
end

local function check_bench(name, rows)
  for case, expected in pairs(EXPECTED[name]) do
    if case ~= "unit" then
      local key = name .. ": " .. case
      assert.is_not_nil(rows[key], "no row " .. key)
      check_row(rows[key], expected, EXPECTED[name].unit)
      rows[key] = nil
    end
  end
end

-- Where Open MPI is, it is in the rows; where it is not, the bench says so.
local function check_peer(result, rows)
  local with = 0
  for _, row in pairs(rows) do
    for peer in pairs(row.peers) do if peer:match("^openmpi") then with = with + 1 end end
  end
  local missing = result.err:find("Open MPI is missing: scripts/setup --peers", 1, true)
  assert.equal(missing == nil, with > 0)
end

-- A line of the table; with a target it ends with a verdict.
local function check_line(out, name, case, target)
  local line = ("\n" .. out):match("\n(" .. case:gsub("%p", "%%%0") .. " +%d[^\n]*)")
  assert.is_not_nil(line, name .. ": " .. case)
  local verdict = line:match("  (%S+)$")
  assert.equal(target ~= nil, verdict == "yes" or verdict == "NO" or verdict == "?", line)
  if target then assert.is_truthy(line:find(target, 1, true), line) end
end

describe("scripts/bench", function()
  for name in pairs(EXPECTED) do
    it(name .. " gives every row as JSON", function()
      local result = run("scripts/bench " .. name .. " --quick --json")
      local rows = rows_of(result.out)
      check_peer(result, rows)
      check_bench(name, rows)
      assert.is_nil(next(rows))
    end)
  end

  it("runs all of them and prints tables", function()
    local result = run("scripts/bench all --quick")
    for name, cases in pairs(EXPECTED) do
      for case, expected in pairs(cases) do
        if case ~= "unit" then
          check_line(result.out, name, case, expected.target)
        end
      end
    end
    assert.is_truthy(result.out:find("commit", 1, true))
  end)

  it("goes on without Open MPI, and says that it is missing", function()
    launch.with_directory(function(directory)
      run(("find /usr/bin -maxdepth 1 ! -type d ! -name 'mpirun*' -exec ln -sf -t %s {} +")
        :format(launch.quote(directory)))
      local result = run(launch.symmrun .. " tests/bench/barrier.lua --json --quick",
        { env = { PATH = directory } })
      assert.is_truthy(result.err:find("Open MPI is missing: scripts/setup --peers", 1, true))
      local rows = rows_of(result.out)
      local row = rows["barrier: C of 2 ranks"]
      assert.equal(json.null, row.ratio)
      assert.equal(json.null, row.ok)
      assert.is_nil(row.peers.openmpi)
      check_bench("barrier", rows)
    end)
  end)

  it("competes as often as it is told", function()
    local count = launch.symmrun .. " -e " .. launch.quote([[
      local run = 0
      local popen = io.popen
      io.popen = function(command, ...)
        if command:find("ranks/flag", 1, true) then run = run + 1 end
        return popen(command, ...)
      end
      arg = { "--rounds", "3", "--quick", "--json", "--rounds", "3" }
      dofile("tests/bench/signal.lua")
      print(run)
    ]])
    assert.equal("3", run(count).out:match("(%d+)\n$"))
  end)

  it("lists the benches", function()
    local out = run("scripts/bench").out
    for name in pairs(EXPECTED) do assert.is_truthy(out:find("\n  " .. name .. " +%l")) end
  end)

  it("refuses a bench, an option and a number that it does not know", function()
    for _, words in ipairs { "nothing", "signal --fast", "signal --rounds 0", "signal --rounds" } do
      local result = launch.shell("scripts/bench " .. words)
      assert.equal(2, result.code, words)
      assert.is_truthy((result.err):find("scripts/bench", 1, true), words)
      assert.equal("", result.out)
    end
  end)

  it("ends with an error when what competes fails", function()
    local result = launch.shell(launch.build .. "/tests/bench/ranks/symm signal 3 - 1 1 0")
    assert.equal(2, result.code)
    result = launch.shell("symmrun=" .. launch.symmrun .. "; SYMM_TEST_BUILD=/nowhere $symmrun "
      .. "tests/bench/signal.lua --quick")
    assert.equal(1, result.code)
    assert.is_truthy(result.err:find("/nowhere/tests/bench/ranks/symm", 1, true))
  end)
end)
