-- SPDX-License-Identifier: MIT
--
-- Lesson 5: halo exchange of a 2-D grid.
--     symmrun -n 4 scripts/examples/halo_exchange.lua
--
-- The grid is cut into tiles, one a rank, each with a rim one cell wide. A step writes this tile's
-- edges straight into the neighbours' rims, signals each neighbour, waits for all of them, and then
-- replaces every cell by the sum of its four neighbours. Two buffers alternate, so nobody writes
-- into a rim that is still being read.

local symm = require "symm"

local pg = symm.init_process_group()
local w, me, size, steps = pg.world_size, pg.rank, 8, 6
local rows = math.floor(math.sqrt(w))
while w % rows ~= 0 do rows = rows - 1 end
local columns = w // rows
local row, column = me // columns, me % columns
local function rank_at(r, c) return (r % rows) * columns + c % columns end -- the grid is a torus

local full = { 2, size + 2, size + 2 }
local h = symm.rendezvous(symm.empty_strided_p2p(full, nil, "int64", "cpu", pg.group_name))
local mine = h:get_buffer(me, full, "int64")
-- Neighbour, its signal's channel there, and where my edge goes: { edge here, rim there }.
local sides = {
  { rank = rank_at(row - 1, column), back = 1, dim = 0, edge = 1, rim = size + 1 },
  { rank = rank_at(row + 1, column), back = 0, dim = 0, edge = size, rim = 0 },
  { rank = rank_at(row, column - 1), back = 3, dim = 1, edge = 1, rim = size + 1 },
  { rank = rank_at(row, column + 1), back = 2, dim = 1, edge = size, rim = 0 },
}
for _, side in ipairs(sides) do side.there = h:get_buffer(side.rank, full, "int64") end
local function line(t, side, at) return t:select(side.dim, at):narrow(0, 1, size) end

local function step(from, to)
  for i, side in ipairs(sides) do
    line(side.there:select(0, from), side, side.rim):copy_(line(mine:select(0, from), side, side.edge))
    h:put_signal { dst_rank = side.rank, channel = i - 1 }
  end
  for _, side in ipairs(sides) do h:wait_signal { src_rank = side.rank, channel = side.back } end
  local function shifted(r, c) return mine:select(0, from):narrow(0, r, size):narrow(1, c, size) end
  local sum = shifted(0, 1):add(shifted(2, 1)):add_(shifted(1, 0)):add_(shifted(1, 2))
  mine:select(0, to):narrow(0, 1, size):narrow(1, 1, size):copy_(sum)
end

mine:fill_(0)
if me == 0 then mine:set(0, 1, 1, 1) end -- one cell of the whole grid holds 1
h:barrier()
for s = 0, steps - 1 do step(s % 2, (s + 1) % 2) end
-- Each step multiplies the grid's total by four, so the tiles' totals must sum to 4^steps.
local totals = symm.rendezvous(symm.empty_strided_p2p({ w }, nil, "int64", "cpu", pg.group_name))
local total = mine:select(0, steps % 2):narrow(0, 1, size):narrow(1, 1, size):sum():item()
for rank = 0, w - 1 do totals:get_buffer(rank, { w }, "int64"):set(me, total) end
totals:barrier()
assert(totals:get_buffer(me, { w }, "int64"):sum():item() == 4 ^ steps, "cells were lost")
if me == 0 then print(("halo: %d x %d tiles, %d steps, total 4^%d"):format(rows, columns, steps, steps)) end
pg:destroy()
