-- SPDX-License-Identifier: MIT
--
-- Runs test programs one after the other and gives one total. A program is a C test
-- (tests/DIR/NAME_test.c, built into BUILD/tests/DIR/NAME_test) or a busted spec
-- (tests/DIR/NAME_spec.lua) in an interpreter of its own. Both print a line a test: see
-- tests/support/check.h. Whatever else happens is a failure that is counted: a program that does
-- not start, that ends in another way than its tests say, that runs no test, that passes its time
-- limit, or that leaves a process, a file or a socket behind.
--
--   lua5.4 tests/support/runner.lua [options] [PATTERN...]
--     --build DIR       where the programs are (default build)
--     --again NAME=DIR  the C tests once more from another build, NAME in their label
--     --valgrind        the C tests once more under valgrind
--     --full            longer time limits; SYMM_TEST_FULL=1 for the tests
--     --limit SECONDS   time limit of a program instead of the usual one
--     --program COMMAND this instead of the tree's programs; may be repeated
--     --list            only print the files that the patterns choose
--   A pattern is a file or a part of its path; none: all.

local TIME_LIMIT_S, FULL_TIME_LIMIT_S, MOST_LINES = 300, 1800, 80

local options = { build = "build", again = {}, patterns = {}, programs = {} }
local totals = { passed = 0, failed = 0, skipped = 0 }
local failures, skips = {}, {}

local FLAGS = { ["--valgrind"] = true, ["--full"] = true, ["--list"] = true }
local SETTINGS = {
  ["--build"] = function(value) options.build = value end,
  ["--limit"] = function(value) options.limit = assert(math.tointeger(value)) end,
  ["--program"] = function(value) table.insert(options.programs, value) end,
  ["--again"] = function(value)
    local label, dir = value:match("^(.-)=(.+)$")
    table.insert(options.again, { label = assert(label), dir = dir })
  end,
}

local function parse_arguments()
  local i = 1
  while arg[i] do
    local name = arg[i]
    if FLAGS[name] then
      options[name:sub(3)] = true
    elseif SETTINGS[name] then
      i = i + 1
      SETTINGS[name](assert(arg[i], name .. " needs a value"))
    elseif name:sub(1, 1) == "-" then
      io.stderr:write("runner.lua: unknown option '", name, "'\n")
      os.exit(2)
    else
      table.insert(options.patterns, name)
    end
    i = i + 1
  end
end

local function quote(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

-- What a command prints, as a list of lines.
local function lines_of(command)
  local lines = {}
  local pipe = assert(io.popen(command, "r"))
  for line in pipe:lines() do lines[#lines + 1] = line end
  pipe:close()
  return lines
end

local function exists(path)
  local file = io.open(path, "rb")
  if file then file:close() end
  return file ~= nil
end

local function is_chosen(path)
  if #options.patterns == 0 then return true end
  for _, pattern in ipairs(options.patterns) do
    if path:find(pattern:gsub("^%./", ""), 1, true) then return true end
  end
  return false
end

local function find_files()
  local chosen = {}
  local command = "find tests -name '*_test.c' -o -name '*_spec.lua' | LC_ALL=C sort"
  for _, path in ipairs(lines_of(command)) do
    if is_chosen(path) then chosen[#chosen + 1] = path end
  end
  return chosen
end

local function config(name)
  for line in io.lines(options.build .. "/config.ninja") do
    local value = line:match("^" .. name .. " = *(.-) *$")
    if value and value ~= "" then return value end
  end
end

-- ---- what a program may leave behind ----

local run = {}

local function prepare_run()
  run.scratch = lines_of("mktemp -d /tmp/symm-test.XXXXXX")[1]
  run.token = run.scratch:match("[^.]+$") .. os.time()
  run.output = run.scratch .. "/output"
  run.tmp = run.scratch .. "/tmp"
  run.marker = "SYMM_TEST_RUN=" .. run.token
end

local function set_of(list)
  local set = {}
  for _, item in ipairs(list) do set[item] = true end
  return set
end

local function shared_memory_files() return lines_of("ls -d /dev/shm/symm* 2>/dev/null") end

-- Abstract sockets whose name begins as ours do: "INODE NAME".
local function sockets()
  return lines_of([[awk '$8 ~ /^@symm/ {print $7 " " $8}' /proc/net/unix | LC_ALL=C sort -u]])
end

local function processes()
  local pids = {}
  for _, path in ipairs(lines_of("grep -lsaF " .. quote(run.marker) .. " /proc/[0-9]*/environ")) do
    pids[#pids + 1] = path:match("%d+")
  end
  return pids
end

local function is_held_by_somebody(inode)
  return #lines_of(("find /proc/[0-9]*/fd -lname 'socket:\\[%s\\]' 2>/dev/null"):format(inode)) > 0
end

local function what_is_left(before)
  local left = {}
  for _, pid in ipairs(processes()) do
    local command = lines_of(("tr '\\0' ' ' </proc/%s/cmdline 2>/dev/null"):format(pid))[1]
    left[#left + 1] = { text = "process " .. pid .. ": " .. (command or "?"), pid = pid }
  end
  for _, path in ipairs(shared_memory_files()) do
    if not before.shm[path] then left[#left + 1] = { text = "shared memory " .. path } end
  end
  for _, path in ipairs(lines_of("find " .. run.tmp .. " -mindepth 1 -maxdepth 1")) do
    left[#left + 1] = { text = "temporary file " .. path }
  end
  for _, socket in ipairs(sockets()) do
    -- Another run's sockets are held by its processes; ours have been looked for above.
    if not before.sockets[socket] and not is_held_by_somebody(socket:match("^%d+")) then
      left[#left + 1] = { text = "socket " .. socket:match(" (.*)$") }
    end
  end
  return left
end

-- What has been asked to end gets two seconds to do so.
local function settle(before)
  local left
  for _ = 1, 20 do
    left = what_is_left(before)
    if #left == 0 then break end
    os.execute("sleep 0.1")
  end
  for _, item in ipairs(left) do
    if item.pid then os.execute("kill -9 " .. item.pid .. " 2>/dev/null") end
  end
  return left
end

-- ---- one program ----

local function fail(program, name, why)
  totals.failed = totals.failed + 1
  program.failed = program.failed + 1
  failures[#failures + 1] = { label = program.label, name = name, why = why }
end

local function keep_last(lines)
  if #lines <= MOST_LINES then return lines end
  return table.move(lines, #lines - MOST_LINES + 1, #lines, 1, { "..." })
end

local function read_results(program)
  local since = {}
  for line in io.lines(run.output) do
    local verdict, name = line:match("^(n?o?t? ?ok) %- (.*)$")
    if not verdict then
      since[#since + 1] = line
    elseif verdict == "not ok" then
      fail(program, name, keep_last(since))
      since = {}
    else
      local reason = name:match(" # SKIP (.*)$")
      local key = reason and "skipped" or "passed"
      totals[key] = totals[key] + 1
      program[key] = program[key] + 1
      if reason then skips[#skips + 1] = program.label .. ": " .. name:gsub(" # SKIP ", ": ") end
      since = {}
    end
  end
  return keep_last(since)
end

-- Variables of a launcher or a user that would change what a test sees.
local UNSET = {
  "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "PMI_RANK",
  "PMI_SIZE", "PMIX_RANK", "PMIX_NAMESPACE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
  "SLURM_PROCID", "SLURM_NTASKS", "SLURM_JOB_ID", "SLURM_STEP_ID", "LUA_INIT", "LUA_INIT_5_4",
  "SYMM_LOG", "SYMM_SHM_LIMIT", "SYMM_PLUGIN_PATH",
}

local function environment(program)
  local words = { "env" }
  for _, name in ipairs(UNSET) do words[#words + 1] = "-u " .. name end
  local set = {
    run.marker, "TMPDIR=" .. run.tmp, "SYMM_TEST_BUILD=" .. options.build,
    "SYMM_TEST_PYTHON=" .. (config("python") or ""), "SYMM_TEST_FULL=" .. (options.full and 1 or 0),
  }
  for _, item in ipairs(program.environment or {}) do set[#set + 1] = item end
  for _, item in ipairs(set) do words[#words + 1] = quote(item) end
  return table.concat(words, " ")
end

local function execute(program)
  local limit = options.limit or (options.full and FULL_TIME_LIMIT_S or TIME_LIMIT_S)
  local foreground = options.terminal and "--foreground" or ""
  os.execute("rm -rf " .. run.tmp .. " && mkdir " .. run.tmp)
  local command = ("%s timeout %s -k 5 %d %s </dev/null >%s 2>&1"):format(
    environment(program), foreground, limit, program.command, run.output)
  local _, how, status = os.execute(command)
  if how == "signal" and status == 2 or status == 130 then os.exit(130) end
  if status == 124 or status == 137 then
    return status, ("still running after %d s"):format(limit)
  end
  return status, how == "signal" and "ended by signal " .. status or "ended with status " .. status
end

local function run_program(program)
  program.passed, program.failed, program.skipped = 0, 0, 0
  local before = { shm = set_of(shared_memory_files()), sockets = set_of(sockets()) }
  local status, how = execute(program)
  local rest = read_results(program)
  local executed = program.passed + program.failed + program.skipped
  if status ~= 0 and program.failed == 0 then
    fail(program, "(the program itself)", { how, table.unpack(rest) })
  elseif executed == 0 then
    fail(program, "(the program itself)", { "ran no test", table.unpack(rest) })
  end
  local left = settle(before)
  if #left > 0 then
    local why = {}
    for i, item in ipairs(left) do why[i] = item.text end
    fail(program, "(leaves nothing behind)", why)
  end
  local verdict = program.failed > 0 and "FAIL" or "ok"
  io.write(("%-5s %-60s %4d passed"):format(verdict, program.label, program.passed))
  if program.failed > 0 then io.write((", %d failed"):format(program.failed)) end
  if program.skipped > 0 then io.write((", %d skipped"):format(program.skipped)) end
  io.write("\n")
  io.flush()
end

-- ---- all of them ----

local function binary(dir, path) return dir .. "/" .. path:gsub("%.c$", "") end

local function spec_command(path)
  local host = options.build .. "/symmrun"
  if not exists(host) then host = config("lua") end
  return ("%s %s -o tests/support/tap.lua %s"):format(host, config("busted"), path)
end

local SANITIZER_OPTIONS = {
  "ASAN_OPTIONS=detect_leaks=1:abort_on_error=0:detect_stack_use_after_return=1",
  "UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1",
  "TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1",
}
-- "Possibly lost" is what a detached thread holds while it runs.
local VALGRIND = "valgrind -q --error-exitcode=99 --leak-check=full --show-leak-kinds=definite "
  .. "--errors-for-leak-kinds=definite --trace-children=yes "

local function programs_of(files)
  local list = {}
  for _, path in ipairs(files) do
    local is_c = path:match("_test%.c$")
    local command = is_c and binary(options.build, path) or spec_command(path)
    list[#list + 1] = { label = path, command = command }
  end
  for _, path in ipairs(files) do
    if path:match("_test%.c$") then
      for _, build in ipairs(options.again) do
        list[#list + 1] = {
          label = path .. " (" .. build.label .. ")", command = binary(build.dir, path),
          environment = SANITIZER_OPTIONS,
        }
      end
      if options.valgrind then
        list[#list + 1] = {
          label = path .. " (valgrind)", command = VALGRIND .. binary(options.build, path),
        }
      end
    end
  end
  return list
end

local function report()
  for _, skip in ipairs(skips) do io.write("skipped: ", skip, "\n") end
  for _, failure in ipairs(failures) do
    io.write("\nFAILED: ", failure.label, ": ", failure.name, "\n")
    for _, line in ipairs(failure.why) do io.write("    ", line, "\n") end
  end
  local executed = totals.passed + totals.failed
  if executed == 0 then io.write("\nno test was executed\n") end
  io.write(("\n%d passed, %d failed, %d skipped\n"):format(totals.passed, totals.failed,
    totals.skipped))
  return totals.failed == 0 and executed > 0
end

local function main()
  parse_arguments()
  local files = find_files()
  if options.list then
    for _, path in ipairs(files) do print(path) end
    return true
  end
  options.terminal = os.execute("test -t 0")
  prepare_run()
  local programs = programs_of(#options.programs == 0 and files or {})
  for _, command in ipairs(options.programs) do
    table.insert(programs, { label = command, command = command })
  end
  for _, program in ipairs(programs) do run_program(program) end
  os.execute("rm -rf " .. run.scratch)
  return report()
end

os.exit(main())
