-- SPDX-License-Identifier: MIT
--
-- Arithmetic, comparisons and reductions in Lua, held against loops over plain numbers.

local symm = require "symm"

local function fails(code, part, f, ...)
  local ok, err = pcall(f, ...)
  assert.is_false(ok)
  assert.are.equal(code, err.code)
  assert.is_truthy(err.message:find(part, 1, true), ("%q does not have %q"):format(err.message, part))
end

local FLOATS = { "float64", "float32", "float16", "bfloat16" }
local NUMBERS = { "float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "uint32",
  "uint64" }

describe("operators", function()
  it("are the methods", function()
    local a, b = symm.tensor{ 6.0, 8.0 }, symm.tensor{ 2.0, 4.0 }
    assert.are.same({ 8.0, 12.0 }, (a + b):tolist())
    assert.are.same({ 4.0, 4.0 }, (a - b):tolist())
    assert.are.same({ 12.0, 32.0 }, (a * b):tolist())
    assert.are.same({ 3.0, 2.0 }, (a / b):tolist())
    assert.are.same({ 36.0, 64.0 }, (a ^ 2):tolist())
    assert.are.same({ -6.0, -8.0 }, (-a):tolist())
  end)

  it("take numbers on either side", function()
    local t = symm.tensor{ 1, 2, 4 }
    assert.are.same({ 11, 12, 14 }, (t + 10):tolist())
    assert.are.same({ 9, 8, 6 }, (10 - t):tolist())
    assert.are.same({ 8, 4, 2 }, (8 / t):tolist())
    assert.are.same({ 2, 4, 16 }, (2 ^ t):tolist())
    assert.are.equal("int64", (10 - t).dtype)
    assert.are.equal("float16", (1 / symm.ones({ 1 }, "float16")).dtype)
  end)

  it("leave == as identity", function()
    local a = symm.ones{ 2 }
    assert.is_false(a == a:clone())
    assert.is_true(a == a) -- luacheck: ignore
  end)

  it("say what they cannot take", function()
    local t = symm.tensor{ 1, 2 }
    fails("INVALID", "must be a tensor or a number, not string", function() return t + "1" end)
    fails("INVALID", "must be a tensor or a number, not nil", function() return t * nil end)
    fails("INVALID", "the number must be a number, not table", function() return {} - t end)
    fails("INVALID", "0.5 is not a number of int64", function() return t + 0.5 end)
    fails("INVALID", "the dtypes are int64 and float32", function() return t + symm.ones{ 2 } end)
    fails("INVALID", "{2} and {3} cannot be broadcast", function() return t + symm.arange(3) end)
    fails("INVALID", "division of int64 by zero", function() return t / 0 end)
    fails("INVALID", "negative power -1", function() return t ^ -1 end)
  end)
end)

describe("integers", function()
  it("divide towards zero and wrap around", function()
    assert.are.same({ 3, -3 }, (symm.tensor{ 7, -7 } / 2):tolist())
    assert.are.same({ -128 }, (symm.tensor({ 127 }, "int8") + 1):tolist())
    assert.are.same({ 255 }, (symm.tensor({ 0 }, "uint8") - 1):tolist())
    assert.are.equal(math.mininteger, (symm.tensor{ math.maxinteger } + 1):item())
    assert.are.equal(math.mininteger, (symm.tensor{ math.mininteger } / -1):item())
  end)
end)

describe("methods", function()
  it("write in place, or into a tensor of the caller", function()
    local a, out = symm.tensor{ 1, 2 }, symm.zeros({ 2 }, "int64")
    assert.are.equal(out, a:add(5, { out = out }))
    assert.are.same({ 6, 7 }, out:tolist())
    assert.are.equal(a, a:add_(1))
    assert.are.same({ 2, 3 }, a:tolist())
    a:mul_(symm.tensor{ 3, 4 }):sub_(1):div_(2):maximum_(4):minimum_(5):pow_(2):neg_():abs_()
    assert.are.same({ 16, 25 }, a:tolist())
    local truth = symm.zeros({ 2 }, "bool")
    a:gt(20, { out = truth })
    assert.are.same({ false, true }, truth:tolist())
    fails("INVALID", "the result is bool; the output is int64", a.gt, a, 20, { out = out })
    fails("INVALID", "unknown argument 'to'; known: out", a.add, a, 1, { to = out })
    fails("INVALID", "out must be a tensor, not number", a.add, a, 1, { out = 3 })
    fails("INVALID", "the output has {2}", a.add, a, symm.zeros({ 3, 2 }, "int64"), { out = out })
  end)

  it("are as if operands were read first where memory overlaps", function()
    local t = symm.arange(100)
    t:narrow(0, 1, 99):add_(t:narrow(0, 0, 99))
    for i = 1, 99 do assert.are.equal(2 * i - 1, t:get(i)) end
  end)

  it("broadcast", function()
    local column, row = symm.tensor{ { 10 }, { 20 } }, symm.tensor{ 1, 2, 3 }
    assert.are.same({ { 11, 12, 13 }, { 21, 22, 23 } }, (column + row):tolist())
    assert.are.same({ { 9, 8, 7 }, { 19, 18, 17 } }, (column - row):tolist())
    local t = symm.zeros({ 2, 3 }, "int64")
    t:add_(row)
    assert.are.same({ { 1, 2, 3 }, { 1, 2, 3 } }, t:tolist())
    fails("INVALID", "the output has {3}", row.add_, row, t)
  end)
end)

describe("comparisons", function()
  it("give bool tensors", function()
    local a, b = symm.tensor{ 1, 2, 3 }, symm.tensor{ 3, 2, 1 }
    assert.are.same({ false, true, false }, a:eq(b):tolist())
    assert.are.same({ true, false, true }, a:ne(b):tolist())
    assert.are.same({ true, false, false }, a:lt(b):tolist())
    assert.are.same({ true, true, false }, a:le(b):tolist())
    assert.are.same({ false, false, true }, a:gt(b):tolist())
    assert.are.same({ false, true, true }, a:ge(b):tolist())
    assert.are.same({ false, true, false }, a:eq(2):tolist())
    assert.are.equal("bool", a:eq(b).dtype)
    assert(symm.full({ 64, 64 }, 42, "float32"):eq(42):all())
  end)

  it("of floats compare with the nearest number of their dtype", function()
    for _, dtype in ipairs(FLOATS) do assert.is_true(symm.full({ 1 }, 0.1, dtype):eq(0.1):all()) end
    assert.is_false(symm.tensor{ 0 / 0 }:eq(0 / 0):any())
  end)
end)

describe("all and any", function()
  it("are booleans of a whole tensor, tensors along a dimension", function()
    local t = symm.tensor{ { true, false }, { true, true } }
    assert.is_false(t:all())
    assert.is_true(t:any())
    assert.are.same({ true, false }, t:all(0):tolist())
    assert.are.same({ { false }, { true } }, t:all{ dim = 1, keepdim = true }:tolist())
    assert.are.same({ { false } }, t:all{ keepdim = true }:tolist())
    assert.is_true(symm.empty{ 0 }:all())
    assert.is_false(symm.empty{ 0 }:any())
    assert.is_true(symm.tensor{ 0, 3 }:any())
  end)
end)

describe("reductions", function()
  it("agree with a loop, for every dtype, dimension and layout", function()
    for _, dtype in ipairs(NUMBERS) do
      local list, sums, largest = {}, { 0, 0, 0 }, { -1, -1, -1 }
      for i = 1, 40 do
        list[i] = {}
        for j = 1, 3 do
          local value = math.random(0, 3)
          list[i][j] = value
          sums[j] = sums[j] + value
          largest[j] = math.max(largest[j], value)
        end
      end
      local t = symm.tensor(list, dtype)
      for _, layout in ipairs{ t, t:transpose(0, 1):clone():transpose(0, 1), t:expand(1, 40, 3):select(0, 0) } do
        assert.are.same(sums, layout:sum(0):to("int64"):tolist())
        assert.are.same(largest, layout:max(0):to("int64"):tolist())
        assert.are.equal(sums[1] + sums[2] + sums[3], layout:sum():to("int64"):item())
        for i = 1, 40 do
          assert.are.equal(math.min(table.unpack(list[i])), layout:min(-1):to("int64"):get(i - 1))
        end
      end
    end
  end)

  it("give the dtypes that hold their results", function()
    assert.are.equal("int64", symm.ones({ 2 }, "int8"):sum().dtype)
    assert.are.equal("int64", symm.ones({ 2 }, "bool"):sum().dtype)
    assert.are.equal("uint64", symm.ones({ 2 }, "uint64"):prod().dtype)
    assert.are.equal("float16", symm.ones({ 2 }, "float16"):sum().dtype)
    assert.are.equal("float64", symm.ones({ 2 }, "int32"):mean().dtype)
    assert.are.equal("int8", symm.ones({ 2 }, "int8"):max().dtype)
    assert.are.equal(300, symm.full({ 3 }, 100, "int8"):sum():item())
    assert.are.equal(2.5, symm.tensor{ 1, 2, 3, 4 }:mean():item())
  end)

  it("take their dimension in three ways", function()
    local t = symm.ones{ 2, 3 }
    assert.are.same({ 3 }, t:sum(0):shape())
    assert.are.same({ 1, 3 }, t:sum(0, true):shape())
    assert.are.same({ 2, 1 }, t:sum{ dim = -1, keepdim = true }:shape())
    assert.are.same({ 1, 1 }, t:sum{ keepdim = true }:shape())
    assert.are.same({}, t:sum():shape())
    fails("INVALID", "no dimension 2", t.sum, t, 2)
    fails("INVALID", "keepdim must be a boolean", t.sum, t, 0, 1)
    fails("INVALID", "unknown argument 'dims'", t.sum, t, { dims = 0 })
    fails("INVALID", "max of no elements", function() return symm.empty{ 0 }:max() end)
  end)

  it("sum as NumPy does", function()
    local left = symm.npy_load("tests/data/npy/matmul_left.npy")
    assert.is_true(left:sum(1):equal(symm.npy_load("tests/data/npy/sum_dim1.npy")))
  end)

  it("sum short floats in float32", function()
    assert.are.equal(5000.0, symm.ones({ 5000 }, "float16"):sum():item())
    assert.are.equal(4992.0, symm.ones({ 4992, 2 }, "bfloat16"):sum(0):get(1))
  end)
end)

describe("allclose and equal", function()
  it("compare whole tensors", function()
    local a = symm.tensor{ 1.0, 2.0 }
    assert.is_true(a:equal(a:clone()))
    assert.is_false(a:equal(symm.tensor{ 1.0, 2.0, 3.0 }))
    assert.is_true(a:allclose(a + 1e-6))
    assert.is_false(a:allclose(a + 0.1))
    assert.is_true(a:allclose(a + 0.1, { atol = 0.2 }))
    assert.is_true(a:allclose(a + 0.1, { rtol = 0.2 }))
    local n = symm.tensor{ 0 / 0 }
    assert.is_false(n:allclose(n))
    assert.is_true(n:allclose(n, { equal_nan = true }))
    fails("INVALID", "must not be negative", a.allclose, a, a, { atol = -1 })
    fails("INVALID", "unknown argument 'tol'; known: rtol, atol, equal_nan", a.allclose, a, a, { tol = 1 })
    fails("INVALID", "float32 and int64", a.equal, a, symm.arange(2))
  end)
end)

describe("matmul", function()
  it("agrees with three loops", function()
    for _, dtype in ipairs(NUMBERS) do
      local a, b = {}, {}
      for i = 1, 4 do
        a[i] = {}
        for k = 1, 5 do a[i][k] = math.random(0, 3) end
      end
      for k = 1, 5 do
        b[k] = {}
        for j = 1, 3 do b[k][j] = math.random(0, 3) end
      end
      local want = {}
      for i = 1, 4 do
        want[i] = {}
        for j = 1, 3 do
          want[i][j] = 0
          for k = 1, 5 do want[i][j] = want[i][j] + a[i][k] * b[k][j] end
        end
      end
      local left, right = symm.tensor(a, dtype), symm.tensor(b, dtype)
      assert.are.same(want, left:matmul(right):to("int64"):tolist())
      local out = symm.empty({ 3, 4 }, dtype):transpose(0, 1)
      assert.are.equal(out, left:matmul(right, { out = out }))
      assert.are.same(want, out:to("int64"):tolist())
    end
  end)

  it("agrees with NumPy over leading dimensions", function()
    local left = symm.npy_load("tests/data/npy/matmul_left.npy")
    local right = symm.npy_load("tests/data/npy/matmul_right.npy")
    assert.is_true(left:matmul(right):equal(symm.npy_load("tests/data/npy/matmul_product.npy")))
  end)

  it("needs shapes that fit", function()
    local t = symm.ones{ 2, 3 }
    fails("INVALID", "{2, 3} and {2, 3} do not fit", t.matmul, t, t)
    fails("INVALID", "argument 2 must be a symm.tensor, not number", t.matmul, t, 2)
    fails("UNSUPPORTED", "bool", function() local b = symm.ones({ 2, 2 }, "bool") return b:matmul(b) end)
  end)
end)
