-- SPDX-License-Identifier: MIT
--
-- symmrun -n N: what ranks inherit, their output, and every way a job can end. After each test no
-- process of the job is left.

local launch = require "tests.support.launch"

local sorted_lines = launch.sorted_lines

local group = [[
local symm = require "symm"
local pg = symm.init_process_group()
]]

-- Marks the processes of one test, and sees afterwards that they are gone.
local tag, tags = nil, 0

local function marked(options)
  local chosen = { env = {} }
  for key, value in pairs(options or {}) do chosen[key] = value end
  local env = { SYMM_TEST_TAG = tag }
  for key, value in pairs(chosen.env) do env[key] = value end
  chosen.env = env
  return chosen
end

local function run(n, script, options)
  options = marked(options)
  options.n = n
  return launch.run(script, options)
end

local function disturbed(n, script, commands, options)
  options = marked(options)
  options.n = n
  return launch.disturbed(script, commands, options)
end

describe("symmrun -n", function()
  before_each(function()
    tags = tags + 1
    tag = ("launcher-%d-%d"):format(os.time(), tags)
  end)
  after_each(function() assert.same({}, launch.processes("SYMM_TEST_TAG", tag)) end)

  -- ---- what a rank inherits ----

  it("tells each rank its place", function()
    local r = run(3, [[
      local e = os.getenv
      print(e "RANK", e "LOCAL_RANK", e "WORLD_SIZE", e "LOCAL_WORLD_SIZE", e "MASTER_ADDR")
      assert(tonumber(e "MASTER_PORT") > 0)]])
    assert.equal(0, r.code)
    assert.same({
      "[rank 0] 0\t0\t3\t3\t127.0.0.1",
      "[rank 1] 1\t1\t3\t3\t127.0.0.1",
      "[rank 2] 2\t2\t3\t3\t127.0.0.1",
    }, sorted_lines(r.out))
  end)

  it("replaces the place that another launcher gave to symmrun itself", function()
    local r = run(2, "print(os.getenv 'RANK', os.getenv 'WORLD_SIZE')",
      { env = { RANK = 7, WORLD_SIZE = 9, LOCAL_RANK = 7, MASTER_PORT = 1 } })
    assert.same({ "[rank 0] 0\t2", "[rank 1] 1\t2" }, sorted_lines(r.out))
  end)

  it("gives several ranks one thread of BLAS each, unless somebody has chosen", function()
    local script = "print(os.getenv 'OMP_NUM_THREADS', os.getenv 'OPENBLAS_NUM_THREADS')"
    local none = { OMP_NUM_THREADS = false, OPENBLAS_NUM_THREADS = false }
    assert.equal("[rank 0] nil\tnil\n", run(1, script, { env = none }).out)
    assert.same({ "[rank 0] 1\t1", "[rank 1] 1\t1" }, sorted_lines(run(2, script, { env = none }).out))
    none.OMP_NUM_THREADS = 5
    assert.same({ "[rank 0] 5\t1", "[rank 1] 5\t1" }, sorted_lines(run(2, script, { env = none }).out))
  end)

  it("gives each rank the script's arguments", function()
    local r = run(2, "print(#arg, ...)", { args = { "a b", "" } })
    assert.same({ "[rank 0] 2\ta b\t", "[rank 1] 2\ta b\t" }, sorted_lines(r.out))
  end)

  it("runs code on every rank, also before a script", function()
    local r = run(2, "print(x)", { options = { "-e", "x = os.getenv 'RANK'" } })
    assert.same({ "[rank 0] 0", "[rank 1] 1" }, sorted_lines(r.out))
  end)

  it("gives its standard input to rank 0 alone", function()
    local r = run(3, "print(#io.read('a'))", { stdin = "12345" })
    assert.same({ "[rank 0] 5", "[rank 1] 0", "[rank 2] 0" }, sorted_lines(r.out))
  end)

  it("gives a script from standard input to every rank", function()
    local r = launch.shell(launch.symmrun .. " -n 3 - x", marked { stdin = "print(...)" })
    assert.same({ "[rank 0] x", "[rank 1] x", "[rank 2] x" }, sorted_lines(r.out))
  end)

  it("leaves no descriptor of its own to what a rank starts", function()
    local script = "print(io.popen('ls /proc/self/fd | wc -l'):read 'l')"
    local alone = run(nil, script).out
    local r = run(2, script)
    assert.same({ "[rank 0] " .. alone, "[rank 1] " .. alone },
      { sorted_lines(r.out)[1] .. "\n", sorted_lines(r.out)[2] .. "\n" })
  end)

  it("works inside of one of its ranks", function()
    local r = run(2, ([[
      if os.getenv "RANK" == "1" then
        io.write(io.popen(%q .. " -n 2 -e 'print(require(\"symm\").init_process_group().world_size)'")
          :read "a")
      end]]):format(launch.symmrun))
    assert.equal(0, r.code)
    assert.same({ "[rank 1] [rank 0] 2", "[rank 1] [rank 1] 2" }, sorted_lines(r.out))
  end)

  it("connects its ranks", function()
    local r = run(4, group .. "print(pg.store:add('n', 1) <= 4, pg.world_size) pg:barrier()")
    assert.equal(0, r.code)
    assert.equal("[rank 3] true\t4", sorted_lines(r.out)[4])
  end)

  it("lets two jobs run at a time", function()
    local word = ("%s -n 2 -e '%s pg:barrier() print(pg.rank)'"):format(launch.symmrun,
      group:gsub("\n", " "))
    local r = launch.shell(("%s & %s; a=$?; wait $! && exit $a"):format(word, word), marked())
    assert.equal(0, r.code, r.err)
    assert.same({ "[rank 0] 0", "[rank 0] 0", "[rank 1] 1", "[rank 1] 1" }, sorted_lines(r.out))
  end)

  it("starts as many ranks as one host may have people waiting for", function()
    local r = run(48, group .. "pg:barrier() print 'here'", { timeout = 100 })
    assert.equal(0, r.code, r.err)
    assert.equal(48, #sorted_lines(r.out))
  end)

  -- ---- output ----

  it("keeps the two outputs apart", function()
    local r = run(2, "io.stdout:write('out\\n') io.stderr:write('err\\n')")
    assert.same({ "[rank 0] out", "[rank 1] out" }, sorted_lines(r.out))
    assert.same({ "[rank 0] err", "[rank 1] err" }, sorted_lines(r.err))
  end)

  it("keeps lines whole and each rank's in order, also where both outputs are one", function()
    local script = [[
      local rank = os.getenv "RANK"
      for i = 1, 600 do
        local line = rank:rep(i * 7 % 997) .. ":" .. i
        local cut = i % 50
        io.stdout:write(line:sub(1, cut)) io.stdout:flush() io.stdout:write(line:sub(cut + 1), "\n")
        io.stderr:write("e", i, "\n")
      end]]
    local r = launch.with_directory(function(directory)
      local file = assert(io.open(directory .. "/s.lua", "w"))
      file:write(script)
      file:close()
      return launch.shell(("%s -n 4 %s/s.lua 2>&1"):format(launch.symmrun, directory), marked())
    end)
    assert.equal(0, r.code)
    local out, err = {}, {}
    for line in r.out:gmatch("([^\n]*)\n") do
      local rank, rest = line:match("^%[rank (%d)%] (.*)$")
      local i = assert(tonumber(rest:match("^e(%d+)$") or rest:match(":(%d+)$")), line)
      local last = rest:sub(1, 1) == "e" and err or out
      assert.equal((last[rank] or 0) + 1, i)
      last[rank] = i
      if last == out then assert.equal(rank:rep(i * 7 % 997) .. ":" .. i, rest) end
    end
    assert.same({ ["0"] = 600, ["1"] = 600, ["2"] = 600, ["3"] = 600 }, out)
    assert.same(out, err)
  end)

  it("passes every byte on", function()
    local r = run(1, [[
      local bytes = {}
      for b = 0, 255 do if b ~= 10 then bytes[#bytes + 1] = string.char(b) end end
      io.write(table.concat(bytes), "\n")]])
    local bytes = {}
    for b = 0, 255 do if b ~= 10 then bytes[#bytes + 1] = string.char(b) end end
    assert.equal("[rank 0] " .. table.concat(bytes) .. "\n", r.out)
  end)

  it("ends a last line that has no end, and keeps empty ones", function()
    local r = run(1, "io.write('\\n\\nlast')")
    assert.equal("[rank 0] \n[rank 0] \n[rank 0] last\n", r.out)
  end)

  it("keeps a line of a million bytes whole, and cuts a longer one", function()
    local r = run(1, "io.write(('x'):rep((1 << 20) - 1), '\\n', ('y'):rep((1 << 20) + 5), '\\n')")
    local lines = sorted_lines(r.out)
    assert.equal(3, #lines)
    local lengths = {}
    for i, line in ipairs(lines) do lengths[i] = #line - #"[rank 0] " end
    table.sort(lengths)
    assert.same({ 5, (1 << 20) - 1, 1 << 20 }, lengths)
  end)

  it("waits for a slow reader, and loses nothing", function()
    local r = launch.shell(launch.symmrun .. [[ -n 3 -e '
      for i = 1, 30000 do print(("x"):rep(60)) end' | (sleep 0.5; wc -l)]], marked())
    assert.equal(90000, tonumber(r.out))
  end)

  it("stops when nobody reads any longer", function()
    local r = launch.shell("{ " .. launch.symmrun .. [[ -n 2 -e 'while true do print "y" end'
      echo "code $?" >&2; } | head -n 1]], marked())
    assert.matches("^%[rank %d%] y\n$", r.out)
    assert.matches("code 141\n", r.err)
  end)

  it("works where its own standard descriptors are closed", function()
    local r = launch.shell(launch.symmrun .. " -n 2 -e '" .. group:gsub("\n", " ") ..
      " pg:barrier() print(pg.rank)' <&- >&- 2>&-", marked())
    assert.same({ 0, "", "" }, { r.code, r.out, r.err })
  end)

  it("shows what was said before a rank was killed", function()
    local r = run(1, "print 'said' os.execute('kill -9 $PPID')")
    assert.same({ 137, "[rank 0] said\n" }, { r.code, r.out })
  end)

  -- ---- failures ----

  it("gives the code of the rank that fails, and stops the others", function()
    local r = run(3, "if os.getenv 'RANK' == '1' then os.exit(7) end while true do end")
    assert.equal(7, r.code)
    assert.matches("symmrun: rank 1 failed first: exit code 7 %(pid %d+, after %d+%.%d s%)", r.err)
    assert.matches("symmrun: exit code 7\n$", r.err)
  end)

  it("shows the last lines of the rank that failed", function()
    local r = run(2, [[
      if os.getenv "RANK" == "0" then os.execute "sleep 30" end
      for i = 1, 30 do print("line " .. i) end
      error "reason"]])
    assert.equal(1, r.code)
    local summary = r.err:match("symmrun: rank 1 failed first.*$")
    assert.matches("symmrun:   | line 30\n", summary)
    assert.matches("symmrun:   | [^\n]*reason\n", summary)
    assert.not_matches("| line 18\n", summary)
  end)

  it("says what a rank was doing when it was killed", function()
    local r = disturbed(3, group .. [[
      local t = symm.empty_strided_p2p({4}, {1}, "float32", "cpu", pg.group_name)
      local h = symm.rendezvous(t)
      if pg.rank == 2 then
        local p = io.popen("echo $PPID > ${READY}pid")
        p:close()
        ]] .. launch.ready .. [[
        h:wait_signal{src_rank = 0, channel = 5}
      end
      h:barrier()]], "sleep 0.3; kill -9 $(cat ${READY}pid)", { ready = 2 })
    assert.equal(137, r.code)
    assert.matches("rank 2 failed first: killed by signal 9", r.err)
    assert.matches("its last operation: in wait_signal %(group 0, peer 0, channel 5%)", r.err)
    assert.matches("it printed nothing", r.err)
  end)

  it("lets the others say that a rank has died", function()
    local r = run(3, group .. "if pg.rank == 1 then os.execute 'kill -9 $PPID' end pg:barrier()")
    assert.equal(137, r.code)
    assert.matches("%[rank 0%] symmrun: [^\n]*PEER_DIED in barrier [^\n]*peer 1", r.err)
    assert.matches("%[rank 2%] symmrun: [^\n]*PEER_DIED in barrier [^\n]*peer 1", r.err)
    assert.matches("rank 1 failed first: killed by signal 9", r.err)
  end)

  it("blames the rank that failed, not those that found out", function()
    for _ = 1, 5 do
      local r = run(4, group .. "if pg.rank == 3 then error 'mine' end pg:barrier()")
      assert.equal(1, r.code)
      assert.matches("symmrun: rank 3 failed first", r.err)
    end
  end)

  it("kills a rank that does not end when it is asked to", function()
    local r = run(2, [[
      if os.getenv "RANK" == "0" then os.exit(9) end
      string.find(string.rep('a', 1000), string.rep('a?', 40) .. string.rep('a', 2000))]])
    assert.equal(9, r.code)
  end)

  it("succeeds only if every rank does", function()
    assert.equal(0, run(3, "").code)
    assert.equal(0, run(3, "os.exit(true)").code)
    assert.equal("", run(3, "").err)
  end)

  it("says once that a script is absent", function()
    local r = launch.shell(launch.symmrun .. " -n 4 /nowhere/x.lua", marked())
    assert.same({ 1, "" }, { r.code, r.out })
    assert.matches("^symmrun: cannot open /nowhere/x.lua[^\n]*\n$", r.err)
  end)

  it("says once that a script is a directory", function()
    local r = launch.shell(launch.symmrun .. " -n 4 /", marked())
    assert.same({ 1, "symmrun: cannot read /: it is a directory\n" }, { r.code, r.err })
  end)

  it("says once that a script has a syntax error", function()
    local r = run(4, "local = 1")
    assert.same({ 1, "" }, { r.code, r.out })
    assert.matches("^symmrun: [^\n]*script.lua:1: [^\n]*\n$", r.err)
  end)

  it("holds itself to the descriptors that it may have", function()
    local r = launch.shell("ulimit -n 100; " .. launch.symmrun .. " -n 64 -e ''", marked())
    assert.equal(2, r.code)
    assert.matches("^symmrun: %-n 64 needs %d+ descriptors a process; this one may have 100[^\n]*\n$", r.err)
    r = launch.shell("ulimit -Sn 100; " .. launch.symmrun .. " -n 64 -e ''", marked())
    assert.equal(0, r.code)
  end)

  it("holds itself to the processes that may be started", function()
    if not os.execute("command -v setpriv >/dev/null && command -v prlimit >/dev/null") then
      pending "there is no setpriv or prlimit (package util-linux)"
    end
    -- The limit does not hold for root, and TMPDIR may be root's alone.
    local user = launch.capture("id -u") == "0" and "setpriv --reuid 65534 --clear-groups" or ""
    local folder = launch.capture("mktemp -d /tmp/symm-launcher.XXXXXX")
    os.execute(("chmod 755 %s; cp %s %s/libsymm.so.0 %s"):format(folder, launch.symmrun, launch.build,
      folder))
    local r = launch.shell(("prlimit --nproc=9 %s %s/symmrun -n 4 -e ''"):format(user, folder), marked())
    os.execute("rm -rf " .. folder)
    assert.equal(2, r.code)
    assert.matches("symmrun: %-n 4 needs 10 processes and threads; %d are left", r.err)
  end)

  -- ---- signals ----

  for name, number in pairs { INT = 2, TERM = 15, HUP = 1, QUIT = 3 } do
    it("passes SIG" .. name .. " on and ends with the ranks", function()
      local r = disturbed(3, group .. launch.ready ..
        "pg.store:get('never', {timeout_ms = 60000})", "kill -" .. name .. " $P")
      assert.equal(128 + number, r.code)
      assert.matches("symmrun: stopped by signal " .. number, r.err)
      assert.is_true(r.seconds < 30)
    end)
  end

  it("leaves SIGHUP to nohup", function()
    local r = launch.with_directory(function(directory)
      local file = assert(io.open(directory .. "/s.lua", "w"))
      file:write([[
        local launcher = io.open("/proc/self/stat"):read("a"):match("%) %S (%d+)")
        os.execute("kill -HUP " .. launcher .. "; sleep 0.3")
        print "on"]])
      file:close()
      return launch.shell(("trap '' HUP; %s -n 1 %s/s.lua"):format(launch.symmrun, directory), marked())
    end)
    assert.same({ 0, "[rank 0] on\n" }, { r.code, r.out })
  end)

  it("hears signals that whoever started it has blocked", function()
    local r = launch.shell(([[%s -c 'import os, signal, subprocess, sys
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))
os.execv(sys.argv[1], sys.argv[1:])' %s -n 2 -e 'os.exit(os.getenv "RANK" == "0" and 3 or 0)']]):format(
      "python3", launch.symmrun), marked())
    assert.equal(3, r.code)
  end)

  it("lets a rank that catches SIGINT end its own way", function()
    local r = disturbed(2, group .. launch.ready ..
      "print(pcall(pg.store.get, pg.store, 'never', {timeout_ms = 60000}))", "kill -INT $P")
    assert.equal(130, r.code)
    assert.equal(2, #sorted_lines(r.out))
    for _, line in ipairs(sorted_lines(r.out)) do assert.matches("false\t.*INTERRUPTED", line) end
  end)

  it("kills at once at the second SIGINT", function()
    local r = disturbed(2, launch.ready ..
      "string.find(string.rep('a', 1000), string.rep('a?', 40) .. string.rep('a', 2000))",
      "kill -INT $P; sleep 0.3; kill -INT $P")
    assert.equal(130, r.code)
  end)

  it("interrupts what a rank has started, too", function()
    local r = disturbed(2, launch.ready .. "os.execute('sleep 300')", "sleep 0.2; kill -INT $P")
    assert.equal(130, r.code)
  end)

  -- ---- nothing is left ----

  it("takes its ranks along when it is killed, and what they have started", function()
    local r = disturbed(3, group .. "os.execute('sleep 300 &')\n" .. launch.ready ..
      "pg.store:get('never', {timeout_ms = 60000})", "kill -9 $P")
    assert.equal(137, r.code)
  end)

  it("takes ranks along that never look up when it is killed", function()
    local r = disturbed(2, launch.ready ..
      "string.find(string.rep('a', 1000), string.rep('a?', 40) .. string.rep('a', 2000))",
      "kill -9 $P")
    assert.equal(137, r.code)
  end)

  it("ends what a rank has left running", function()
    local r = run(2, "os.execute('sleep 300 &') os.execute('sleep 300 >/dev/null 2>&1 &')")
    assert.equal(0, r.code)
    assert.is_true(r.seconds < 30)
  end)

  it("does not wait for what has left a rank's session with its output", function()
    local r = run(1, "os.execute('setsid sleep 20 & echo $! >&2')")
    assert.equal(0, r.code)
    assert.is_true(r.seconds < 15)
    os.execute("kill " .. r.err:match("%[rank 0%] (%d+)"))
  end)
end)
