-- SPDX-License-Identifier: MIT
--
-- busted output handler that prints what the C tests print (tests/support/check.h), one line a
-- test as soon as it has ended: "ok - NAME", "not ok - NAME" after "# ..." lines that say why, and
-- "ok - NAME # SKIP REASON". What fails outside of a test (a syntax error, a before_each) is
-- "not ok" too.

local pretty = require "pl.pretty"

local function text_of(message)
  if message == nil then return "(no message)" end
  if type(message) == "string" then return message end
  local mt = getmetatable(message)
  if mt and mt.__tostring then return tostring(message) end
  return pretty.write(message)
end

return function()
  local busted = require "busted"
  local handler = require "busted.outputHandlers.base"()

  local function say(line) io.write(line, "\n") io.flush() end

  local function explain(item)
    say("# " .. text_of(item.message):gsub("\n", "\n# "))
    local trace = item.trace and item.trace.traceback
    if item.isError and trace then say("# " .. trace:gsub("^\n", ""):gsub("\n", "\n# ")) end
  end

  local function line_of(item) return (item.name:gsub("[\r\n]+", " ")) end

  function handler.testEnd(_, _, status)
    if status == "success" then
      say("ok - " .. line_of(handler.successes[#handler.successes]))
    elseif status == "pending" then
      local item = handler.pendings[#handler.pendings]
      local reason = type(item.message) == "string" and item.message or "no reason is given"
      reason = reason:gsub("^[^\n]-%.lua:%d+: ", ""):gsub("[\r\n]+", " ")
      say(("ok - %s # SKIP %s"):format(line_of(item), reason))
    else
      local list = status == "failure" and handler.failures or handler.errors
      explain(list[#list])
      say("not ok - " .. line_of(list[#list]))
    end
    return nil, true
  end

  function handler.outside(element)
    if element.descriptor ~= "it" then
      local item = handler.errors[#handler.errors]
      explain(item)
      say("not ok - " .. line_of(item) .. " (outside of a test)")
    end
    return nil, true
  end

  busted.subscribe({ "test", "end" }, handler.testEnd)
  busted.subscribe({ "error" }, handler.outside)
  busted.subscribe({ "failure" }, handler.outside)
  return handler
end
