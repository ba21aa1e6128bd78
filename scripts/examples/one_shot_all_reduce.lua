-- SPDX-License-Identifier: MIT
--
-- Lesson 2: all-reduce in one shot.
--     symmrun -n 4 scripts/examples/one_shot_all_reduce.lua [elements]
--
-- Every rank reads every buffer and sums for itself: one barrier before (all have written) and one
-- after (all have read). Each rank loads world_size * n elements, so this suits small tensors.

local symm = require "symm"

local pg = symm.init_process_group()
local n = tonumber(arg[1] or 1024)
local input = symm.empty_strided_p2p({ n }, nil, "float32", "cpu", pg.group_name)
local h = symm.rendezvous(input)

-- Views of all buffers are made once; they keep the handle alive.
local buffers = {}
for rank = 0, h.world_size - 1 do buffers[rank] = h:get_buffer(rank, { n }, "float32") end

local function one_shot_all_reduce(output)
  h:barrier()
  output:copy_(buffers[0])
  for rank = 1, h.world_size - 1 do output:add_(buffers[rank]) end -- the same order on all ranks
  h:barrier()
end

-- Small whole numbers sum exactly in any order, so the check is equality.
local base = symm.arange(n, "float32")
local output = symm.empty({ n }, "float32")
for round = 1, 3 do
  input:copy_(base):add_(round * (h.rank + 1))
  one_shot_all_reduce(output)
  local w = h.world_size
  local expected = base:mul(w):add(round * w * (w + 1) / 2)
  assert(output:eq(expected):all(), "wrong sum")
end

if h.rank == 0 then print(("one-shot: %d ranks, %d elements, sums right"):format(h.world_size, n)) end
pg:destroy()
