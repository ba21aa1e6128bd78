-- SPDX-License-Identifier: MIT
--
-- half a round trip of a signal, put_signal to wait_signal
--
-- One rank's put and the other's wait: in each half of a round trip every rank makes one call.
-- "Lua" is the loop as a script has it; "Lua, tables made once" spares the making of an argument
-- table a call; "Lua, loop alone" is what Lua takes for the same loop around an empty function,
-- not subtracted.

local bench = require "tests.bench.support.bench"

bench.main("signal", function(shrink)
  local plan = shrink { turns = 500, batches = 999, warmups = 20 }
  return {
    what = "half a round trip of a signal; 2 ranks on CPUs " .. bench.cpus(2),
    unit = "us",
    nanoseconds = 1000,
    competitors = {
      { command = bench.symm("signal", 2, plan) },
      { command = bench.flag("signal", 2, plan) },
      { command = bench.lua("signal", 2, plan) },
      { command = bench.mpi("signal", 2, plan) },
    },
    rows = {
      {
        case = "C", ours = "C", peers = { "flag", "openmpi_0B", "openmpi_1B" },
        target = { factor = 1.5, of = "flag" },
      },
      {
        case = "Lua", ours = "Lua", peers = { "C", "flag", "openmpi_0B", "openmpi_1B" },
        target = { extra = 0.25, of = "C" },
      },
      {
        case = "Lua, tables made once", ours = "Lua_tables",
        peers = { "C", "flag", "openmpi_0B", "openmpi_1B" },
      },
      { case = "Lua, loop alone", ours = "Lua_loop" },
    },
  }
end)
