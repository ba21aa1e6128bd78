-- SPDX-License-Identifier: MIT
--
-- .npy files in Lua: what NumPy wrote, and what NumPy reads of ours, where it is installed.

local symm = require "symm"

local DATA = "tests/data/npy/"

local function fails(code, part, f, ...)
  local ok, err = pcall(f, ...)
  assert.is_false(ok)
  assert.are.equal(code, err.code)
  assert.is_truthy(err.message:find(part, 1, true), ("%q does not have %q"):format(err.message, part))
end

-- A path that goes when the test is over.
local function temporary(f)
  local path = os.tmpname()
  local ok, err = pcall(f, path)
  os.remove(path)
  if not ok then error(err, 0) end
end

-- A Python with NumPy, or nil.
local function find_python()
  for _, python in ipairs{ "python3", "/usr/bin/python3" } do
    if os.execute(python .. " -c 'import numpy' >/dev/null 2>&1") then return python end
  end
end

-- What a NumPy expression over `x`, the array in the file, prints.
local function numpy_says(python, path, expression)
  local command = "%s -c 'import numpy; x = numpy.load(\"%s\"); print(%s)'"
  local pipe = assert(io.popen(command:format(python, path, expression)))
  local text = pipe:read("a")
  assert(pipe:close(), "python failed")
  return (text:gsub("%s+$", ""))
end

describe("npy_load", function()
  it("reads what NumPy wrote", function()
    assert.are.same({ { -3, -2, -1, 0, 1 }, { 2, 3, 4, 5, 6 }, { 7, 8, 9, 10, 11 } },
      symm.npy_load(DATA .. "c_int16.npy"):tolist())
    assert.are.same({ { -3.0, -2.0, -1.0, 0.0, 1.0 }, { 2.0, 3.0, 4.0, 5.0, 6.0 }, { 7.0, 8.0, 9.0, 10.0, 11.0 } },
      symm.npy_load(DATA .. "fortran_float64.npy"):tolist())
    assert.are.equal(-7, symm.npy_load(DATA .. "scalar.npy"):item())
    assert.are.same({ 3, 0, 2 }, symm.npy_load(DATA .. "empty.npy"):shape())
  end)

  it("takes bfloat16 by name", function()
    assert.are.same({ 1.0, -2.5, 3.0 }, symm.npy_load(DATA .. "bfloat16.npy", "bfloat16"):tolist())
    fails("UNSUPPORTED", "ask for dtype bfloat16", symm.npy_load, DATA .. "bfloat16.npy")
    fails("INVALID", "holds int16, not int32", symm.npy_load, DATA .. "c_int16.npy", "int32")
  end)

  it("says what is wrong", function()
    fails("NOT_FOUND", "there is no file /nowhere.npy", symm.npy_load, "/nowhere.npy")
    fails("INVALID", "is not a .npy file", symm.npy_load, DATA .. "make.py")
    fails("UNSUPPORTED", "pickled", symm.npy_load, DATA .. "object.npy")
    fails("INVALID", "path must be a string, not nil", symm.npy_load, nil)
    fails("INVALID", "takes at most 2 arguments", symm.npy_load, "x", "int8", 1)
  end)
end)

describe("npy_load_rows", function()
  it("reads a part of the first dimension", function()
    for _, order in ipairs{ "c", "fortran" } do
      local path = DATA .. order .. "_int64.npy"
      assert.are.same({ { 2, 3, 4, 5, 6 } }, symm.npy_load_rows(path, 1, 1):tolist())
      assert.are.same({ 0, 5 }, symm.npy_load_rows(path, 3, 0):shape())
      fails("INVALID", "has 3 rows; 2 from row 2 are not among them", symm.npy_load_rows, path, 2, 2)
      fails("INVALID", "count is negative", symm.npy_load_rows, path, 0, -1)
      fails("INVALID", "from row -1", symm.npy_load_rows, path, -1, 1)
    end
    assert.are.same({ -2.5 }, symm.npy_load_rows(DATA .. "bfloat16.npy", 1, 1, "bfloat16"):tolist())
  end)
end)

describe("npy_shape", function()
  it("reads the header alone", function()
    local shape, dtype = symm.npy_shape(DATA .. "fortran_3d.npy")
    assert.are.same({ 4, 3, 2 }, shape)
    assert.are.equal("int32", dtype)
    fails("NOT_FOUND", "no file", symm.npy_shape, "/nowhere.npy")
  end)
end)

describe("npy_save", function()
  it("writes what npy_load reads", function()
    temporary(function(path)
      for _, dtype in ipairs(symm.dtypes) do
        local t = symm.arange(24):to(dtype):view(2, 3, 4)
        for _, view in ipairs{ t, t:permute(2, 1, 0), t:transpose(0, 1), t:slice(2, 1, 4, 2), t:select(0, 1) } do
          symm.npy_save(path, view)
          assert.is_true(symm.npy_load(path, dtype):equal(view))
        end
      end
    end)
  end)

  it("says what is wrong", function()
    fails("IO", "creating /nowhere/x.npy: No such file or directory", symm.npy_save, "/nowhere/x.npy", symm.ones{ 1 })
    fails("INVALID", "argument 2 must be a symm.tensor", symm.npy_save, "/tmp/x.npy", { 1 })
  end)

  local python = find_python()
  local function numpy(name, f)
    it(name, function()
      if not python then
        pending("no python3 with NumPy is installed")
        return
      end
      temporary(f)
    end)
  end

  numpy("writes what NumPy reads, for every dtype", function(path)
    for _, dtype in ipairs(symm.dtypes) do
      symm.npy_save(path, symm.arange(6):to(dtype):view(2, 3))
      if dtype == "bfloat16" then
        assert.are.equal("|V2 0x40a0", numpy_says(python, path, "x.dtype.str, hex(x.view(\"u2\")[1, 2])"))
      elseif dtype == "bool" then
        assert.are.equal("bool [[False, True, True], [True, True, True]]",
          numpy_says(python, path, "x.dtype, x.tolist()"))
      else
        assert.are.equal(dtype .. " True", numpy_says(python, path,
          "x.dtype, (x == numpy.arange(6).reshape(2, 3)).all()"))
      end
    end
  end)

  numpy("writes both orders and every number of dimensions", function(path)
    symm.npy_save(path, symm.arange(24):view(2, 3, 4):permute(2, 1, 0))
    assert.are.equal("True False True", numpy_says(python, path,
      "x.flags.f_contiguous, x.flags.c_contiguous, (x == numpy.arange(24).reshape(2, 3, 4).transpose(2, 1, 0)).all()"))
    symm.npy_save(path, symm.full({}, 5, "uint8"))
    assert.are.equal("() 5", numpy_says(python, path, "x.shape, int(x)"))
    symm.npy_save(path, symm.zeros({ 7 }, "int8"))
    assert.are.equal("(7,)", numpy_says(python, path, "x.shape"))
    symm.npy_save(path, symm.zeros({ 2, 0 }, "int8"))
    assert.are.equal("(2, 0)", numpy_says(python, path, "x.shape"))
    symm.npy_save(path, symm.zeros({ 1, 2, 1, 2, 1, 2, 1, 2 }, "int8"))
    assert.are.equal("(1, 2, 1, 2, 1, 2, 1, 2)", numpy_says(python, path, "x.shape"))
  end)

  numpy("writes every kind of float", function(path)
    symm.npy_save(path, symm.tensor({ 0.1, -1 / 0, 0 / 0, -0.0, 2 ^ -149 }, "float32"))
    assert.are.equal("True", numpy_says(python, path,
      "numpy.array_equal(x, numpy.array([0.1, -numpy.inf, numpy.nan, -0.0, 2.0**-149], dtype=\"f4\"), equal_nan=True)"
      .. " and bool(numpy.signbit(x[3]))"))
  end)
end)
