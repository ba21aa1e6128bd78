-- SPDX-License-Identifier: MIT
--
-- lua/symm/meta.lua tells editors about every method and function of tensors, and about no other.

local symm = require "symm"

local function declared(prefix)
  local names = {}
  for line in io.lines("lua/symm/meta.lua") do
    local name = line:match("^function " .. prefix .. "([%w_]+)%(")
    if name then names[name] = true end
  end
  return names
end

describe("meta.lua", function()
  it("declares the methods of tensors", function()
    local t, known = symm.zeros{ 1 }, declared("tensor:")
    local _, methods = debug.getupvalue(debug.getmetatable(t).__index, 1)
    for name in pairs(methods) do assert.is_true(known[name], "meta.lua lacks tensor:" .. name) end
    for name in pairs(known) do assert.are.equal("function", type(t[name]), "there is no tensor:" .. name) end
  end)

  it("declares functions that exist", function()
    for name in pairs(declared("symm%.")) do
      assert.are.equal("function", type(symm[name]), "there is no symm." .. name)
    end
    local known = declared("symm%.")
    for _, name in ipairs{ "empty", "empty_strided", "zeros", "ones", "full", "arange", "rand", "randn", "manual_seed",
      "tensor", "frombytes", "npy_load", "npy_load_rows", "npy_shape", "npy_save" } do
      assert.is_true(known[name], "meta.lua lacks symm." .. name)
    end
  end)
end)
