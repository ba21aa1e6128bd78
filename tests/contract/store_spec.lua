-- SPDX-License-Identifier: MIT
--
-- What every store has to do, as a table of cases that runs over all kinds. Waits that another
-- thread ends are in store_wait_test.c.

local symm = require "symm"

-- kind -> function that opens a store and, as its second result, what is to be closed after it.
local kinds = {
  hash = function() return symm.HashStore() end,
  ["tcp, master"] = function() return symm.TCPStore{ is_master = true, port = 0 } end,
  ["tcp, client"] = function()
    local master = symm.TCPStore{ is_master = true, port = 0 }
    return symm.TCPStore{ port = master.port }, master
  end,
  ["tcp, abstract socket"] = function()
    local name = ("@store-spec-%d"):format(math.random(1 << 40))
    local master = symm.TCPStore{ is_master = true, host = name }
    return symm.TCPStore{ host = name }, master
  end,
  ["prefix over hash"] = function() return symm.PrefixStore("p", symm.HashStore()) end,
  ["prefix over tcp"] = function()
    local master = symm.TCPStore{ is_master = true, port = 0 }
    return symm.PrefixStore("p", master), master
  end,
  ["prefix over prefix"] = function()
    return symm.PrefixStore("inner", symm.PrefixStore("outer", symm.HashStore()))
  end,
  ["empty prefix"] = function() return symm.PrefixStore("", symm.HashStore()) end,
}

local function fails(code, part, f, ...)
  local ok, err = pcall(f, ...)
  assert.is_false(ok)
  assert.are.equal(code, err.code)
  local found = err.message:find(part, 1, true)
  assert.is_truthy(found, ("%q does not have %q"):format(err.message, part))
  return err
end

local every_byte = {}
for byte = 0, 255 do every_byte[#every_byte + 1] = string.char(byte) end
every_byte = table.concat(every_byte)

local cases = {
  ["set and get"] = function(store)
    store:set("k", "one")
    assert.are.equal("one", store:get("k"))
    store:set("k", "two")
    assert.are.equal("two", store:get("k"))
  end,

  ["any bytes, in keys and values"] = function(store)
    store:set(every_byte, every_byte)
    assert.are.equal(every_byte, store:get(every_byte))
    store:set("", "")
    assert.are.equal("", store:get(""))
    assert.is_false(store:check{ "\0" })
    assert.are.equal(2, store:num_keys())
  end,

  ["keys with slashes and dashes are only keys"] = function(store)
    store:set("-a", "1")
    store:set("/a", "2")
    store:set("a/", "3")
    assert.are.equal(3, store:num_keys())
    assert.are.equal("1", store:get("-a"))
    assert.is_true(store:delete_key("-a"))
    assert.are.equal(2, store:num_keys())
    assert.are.equal("2", store:get("/a"))
  end,

  ["values of a megabyte"] = function(store)
    local value = every_byte:rep(4096)
    store:set("k", value)
    assert.is_true(value == store:get("k"))
  end,

  ["add counts in text"] = function(store)
    assert.are.equal(0, store:add("n", 0))
    assert.is_true(store:check{ "n" })
    assert.are.equal(6, store:add("n", 6))
    assert.are.equal(-15, store:add("n", -21))
    assert.are.equal("-15", store:get("n"))
    store:set("n", "41")
    assert.are.equal(42, store:add("n", 1))
  end,

  ["add at the edges of 64 bits"] = function(store)
    assert.are.equal(math.maxinteger, store:add("n", math.maxinteger))
    fails("STORE", "64 bits", store.add, store, "n", 1)
    assert.are.equal(math.maxinteger, store:add("n", 0))
    assert.are.equal(math.mininteger, store:add("m", math.mininteger))
    fails("STORE", "64 bits", store.add, store, "m", -1)
  end,

  ["add to what is no number"] = function(store)
    for _, text in ipairs{ "", "x", "12abc", " 1", "1.5", "99999999999999999999" } do
      store:set("n", text)
      local err = fails("STORE", "no counter", store.add, store, "n", 1)
      assert.are.equal("add", err.op)
      assert.are.equal(text, store:get("n"))
    end
  end,

  ["check never waits"] = function(store)
    assert.is_false(store:check{ "a" })
    store:set("a", "")
    store:add("b", 1)
    assert.is_true(store:check{ "a" })
    assert.is_true(store:check{ "a", "b", "a" })
    assert.is_false(store:check{ "a", "b", "c" })
    assert.is_true(store:check{})
  end,

  ["wait returns when all are there"] = function(store)
    store:set("a", "")
    store:set("b", "")
    store:wait({ "a" })
    store:wait({ "a", "b" }, 1)
    store:wait({ "a", "b" }, "1s")
    store:wait({ "b", "b" }, { timeout_ms = 1 })
    store:wait({})
  end,

  ["a wait ends with its time"] = function(store)
    store:set("a", "")
    local err = fails("TIMEOUT", "keys 'a', 'absent' did not appear within ", store.wait, store,
      { "a", "absent" }, 20)
    assert.are.equal("wait", err.op)
    assert.is_truthy(tostring(err):find("TIMEOUT in wait: keys", 1, true))
    fails("TIMEOUT", tostring(store), store.get, store, "absent", "1ms")
    store:set("absent", "no longer")
    assert.are.equal("no longer", store:get("absent", 1))
  end,

  ["delete tells the truth"] = function(store)
    assert.is_false(store:delete_key("k"))
    store:set("k", "v")
    assert.is_true(store:delete_key("k"))
    assert.is_false(store:delete_key("k"))
    assert.is_false(store:check{ "k" })
    fails("TIMEOUT", "'k'", store.get, store, "k", 1)
  end,

  ["num_keys counts what exists"] = function(store)
    assert.are.equal(0, store:num_keys())
    for i = 1, 10 do store:set("k" .. i, "") end
    store:set("k1", "again")
    store:add("n", 1)
    pcall(store.get, store, "absent", 1)
    assert.are.equal(11, store:num_keys())
    store:delete_key("k1")
    assert.are.equal(10, store:num_keys())
  end,

  ["timeouts: 0 is the default, -1 none, others are errors"] = function(store)
    assert.are.equal(300000, store.timeout)
    store:set_timeout("15ms")
    assert.are.equal(15, store.timeout)
    fails("TIMEOUT", "did not appear", store.get, store, "absent", 0)
    fails("TIMEOUT", "did not appear", store.get, store, "absent")
    store:set("k", "")
    store:get("k", -1)
    fails("INVALID", "-2", store.get, store, "k", -2)
    fails("INVALID", "-2", store.wait, store, { "k" }, -2)
    fails("INVALID", "soon", store.get, store, "k", "soon")
    fails("INVALID", "above 0", store.set_timeout, store, 0)
    store:set_timeout(-1)
    assert.are.equal(-1, store.timeout)
  end,

  ["limits are named"] = function(store)
    fails("LIMIT", "key limit", store.set, store, ("k"):rep(8192), "v")
    fails("LIMIT", "key limit", store.get, store, ("k"):rep(8192), 1)
    fails("LIMIT", "value limit", store.set, store, "k", ("v"):rep((64 << 20) + 1))
    local keys = {}
    for i = 1, 131073 do keys[i] = "k" end
    fails("LIMIT", "131072", store.wait, store, keys, 1)
    assert.are.equal(0, store:num_keys())
  end,

  ["messages stay readable whatever the keys are"] = function(store)
    fails("TIMEOUT", [['a\x00\x0a\x27\x5c\xff']], store.get, store, "a\0\n'\\\255", 1)
    fails("TIMEOUT", "kkk...'", store.get, store, ("k"):rep(1000), 1)
    local keys = {}
    for i = 1, 1000 do keys[i] = "k" .. i end
    fails("TIMEOUT", "'k1', 'k2', 'k3', 'k4' and 996 more", store.wait, store, keys, 1)
  end,

  ["wrong arguments"] = function(store)
    fails("INVALID", "key must be a string, not number", store.set, store, 1, "v")
    fails("INVALID", "value must be a string, not nil", store.set, store, "k", nil)
    fails("INVALID", "at most 3", store.set, store, "k", "v", "x")
    fails("INVALID", "amount must be an integer", store.add, store, "k", 1.5)
    fails("INVALID", "amount must be an integer", store.add, store, "k", "1")
    fails("INVALID", "keys must be a list of strings, not string", store.wait, store, "k")
    fails("INVALID", "keys[2] must be a string, not table", store.check, store, { "k", {} })
    fails("INVALID", "unknown argument 'timeout'; known: timeout_ms", store.get, store, "k",
      { timeout = 1 })
    fails("INVALID", "a store has no 'nothing'", function() return store.nothing end)
    fails("INVALID", "symm.store", store.get, {}, "k")
  end,

  ["use after close"] = function(store)
    assert.is_false(store:is_closed())
    store:close()
    store:close()
    assert.is_true(store:is_closed())
    assert.are.equal("store (closed)", tostring(store))
    for _, method in ipairs{ "set", "get", "add", "wait", "check", "delete_key", "num_keys",
      "set_timeout", "linger" } do
      fails("CLOSED", "closed", store[method], store, "k", "v")
    end
    fails("CLOSED", "closed", function() return store.port end)
  end,

  ["close by scope and by collector, in any order"] = function(store)
    do
      local scoped <close> = store -- luacheck: ignore
    end
    assert.is_true(store:is_closed())
    collectgarbage()
    store:close()
  end,
}

for kind, open in pairs(kinds) do
  describe("store, " .. kind .. ":", function()
    for name, case in pairs(cases) do
      it(name, function()
        local store, below = open()
        local ok, err = pcall(case, store)
        store:close()
        if below then below:close() end
        if not ok then error(err, 0) end
      end)
    end
  end)
end

describe("a prefix store", function()
  local base, prefix
  before_each(function()
    base = symm.HashStore()
    prefix = symm.PrefixStore("p", base)
  end)

  it("puts prefix and slash before its keys", function()
    prefix:set("k", "v")
    assert.are.equal("v", base:get("p/k"))
    symm.PrefixStore("q", prefix):set("k", "w") -- the inner prefix ends up outermost
    assert.are.equal("w", base:get("p/q/k"))
  end)

  it("counts its own keys only, and only whole prefixes", function()
    base:set("pq/k", "")
    base:set("p", "")
    prefix:set("k", "")
    assert.are.equal(1, prefix:num_keys())
    assert.are.equal(3, base:num_keys())
  end)

  it("shares the timeout of the store below", function()
    prefix:set_timeout(1234)
    assert.are.equal(1234, base.timeout)
  end)

  it("keeps the store below alive", function()
    base:close()
    base = nil
    collectgarbage()
    prefix:set("k", "v")
    assert.are.equal("v", prefix:get("k"))
    assert.are.equal("prefix store 'p' over hash store", tostring(prefix))
  end)

  it("needs a store", function()
    fails("INVALID", "symm.store", symm.PrefixStore, "p", nil)
    fails("INVALID", "prefix must be a string", symm.PrefixStore, nil, base)
  end)
end)

describe("the longest key", function()
  it("is the same for all, prefixes included", function()
    local hash <close> = symm.HashStore()
    local master <close> = symm.TCPStore{ is_master = true, port = 0 }
    for _, store in ipairs{ hash, master } do
      store:set(("k"):rep(8191), "v")
      assert.are.equal("v", store:get(("k"):rep(8191), 1))
      local prefix = symm.PrefixStore("p", store)
      prefix:set(("k"):rep(8189), "v")
      fails("LIMIT", "key limit", prefix.set, prefix, ("k"):rep(8190), "v")
    end
  end)
end)

describe("kinds and ports", function()
  it("are told", function()
    local hash <close> = symm.HashStore()
    local master <close> = symm.TCPStore{ is_master = true, port = 0 }
    local prefix <close> = symm.PrefixStore("p", master)
    assert.are.equal("hash", hash.kind)
    assert.are.equal("tcp", master.kind)
    assert.are.equal("prefix", prefix.kind)
    assert.is_nil(hash.port)
    assert.is_true(master.port > 0)
    assert.are.equal(master.port, prefix.port)
    assert.are.equal("hash store", tostring(hash))
    assert.are.equal("tcp store 127.0.0.1:" .. master.port, tostring(master))
  end)
end)

describe("TCPStore", function()
  it("names wrong arguments", function()
    fails("INVALID", "unknown argument 'address'", symm.TCPStore, { address = "x" })
    fails("INVALID", "is_master must be a boolean", symm.TCPStore, { is_master = 1 })
    fails("INVALID", "65536", symm.TCPStore, { port = 65536 })
    fails("INVALID", "world_size", symm.TCPStore, { is_master = true, port = 0, world_size = 0 })
    fails("INVALID", "must be a table", symm.TCPStore, "localhost")
  end)

  it("tells when nobody is there", function()
    local master = symm.TCPStore{ is_master = true, port = 0 }
    local port = master.port
    master:close()
    fails("NETWORK", "127.0.0.1:" .. port, symm.TCPStore, { port = port, timeout = "50ms" })
  end)

  it("tells when the port is in use", function()
    local master <close> = symm.TCPStore{ is_master = true, port = 0 }
    fails("NETWORK", ("port %d is in use"):format(master.port), symm.TCPStore,
      { is_master = true, port = master.port })
  end)

  it("tells which workers are missing", function()
    fails("TIMEOUT", "only 1/2 clients joined", symm.TCPStore,
      { is_master = true, port = 0, world_size = 2, timeout = 50 })
    symm.TCPStore{ is_master = true, port = 0, world_size = 2, wait_for_workers = false }:close()
  end)

  it("tells that the master has ended", function()
    local master = symm.TCPStore{ is_master = true, port = 0 }
    local client <close> = symm.TCPStore{ port = master.port }
    master:close()
    fails("NETWORK", "master has ended", client.set, client, "k", "v")
  end)

  it("lingers until the others have left", function()
    local master <close> = symm.TCPStore{ is_master = true, port = 0 }
    local client = symm.TCPStore{ port = master.port }
    fails("TIMEOUT", "1 other client had not left", master.linger, master, 10)
    client:close()
    master:linger("20s")
  end)
end)
