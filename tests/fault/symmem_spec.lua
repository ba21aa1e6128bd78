-- SPDX-License-Identifier: MIT
--
-- Faults around symmetric memory: deaths, limits, signals. After each, nothing may be left behind.

local launch = require "tests.support.launch"

local prologue = [[
local symm = require "symm"
local pg = symm.init_process_group{timeout = "20s"}
local t = symm.empty_strided_p2p({1024}, nil, "float32", "cpu", pg.group_name)
local h = symm.rendezvous(t)
local function check(ok, text) if not ok then error(text or "check failed", 2) end end
-- Runs f, which must fail with this code, and shows how it failed.
local function report(code, f, ...)
  local ok, err = pcall(f, ...)
  check(not ok and err.code == code, "expected " .. code .. ", got " .. tostring(err))
  io.stderr:write("seen: ", tostring(err), "\n")
  return err
end
local function kill_self() os.execute("kill -9 $PPID"); symm.sleep("10s") end
]]

-- The names of this rank's abstract sockets, as the kernel lists them, for the spec to look for.
local show_sockets = [[
local mine, pipe = {}, io.popen("readlink /proc/$PPID/fd/*")
for inode in pipe:read("a"):gmatch("socket:%[(%d+)%]") do mine[inode] = true end
pipe:close()
for line in io.lines("/proc/net/unix") do
  local inode, name = line:match("(%d+) (@symm%S*)$")
  if inode and mine[inode] then print("held " .. name) end
end
h:barrier()
]]

local function still_held(out)
  local held, count = {}, 0
  for name in out:gmatch("held (@symm[^\n]*)") do
    count = count + 1
    if launch.capture("grep -cF '" .. name .. "' /proc/net/unix || true") ~= "0" then held[#held + 1] = name end
  end
  return held, count
end

describe("a rank that is killed", function()
  local function dies(title, script)
    it(title, function()
      local result = launch.run(prologue .. show_sockets .. script, { n = 3, timeout = 30 })
      assert.equal(128 + 9, result.code, result.err)
      local _, seen = result.err:gsub("seen: [^\n]*PEER_DIED[^\n]*", "")
      assert.truthy(seen >= 1, result.err)
      assert.truthy(result.err:find("rank 1", 1, true), result.err)
      local held, count = still_held(result.out)
      assert.truthy(count >= 3, result.out) -- each rank listened
      assert.same({}, held)
    end)
  end

  dies("while the others wait at a barrier", [[
    h:barrier()
    if h.rank == 1 then kill_self() end
    report("PEER_DIED", h.barrier, h); symm.sleep("200ms")
  ]])
  dies("while another waits for its signal", [[
    h:barrier()
    if h.rank == 1 then kill_self() end
    report("PEER_DIED", h.wait_signal, h, {src_rank = 1}); symm.sleep("200ms")
  ]])
  dies("while another waits for it to take a signal", [[
    h:barrier()
    if h.rank == 1 then kill_self() end
    h:put_signal{dst_rank = 1}
    report("PEER_DIED", h.put_signal, h, {dst_rank = 1}); symm.sleep("200ms")
  ]])
  dies("before the others' rendezvous", [[
    h:barrier()
    if h.rank == 1 then kill_self() end
    report("PEER_DIED", symm.rendezvous, symm.empty_strided_p2p({8}, nil, "uint8", "cpu", pg.group_name))
    symm.sleep("200ms")
  ]])
end)

describe("memory limits", function()
  it("end an allocation with the variable's name and value", function()
    launch.ranks(2, [[
      local symm = require "symm"
      local ok, err = pcall(symm.empty_strided_p2p, {2 << 20}, nil, "uint8", "cpu")
      assert(not ok and err.code == "OOM" and tostring(err):find("SYMM_SHM_LIMIT=1MiB", 1, true), tostring(err))
      for _ = 1, 20 do -- what is closed counts no more
        symm.empty_strided_p2p({700 << 10}, nil, "uint8", "cpu"):close()
      end
    ]], { env = { SYMM_SHM_LIMIT = "1MiB" } })
  end)

  it("of a cgroup end an allocation, and nobody is killed", function()
    local groups = "/sys/fs/cgroup/memory"
    local mine = ("%s/symm-test-%s"):format(groups, launch.capture("echo $$"))
    local v1 = launch.capture("test -w " .. groups .. " && mkdir " .. mine .. " 2>/dev/null && echo yes")
    if v1 ~= "yes" then
      pending("a memory cgroup (version 1) cannot be made here")
      return
    end
    local ok, message = pcall(function()
      assert(os.execute(("echo 209715200 >%s/memory.limit_in_bytes"):format(mine)))
      local result = launch.run([[
        local symm = require "symm"
        local kept, failed = {}, nil
        for i = 1, 64 do
          local ok, t = pcall(symm.empty_strided_p2p, {8 << 20}, nil, "uint8", "cpu")
          if not ok then failed = t; break end
          t:fill_(1)
          kept[i] = t
        end
        assert(failed and failed.code == "OOM" and tostring(failed):find("cgroup", 1, true), tostring(failed))
        assert(#kept >= 5)
        print("refused after " .. #kept .. " blocks")
      ]], { command = { "sh", "-c", ("echo $$ >%s/cgroup.procs && exec %s %%s"):format(mine, launch.symmrun) } })
      assert.equal(0, result.code, result.err)
      assert.truthy(result.out:find("refused after", 1, true))
    end)
    os.execute("sleep 0.1; rmdir " .. mine)
    assert(ok, message)
  end)
end)

describe("a signal in a wait", function()
  it("SIGINT ends it at once with INTERRUPTED", function()
    local result = launch.run(prologue .. [[
      if h.rank == 0 then os.execute("(sleep 0.3; kill -INT $PPID) &") end
      if h.rank == 0 then report("INTERRUPTED", h.wait_signal, h, {src_rank = 1, timeout_ms = 15000}) end
      h:barrier()
      pg:destroy()
    ]], { n = 2, timeout = 30 })
    assert.equal(0, result.code, result.err)
    assert.truthy(result.err:find("INTERRUPTED in wait_signal", 1, true), result.err)
  end)
end)
