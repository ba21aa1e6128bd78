-- SPDX-License-Identifier: MIT
--
-- Lesson 4: all-gather around a ring, with signals instead of barriers.
--     symmrun -n 4 scripts/examples/ring_all_gather.lua [elements per rank]
--
-- In step s each rank passes on to its right neighbour the chunk that it got in step s - 1. A signal
-- on channel s says "chunk s has landed", so neighbours only wait for each other, never for all.

local symm = require "symm"

local pg = symm.init_process_group()
local n = tonumber(arg[1] or 1000)
local w, me = pg.world_size, pg.rank
local right, left = (me + 1) % w, (me - 1) % w

-- Room for everybody's chunk: row r is rank r's.
local all = symm.empty_strided_p2p({ w, n }, nil, "int64", "cpu", pg.group_name)
local h = symm.rendezvous(all)
local there = h:get_buffer(right, { w, n }, "int64")

local function ring_all_gather(chunk)
  all:select(0, me):copy_(chunk)
  local row = me
  for step = 1, w - 1 do
    there:select(0, row):copy_(all:select(0, row))
    h:put_signal { dst_rank = right, channel = step }
    h:wait_signal { src_rank = left, channel = step }
    row = (row - 1) % w -- the chunk that has just come from the left goes on in the next step
  end
end

for round = 1, 3 do
  ring_all_gather(symm.full({ n }, round * 1000 + me, "int64"))
  for rank = 0, w - 1 do
    assert(all:select(0, rank):eq(round * 1000 + rank):all(), "wrong chunk of rank " .. rank)
  end
  h:barrier() -- the next round overwrites what a slower neighbour may still read
end

if me == 0 then print(("ring: %d ranks gathered %d elements each"):format(w, n)) end
pg:destroy()
