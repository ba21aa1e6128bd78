-- SPDX-License-Identifier: MIT
--
-- Rendezvous URLs: what they give, and what is said about wrong ones.

local symm = require "symm"
local launch = require "tests.support.launch"

local function fails(code, part, f, ...)
  local ok, err = pcall(f, ...)
  assert.is_false(ok)
  assert.are.equal(code, err.code)
  local found = err.message:find(part, 1, true)
  assert.is_truthy(found, ("%q does not have %q"):format(err.message, part))
end

local function refuses(part, url, options)
  fails("INVALID", part, symm.rendezvous_url, url, options)
end

-- A port that was free a moment ago.
local function free_port()
  local store <close> = symm.TCPStore{ is_master = true, port = 0 }
  return store.port
end

describe("tcp://", function()
  it("makes rank 0 the master and the others clients", function()
    local url = "tcp://127.0.0.1:" .. free_port()
    local store, rank, world_size = symm.rendezvous_url(url .. "?rank=0&world_size=1")
    assert.are.equal(0, rank)
    assert.are.equal(1, world_size)
    store:set("k", "v")
    local client <close>, other_rank, other_size =
      symm.rendezvous_url(url, { rank = 1, world_size = 2, timeout = "20s" })
    assert.are.equal(1, other_rank)
    assert.are.equal(2, other_size)
    assert.are.equal("v", client:get("k"))
    assert.are.equal(20000, client.timeout)
    store:close()
  end)

  it("takes half from the URL and half from the arguments", function()
    local store <close>, rank, world_size =
      symm.rendezvous_url("tcp://localhost:" .. free_port() .. "?rank=0", { world_size = 1 })
    assert.are.equal(0, rank)
    assert.are.equal(1, world_size)
    assert.are.equal("tcp", store.kind)
  end)

  it("knows abstract sockets", function()
    local name = ("@rendezvous-spec-%d"):format(math.random(1 << 40))
    local store <close> = symm.rendezvous_url("tcp://" .. name, { rank = 0, world_size = 1 })
    assert.are.equal("tcp store " .. name, tostring(store))
  end)

  it("waits for all ranks", function()
    fails("TIMEOUT", "only 1/2 clients joined", symm.rendezvous_url,
      "tcp://127.0.0.1:" .. free_port() .. "?rank=0&world_size=2", { timeout = 50 })
  end)

  it("says what is missing, in order", function()
    refuses("has no host", "tcp://:29500")
    refuses("has no port", "tcp://127.0.0.1")
    refuses("has no port", "tcp://127.0.0.1:0?rank=0&world_size=1")
    refuses("has no rank", "tcp://127.0.0.1:1?world_size=1")
    refuses("has no rank", "tcp://127.0.0.1:1")
    refuses("has no world size", "tcp://127.0.0.1:1?rank=0")
    refuses("has no world size", "tcp://127.0.0.1:1", { rank = 0 })
  end)

  it("checks the place", function()
    refuses("rank must be from 0 to 1 (world_size 2), not 2",
      "tcp://127.0.0.1:1?rank=2&world_size=2")
    refuses("world_size must be above 0, not 0", "tcp://127.0.0.1:1?rank=0&world_size=0")
    refuses("rank must be from 0 on", "tcp://127.0.0.1:1", { rank = -2, world_size = 1 })
    refuses("world_size must be from 0 on", "tcp://127.0.0.1:1", { rank = 0, world_size = -2 })
    refuses("rank is given twice", "tcp://127.0.0.1:1?rank=0&world_size=1", { rank = 0 })
    refuses("world_size is given twice", "tcp://127.0.0.1:1?world_size=1&world_size=1")
  end)

  it("knows no path", function() refuses("path", "tcp://127.0.0.1:1/x?rank=0&world_size=1") end)

  it("reads ports and addresses strictly", function()
    for _, port in ipairs{ "65536", "-1", "x", "1x", "", "123456789", "0x10" } do
      refuses("port that is not from 0 to 65535", ("tcp://h:%s?rank=0&world_size=1"):format(port))
    end
    refuses("IPv6 address without [brackets]", "tcp://::1:29500?rank=0&world_size=1")
    refuses("[ without ]", "tcp://[::1:29500")
    refuses("something else than a port after ]", "tcp://[::1]29500")
    refuses("too long", "tcp://" .. ("h"):rep(256) .. ":1")
  end)
end)

describe("the query", function()
  it("is read strictly", function()
    refuses("key=value", "tcp://h:1?rank")
    refuses("key=value", "tcp://h:1?rank=0=1")
    refuses("key=value", "tcp://h:1?&rank=0")
    refuses("unknown argument 'size'; known: rank, world_size", "tcp://h:1?size=3")
    refuses("rank=x", "tcp://h:1?rank=x")
    refuses("rank=-1", "tcp://h:1?rank=-1")
    refuses("rank=1.5", "tcp://h:1?rank=1.5")
    refuses("rank=", "tcp://h:1?rank=")
    refuses("rank=99999999999", "tcp://h:1?rank=99999999999")
    refuses("too long", "tcp://h:1?" .. ("r"):rep(100))
  end)
end)

describe("a URL", function()
  it("needs a scheme that is known", function()
    refuses("has no scheme", "127.0.0.1:29500")
    refuses("has no scheme", "://127.0.0.1")
    refuses("has no scheme", "")
    fails("NOT_FOUND", "'pigeon' (known: env, tcp)", symm.rendezvous_url, "pigeon://x")
    fails("INVALID", "url must be a string", symm.rendezvous_url, 5)
    fails("INVALID", "unknown argument 'size'", symm.rendezvous_url, "env://", { size = 1 })
  end)
end)

describe("env://", function()
  local all = { RANK = "0", WORLD_SIZE = "1", MASTER_ADDR = "127.0.0.1", MASTER_PORT = "0" }

  -- Runs a script with a changed environment and gives its output.
  local function run(change, script)
    local env = {}
    for name, value in pairs(all) do env[name] = value end
    for name, value in pairs(change) do env[name] = value end
    local result = launch.run("local symm = require 'symm' " .. script, { env = env })
    assert.are.equal(0, result.code, result.err)
    return result.out
  end

  local complain = "print(select(2, pcall(symm.rendezvous_url, 'env://')))"

  it("reads the place from the environment", function()
    local out = run({}, "print(symm.rendezvous_url('env://'))")
    assert.is_truthy(out:match("tcp store 127%.0%.0%.1:%d+%s+0%s+1"), out)
  end)

  it("names what is missing or empty", function()
    for name in pairs(all) do
      local out = run({ [name] = false }, complain)
      assert.is_truthy(out:find(("variable %s, which is not set"):format(name), 1, true), out)
      assert.is_truthy(out:find("INVALID", 1, true), out)
      out = run({ [name] = "" }, complain)
      assert.is_truthy(out:find(("variable %s, which is empty"):format(name), 1, true), out)
    end
  end)

  it("names what is no number", function()
    for _, name in ipairs{ "RANK", "WORLD_SIZE", "MASTER_PORT" } do
      local out = run({ [name] = "1x" }, complain)
      assert.is_truthy(out:find(name .. "=1x is not a number", 1, true), out)
    end
    local out = run({ MASTER_PORT = "65536" }, complain)
    assert.is_truthy(out:find("MASTER_PORT=65536 is not a number from 0 to 65535", 1, true), out)
  end)

  it("takes the place from the URL or the arguments before the environment", function()
    local out = run({ RANK = "5", WORLD_SIZE = false },
      "print(select(2, symm.rendezvous_url('env://?rank=0', {world_size = 1})))")
    assert.is_truthy(out:match("0%s+1"), out)
  end)

  it("knows no host and no path", function()
    refuses("host or a path", "env://localhost")
    refuses("host or a path", "env:///x")
  end)

  it("needs no port with an abstract socket", function()
    local out = run({ MASTER_ADDR = "@rendezvous-spec-env", MASTER_PORT = false },
      "print(symm.rendezvous_url('env://'))")
    assert.is_truthy(out:find("tcp store @rendezvous-spec-env", 1, true), out)
  end)

  it("joins the ranks of a job", function()
    launch.ranks(3, [[
      local symm = require "symm"
      local store, rank, world_size = symm.rendezvous_url("env://")
      assert(world_size == 3)
      store:set("from" .. rank, tostring(rank * 10))
      for peer = 0, world_size - 1 do
        assert(store:get("from" .. peer, "20s") == tostring(peer * 10))
      end
      store:add("done", 1)
      store:set("left" .. rank, "")
      if rank == 0 then store:wait({ "left0", "left1", "left2" }, "20s") store:linger("20s") end
      store:close()
    ]])
  end)
end)
