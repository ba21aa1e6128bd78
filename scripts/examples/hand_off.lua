-- SPDX-License-Identifier: MIT
--
-- Lesson 1: two ranks hand data over through symmetric memory.
--     symmrun -n 2 scripts/examples/hand_off.lua
--
-- Each rank allocates a block alone; the rendezvous maps everybody's block into everybody. After
-- that there are no messages: a rank writes into its peer's memory and raises a signal there.

local symm = require "symm"

local pg = symm.init_process_group()
assert(pg.world_size == 2, "this lesson wants two ranks: symmrun -n 2 " .. arg[0])

local t = symm.empty_strided_p2p({ 64, 64 }, { 64, 1 }, "float32", "cpu", pg.group_name)
local h = symm.rendezvous(t) -- collective: every rank of the group calls it
local b0 = h:get_buffer(0, { 64, 64 }, "float32") -- rank 0's memory, as this rank sees it

-- One way: rank 1 writes, then signals; rank 0 waits, then reads. What was written before
-- put_signal is there after wait_signal.
if h.rank == 0 then
  h:wait_signal { src_rank = 1 }
  assert(b0:eq(42):all())
  print("rank 0 found 42 in its own memory, written by rank 1")
else
  b0:fill_(42)
  h:put_signal { dst_rank = 0 }
end

-- The other way: barriers. All ranks pass the same number of them.
h:barrier()
if h.rank == 0 then
  h:barrier()
  assert(b0:eq(43):all())
  print("and 43 after a barrier")
else
  b0:copy_(symm.full({ 64, 64 }, 43, "float32"))
  h:barrier()
end
h:barrier() -- rank 1's memory must not go while rank 0 still reads
pg:destroy()
