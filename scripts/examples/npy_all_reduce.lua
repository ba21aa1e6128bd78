-- SPDX-License-Identifier: MIT
--
-- The demo: all-reduce of shards of a NumPy file.
--     symmrun -n 4 scripts/examples/npy_all_reduce.lua [samples.npy samples_sum.npy]
--
-- Each rank reads its share of the rows and sums it; a one-shot all-reduce over symmetric memory
-- then gives every rank the column sums of the whole file, which must equal NumPy's own.

local symm = require "symm"

local here = arg[0]:match("^(.*)/[^/]*$") or "."
local path = arg[1] or here .. "/data/samples.npy"
local expected = symm.npy_load(arg[2] or here .. "/data/samples_sum.npy")

local pg = symm.init_process_group()
local rank, world = pg.rank, pg.world_size

-- My rows: the first (total % world) ranks have one more than the others.
local total = symm.npy_shape(path)[1]
local count = total // world + (rank < total % world and 1 or 0)
local first = rank * (total // world) + math.min(rank, total % world)
local shard = symm.npy_load_rows(path, first, count)
local columns = shard:size(1)

local input = symm.empty_strided_p2p({ columns }, nil, "float32", "cpu", pg.group_name)
local h = symm.rendezvous(input)
local buffers = {}
for peer = 0, world - 1 do buffers[peer] = h:get_buffer(peer, { columns }, "float32") end

local function all_reduce(output)
  h:barrier()
  output:copy_(buffers[0])
  for peer = 1, world - 1 do output:add_(buffers[peer]) end
  h:barrier()
end

input:copy_(shard:sum(0))
local result = symm.empty({ columns }, "float32")
all_reduce(result)
assert(result:eq(expected):all(), "rank " .. rank .. ": the result differs from NumPy's")

local rounds = 2000
local begun = symm.now_ns()
for _ = 1, rounds do all_reduce(result) end
local microseconds = (symm.now_ns() - begun) / rounds / 1000

h:barrier()
if rank == 0 then
  print(("%d ranks summed %d rows of %d float32 from %s"):format(world, total, columns, path))
  print(("every rank's result equals NumPy's sum: %s"):format(result))
  print(("one all-reduce of %d bytes took %.1f us"):format(columns * 4, microseconds))
end
pg:destroy()
