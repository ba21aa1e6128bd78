-- SPDX-License-Identifier: MIT
--
-- Runs scripts on ranks of their own, for specs:
--
--     local launch = require "tests.support.launch"
--     launch.ranks(4, [[ ... ]])                 -- exit code 0, or an error that shows the output
--     local r = launch.run([[ ... ]], { n = 2 }) -- r.code, r.out, r.err, r.seconds
--
-- A script is Lua text, or the path of a .lua file. Options of run and ranks:
--     n          number of ranks; nil: one rank, without launcher
--     args       list of the script's arguments
--     options    list of symmrun's own options, before the script
--     env        variables to set (false: to unset)
--     stdin      text (default: nothing)
--     timeout    seconds (default 60), then everything is killed and the run is an error
--     command    list of words instead of symmrun, its options and the script; "%s" in a word
--                stands for the script's path
-- Nothing stays behind: script and output live in a directory that is removed.

local launch = {}

launch.build = os.getenv("SYMM_TEST_BUILD") or "build"
launch.symmrun = launch.build .. "/symmrun"

local function quote(text) return "'" .. tostring(text):gsub("'", "'\\''") .. "'" end
launch.quote = quote

local function read_all(path)
  local file = io.open(path, "rb")
  if not file then return "" end
  local text = file:read("a")
  file:close()
  return text
end

local function write_all(path, text)
  local file = assert(io.open(path, "wb"))
  assert(file:write(text))
  assert(file:close())
end

-- The first line that a command prints.
function launch.capture(command)
  local pipe = assert(io.popen(command, "r"))
  local line = pipe:read("l")
  pipe:close()
  return line
end

-- Calls f(directory) and removes the directory, whatever f does.
function launch.with_directory(f)
  local directory = launch.capture("mktemp -d")
  assert(directory and directory:match("^/.+"), "mktemp -d failed")
  local result = table.pack(xpcall(f, debug.traceback, directory))
  os.execute("rm -rf " .. quote(directory))
  if not result[1] then error(result[2], 0) end
  return table.unpack(result, 2, result.n)
end

local function is_path(script) return script:match("^[^\n]+%.lua$") ~= nil end

local function environment(env)
  local words = {}
  for name, value in pairs(env or {}) do
    words[#words + 1] = value and quote(name .. "=" .. tostring(value)) or "-u " .. name
  end
  if #words == 0 then return "" end
  table.sort(words, function(a, b) return a > b end) -- env wants "-u NAME" before "'NAME=value'"
  return "env " .. table.concat(words, " ") .. " "
end

local function words_of(script_path, options)
  local words = {}
  if options.command then
    for _, word in ipairs(options.command) do
      words[#words + 1] = quote((word:gsub("%%s", (script_path:gsub("%%", "%%%%")))))
    end
  else
    words[1] = quote(launch.symmrun)
    if options.n then words[#words + 1] = "-n " .. quote(options.n) end
    for _, word in ipairs(options.options or {}) do words[#words + 1] = quote(word) end
    words[#words + 1] = quote(script_path)
  end
  for _, word in ipairs(options.args or {}) do words[#words + 1] = quote(word) end
  return table.concat(words, " ")
end

local function now()
  local file = assert(io.open("/proc/uptime"))
  local seconds = file:read("n")
  file:close()
  return seconds
end

-- Runs a command line of the shell: { code, out, err, seconds }. Code 128 + N: ended by signal N.
function launch.shell(command, options)
  options = options or {}
  return launch.with_directory(function(directory)
    local out, err, input = directory .. "/out", directory .. "/err", "/dev/null"
    if options.stdin then
      input = directory .. "/in"
      write_all(input, options.stdin)
    end
    local limit = options.timeout or 60
    local begin = now()
    local _, how, status = os.execute(("timeout -k 5 %s %ssh -c %s <%s >%s 2>%s"):format(limit,
      environment(options.env), quote(command), quote(input), quote(out), quote(err)))
    local result = {
      code = how == "signal" and 128 + status or status,
      out = read_all(out), err = read_all(err), seconds = now() - begin,
    }
    if result.seconds >= limit then
      error(("still running after %s s: %s\n%s%s"):format(limit, command, result.out, result.err))
    end
    return result
  end)
end

function launch.run(script, options)
  options = options or {}
  if is_path(script) then return launch.shell(words_of(script, options), options) end
  return launch.with_directory(function(directory)
    local path = directory .. "/script.lua"
    write_all(path, script)
    return launch.shell(words_of(path, options), options)
  end)
end

function launch.ranks(n, script, options)
  local chosen = { n = n }
  for key, value in pairs(options or {}) do chosen[key] = value end
  local result = launch.run(script, chosen)
  if result.code ~= 0 then
    error(("%s ranks ended with exit code %d\n-- out:\n%s-- err:\n%s"):format(n, result.code,
      result.out, result.err), 2)
  end
  return result
end

-- The lines of a text, sorted: ranks print in any order.
function launch.sorted_lines(text)
  local lines = {}
  for line in text:gmatch("([^\n]*)\n") do lines[#lines + 1] = line end
  table.sort(lines)
  return lines
end

-- A port of TCP on 127.0.0.1 that nobody listens on: the kernel chose it for a store that is gone.
function launch.free_port()
  return assert(tonumber(launch.capture(quote(launch.symmrun) .. [[ -e '
    local store = require("symm").TCPStore{host = "127.0.0.1", port = 0, is_master = true}
    print(store.port)
    store:close()']])))
end

-- A piece of Lua for scripts: says that this rank has got so far (see launch.disturbed).
launch.ready = [[io.open(os.getenv("READY") .. (os.getenv("RANK") or 0), "w"):close()
]]

-- Runs a script, and commands of the shell once every rank (or `ready` of them) has run
-- launch.ready. In the commands $P is the pid of symmrun, $READY0 and so on are the ranks' files.
-- What the commands print comes as `said`.
function launch.disturbed(script, commands, options)
  options = options or {}
  return launch.with_directory(function(directory)
    local script_path, ready = directory .. "/script.lua", directory .. "/ready."
    write_all(script_path, script)
    write_all(directory .. "/run.sh", ([[
READY=%s; export READY
%s & P=$!
turns=0
until [ $(ls $READY* 2>/dev/null | wc -l) -ge %d ] || [ $turns -ge 400 ] || ! kill -0 $P; do
  sleep 0.05; turns=$((turns + 1))
done
{ %s
} >%s/said
wait $P
exit $?]]):format(ready, words_of(script_path, options), options.ready or options.n or 1, commands,
      directory))
    local result = launch.shell("sh " .. quote(directory .. "/run.sh"), options)
    result.said = read_all(directory .. "/said")
    return result
  end)
end

-- The processes whose environment has NAME=VALUE, as a list of "PID COMMAND"; those that were told
-- to end get two seconds.
function launch.processes(name, value)
  local found
  for _ = 1, 40 do
    found = {}
    local pipe = assert(io.popen("grep -lsaF " .. quote(name .. "=" .. value) ..
      " /proc/[0-9]*/environ"))
    for path in pipe:lines() do
      local pid = path:match("%d+")
      local command = read_all("/proc/" .. pid .. "/cmdline"):gsub("%z", " ")
      if command ~= "" then found[#found + 1] = pid .. " " .. command end
    end
    pipe:close()
    if #found == 0 then break end
    os.execute("sleep 0.05")
  end
  return found
end

return launch
