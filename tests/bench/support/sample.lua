-- SPDX-License-Identifier: MIT
--
-- How a rank in Lua measures: as sample.h does, with the same words and the same lines.
--     local plan = sample.plan(arg)                     -- CPUS TURNS BATCHES WARMUPS
--     sample.pin(plan, rank)                            -- before any thread starts
--     sample.run("Lua", rank, plan, 2, function(n) ... end) -- f does n turns

local symm = require "symm"

local sample = {}

function sample.plan(words)
  return {
    cpus = words[1],
    turns = assert(math.tointeger(words[2])),
    batches = assert(math.tointeger(words[3])),
    warmups = assert(math.tointeger(words[4])),
  }
end

function sample.pin(plan, rank)
  if plan.cpus == "-" then return end
  local cpus = {}
  for cpu in plan.cpus:gmatch("%d+") do cpus[#cpus + 1] = cpu end
  local file <close> = assert(io.open("/proc/self/stat"))
  local command = ("taskset -acp %s %d >/dev/null"):format(cpus[rank + 1], file:read("n"))
  assert(os.execute(command), command)
end

function sample.median(values)
  table.sort(values)
  local middle = #values // 2
  if #values % 2 == 1 then return values[middle + 1] end
  return (values[middle] + values[middle + 1]) / 2
end

-- The median nanoseconds of one turn's part: a turn that has two ways counts 2 parts.
function sample.run(name, rank, plan, parts, turns)
  local values = {}
  for batch = 1 - plan.warmups, plan.batches do
    local begun = symm.now_ns()
    turns(plan.turns)
    local ns = (symm.now_ns() - begun) / plan.turns / parts
    if batch >= 1 then values[batch] = ns end
  end
  io.stdout:write(("sample %s %d %.3f\n"):format(name, rank, sample.median(values)))
  io.stdout:flush()
end

return sample
