-- SPDX-License-Identifier: MIT
--
-- Process groups: from the environment, over a store, by URL; barrier, destroy, mistakes.

local launch = require "tests.support.launch"

local prologue = [[
local symm = require "symm"
local function check(ok, text) if not ok then error(text or "check failed", 2) end end
local function fails(code, text, f, ...)
  local ok, err = pcall(f, ...)
  check(not ok and type(err) == "table" and err.code == code and tostring(err):find(text, 1, true),
    ("expected %s with '%s', got %s"):format(code, text, tostring(err)))
  return err
end
]]

local function ranks(n, script, options) return launch.ranks(n, prologue .. script, options) end

describe("a process group", function()
  it("is one rank without any environment", function()
    launch.ranks(nil, prologue .. [[
      local pg = symm.init_process_group()
      check(pg.rank == 0 and pg.world_size == 1 and pg.group_name == "0")
      pg:barrier()
      check(tostring(pg) == "process group 0 (rank 0 of 1)")
      pg:destroy()
    ]], { env = { RANK = false, WORLD_SIZE = false } })
  end)

  it("comes from the environment of the launcher", function()
    ranks(4, [[
      local pg = symm.init_process_group()
      check(pg.rank == tonumber(os.getenv("RANK")) and pg.world_size == 4)
      for _ = 1, 100 do pg:barrier() end
      pg.store:set("k" .. pg.rank, "v")
      pg:barrier()
      for r = 0, 3 do check(pg.store:get("k" .. r) == "v") end
      pg:destroy()
    ]])
  end)

  it("holds all back until the last has come to a barrier", function()
    ranks(3, [[
      local pg = symm.init_process_group()
      if pg.rank == 2 then symm.sleep("300ms"); pg.store:set("late", "yes") end
      pg:barrier()
      check(pg.store:check{"late"})
      pg:barrier()
      pg:destroy()
    ]])
  end)

  it("stands over a store that is given", function()
    ranks(2, [[
      local rank = tonumber(os.getenv("RANK"))
      local world = symm.init_process_group()
      local pg = symm.init_process_group{store = symm.PrefixStore("x", world.store), rank = rank,
        world_size = 2, group_name = "second", timeout = "20s"}
      check(pg.group_name == "second" and pg.timeout_ms == 20000)
      pg:barrier(); world:barrier()
      pg:destroy(); world:barrier(); world:destroy()
    ]])
  end)

  it("stands over a store that a URL names", function()
    ranks(2, [[
      local url = ("tcp://%s:%s?rank=%s&world_size=2"):format(os.getenv("MASTER_ADDR"),
        os.getenv("SYMM_TEST_PORT"), os.getenv("RANK"))
      local pg = symm.init_process_group{init_method = url, timeout = "20s"}
      pg:barrier(); pg:destroy()
    ]], { env = { SYMM_TEST_PORT = launch.free_port() } })
  end)

  it("refuses work after destroy, and a name that lives", function()
    ranks(2, [[
      local pg = symm.init_process_group()
      fails("EXISTS", "exists already", symm.init_process_group, {store = symm.HashStore(), rank = 0, world_size = 1})
      fails("EXISTS", "exists already", symm.set_group_info, "0", 0, 1, symm.HashStore())
      pg:barrier()
      pg:destroy()
      fails("DESTROYED", "was destroyed", pg.barrier, pg)
      fails("DESTROYED", "was destroyed", pg.destroy, pg)
      fails("DESTROYED", "was destroyed", function() return pg.store end)
      fails("NOT_FOUND", "no process group named '0'", symm.destroy_process_group)
    ]])
  end)

  it("lives on when its last handle is collected, until it is destroyed", function()
    ranks(2, [[
      symm.init_process_group()
      collectgarbage() collectgarbage()
      local rank = tonumber(os.getenv("RANK"))
      local t = symm.empty_strided_p2p({4}, nil, "int32", "cpu", "0")
      symm.rendezvous(t):barrier()
      fails("INVALID", "unknown argument 'bad'", symm.destroy_process_group, nil, {bad = 1})
      fails("INVALID", "'0' is a process group: destroy it instead", symm.unset_group_info, "0")
      symm.rendezvous(t):barrier()
      symm.destroy_process_group()
      symm.init_process_group{store = symm.HashStore(), rank = 0, world_size = 1} -- the name is free
      symm.destroy_process_group()
    ]])
  end)

  it("can be made again under its name", function()
    ranks(2, [[
      local rank, store = tonumber(os.getenv("RANK")), nil
      local world = symm.init_process_group()
      for _ = 1, 5 do
        local pg = symm.init_process_group{store = world.store, rank = rank, world_size = 2, group_name = "again"}
        pg:barrier()
        symm.destroy_process_group(pg)
      end
      world:barrier(); world:destroy()
    ]])
  end)

  it("times out at a barrier and names the missing rank", function()
    ranks(2, [[
      local pg = symm.init_process_group()
      if pg.rank == 0 then
        local err = fails("TIMEOUT", "rank 1", pg.barrier, pg, {timeout_ms = 200})
        check(err.op == "barrier" and err.group == "0" and err.peer == 1 and err.rank == 0)
        pg.store:set("go", "")
      else
        pg.store:wait{"go"}
        pg:barrier() -- rank 0 has arrived already
      end
      pg:destroy()
    ]])
  end)

  it("times out when a rank never joins, and names it", function()
    local result = launch.run(prologue .. [[
      local err = fails("TIMEOUT", "", symm.init_process_group, {timeout = "400ms"})
      check(tostring(err):find("1/2") or tostring(err):find("rank 1"), tostring(err))
    ]], { env = { RANK = "0", WORLD_SIZE = "2", MASTER_ADDR = "127.0.0.1",
      MASTER_PORT = launch.free_port() } })
    assert.equal(0, result.code, result.err)
  end)

  it("refuses a second rank with the same number", function()
    local result = launch.run(prologue .. [[
      local rank = tonumber(os.getenv("RANK"))
      local store = symm.TCPStore{host = os.getenv("MASTER_ADDR"), port = tonumber(os.getenv("MASTER_PORT")),
        is_master = rank == 0, listen_fd = rank == 0 and tonumber(os.getenv("SYMM_MASTER_LISTEN_FD")) or nil,
        wait_for_workers = false}
      local options = {store = store, rank = math.min(rank, 1), world_size = 2, timeout = "20s"}
      if rank < 2 then
        local pg = symm.init_process_group(options)
        store:set("formed", ""); store:wait{"refused"}
        pg:barrier(); pg:destroy()
      else -- comes when the group of two stands
        store:wait{"formed"}
        local err = fails("EXISTS", "rank 1 has joined this group already", symm.init_process_group, options)
        check(err.rank == 1)
        store:set("refused", "")
      end
    ]], { n = 3 })
    assert.equal(0, result.code, result.err)
  end)

  it("refuses two that claim one rank at the same moment", function()
    local result = launch.run(prologue .. [[
      local rank = tonumber(os.getenv("RANK"))
      local store = symm.TCPStore{host = os.getenv("MASTER_ADDR"), port = tonumber(os.getenv("MASTER_PORT")),
        is_master = rank == 0, listen_fd = rank == 0 and tonumber(os.getenv("SYMM_MASTER_LISTEN_FD")) or nil,
        world_size = 2 + 1}
      local ok, err = pcall(symm.init_process_group,
        {store = store, rank = rank > 0 and 1 or 0, world_size = 2, timeout = "10s"})
      if not ok then check(err.code == "EXISTS", tostring(err)) end
      store:add(ok and "joined" or "refused", 1)
      while store:add("joined", 0) + store:add("refused", 0) < 3 do symm.sleep(5) end
      check(store:add("refused", 0) == 1, "exactly one must be refused")
      if ok then err:barrier(); err:destroy() end
      store:add("seen", 1)
      if rank == 0 then while store:add("seen", 0) < 3 do symm.sleep(5) end end
    ]], { n = 3 })
    assert.equal(0, result.code, result.err)
  end)

  it("refuses world sizes that differ", function()
    ranks(2, [[
      local rank = tonumber(os.getenv("RANK"))
      local world = symm.init_process_group()
      local ok, err = pcall(symm.init_process_group, {store = world.store, rank = rank, world_size = 2 + rank,
        group_name = "odd", timeout = "2s"})
      check(not ok)
      check(err.code == "MISMATCH" and tostring(err):find("world_size " .. 3 - rank), tostring(err))
      world:barrier(); world:destroy()
    ]])
  end)

  it("refuses wrong arguments", function()
    launch.ranks(nil, prologue .. [[
      local init, store = symm.init_process_group, symm.HashStore()
      local function bad(text, options) fails("INVALID", text, init, options) end
      bad("unknown argument 'grup_name'; known: group_name", {grup_name = "x"})
      bad("must be a table", "env://")
      bad("rank and world_size must be given", {store = store})
      bad("come from the environment", {rank = 0, world_size = 1})
      bad("[0, 2)", {store = store, rank = 2, world_size = 2})
      bad("given", {store = store, rank = -1, world_size = 2})
      bad("given", {store = store, rank = 0, world_size = 0})
      bad("group_name must have", {store = store, rank = 0, world_size = 1, group_name = ""})
      bad("group_name must have", {store = store, rank = 0, world_size = 1, group_name = ("x"):rep(64)})
      bad("timeout", {store = store, rank = 0, world_size = 1, timeout = -2})
      bad("timeout", {store = store, rank = 0, world_size = 1, timeout = "soon"})
      bad("exclude each other", {store = store, rank = 0, world_size = 1, init_method = "env://"})
      fails("MISSING_PLUGIN", "cuda", init, {device = "cuda"})
      local pg = init{store = store, rank = 0, world_size = 1, timeout = -1}
      check(pg.timeout_ms == -1)
      fails("INVALID", "timeout_ms", pg.barrier, pg, {timeout_ms = -2})
      fails("INVALID", "unknown argument 'x'", pg.barrier, pg, {x = 1})
      fails("INVALID", "has no 'ranke'", function() return pg.ranke end)
      pg:destroy(); pg:close()
      fails("CLOSED", "closed", function() return pg.rank end)
    ]], { env = { RANK = false, WORLD_SIZE = false } })
  end)
end)
