-- SPDX-License-Identifier: MIT
--
-- Lua code that runs in the middle of a function of the module: metamethods of its arguments,
-- finalizers, and tasks in a wait. Nothing that the function uses may go away under it.

local symm = require "symm"
local launch = require "tests.support.launch"

local function fails(code, words, f, ...)
  local ok, err = pcall(f, ...)
  assert.is_false(ok)
  assert.equal("table", type(err), tostring(err))
  assert.equal(code, err.code, tostring(err))
  assert.truthy(err.message:find(words, 1, true), err.message)
end

-- A table whose metamethods must never be asked.
local function silent(fields)
  local function asked(_, key) error("asked for " .. tostring(key)) end
  return setmetatable(fields or {}, { __index = asked, __len = asked, __pairs = asked })
end

-- Calls f(object) with a fresh object that a finalizer closes somewhere inside, many times, so that
-- every place where memory is asked for is one where the finalizer runs.
local function closed_inside(make, f)
  local mode = collectgarbage("incremental", 100, 400)
  for round = 1, 400 do
    local object = make()
    setmetatable({}, { __gc = function() object:close() end })
    for _ = 1, round % 40 do local _ = {} end
    for _ = 1, 50 do
      local ok, result = pcall(f, object)
      if not ok then
        assert.equal("CLOSED", result.code, tostring(result))
        break
      end
      if object:is_closed() then break end
    end
    object:close()
  end
  collectgarbage(mode)
end

describe("named arguments", function()
  it("are read without metamethods", function()
    local t = symm.ones({ 4 })
    assert.equal(4, t:sum(silent()):item())
    assert.equal(4, t:sum(silent { dim = 0 }):item())
    assert.is_true(t:allclose(t, silent()))
    assert.equal("float64", symm.zeros({ 2 }, silent { dtype = "float64" }).dtype)
    assert.same({ 1, 2 }, symm.zeros(silent { 1, 2 }):shape())
    assert.same({ 1, 2 }, symm.tensor(silent { 1, 2 }):tolist())
    local s <close> = symm.HashStore()
    s:linger(silent())
    s:set("k", "v")
    assert.is_true(s:check(silent { "k" }))
    assert.equal("v", s:get("k", silent { timeout_ms = 1000 }))
    fails("INVALID", "has no name", t.sum, t, silent { 1 })
  end)

  it("do not close what the function holds", function()
    local t = symm.zeros({ 1000 })
    local result = t:sum(setmetatable({}, { __index = function() t:close() return 0 end }))
    assert.equal(0, result:item())
    assert.is_false(t:is_closed())
  end)

  it("name the very tensor that is written and returned", function()
    local a, out = symm.ones({ 3 }), symm.zeros({ 3 })
    assert.is_true(rawequal(out, a:add(1, silent { out = out })))
    assert.same({ 2, 2, 2 }, out:tolist())
    local made = 0
    local result = a:add(1, setmetatable({}, { __index = function()
      made = made + 1
      return symm.zeros({ 3 })
    end }))
    assert.equal(0, made)
    assert.same({ 2, 2, 2 }, result:tolist())
    local square = symm.ones({ 2, 2 })
    local product = symm.zeros({ 2, 2 })
    assert.is_true(rawequal(product, square:matmul(square, silent { out = product })))
    assert.same({ { 2, 2 }, { 2, 2 } }, product:tolist())
  end)
end)

describe("metamethods called by hand", function()
  it("refuse what is not theirs with an error object", function()
    launch.ranks(1, [[
      local symm = require "symm"
      local pg = symm.init_process_group()
      local t = symm.empty_strided_p2p({4}, nil, "float32", "cpu", pg.group_name)
      for _, object in ipairs{t, symm.rendezvous(t), pg, symm.HashStore()} do
        local meta = getmetatable(object)
        for _, name in ipairs{"__index", "__tostring", "__gc", "__close"} do
          for _, other in ipairs{"a string", 1, {}, io.stdout, meta} do
            local ok, err = pcall(meta[name], other, "x")
            assert(not ok and type(err) == "table" and err.code == "INVALID", tostring(err))
          end
        end
        local ok, err = pcall(meta.__index, object, {})
        assert(not ok and err.code == "INVALID", tostring(err))
      end
    ]])
  end)
end)

describe("a finalizer that closes the object", function()
  local function matrix() return symm.ones({ 6, 7 }) end

  it("does not disturb a list", function()
    closed_inside(matrix, function(t) assert.equal(1, t:tolist()[6][7]) end)
  end)

  it("does not disturb bytes and text", function()
    closed_inside(matrix, function(t) assert.equal(6 * 7 * 4, #t:tobytes()) end)
    closed_inside(function() return symm.ones({ 100000 }) end, function(t) assert.equal(400000, #t:tobytes()) end)
    closed_inside(matrix, function(t)
      local text = tostring(t)
      assert.truthy(text:find("shape={6, 7}", 1, true) or text == "tensor(closed)", text)
    end)
  end)

  it("does not disturb shapes", function()
    closed_inside(matrix, function(t) assert.same({ 6, 7 }, t:shape()) end)
    closed_inside(matrix, function(t) assert.same({ 6, 7 }, t:size()) end)
    closed_inside(matrix, function(t) assert.same({ 7, 1 }, t:stride()) end)
  end)

  it("does not disturb views and arithmetic", function()
    closed_inside(matrix, function(t) assert.equal(3, #t:chunk(3)) end)
    closed_inside(matrix, function(t) assert.equal(3, (2 + t):get(5, 6)) end)
    closed_inside(matrix, function(t) assert.equal(42, t:sum():item()) end)
    closed_inside(matrix, function(t) assert.equal(1, t:transpose(0, 1):get(6, 5)) end)
  end)

  it("does not disturb a store, nor its list of keys", function()
    closed_inside(symm.HashStore, function(s) s:check({ "a", "b" }) end)
    closed_inside(symm.HashStore, function(s) return tostring(s) end)
    for _ = 1, 60 do
      local keys = {}
      for i = 1, 500 do keys[i] = "k" end
      local s <close> = symm.HashStore()
      setmetatable({}, { __gc = function()
        local long = ("z"):rep(5000)
        for i = 1, 500 do keys[i] = long end
      end })
      assert.is_false(s:check(keys))
    end
  end)

  it("does not disturb a handle", function()
    launch.ranks(1, [[
      local symm = require "symm"
      local pg = symm.init_process_group()
      collectgarbage("incremental", 100, 400)
      for _ = 1, 100 do
        local t <close> = symm.empty_strided_p2p({4}, nil, "float32", "cpu", pg.group_name)
        local h = symm.rendezvous(t)
        setmetatable({}, {__gc = function() h:close() end})
        for _ = 1, 50 do
          local ok, result = pcall(function() return h.buffer_ptrs, tostring(h) end)
          if ok then assert(#result == 1) else assert(result.code == "CLOSED", tostring(result)) break end
        end
      end
    ]])
  end)
end)

describe("chunk", function()
  it("makes no more boxes than there are pieces", function()
    local long = symm.zeros({ 1 }):expand(1 << 40)
    fails("LIMIT", "1048576", long.chunk, long, math.maxinteger >> 32)
    fails("INVALID", "dimension", long.chunk, long, math.maxinteger >> 32, 1)
    fails("INVALID", "at least 1", long.chunk, long, 0)
    assert.equal(3, #long:chunk(3))
    local both = symm.zeros({ 1, 1 }):expand(1 << 30, 2)
    assert.equal(2, #both:chunk(math.maxinteger >> 32, 1))
    assert.equal(2, #both:chunk(math.maxinteger >> 32, -1))
  end)
end)

describe("CBLAS", function()
  local function quiet(command)
    local pipe = io.popen(command .. " 2>/dev/null")
    local out = pipe:read("a")
    pipe:close()
    return out
  end

  it("is opened by the first product of floats, not at start-up", function()
    launch.ranks(nil, [[
      local symm = require "symm"
      local function loaded()
        for line in io.lines("/proc/self/maps") do if line:find("blas", 1, true) then return true end end
        return false
      end
      assert(not loaded())
      local whole = symm.ones({2, 2}, "int64")
      assert(whole:matmul(whole):sum():item() == 8 and not loaded())
      local a = symm.ones({2, 2})
      assert(a:matmul(a):sum():item() == 8 and loaded())
    ]])
  end)

  it("is asked for by name where there is none", function()
    launch.with_directory(function(directory)
      local compiler = quiet("sed -n 's/^cc = //p' build/config.ninja"):match("[^\n]+")
      for _, name in ipairs { "libopenblas.so.0", "libcblas.so.3", "libblas.so.3" } do
        local path = launch.quote(directory .. "/" .. name)
        assert(os.execute(("%s -shared -o %s -x c /dev/null"):format(compiler, path)))
      end
      launch.ranks(nil, [[
        local symm = require "symm"
        local a = symm.ones({2, 2})
        for _ = 1, 2 do
          local ok, err = pcall(a.matmul, a, a)
          assert(not ok and err.code == "MISSING_PLUGIN", tostring(err))
          assert(err.message:find("libopenblas.so.0", 1, true), err.message)
          assert(err.message:find("package libopenblas0", 1, true), err.message)
        end
        local whole = symm.ones({2, 2}, "int64")
        assert(whole:matmul(whole):sum():item() == 8)
      ]], { env = { LD_LIBRARY_PATH = directory } })
    end)
  end)

  it("takes no address space from a launcher that has little", function()
    local result = launch.shell("ulimit -v 80000; " .. launch.symmrun .. " -n 2 -e 'print(1)'", { timeout = 30 })
    assert.equal(0, result.code, result.err)
    assert.equal(2, select(2, result.out:gsub("1\n", "")))
  end)
end)
