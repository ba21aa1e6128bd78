-- SPDX-License-Identifier: MIT
--
-- Faults around symmetric memory: deaths, limits, signals. After each, nothing may be left behind.

local launch = require "tests.support.launch"
local grounds = require "tests.support.grounds"

local prologue = [[
local t = symm.empty_strided_p2p({1024}, nil, "float32", "cpu", name)
local h = symm.rendezvous(t)
-- Runs f, which must fail with this code, and shows how it failed.
local function report(code, f, ...)
  io.stderr:write("seen: ", tostring(fails(code, nil, f, ...)), "\n")
end
local function kill_self() os.execute("kill -9 $PPID"); symm.sleep("10s") end
]]

-- A script of each case, on each ground.
local function on_each(f)
  for title, ground in pairs(grounds.each) do f(title, grounds.prologue .. ground .. prologue) end
end

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

on_each(function(ground, beginning)
  local function dies(title, script)
    it(title, function()
      local result = launch.run(beginning .. show_sockets .. script, { n = 3, timeout = 30 })
      assert.equal(128 + 9, result.code, result.err)
      local _, seen = result.err:gsub("seen: [^\n]*PEER_DIED[^\n]*", "")
      assert.truthy(seen >= 1, result.err)
      assert.truthy(result.err:find("rank 1", 1, true), result.err)
      local held, count = still_held(result.out)
      assert.truthy(count >= 3, result.out) -- each rank listened
      assert.same({}, held)
    end)
  end

  describe("with " .. ground .. ", a rank that is killed", function()
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
      report("PEER_DIED", symm.rendezvous, symm.empty_strided_p2p({8}, nil, "uint8", "cpu", name))
      symm.sleep("200ms")
    ]])
  end)

  describe("with " .. ground .. ", SIGINT in a wait", function()
    it("ends it at once with INTERRUPTED", function()
      local result = launch.run(beginning .. [[
        if h.rank == 0 then os.execute("(sleep 0.3; kill -INT $PPID) &") end
        if h.rank == 0 then report("INTERRUPTED", h.wait_signal, h, {src_rank = 1, timeout_ms = 15000}) end
        h:barrier()
        finish()
      ]], { n = 2, timeout = 30 })
      assert.equal(0, result.code, result.err)
      assert.truthy(result.err:find("INTERRUPTED in wait_signal", 1, true), result.err)
    end)
  end)
end)

-- Hierarchies of cgroups: where a group can be made, whether it would have a limit, and in which file.
local hierarchies = {
  { root = "/sys/fs/cgroup/memory", limit = "memory.limit_in_bytes",
    there = "test -e /sys/fs/cgroup/memory/memory.limit_in_bytes", lack = "version 1 is not there" },
  { root = "/sys/fs/cgroup", limit = "memory.max",
    there = "grep -qsw memory /sys/fs/cgroup/cgroup.subtree_control",
    lack = "version 2 has no memory in /sys/fs/cgroup/cgroup.subtree_control" },
}

-- A cgroup with a limit of so many bytes: { folder, name, limit, remove }; or nil and why there can be none.
local function make_cgroup(bytes)
  local name, reasons = "symm-test-" .. launch.capture("echo $PPID"), {}
  for _, at in ipairs(hierarchies) do
    local folder = at.root .. "/" .. name
    local function remove()
      os.execute(("for _ in 1 2 3 4 5 6 7 8 9; do rmdir %s && break; sleep 0.1; done 2>/dev/null"):format(folder))
    end
    local made = launch.shell(("{ %s || { echo '%s' >&2; exit 1; }; } && mkdir %s && echo %d >%s/%s"):format(at.there,
      at.lack, folder, bytes, folder, at.limit))
    if made.code == 0 then return { folder = folder, name = name, limit = at.limit, remove = remove } end
    if launch.capture("test -d " .. folder .. " && echo yes") then remove() end
    reasons[#reasons + 1] = made.err:match("[^\n]*")
  end
  return nil, "no memory cgroup can be made here: " .. table.concat(reasons, "; ")
end

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
    local cgroup, reason = make_cgroup(200 << 20)
    if not cgroup then
      pending(reason)
      return
    end
    local inside = ("echo $$ >%s/cgroup.procs && exec %s %%s"):format(cgroup.folder, launch.symmrun)
    local ok, message = pcall(function()
      local result = launch.run([[
        local symm = require "symm"
        local kept, failed = {}, nil
        for i = 1, 64 do
          local ok, t = pcall(symm.empty_strided_p2p, {8 << 20}, nil, "uint8", "cpu")
          if not ok then failed = t; break end
          t:fill_(1)
          kept[i] = t
        end
        assert(failed and failed.code == "OOM", tostring(failed))
        assert(#kept >= 5)
        print("after " .. #kept .. " blocks: " .. tostring(failed))
      ]], { command = { "sh", "-c", inside } })
      assert.equal(0, result.code, result.err)
      assert.truthy(result.out:find("cgroup /" .. cgroup.name .. " (" .. cgroup.limit .. ")", 1, true), result.out)
    end)
    cgroup.remove()
    assert(ok, message)
  end)
end)
