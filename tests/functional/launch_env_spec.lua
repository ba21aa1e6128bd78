-- SPDX-License-Identifier: MIT
--
-- The same script as one rank under launchers that are not ours.

local launch = require "tests.support.launch"

local sorted_lines = launch.sorted_lines

local script = [[
local symm = require "symm"
local pg = symm.init_process_group{timeout = "20s"}
local t = symm.empty_strided_p2p({1}, {1}, "int64", "cpu", pg.group_name)
local h = symm.rendezvous(t)
t:fill_(pg.rank + 1)
h:barrier()
local sum = 0
for rank = 0, pg.world_size - 1 do sum = sum + h:get_buffer(rank, {1}, "int64"):item() end
h:barrier()
print(pg.rank, pg.world_size, sum)
pg:destroy()
]]

local function has(program) return os.execute("command -v " .. program .. " >/dev/null 2>&1") end

-- The words that start `n` ranks of a command.
local launchers = {
  {
    name = "Open MPI", program = "mpirun.openmpi", package = "openmpi-bin",
    words = "mpirun.openmpi --allow-run-as-root --oversubscribe -n %d",
    set = "-x %s=%s",
  },
  {
    name = "MPICH", program = "mpirun.mpich", package = "mpich",
    words = "mpirun.mpich -n %d", set = "-genv %s %s",
  },
}

for _, launcher in ipairs(launchers) do
  describe("under " .. launcher.name, function()
    -- Runs a command line in which %s is "the launcher with n ranks of the script".
    local function run(n, options)
      options = options or {}
      if not has(launcher.program) then
        pending(("there is no %s (package %s)"):format(launcher.program, launcher.package))
      end
      return launch.with_directory(function(directory)
        local file = assert(io.open(directory .. "/script.lua", "w"))
        file:write(options.script or script)
        file:close()
        local words = { launcher.words:format(n) }
        for name, value in pairs(options.set or {}) do
          words[#words + 1] = launcher.set:format(name, value)
        end
        local rank = ("%s %s/script.lua"):format(launch.symmrun, directory)
        words[#words + 1] = (options.rank or "%s"):format(rank)
        local command = table.concat(words, " ")
        if options.twice then -- Open MPI's own files of two jobs get into each other's way
          os.execute(("mkdir %s/1 %s/2"):format(directory, directory))
          command = ("TMPDIR=%s/1 %s & TMPDIR=%s/2 %s; a=$?; wait $! && exit $a"):format(directory,
            command, directory, command)
        end
        return launch.shell(command, options)
      end)
    end

    it("ranks find each other without any address", function()
      local r = run(3)
      assert.equal(0, r.code, r.err)
      assert.same({ "0\t3\t6", "1\t3\t6", "2\t3\t6" }, sorted_lines(r.out))
    end)

    it("ranks find each other although a shell stands between", function()
      local r = run(2, { rank = "sh -c '%s; exit $?'" })
      assert.equal(0, r.code, r.err)
      assert.same({ "0\t2\t3", "1\t2\t3" }, sorted_lines(r.out))
    end)

    it("two jobs at a time do not meet", function()
      local r = run(2, { twice = true })
      assert.equal(0, r.code, r.err)
      assert.same({ "0\t2\t3", "0\t2\t3", "1\t2\t3", "1\t2\t3" }, sorted_lines(r.out))
    end)

    it("ranks take an address that is given", function()
      local r = run(2, { set = { MASTER_ADDR = "@symm-given-" .. os.time() } })
      assert.equal(0, r.code, r.err)
      assert.same({ "0\t2\t3", "1\t2\t3" }, sorted_lines(r.out))
    end)

    it("one rank is enough", function()
      local r = run(1)
      assert.same({ 0, "0\t1\t1\n" }, { r.code, r.out })
    end)

    it("a rank that fails ends the job", function()
      local r = run(2, { script = script .. "if pg.rank == 1 then os.exit(3) end" })
      assert.equal(3, r.code)
    end)
  end)
end

describe("a rank that is told its place by variables", function()
  -- Runs ranks with variables of their own, each "NAME=VALUE NAME=VALUE".
  local function run(ranks, options)
    return launch.with_directory(function(directory)
      local file = assert(io.open(directory .. "/script.lua", "w"))
      file:write(script)
      file:close()
      local words = {}
      for i, variables in ipairs(ranks) do
        words[i] = ("env %s %s %s/script.lua"):format(variables, launch.symmrun, directory)
      end
      local command = table.concat(words, " & pids=\"$pids $!\"; ") .. "; code=$?; " ..
        "for pid in $pids; do wait $pid || code=$?; done; exit $code"
      return launch.shell(command, options)
    end)
  end

  it("meets the others at MASTER_ADDR and MASTER_PORT", function()
    local address = "WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=" .. launch.free_port()
    local r = run { "RANK=1 " .. address, "RANK=0 " .. address }
    assert.equal(0, r.code, r.err)
    assert.same({ "0\t2\t3", "1\t2\t3" }, sorted_lines(r.out))
  end)

  it("meets the others of a SLURM step on one node", function()
    local step = "SLURM_NTASKS=2 SLURM_STEP_ID=0 SLURM_STEP_NUM_NODES=1 SLURM_JOB_ID=" .. os.time()
    local r = run { "SLURM_PROCID=0 " .. step, "SLURM_PROCID=1 " .. step }
    assert.equal(0, r.code, r.err)
    assert.same({ "0\t2\t3", "1\t2\t3" }, sorted_lines(r.out))
  end)

  it("is alone in SLURM's batch script", function()
    local r = run { "SLURM_PROCID=0 SLURM_NTASKS=4 SLURM_STEP_ID=4294967291 SLURM_JOB_ID=1" }
    assert.same({ 0, "0\t1\t1\n" }, { r.code, r.out })
  end)

  it("says what to type when nothing says where the others are", function()
    local r = run { "RANK=1 WORLD_SIZE=2" }
    assert.equal(1, r.code)
    assert.matches("INVALID in init_process_group", r.err)
    assert.matches("type: export MASTER_ADDR=", r.err)
  end)

  it("says which half is missing", function()
    local r = run { "RANK=1" }
    assert.equal(1, r.code)
    assert.matches("RANK is set, but WORLD_SIZE is not", r.err)
  end)

  it("says that a port is in use", function()
    local r = launch.with_directory(function(directory)
      local file = assert(io.open(directory .. "/script.lua", "w"))
      file:write([[
        local symm = require "symm"
        local taken = symm.TCPStore{host = "127.0.0.1", port = 0, is_master = true, world_size = 1}
        os.exit(select(3, os.execute(("env RANK=0 WORLD_SIZE=1 MASTER_ADDR=127.0.0.1 MASTER_PORT=%d %s %s"):format(
          taken.port, arg[1], arg[2]))))]])
      file:close()
      local inner = assert(io.open(directory .. "/inner.lua", "w"))
      inner:write(script)
      inner:close()
      return launch.shell(("%s %s/script.lua %s %s/inner.lua"):format(launch.symmrun, directory,
        launch.symmrun, directory))
    end)
    assert.equal(1, r.code)
    assert.matches("127.0.0.1:%d+", r.err)
    assert.matches("in use", r.err)
  end)
end)
