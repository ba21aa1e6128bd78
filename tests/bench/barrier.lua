-- SPDX-License-Identifier: MIT
--
-- a barrier of a handle, of 2 and of 4 ranks
--
-- 2 ranks have a core each. 4 ranks have one each where there are 4 cores; else they share, and
-- every peer does: the flags yield then, and Open MPI is told that it is oversubscribed. "Lua,
-- loop alone" is what Lua takes for the same loop around an empty function, not subtracted.

local bench = require "tests.bench.support.bench"

local function with_ranks(this, world, plan, targets)
  local as, of = "/" .. world, (" of %d ranks"):format(world)
  for _, command in ipairs { "symm", "flag", "lua", "mpi" } do
    this.count = this.count + 1
    this.competitors[this.count] = { as = as, command = bench[command]("barrier", world, plan) }
  end
  table.insert(this.rows, {
    case = "C" .. of, ours = "C" .. as, peers = { "flag" .. as, "openmpi" .. as },
    target = targets.C,
  })
  table.insert(this.rows, {
    case = "Lua" .. of, ours = "Lua" .. as, peers = { "C" .. as, "flag" .. as, "openmpi" .. as },
    target = targets.Lua,
  })
end

bench.main("barrier", function(shrink)
  local this = {
    what = "a barrier; 2 ranks on CPUs " .. bench.cpus(2) .. ", 4 ranks on "
      .. (bench.cpus(4) == "-" and "fewer cores than ranks" or "CPUs " .. bench.cpus(4)),
    unit = "us",
    nanoseconds = 1000,
    competitors = {},
    rows = {},
    count = 0,
  }
  with_ranks(this, 2, shrink { turns = 500, batches = 999, warmups = 20 }, {
    C = { factor = 0.6, of = "openmpi" },
    Lua = { extra = 0.25, of = "C" },
  })
  table.insert(this.rows, { case = "Lua, loop alone", ours = "Lua_loop/2" })
  with_ranks(this, 4, shrink { turns = 100, batches = 101, warmups = 5 }, {})
  return this
end)
