-- SPDX-License-Identifier: MIT
--
-- Runs a bench: what competes starts in turns, round by round, each time in processes of its own,
-- and every round turns the order. A figure is the median of the rounds, and a ratio the median of
-- the rounds' ratios, since what a machine gives may change in between.
--
--     bench.main("signal", function(shrink)
--       local plan = shrink { turns = 500, batches = 999, warmups = 20 }
--       return {
--         what = "one line", unit = "us", nanoseconds = 1000,
--         competitors = { { command = bench.symm("signal", 2, plan) }, ... },
--         rows = { { case = "C", ours = "C", peers = { "flag" }, target = ... }, ... },
--       }
--     end)
-- A competitor prints the lines of sample.h; what it calls C is "C", or "C/4" with `as = "/4"`. A
-- row's `ours` and `peers` are such names. A target is { factor, of }, { extra, of } or { most }; a
-- row without one is information. Of several ranks the slowest counts, or the median with
-- `over = "median"`.

local report = require "tests.bench.support.report"
local sample = require "tests.bench.support.sample"

local bench = {}

bench.build = os.getenv("SYMM_TEST_BUILD") or "build"
local PROGRAMS = bench.build .. "/tests/bench/ranks/"
local SCRIPTS = "tests/bench/ranks/"
local LIMIT_S = 120

local function capture(command)
  local pipe = assert(io.popen(command .. " 2>/dev/null", "r"))
  local line = pipe:read("l")
  pipe:close()
  return line
end
bench.capture = capture

local function exists(path)
  local file = io.open(path, "rb")
  if file then file:close() end
  return file ~= nil
end

local function first_line(path, pattern)
  local file <close> = io.open(path)
  for line in file and file:lines() or function() end do
    local found = line:match(pattern)
    if found then return found end
  end
end

-- ---- CPUs ----

-- "0-2,5" as a list of numbers.
local function numbers_of(ranges)
  local numbers = {}
  for range in (ranges or ""):gmatch("[^,%s]+") do
    local from, to = range:match("^(%d+)%-?(%d*)$")
    for number = tonumber(from), tonumber(to) or tonumber(from) do
      numbers[#numbers + 1] = number
    end
  end
  return numbers
end

-- One CPU of each core that this process may use.
local function cores()
  local list, taken = {}, {}
  local allowed = first_line("/proc/self/status", "^Cpus_allowed_list:%s*(.*)")
  for _, cpu in ipairs(numbers_of(allowed)) do
    local siblings = ("/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list"):format(cpu)
    local core = numbers_of(first_line(siblings, ".*"))[1] or cpu
    if not taken[core] then list[#list + 1] = cpu end
    taken[core] = true
  end
  return list
end

-- A CPU for each rank, "0,1"; "-" if there are not enough.
function bench.cpus(world)
  local list = cores()
  return #list >= world and table.concat(list, ",", 1, world) or "-"
end

-- ---- competitors ----

local function words(plan) return ("%d %d %d"):format(plan.turns, plan.batches, plan.warmups) end

function bench.symm(what, world, plan)
  return ("%ssymm %s %d %s %s"):format(PROGRAMS, what, world, bench.cpus(world), words(plan))
end

function bench.flag(what, world, plan)
  return ("%sflag %s %d %s %s"):format(PROGRAMS, what, world, bench.cpus(world), words(plan))
end

function bench.lua(what, world, plan)
  return ("%s/symmrun -n %d %s%s.lua %s %s"):format(bench.build, world, SCRIPTS, what,
    bench.cpus(world), words(plan))
end

local function find_mpirun()
  local mpirun = capture("command -v mpirun.openmpi || command -v mpirun")
  if not mpirun or not exists(PROGRAMS .. "mpi") then return nil end
  local version = capture(mpirun .. " --version") or ""
  return (version:find("Open MPI", 1, true) or version:find("OpenRTE", 1, true)) and mpirun or nil
end

-- nil where Open MPI is missing.
function bench.mpi(what, world, plan)
  bench.mpirun = bench.mpirun or find_mpirun()
  if not bench.mpirun then return nil end
  local options = bench.cpus(world) == "-" and "--oversubscribe --bind-to none" or "--bind-to core"
  if capture("id -u") == "0" then options = options .. " --allow-run-as-root" end
  return ("%s %s -n %d %smpi %s %s"):format(bench.mpirun, options, world, PROGRAMS, what,
    words(plan))
end

-- ---- rounds ----

-- Runs one competitor; adds { max =, median = } of its cases to `found`.
local function compete(competitor, found)
  local ranks = {} -- ranks[case][rank] = list of samples
  local output = {}
  local pipe = assert(io.popen(("timeout -k 5 %d %s </dev/null 2>&1"):format(LIMIT_S,
    competitor.command)))
  for line in pipe:lines() do
    local case, rank, ns = line:match("sample (%S+) (%d+) ([%d.]+)")
    if case then
      ranks[case] = ranks[case] or {}
      ranks[case][rank] = ranks[case][rank] or {}
      table.insert(ranks[case][rank], tonumber(ns))
    else
      output[#output + 1] = line
    end
  end
  if not pipe:close() then
    error(("%s failed:\n%s"):format(competitor.command, table.concat(output, "\n")), 0)
  end
  for case, lists in pairs(ranks) do
    local most, middle = {}, {}
    local _, first = next(lists)
    for i = 1, #first do
      local at_once = {}
      for _, list in pairs(lists) do at_once[#at_once + 1] = list[i] end
      most[i], middle[i] = math.max(table.unpack(at_once)), sample.median(at_once)
    end
    local name = case .. (competitor.as or "")
    found[name] = { max = sample.median(most), median = sample.median(middle) }
  end
end

local function run_rounds(competitors, count)
  local rounds = {}
  for round = 1, count do
    local found = {}
    for i = 0, #competitors - 1 do
      compete(competitors[(round + i - 1) % #competitors + 1], found)
    end
    rounds[round] = found
  end
  return rounds
end

-- ---- main ----

local USAGE = [[
usage: scripts/bench %s [--json] [--rounds N] [--quick]
  --json      a line a row
  --rounds N  how often everything competes (default %d)
  --quick     one round of a few turns, to see that it runs
]]
local ROUNDS = 9

local function read_options(name)
  local options, i = { rounds = ROUNDS }, 1
  while arg[i] do
    if arg[i] == "--json" then
      options.json = true
    elseif arg[i] == "--quick" then
      options.quick, options.rounds = true, 1
    elseif arg[i] == "--rounds" and (math.tointeger(arg[i + 1]) or 0) >= 1 then
      i = i + 1
      options.rounds = math.tointeger(arg[i])
    else
      local to = arg[i] == "--help" and io.stdout or io.stderr
      to:write(USAGE:format(name, ROUNDS))
      os.exit(arg[i] == "--help" and 0 or 2)
    end
    i = i + 1
  end
  return options
end

-- `describe(shrink)` gives the bench; `shrink(plan)` is the plan, or a short one with --quick.
function bench.main(name, describe)
  local options = read_options(name)
  local this = describe(function(plan)
    return options.quick and { turns = 20, batches = 3, warmups = 1 } or plan
  end)
  local competitors = {}
  for _, competitor in ipairs(this.competitors) do
    if competitor.command then competitors[#competitors + 1] = competitor end
  end
  if #competitors < #this.competitors then
    io.stderr:write("Open MPI is missing: scripts/setup --peers\n")
  end
  local machine = not options.json and report.machine(options.rounds)
  local rows = report.rows(name, this, run_rounds(competitors, options.rounds))
  if options.json then report.print_json(rows) else report.print_table(this, machine, rows) end
end

return bench
