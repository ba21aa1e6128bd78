-- SPDX-License-Identifier: MIT
--
-- rendezvous of a block of 1 MiB by 4 ranks
--
-- All ranks begin at one time; a rank's time is from there to its handle. "first" is the first of
-- a group, which connects its processes; "later" is another block of the same group. "with
-- allocation" begins before the block is allocated and ends after each rank has touched its pages,
-- as with the peer: MPI_Win_allocate_shared, MPI_Win_shared_query of every rank, a write to each
-- page.

local bench = require "tests.bench.support.bench"

bench.main("rendezvous", function(shrink)
  local plan = shrink { turns = 1, batches = 10, warmups = 1 }
  local this = {
    what = "rendezvous of 1 MiB; 4 ranks on "
      .. (bench.cpus(4) == "-" and "fewer cores than ranks" or "CPUs " .. bench.cpus(4)),
    unit = "ms",
    nanoseconds = 1000000,
    competitors = {
      { command = bench.symm("rendezvous", 4, plan) },
      { command = bench.mpi("rendezvous", 4, plan) },
    },
    rows = {},
  }
  for _, over in ipairs { "median", "max" } do
    local ranks = over == "max" and ", slowest rank" or ", median rank"
    for _, kind in ipairs { "first", "later" } do
      table.insert(this.rows, {
        case = kind .. ranks, ours = kind, over = over, target = { most = 5 },
      })
    end
    table.insert(this.rows, {
      case = "with allocation" .. ranks, ours = "allocated", over = over, peers = { "openmpi" },
    })
  end
  return this
end)
