-- SPDX-License-Identifier: MIT
--
-- An error's `op` is what the script called, of every function, method and operator there is: whether
-- the binding refuses an argument or the C API, which has its own names, fails.

local reference = require "tests.support.reference"
local symm = require "symm"

local CLASSES = { "symm.tensor", "symm.store", "symm.group", "symm.memory" }

-- The error object that the call must raise.
local function error_of(f, ...)
  local ok, err = pcall(f, ...)
  assert(not ok, "no error")
  assert(getmetatable(err) == debug.getregistry()["symm.error"], tostring(err))
  return err
end

local function assert_op(expected, f, ...)
  local err = error_of(f, ...)
  assert(err.op == expected, ("expected op '%s', got '%s' of: %s"):format(expected, err.op, tostring(err)))
  return err
end

describe("op of a refused argument", function()
  it("is the name of every function of the module", function()
    local count = 0
    for name, f in pairs(symm) do
      if type(f) == "function" then
        assert_op(name, f, print)
        count = count + 1
      end
    end
    assert(count > 20, count)
  end)

  it("is the name of every method of every class", function()
    for _, class in ipairs(CLASSES) do
      local count = 0
      for name, f in pairs(debug.getregistry()[class].methods) do
        assert_op(name, f, print)
        count = count + 1
      end
      assert(count >= 4, class)
    end
  end)

  it("is every operator", function()
    local text = {
      __add = "+", __sub = "-", __mul = "*", __div = "/", __pow = "^", __unm = "-", __len = "#", __close = "close",
      __gc = "close",
    }
    for _, class in ipairs(CLASSES) do
      for event, f in pairs(debug.getregistry()[class]) do
        local expected = text[event]
        if expected then assert_op(expected, f, print, print) end
        assert(expected or reference.set { "__index", "__newindex", "__name", "__tostring", "methods" }[event], event)
      end
    end
  end)

  it("stays what it is where a field is read", function()
    assert_op("tensor", function() return symm.zeros({ 1 }).nonsense end)
    assert_op("store", function() return symm.HashStore().nonsense end)
  end)
end)

-- ---- the C API fails: the name, the function, its arguments ----

local numbers, flags, store, block, pg, h

local function alone(name) return { store = store, rank = 0, world_size = 1, group_name = name } end

setup(function()
  numbers, flags, store = symm.zeros({ 2 }, "int32"), symm.zeros({ 1 }, "bool"), symm.HashStore()
  pg = symm.init_process_group(alone "errors")
  block = symm.empty_strided_p2p({ 2 }, nil, "uint32", "cpu", "errors")
  h = symm.rendezvous(block)
  store:set("text", "no number")
end)

teardown(function()
  h:close()
  pg:destroy()
end)

local function each(list)
  for _, case in ipairs(list) do assert_op(case[1], case[2], table.unpack(case, 3)) end
end

describe("op of a failure of the C API", function()
  it("is the function that makes a tensor", function()
    for _, name in ipairs { "empty", "zeros", "ones", "rand", "randn" } do assert_op(name, symm[name], { -1 }) end
    each {
      { "rand", symm.rand, { 1 }, "int8" },
      { "full", symm.full, { -1 }, 1 },
      { "full", symm.full, { 1 }, 1000, "int8" },
      { "empty_strided", symm.empty_strided, { -1 }, { 1 } },
      { "arange", symm.arange, 0, 1, 0 },
      { "tensor", symm.tensor, 1, "int8", "cuda" },
      { "tensor", symm.tensor, 1000, "int8" },
      { "frombytes", symm.frombytes, "a", "int8", { -1 } },
    }
  end)

  it("is the function of the file", function()
    local absent = "/nonexistent/file.npy"
    each {
      { "npy_load", symm.npy_load, absent },
      { "npy_load_rows", symm.npy_load_rows, absent, 0, 1 },
      { "npy_shape", symm.npy_shape, absent },
      { "npy_save", symm.npy_save, absent, numbers },
    }
  end)

  it("is the method", function()
    each {
      { "item", numbers.item, numbers },
      { "get", numbers.get, numbers, 9 },
      { "set", numbers.set, numbers, 9, 1 },
      { "copy_", numbers.copy_, numbers, symm.zeros { 3 } },
      { "fill_", numbers.fill_, numbers, 0.5 },
      { "zero_", numbers.zero_, symm.zeros({ 1 }):expand(2) },
      { "add", numbers.add, numbers, flags },
      { "add_", numbers.add_, numbers, flags },
      { "mul_", numbers.mul_, numbers, flags },
      { "div_", numbers.div_, numbers, 0 },
      { "pow_", numbers.pow_, numbers, -1 },
      { "neg", flags.neg, flags },
      { "neg_", flags.neg_, flags },
      { "eq", numbers.eq, numbers, flags },
      { "sum", numbers.sum, numbers, 5 },
      { "all", numbers.all, numbers, 5 },
      { "matmul", numbers.matmul, numbers, flags },
      { "view", numbers.view, numbers, 5 },
      { "reshape", numbers.reshape, numbers, 5 },
      { "select", numbers.select, numbers, 0, 9 },
      { "chunk", numbers.chunk, numbers, 0 },
    }
  end)

  it("is the operator", function()
    assert_op("+", function() return numbers + flags end)
    assert_op("/", function() return 1 / numbers end)
    assert_op("-", function() return -flags end)
    assert_op("-", function() return numbers - flags end)
    assert_op("#", function() return #symm.tensor(1) end)
  end)

  it("is the function of the store", function()
    each {
      { "TCPStore", symm.TCPStore, { port = -5 } },
      { "TCPStore", symm.TCPStore, { host = "@symm-nobody-is-here", timeout = "50ms" } },
      { "rendezvous_url", symm.rendezvous_url, "nonsense://h:1" },
      { "rendezvous_url", symm.rendezvous_url, "tcp://h:1?rank=x" },
      { "get", store.get, store, "absent", "10ms" },
      { "wait", store.wait, store, { "absent" }, "10ms" },
      { "add", store.add, store, "text", 1 },
      { "set_timeout", store.set_timeout, store, 0 },
      { "set", store.set, store, ("k"):rep(9000), "value" },
    }
  end)

  it("is linger while others are connected", function()
    local server <close> = symm.TCPStore { is_master = true, port = 0 }
    local _ <close> = symm.TCPStore { port = server.port }
    assert_op("linger", server.linger, server, "10ms")
  end)

  it("is the function of the group", function()
    each {
      { "init_process_group", symm.init_process_group, { store = store, rank = 2, world_size = 2 } },
      { "init_process_group", symm.init_process_group, { init_method = "nonsense://h" } },
      { "init_process_group", symm.init_process_group, alone "errors" },
      { "destroy_process_group", symm.destroy_process_group },
    }
    local ended = symm.init_process_group(alone "ended")
    ended:destroy()
    each {
      { "barrier", ended.barrier, ended },
      { "destroy", ended.destroy, ended },
      { "destroy_process_group", symm.destroy_process_group, ended },
    }
    assert_op("store", function() return ended.store end)
  end)

  it("is the function of symmetric memory", function()
    each {
      { "empty_strided_p2p", symm.empty_strided_p2p, { -1 }, nil, "int8" },
      { "rendezvous", symm.rendezvous, block, "elsewhere" },
      { "get_symmetric_memory", symm.get_symmetric_memory, block, "elsewhere" },
      { "set_group_info", symm.set_group_info, "errors", 0, 1, store },
      { "unset_group_info", symm.unset_group_info, "elsewhere" },
      { "set_signal_pad_size", symm.set_signal_pad_size, 3 },
      { "memset32", symm.memset32, block, 9, 1 },
      { "stream_write_value32", symm.stream_write_value32, block, 9, 1 },
      { "put_signal", h.put_signal, h, { dst_rank = 9 } },
      { "wait_signal", h.wait_signal, h, { src_rank = 9 } },
      { "barrier", h.barrier, h, { channel = 1 << 20 } },
      { "get_buffer", h.get_buffer, h, 9, { 1 }, "int8" },
      { "get_remote_tensor", h.get_remote_tensor, h, 9, { 1 }, "int8" },
      { "get_signal_pad", h.get_signal_pad, h, 9 },
    }
  end)

  it("is in the one line, and leaves the rest alone", function()
    local err = assert_op("copy_", numbers.copy_, numbers, symm.zeros { 3 })
    assert.matches("INVALID in copy_: ", tostring(err), 1, true)
    err = assert_op("put_signal", h.put_signal, h, { dst_rank = 9 })
    assert.same({ "errors", 0 }, { err.group, err.rank })
  end)
end)
