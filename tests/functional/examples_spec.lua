-- SPDX-License-Identifier: MIT
--
-- The lessons of scripts/examples: each checks its own results, so exit code 0 means they are right;
-- the last line says that it came to its end.

local launch = require "tests.support.launch"

local function lesson(name, n, expected, args)
  it(("%s on %d ranks%s"):format(name, n, args and " with " .. table.concat(args, " ") or ""), function()
    local result = launch.ranks(n, ("scripts/examples/%s.lua"):format(name), { args = args })
    assert.truthy(result.out:find(expected, 1, true), "missing '" .. expected .. "' in:\n" .. result.out)
  end)
end

describe("the example", function()
  lesson("hand_off", 2, "and 43 after a barrier")
  for _, n in ipairs { 1, 2, 4 } do
    lesson("one_shot_all_reduce", n, "sums right")
    lesson("two_shot_all_reduce", n, "sums right")
    lesson("ring_all_gather", n, "ring: " .. n .. " ranks gathered")
    lesson("halo_exchange", n, "total 4^6")
    lesson("npy_all_reduce", n, "equals NumPy's sum")
  end
  lesson("two_shot_all_reduce", 4, "sums right", { "3" }) -- a rank without elements
  lesson("two_shot_all_reduce", 3, "sums right", { "1001" })
  lesson("ring_all_gather", 3, "gathered 1 elements", { "1" })

  it("hand_off says what it wants when the ranks are not two", function()
    local result = launch.run("scripts/examples/hand_off.lua", { n = 3 })
    assert.not_equal(0, result.code)
    assert.truthy(result.err:find("symmrun -n 2", 1, true))
  end)

  it("all are tested, short, and say how they are run", function()
    local files = io.popen("ls scripts/examples/*.lua")
    local spec = io.open("tests/functional/examples_spec.lua"):read("a")
    local count = 0
    for path in files:lines() do
      local text, lines = io.open(path):read("a"), 0
      for _ in text:gmatch("\n") do lines = lines + 1 end
      assert.truthy(lines < 60, path .. " has " .. lines .. " lines")
      assert.truthy(text:find("symmrun %-n %d"), path)
      assert.truthy(spec:find('lesson("' .. path:match("([%w_]+)%.lua$") .. '"', 1, true), path)
      count = count + 1
    end
    files:close()
    assert.truthy(count >= 6)
  end)
end)
