-- SPDX-License-Identifier: MIT
--
-- Ours, from Lua: put_signal and wait_signal in turns, between two ranks.
--     symmrun -n 2 tests/bench/ranks/signal.lua CPUS TURNS BATCHES WARMUPS
-- Three cases: calls as a script writes them; with argument tables that are made once; and the same
-- loop around an empty function, which is what Lua itself takes.

local sample = require "tests.bench.support.sample"
local symm = require "symm"

local plan = sample.plan(arg)
local rank = tonumber(os.getenv("RANK"))
sample.pin(plan, rank)

local pg = symm.init_process_group()
assert(pg.world_size == 2, "two ranks")
local peer = 1 - rank
local t = symm.empty_strided_p2p({ 64 }, nil, "uint8", "cpu", pg.group_name)
local h = symm.rendezvous(t)

local function as_written(n)
  if rank == 0 then
    for _ = 1, n do
      h:put_signal { dst_rank = peer }
      h:wait_signal { src_rank = peer }
    end
  else
    for _ = 1, n do
      h:wait_signal { src_rank = peer }
      h:put_signal { dst_rank = peer }
    end
  end
end

local function with_tables(n)
  local put, wait = { dst_rank = peer }, { src_rank = peer }
  if rank == 0 then
    for _ = 1, n do
      h:put_signal(put)
      h:wait_signal(wait)
    end
  else
    for _ = 1, n do
      h:wait_signal(wait)
      h:put_signal(put)
    end
  end
end

local empty = { put_signal = function() end, wait_signal = function() end }
local function alone(n)
  for _ = 1, n do
    empty:put_signal { dst_rank = peer }
    empty:wait_signal { src_rank = peer }
  end
end

sample.run("Lua", rank, plan, 2, as_written)
sample.run("Lua_tables", rank, plan, 2, with_tables)
sample.run("Lua_loop", rank, plan, 2, alone)
h:barrier()
pg:destroy()
