-- SPDX-License-Identifier: MIT
--
-- Ours, from Lua: barriers of a handle, and the same loop around an empty function, which is what
-- Lua itself takes.
--     symmrun -n N tests/bench/ranks/barrier.lua CPUS TURNS BATCHES WARMUPS

local sample = require "tests.bench.support.sample"
local symm = require "symm"

local plan = sample.plan(arg)
local rank = tonumber(os.getenv("RANK"))
sample.pin(plan, rank)

local pg = symm.init_process_group()
local t = symm.empty_strided_p2p({ 64 }, nil, "uint8", "cpu", pg.group_name)
local h = symm.rendezvous(t)

local function barriers(n)
  for _ = 1, n do h:barrier() end
end

local empty = { barrier = function() end }
local function alone(n)
  for _ = 1, n do empty:barrier() end
end

sample.run("Lua", rank, plan, 1, barriers)
sample.run("Lua_loop", rank, plan, 1, alone)
h:barrier()
pg:destroy()
