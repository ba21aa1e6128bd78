-- SPDX-License-Identifier: MIT
--
-- Lesson 3: all-reduce in two shots, in place.
--     symmrun -n 4 scripts/examples/two_shot_all_reduce.lua [elements]
--
-- First each rank sums its own slice over all buffers and stores the result into all of them; then
-- a barrier makes every slice visible everywhere. A rank loads n elements and stores n, however
-- many ranks there are, where one shot loads world_size * n: this suits large tensors.

local symm = require "symm"

local pg = symm.init_process_group()
local n = tonumber(arg[1] or 4096)
local tensor = symm.empty_strided_p2p({ n }, nil, "float32", "cpu", pg.group_name)
local h = symm.rendezvous(tensor)
local w = h.world_size

-- My slice of every buffer. The last rank's may be shorter, and with few elements even empty.
local per_rank = (n + w - 1) // w
local first = math.min(h.rank * per_rank, n)
local length = math.min(per_rank, n - first)
local slices = {}
for rank = 0, w - 1 do slices[rank] = h:get_buffer(rank, { length }, "float32", first) end
local sum = symm.empty({ length }, "float32")

local function two_shot_all_reduce()
  h:barrier() -- all have written their input
  sum:copy_(slices[0])
  for rank = 1, w - 1 do sum:add_(slices[rank]) end
  -- Nobody else touches this slice, so it can be overwritten at once, everywhere.
  for rank = 0, w - 1 do slices[rank]:copy_(sum) end
  h:barrier() -- all slices have arrived
end

local base = symm.arange(n, "float32")
for round = 1, 3 do
  tensor:copy_(base):add_(round * (h.rank + 1))
  two_shot_all_reduce()
  assert(tensor:eq(base:mul(w):add(round * w * (w + 1) / 2)):all(), "wrong sum")
  h:barrier() -- all have checked before the next round writes
end

if h.rank == 0 then print(("two-shot: %d ranks, %d elements, sums right"):format(w, n)) end
pg:destroy()
