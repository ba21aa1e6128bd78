-- SPDX-License-Identifier: MIT
--
-- Views in Lua, held against nested tables that are taken apart by hand.

local symm = require "symm"

local function fails(code, part, f, ...)
  local ok, err = pcall(f, ...)
  assert.is_false(ok)
  assert.are.equal(code, err.code)
  assert.is_truthy(err.message:find(part, 1, true), ("%q does not have %q"):format(err.message, part))
end

-- t[i][j][k] = 100 i + 10 j + k
local function digits()
  local list = {}
  for i = 0, 1 do
    list[i + 1] = {}
    for j = 0, 2 do
      list[i + 1][j + 1] = {}
      for k = 0, 3 do list[i + 1][j + 1][k + 1] = 100 * i + 10 * j + k end
    end
  end
  return symm.tensor(list)
end

describe("slices", function()
  local t = symm.arange(10)
  it("take start, stop and step", function()
    assert.are.same({ 2, 3, 4 }, t:slice(0, 2, 5):tolist())
    assert.are.same({ 7, 8, 9 }, t:slice(0, -3):tolist())
    assert.are.same({ 0, 1 }, t:slice(0, nil, 2):tolist())
    assert.are.same({ 1, 4, 7 }, t:slice(0, 1, 9, 3):tolist())
    assert.are.same({ 0, 9 }, t:slice(0, nil, nil, 9):tolist())
    assert.are.same({}, t:slice(0, 5, 5):tolist())
    assert.are.same({}, t:slice(0, 20, 30):tolist())
    assert.are.same({ 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 }, t:slice(0, -100, 100):tolist())
    assert.are.same({ { 2 }, { 12 } }, digits():select(0, 0):slice(0, 0, 2):slice(1, 2, 3):tolist())
  end)

  it("refuse a step below 1", function()
    fails("INVALID", "step must be at least 1, not 0", t.slice, t, 0, 0, 1, 0)
    fails("INVALID", "not -1", t.slice, t, 0, 0, 1, -1)
    fails("INVALID", "dim must be an integer", t.slice, t)
    fails("INVALID", "start must be an integer, not string", t.slice, t, 0, "1")
  end)

  it("share memory", function()
    local base = symm.zeros({ 6 }, "int32")
    base:slice(0, 1, nil, 2):fill_(7)
    assert.are.same({ 0, 7, 0, 7, 0, 7 }, base:tolist())
  end)
end)

describe("select and narrow", function()
  local t = digits()
  it("go by dimension", function()
    assert.are.same({ 110, 111, 112, 113 }, t:select(0, 1):select(0, 1):tolist())
    assert.are.same({ { 3, 13, 23 }, { 103, 113, 123 } }, t:select(2, -1):tolist())
    assert.are.same({ { { 11, 12 } }, { { 111, 112 } } }, t:narrow(1, 1, 1):narrow(-1, 1, 2):tolist())
    assert.are.equal(123, t:select(0, 1):select(0, 2):select(0, 3):item())
  end)

  it("end where the dimension ends", function()
    fails("INVALID", "no index 2 in dimension 0 of size 2", t.select, t, 0, 2)
    fails("INVALID", "no dimension 3", t.select, t, 3, 0)
    fails("INVALID", "3 elements from 2 do not lie in dimension 2 of size 4", t.narrow, t, 2, 2, 3)
    fails("INVALID", "length must be an integer", t.narrow, t, 0, 0)
  end)
end)

describe("shapes", function()
  local t = digits()
  it("are given as a list or as numbers", function()
    assert.are.same({ 4, 6 }, t:view(4, 6):shape())
    assert.are.same({ 4, 6 }, t:view{ 4, -1 }:shape())
    assert.are.same({ 24 }, t:flatten():shape())
    assert.are.same({ 2, 12 }, t:flatten(1):shape())
    assert.are.same({ 6, 4 }, t:flatten(0, 1):shape())
    assert.are.equal(t:data_ptr(), t:view(24):data_ptr())
    assert.are.same({ 1, 2, 3, 4 }, t:unsqueeze(0):shape())
    assert.are.same({ 2, 3, 4 }, t:unsqueeze(1):squeeze():shape())
    assert.are.same({ 2, 1, 3, 4 }, t:unsqueeze(1):squeeze(0):shape())
  end)

  it("copy in reshape only where they must", function()
    local turned = t:transpose(0, 2)
    fails("INVALID", "use reshape", turned.view, turned, 24)
    local flat = turned:reshape(-1)
    assert.are.same({ 0, 100, 10, 110 }, flat:slice(0, 0, 4):tolist())
    assert.are_not.equal(t:data_ptr(), flat:data_ptr())
    assert.are.equal(t:data_ptr(), t:reshape(6, 4):data_ptr())
  end)

  it("must hold the elements", function()
    fails("INVALID", "the elements of {2, 3, 4} cannot take the shape {5, -1}", t.view, t, 5, -1)
    fails("INVALID", "only one dimension may be -1", t.view, t, -1, -1)
    fails("INVALID", "shape must be an integer, not string", t.view, t, "x")
    fails("INVALID", "takes at most 2 arguments", t.view, t, { 4, 6 }, 1)
  end)
end)

describe("orders", function()
  local t = digits()
  it("are changed without copying", function()
    local p = t:permute(2, 0, 1)
    assert.are.same({ 4, 2, 3 }, p:shape())
    assert.are.equal(112, p:get(2, 1, 1))
    assert.are.equal(112, t:permute{ -1, 0, 1 }:get(2, 1, 1))
    assert.are.equal(112, t:transpose(0, 1):get(1, 1, 2))
    assert.are.same({ 3, 4, 2 }, t:movedim(0, 2):shape())
    assert.are.same({ 4, 3, 2 }, t:movedim({ 0, 1 }, { 2, 1 }):shape())
    assert.are.equal(t:data_ptr(), p:data_ptr())
    assert.is_true(p:contiguous():is_contiguous())
    assert.is_true(p:contiguous():equal(p))
  end)

  it("name every dimension once", function()
    fails("INVALID", "named twice", t.permute, t, 0, 0, 1)
    fails("INVALID", "2 dimensions were given", t.permute, t, 0, 1)
    fails("INVALID", "source has 1 dimensions and destination 2", t.movedim, t, 0, { 0, 1 })
    fails("INVALID", "dims is out of range", t.permute, t, 0, 1, 1 << 40)
  end)
end)

describe("expand", function()
  it("repeats without copying, for reading only", function()
    local t = symm.tensor{ { 1 }, { 2 } }
    local wide = t:expand(3, -1, 2)
    assert.are.same({ 3, 2, 2 }, wide:shape())
    assert.are.same({ 0, 1, 0 }, wide:stride())
    assert.are.same({ { 1, 1 }, { 2, 2 } }, wide:select(0, 2):tolist())
    fails("INVALID", "share memory", wide.fill_, wide, 1)
    fails("INVALID", "share memory", wide.add_, wide, 1)
    fails("INVALID", "cannot be broadcast", t.expand, t, 3, 3)
  end)
end)

describe("chunk", function()
  it("gives a list of views", function()
    local list = symm.arange(7):chunk(3)
    assert.are.equal(3, #list)
    assert.are.same({ 0, 1, 2 }, list[1]:tolist())
    assert.are.same({ 6 }, list[3]:tolist())
    assert.are.equal(4, #symm.arange(7):chunk(5)) -- pieces of 2
    assert.are.equal(7, #symm.arange(7):chunk(100))
    assert.are.same({ 2, 3, 2 }, digits():chunk(2, -1)[2]:shape())
    assert.are.equal(1, #symm.empty{ 0 }:chunk(4))
  end)

  it("agrees with the library", function()
    local t = symm.arange(7)
    fails("INVALID", "chunks must be at least 1, not 0", t.chunk, t, 0)
    fails("INVALID", "no dimension 1", t.chunk, t, 2, 1)
  end)
end)

describe("random views", function()
  -- Any chain of views shows what index arithmetic says.
  it("show the elements that their strides say", function()
    for _ = 1, 200 do
      local t = symm.arange(120):view(2, 3, 4, 5)
      for _ = 1, 4 do
        if t.ndim == 0 then break end
        local dim = math.random(0, t.ndim - 1)
        local size = t:size(dim)
        local what = math.random(4)
        if what == 1 and size > 0 then
          t = t:select(dim, math.random(0, size - 1))
        elseif what == 2 then
          t = t:slice(dim, math.random(0, size), math.random(0, size), math.random(3))
        elseif what == 3 then
          t = t:transpose(dim, math.random(0, t.ndim - 1))
        else
          t = t:unsqueeze(math.random(0, t.ndim))
        end
      end
      local strides, shape, want = t:stride(), t:shape(), {}
      local function walk(depth, offset)
        if depth > #shape then want[#want + 1] = offset return end
        for i = 0, shape[depth] - 1 do walk(depth + 1, offset + i * strides[depth]) end
      end
      walk(1, t:storage_offset()) -- element n of the base is n
      assert.are.same(want, t:reshape(-1):tolist())
      assert.are.same(want, t:clone():view(-1):tolist())
    end
  end)
end)
