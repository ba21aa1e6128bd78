-- SPDX-License-Identifier: MIT
--
-- The contract of symmetric memory. Every case runs twice: in a process group, and in a group that
-- is only a name over a bare store. A case is a script that each rank runs after the prologue of its
-- ground (tests/support/grounds.lua).

local launch = require "tests.support.launch"
local grounds = require "tests.support.grounds"

local cases = {}

local function case(title, n, script, options)
  cases[#cases + 1] = { title = title, n = n, script = script, options = options }
end

case("hands a value over with signals, then with barriers", 2, [[
local t = symm.empty_strided_p2p({64, 64}, {64, 1}, "float32", "cpu", name)
local h = symm.rendezvous(t)
local b0 = h:get_buffer(0, {64, 64}, "float32")
if h.rank == 0 then
  h:wait_signal{src_rank = 1}; check(b0:eq(42):all())
else
  b0:fill_(42); h:put_signal{dst_rank = 0}
end
h:barrier()
if h.rank == 0 then
  h:barrier(); check(b0:eq(43):all())
else
  b0:copy_(symm.full({64, 64}, 43, "float32")); h:barrier()
end
h:barrier()
]])

for _, n in ipairs { 1, 2, 4 } do
  case("shows every rank's buffer to every rank", n, [[
local t = symm.empty_strided_p2p({world, 8}, nil, "int64", "cpu", name)
t:fill_(-1)
local h = symm.rendezvous(t)
h:barrier()
for peer = 0, world - 1 do
  h:get_buffer(peer, {world, 8}, "int64"):select(0, rank):fill_(rank * 100 + peer)
end
h:barrier()
for source = 0, world - 1 do check(t:select(0, source):eq(source * 100 + rank):all()) end
h:barrier()
]])
end

case("knows what a handle is", 2, [[
local t = symm.empty_strided_p2p({10}, nil, "float64", "cpu", name)
local h = symm.rendezvous(t)
check(h.rank == rank and h.world_size == world and h.group_name == name)
check(h.buffer_size == 80 and h.signal_pad_size == 9216 and h.offset == 0)
check(h.channels == 9216 // (4 * world))
check(#h.buffer_ptrs == world and #h.signal_pad_ptrs == world)
check(h.buffer_ptrs[rank + 1] == t:data_ptr())
check(h:get_buffer(rank, {10}, "float64"):data_ptr() == t:data_ptr())
check(h:get_signal_pad(rank):data_ptr() == h.signal_pad_ptrs[rank + 1])
check(h:get_signal_pad(rank):numel() == 9216 // 4 and h:get_signal_pad(rank).dtype == "uint32")
check(h:get_signal_pad(1 - rank):eq(0):all())
check(tostring(h):find("rank " .. rank .. " of 2"))
fails("INVALID", "no 'nonsense'", function() return h.nonsense end)
h:barrier()
]])

case("gives one object for one allocation and group, from any view, without communication", 2, [[
local t = symm.empty_strided_p2p({4, 4}, nil, "float32", "cpu", name)
fails("INVALID", "was not rendezvoused", symm.get_symmetric_memory, t)
local h = symm.rendezvous(t)
if rank == 0 then -- alone: a rendezvous that communicated would end in its timeout
  check(rawequal(h, symm.rendezvous(t, {timeout_ms = 200})))
  check(rawequal(h, symm.rendezvous(t:select(0, 1), name)))
  check(rawequal(h, symm.rendezvous(h:get_buffer(0, {4}, "float32"), name)))
  check(rawequal(h, symm.get_symmetric_memory(t:transpose(0, 1))))
  check(rawequal(h, symm.get_symmetric_memory(t, name)))
  for _, view in ipairs{h:get_buffer(1, {4}, "float32"), h:get_signal_pad(0), h:get_signal_pad(1)} do
    check(rawequal(h, symm.get_symmetric_memory(view)))
    check(rawequal(h, symm.rendezvous(view)) and rawequal(h, symm.rendezvous(view, name)))
    fails("INVALID", "give the tensor that this rank allocated", symm.rendezvous, view, "elsewhere")
    fails("INVALID", "give the tensor that this rank allocated", symm.get_symmetric_memory, view, "elsewhere")
  end
  h = nil
  collectgarbage() collectgarbage()
  h = symm.rendezvous(t, {timeout_ms = 200}) -- the mapping outlives its userdata
end
h:barrier()
]])

case("gives nil for ordinary memory", 1, [[
check(symm.rendezvous(symm.zeros({4}, "float32"), name) == nil)
check(symm.get_symmetric_memory(symm.zeros({4}, "float32")) == nil)
check(not symm.is_symm_mem_tensor(symm.zeros({4}, "float32")))
local t = symm.empty_strided_p2p({4}, nil, "float32")
check(symm.is_symm_mem_tensor(t) and symm.is_symm_mem_tensor(t:narrow(0, 1, 2)))
fails("INVALID", "no group_name", symm.rendezvous, t)
fails("NOT_FOUND", "no group named 'elsewhere'", symm.rendezvous, t, "elsewhere")
]])

case("may be allocated by one rank alone, and in another order", 2, [[
local extra = rank == 0 and symm.empty_strided_p2p({1000}, nil, "uint8", "cpu", name)
local a, b
if rank == 0 then
  a = symm.empty_strided_p2p({8}, nil, "float32", "cpu", name)
  b = symm.empty_strided_p2p({16}, nil, "float32", "cpu", name)
else
  b = symm.empty_strided_p2p({16}, nil, "float32", "cpu", name)
  a = symm.empty_strided_p2p({8}, nil, "float32", "cpu", name)
end
local ha, hb = symm.rendezvous(a), symm.rendezvous(b)
check(ha.buffer_size == 32 and hb.buffer_size == 64)
a:fill_(rank + 1); b:fill_(rank + 10)
ha:barrier()
check(ha:get_buffer(1 - rank, {8}, "float32"):eq(2 - rank):all())
check(hb:get_buffer(1 - rank, {16}, "float32"):eq(11 - rank):all())
ha:barrier()
if extra then extra:close() end
]])

case("is sized by its strides", 2, [[
local t = symm.empty_strided_p2p({3, 4}, {10, 2}, "float32", "cpu", name)
local h = symm.rendezvous(t)
check(h.buffer_size == (2 * 10 + 3 * 2 + 1) * 4)
t:fill_(rank)
h:barrier()
check(h:get_buffer(1 - rank, {27}, "float32"):slice(0, 20, 27, 2):eq(1 - rank):all())
h:barrier()
]])

case("takes its options by name", 1, [[
local t = symm.empty_strided_p2p({2, 3}, nil, {dtype = "int16", group_name = name, alloc_id = 77})
check(t.dtype == "int16" and symm.rendezvous(t).buffer_size == 12)
fails("EXISTS", "alloc_id 77", symm.empty_strided_p2p, {2, 3}, {3, 1}, {dtype = "int16", alloc_id = 77})
check(symm.empty_strided_p2p({2}, nil, {}).dtype == "float32")
fails("INVALID", "unknown argument 'type'; known: dtype, device, group_name, alloc_id",
  symm.empty_strided_p2p, {2}, nil, {type = "int16"})
fails("INVALID", "at most 3 arguments", symm.empty_strided_p2p, {2}, nil, {dtype = "int16"}, "cpu")
fails("INVALID", "it has the key 'size'", symm.empty_strided_p2p, {size = 2}, nil, "int16")
fails("INVALID", "it has the key 'dtype'", symm.zeros, {2, 3, dtype = "int8"})
]])

case("can be empty", 2, [[
local h = symm.rendezvous(symm.empty_strided_p2p({0, 5}, nil, "float32", "cpu", name))
check(h.buffer_size == 0)
check(h:get_buffer(1 - rank, {0}, "float32"):numel() == 0)
fails("INVALID", "do not fit", h.get_buffer, h, 0, {1}, "uint8")
h:barrier()
]])

case("holds buffers to their bounds", 2, [[
local h = symm.rendezvous(symm.empty_strided_p2p({100}, nil, "uint8", "cpu", name))
check(h:get_buffer(1, {100}, "uint8"):numel() == 100)
check(h:get_buffer(1, {25}, "float32"):numel() == 25)
check(h:get_buffer(1, {1}, "float32", 24):numel() == 1)
check(h:get_buffer(1, {0}, "float32", 25):numel() == 0)
check(h:get_remote_tensor(1, {25}, "int32"):numel() == 25)
local function bad(...) fails("INVALID", "", h.get_buffer, h, ...) end
bad(1, {101}, "uint8"); bad(1, {26}, "float32"); bad(1, {1}, "float32", 25)
bad(1, {0}, "float32", 26); bad(1, {1}, "uint8", -1); bad(1, {1}, "uint8", math.mininteger)
bad(1, {1}, "uint8", math.maxinteger); bad(1, {-1}, "uint8")
bad(1, {1 << 31, 1 << 31}, "float64"); bad(1, {math.maxinteger}, "float64")
bad(-1, {1}, "uint8"); bad(world, {1}, "uint8"); bad(1, {1}, "float31"); bad(1, 5, "uint8")
local function pad(...) fails("INVALID", "", h.get_signal_pad, h, ...) end
check(h:get_signal_pad(1, {2304}):numel() == 2304)
check(h:get_signal_pad(1, {1}, "uint32", 2303):numel() == 1)
check(h:get_signal_pad(1, nil, "uint8"):numel() == 9216)
check(h:get_signal_pad(1, nil, nil, 2304):numel() == 0)
pad(1, {2305}); pad(1, {1}, "uint32", 2304); pad(1, nil, nil, 2305); pad(1, nil, nil, -1)
pad(2); pad(-1)
h:barrier()
]])

case("holds ranks and channels to their bounds", 2, [[
local h = symm.rendezvous(symm.empty_strided_p2p({1}, nil, "uint8", "cpu", name))
local last = h.channels - 1
check(last == 1151)
for _, op in ipairs{"put_signal", "wait_signal", "barrier"} do
  local key = op == "put_signal" and "dst_rank" or "src_rank"
  local function args(t) if op ~= "barrier" then t[key] = t[key] or 0 end return t end
  fails("INVALID", "channel must be in [0, 1152)", h[op], h, args{channel = last + 1})
  fails("INVALID", "channel must be in [0, 1152)", h[op], h, args{channel = -1})
  fails("INVALID", "timeout_ms", h[op], h, args{timeout_ms = -2})
  fails("INVALID", "unknown argument 'chanel'; known: ", h[op], h, args{chanel = 1})
  fails("INVALID", "channel must be an integer, not string", h[op], h, args{channel = "1"})
  fails("INVALID", "channel is out of range", h[op], h, args{channel = 1 << 40})
  fails("INVALID", "must be a table", h[op], h, 3)
  if op ~= "barrier" then
    fails("INVALID", "rank must be in [0, 2)", h[op], h, {[key] = 2})
    fails("INVALID", "rank must be in [0, 2)", h[op], h, {[key] = -1})
    fails("INVALID", key .. " is required", h[op], h)
  end
end
h:barrier{channel = last}
h:put_signal{dst_rank = 1 - rank, channel = last}
h:wait_signal{src_rank = 1 - rank, channel = last}
check(h:get_signal_pad(rank):eq(0):all())
h:barrier()
]])

case("keeps signals in the slots of the table", 3, [[
local h = symm.rendezvous(symm.empty_strided_p2p({1}, nil, "uint8", "cpu", name))
local peer = (rank + 1) % world
h:put_signal{dst_rank = peer, channel = 5}
h:barrier()
local from = (rank - 1) % world
local pad = h:get_signal_pad(rank):tolist()
for i, v in ipairs(pad) do check(v == (i - 1 == world * 5 + from and 1 or 0), "slot " .. i - 1) end
h:barrier()
h:wait_signal{src_rank = from, channel = 5}
check(h:get_signal_pad(rank):eq(0):all())
h:barrier()
]])

case("does not count a pending signal as an arrival at a barrier", 2, [[
local h = symm.rendezvous(symm.empty_strided_p2p({1}, nil, "uint8", "cpu", name))
h:put_signal{dst_rank = 1 - rank}
for _ = 1, 10 do h:barrier() end
h:wait_signal{src_rank = 1 - rank}
fails("TIMEOUT", "did not signal", h.wait_signal, h, {src_rank = 1 - rank, timeout_ms = 20})
h:barrier()
]])

case("signals to itself", 1, [[
local h = symm.rendezvous(symm.empty_strided_p2p({1}, nil, "uint8", "cpu", name))
h:put_signal{dst_rank = 0}
fails("TIMEOUT", "did not take the signal before this one", h.put_signal, h, {dst_rank = 0, timeout_ms = 20})
h:wait_signal{src_rank = 0}
local err = fails("TIMEOUT", "did not signal", h.wait_signal, h, {src_rank = 0, channel = 7, timeout_ms = 20})
check(err.op == "wait_signal" and err.rank == 0 and err.peer == 0 and err.channel == 7 and err.group == name)
for _ = 1, 3 do h:barrier() end
]])

case("lets the second of two puts wait for the wait between them", 2, [[
local h = symm.rendezvous(symm.empty_strided_p2p({1}, nil, "uint8", "cpu", name))
if rank == 0 then
  h:put_signal{dst_rank = 1}
  local err = fails("TIMEOUT", "rank 1 did not take the signal", h.put_signal, h, {dst_rank = 1, timeout_ms = 50})
  check(err.peer == 1)
  h:barrier{channel = 1}
  h:put_signal{dst_rank = 1} -- waits until rank 1 has taken the first
else
  h:barrier{channel = 1}
  h:wait_signal{src_rank = 0}
  h:wait_signal{src_rank = 0}
end
h:barrier()
]])

case("names who is missing at a barrier when the deadline passes", 4, [[
local h = symm.rendezvous(symm.empty_strided_p2p({1}, nil, "uint8", "cpu", name))
if rank == 0 or rank == 2 then
  local err = fails("TIMEOUT", "rank 1 and 3", h.barrier, h, {channel = 3, timeout_ms = 300})
  check(err.channel == 3 and err.rank == rank and (err.peer == 1 or err.peer == 3))
end
h:barrier()
]])

case("keeps channels apart", 2, [[
local h = symm.rendezvous(symm.empty_strided_p2p({1}, nil, "uint8", "cpu", name))
for c = 0, 9 do h:put_signal{dst_rank = 1 - rank, channel = c} end
for c = 9, 0, -1 do h:wait_signal{src_rank = 1 - rank, channel = c} end
h:barrier()
]])

case("keeps order: what was written before a signal is seen after the wait", 2, [[
local t = symm.empty_strided_p2p({4096}, nil, "int32", "cpu", name)
local h = symm.rendezvous(t)
local there = h:get_buffer(1 - rank, {4096}, "int32")
h:barrier()
for i = 1, 300 do
  if rank == 0 then
    there:fill_(i); h:put_signal{dst_rank = 1}
    h:wait_signal{src_rank = 1}; check(t:eq(-i):all())
  else
    h:wait_signal{src_rank = 0}; check(t:eq(i):all())
    there:fill_(-i); h:put_signal{dst_rank = 0}
  end
end
h:barrier()
]])

case("survives its tensor", 2, [[
local t = symm.empty_strided_p2p({16}, nil, "float32", "cpu", name)
t:fill_(rank)
local h = symm.rendezvous(t)
t:close(); t = nil
collectgarbage() collectgarbage()
local b = h:get_buffer(1 - rank, {16}, "float32")
h:barrier()
check(b:eq(1 - rank):all())
h:barrier()
]])

case("is kept alive by its views", 2, [[
local h = symm.rendezvous(symm.empty_strided_p2p({16}, nil, "float32", "cpu", name))
local b = h:get_buffer(rank, {16}, "float32")
b:fill_(rank)
h:barrier()
local there = h:get_buffer(1 - rank, {16}, "float32"):narrow(0, 4, 4)
h:barrier()
h:close(); h = nil
collectgarbage() collectgarbage()
check(there:eq(1 - rank):all())
]])

case("fails after close, and gives a new handle for it", 1, [[
local t = symm.empty_strided_p2p({1}, nil, "uint8", "cpu", name)
local h = symm.rendezvous(t)
h:close(); h:close()
check(h:is_closed())
fails("CLOSED", "closed", function() h:barrier() end)
fails("CLOSED", "closed", function() return h.rank end)
check(tostring(h):find("closed"))
local again = symm.rendezvous(t)
check(not rawequal(again, h)); again:barrier()
do local scoped <close> = symm.rendezvous(t) end
check(again:is_closed())
]])

case("refuses blocks that differ, and names rank and field on all ranks", 3, [[
local t = symm.empty_strided_p2p({rank == 1 and 200 or 100}, nil, "uint8", "cpu", name)
local err = fails("MISMATCH", "buffer_size", symm.rendezvous, t)
if rank == 1 then check(err.peer == 0 and err.message:find("rank 0 has buffer_size 100, this rank 200"))
else check(err.peer == 1 and err.message:find("rank 1 has buffer_size 200, this rank 100")) end
local again = symm.empty_strided_p2p({100}, nil, "uint8", "cpu", name)
symm.rendezvous(again):barrier() -- the group is as good as before
]])

case("refuses signal pads that differ", 2, [[
if rank == 1 then symm.set_signal_pad_size(4096) end
local t = symm.empty_strided_p2p({100}, nil, "uint8", "cpu", name)
fails("MISMATCH", "signal_pad_size", symm.rendezvous, t)
symm.set_signal_pad_size(4096)
check(symm.get_signal_pad_size() == 4096)
local h = symm.rendezvous(symm.empty_strided_p2p({100}, nil, "uint8", "cpu", name))
check(h.signal_pad_size == 4096 and h.channels == 512)
symm.set_signal_pad_size(9216) -- a handle keeps what its block was made with
fails("INVALID", "[0, 512)", h.barrier, h, {channel = 512})
h:barrier{channel = 511}
for _, bad in ipairs{0, -4, 3, 6, 1 << 40} do fails("INVALID", "multiple of 4", symm.set_signal_pad_size, bad) end
]])

case("names the ranks that do not come to a rendezvous", 3, [[
local t = symm.empty_strided_p2p({100}, nil, "uint8", "cpu", name)
symm.rendezvous(symm.empty_strided_p2p({1}, nil, "uint8", "cpu", name))
if rank == 0 then
  local err = fails("TIMEOUT", "ranks 1 and 2 did not come", symm.rendezvous, t, {timeout_ms = 200})
  check(err.op == "rendezvous" and err.group == name)
else
  symm.sleep("500ms")
  local err = fails("TIMEOUT", "rank 0 failed", symm.rendezvous, t) -- it is told at once why
  check(err.peer == 0)
end
symm.rendezvous(symm.empty_strided_p2p({100}, nil, "uint8", "cpu", name)):barrier()
]])

case("gives each group of one allocation a pad of its own", 2, [[
local store2 = symm.HashStore()
local t = symm.empty_strided_p2p({4}, nil, "int32", "cpu", name)
local first = symm.rendezvous(t)
symm.set_group_info("alone", 0, 1, store2)
local second = symm.rendezvous(t, "alone")
check(not rawequal(first, second) and second.world_size == 1)
check(first.signal_pad_ptrs[rank + 1] ~= second.signal_pad_ptrs[1])
check(first.buffer_ptrs[rank + 1] == second.buffer_ptrs[1])
second:put_signal{dst_rank = 0}
check(first:get_signal_pad(rank):eq(0):all() and not second:get_signal_pad(0):eq(0):all())
fails("TIMEOUT", "", first.wait_signal, first, {src_rank = 0, timeout_ms = 20})
second:wait_signal{src_rank = 0}
first:barrier()
symm.unset_group_info("alone")
fails("CLOSED", "the group has ended", second.barrier, second)
check(second:get_buffer(0, {4}, "int32"):numel() == 4) -- memory stays readable
first:barrier()
]])

case("uses a group's name again after it has ended", 2, [[
local store = symm.TCPStore and symm.PrefixStore("again", STORE)
for round = 1, 3 do
  symm.set_group_info("recycled", rank, world, store)
  local t = symm.empty_strided_p2p({4}, nil, "int32", "cpu", "recycled")
  t:fill_(round * 10 + rank)
  local h = symm.rendezvous(t)
  h:barrier()
  check(h:get_buffer(1 - rank, {4}, "int32"):eq(round * 10 + 1 - rank):all())
  h:barrier()
  symm.unset_group_info("recycled")
  fails("CLOSED", "", h.barrier, h)
  fails("NOT_FOUND", "recycled", symm.rendezvous, t)
end
]])

case("does not mix subgroups with the world", 3, [[
local sub = rank < 2 and symm.PrefixStore("sub", STORE)
if sub then
  symm.set_group_info("sub", rank, 2, sub)
  symm.rendezvous(symm.empty_strided_p2p({4}, nil, "int32", "cpu", "sub")):barrier()
end
symm.rendezvous(symm.empty_strided_p2p({4}, nil, "int32", "cpu", name)):barrier()
if sub then symm.unset_group_info("sub") end
]])

case("refuses a name that is taken", 1, [[
local store = symm.HashStore()
fails("EXISTS", "'" .. name .. "' exists already", symm.set_group_info, name, 0, 1, store)
symm.set_group_info("mine", 0, 1, store)
fails("EXISTS", "exists already", symm.set_group_info, "mine", 0, 1, store)
fails("EXISTS", "exists already", symm.init_process_group,
  {group_name = "mine", store = store, rank = 0, world_size = 1})
symm.unset_group_info("mine")
fails("NOT_FOUND", "mine", symm.unset_group_info, "mine")
fails("INVALID", "rank must be in [0, 2)", symm.set_group_info, "x", 2, 2, store)
fails("INVALID", "rank must be in [0, 2)", symm.set_group_info, "x", -1, 2, store)
fails("INVALID", "world_size", symm.set_group_info, "x", 0, 0, store)
fails("INVALID", "world_size", symm.set_group_info, "x", 0, -1, store)
fails("INVALID", "group_name", symm.set_group_info, "", 0, 1, store)
fails("INVALID", "group_name", symm.set_group_info, ("x"):rep(64), 0, 1, store)
symm.set_group_info(("x"):rep(63), 0, 1, store); symm.unset_group_info(("x"):rep(63))
fails("INVALID", "store", symm.set_group_info, "x", 0, 1, {})
]])

case("gives persistent memory again", 2, [[
local function make(n) return symm.empty_strided_p2p({n}, nil, "float32", "cpu", name, 7) end
local t = make(8)
local address = t:data_ptr()
fails("EXISTS", "alloc_id 7 still lives", make, 8)
local h = symm.rendezvous(t)
t:fill_(rank)
t:close()
fails("MISMATCH", "alloc_id 7 has 32 bytes, not 36", make, 9)
t = make(8)
check(t:data_ptr() == address and t:eq(rank):all())
check(rawequal(symm.rendezvous(t, {timeout_ms = 200}), h)) -- cached: no communication
local other = symm.empty_strided_p2p({8}, nil, "float32", "cpu", name, 8)
check(other:data_ptr() ~= address)
fails("INVALID", "alloc_id", symm.empty_strided_p2p, {8}, nil, "float32", "cpu", name, -1)
h:barrier()
]])

case("refuses sizes that cannot be", 1, [[
local function bad(code, ...) fails(code, "", symm.empty_strided_p2p, ...) end
bad("INVALID", {-1}, nil, "float32"); bad("INVALID", {1 << 62}, nil, "float64")
bad("INVALID", {1 << 31, 1 << 31, 4}, nil, "uint8"); bad("INVALID", {2, 2}, {1 << 62, 1}, "float32")
bad("INVALID", {2, 2}, {-2, 1}, "float32"); bad("INVALID", {2, 2}, {1}, "float32")
bad("INVALID", {1, 1, 1, 1, 1, 1, 1, 1, 1}, nil, "float32"); bad("INVALID", {2}, nil, "float33")
bad("INVALID", "no", nil, "float32"); bad("INVALID", {1.5}, nil, "float32"); bad("INVALID", {"a"}, nil, "float32")
bad("MISSING_PLUGIN", {1}, nil, "float32", "cuda"); bad("INVALID", {1}, nil, "float32", "abacus")
bad("OOM", {1 << 50}, nil, "uint8")
]])

case("sets words", 1, [[
local t = symm.empty_strided_p2p({64}, nil, "uint32", "cpu", name)
symm.memset32(t, 10, 7, 5)
for i = 0, 63 do check(t:get(i) == (i >= 10 and i < 15 and 7 or 0)) end
symm.memset32(t, 0, 0xffffffff, 64); check(t:eq(0xffffffff):all())
symm.memset32(t, 63, 1, 1); check(t:get(63) == 1)
local function bad(...) fails("INVALID", "", symm.memset32, ...) end
bad(t, 0, 1, 65); bad(t, 64, 1, 1); bad(t, -1, 1, 1); bad(t, 0, 1, 0); bad(t, 0, 1, -1)
bad(t, 0, -1, 1); bad(t, 0, 1 << 32, 1); bad(t, math.maxinteger, 1, 1); bad(t, 1, 1, math.maxinteger)
bad(t:view{8, 8}, 0, 1, 1); bad(symm.zeros({4}, "int32"), 0, 1, 1); bad(t:slice(0, 0, 64, 2), 0, 1, 1)
symm.stream_write_value32(t, 3, 9); check(t:get(3) == 9)
local function bad_write(...) fails("INVALID", "", symm.stream_write_value32, ...) end
bad_write(t, -1, 1); bad_write(t, 64, 1); bad_write(t, 0, 1 << 32); bad_write(t, 0, -1)
]])

case("ends with its group", 2, [[
local h = symm.rendezvous(symm.empty_strided_p2p({1}, nil, "uint8", "cpu", name))
h:barrier()
if rank == 1 then
  finish(); finish = function() end
  fails("CLOSED", "the group has ended", h.barrier, h)
else -- the other rank has left in good order: that is no death, but no signal will come either
  fails("CLOSED", "rank 1 has left the group", h.wait_signal, h, {src_rank = 1})
end
]])

for ground, setup in pairs(grounds.each) do
  describe("symmetric memory in " .. ground, function()
    for _, c in ipairs(cases) do
      it(("%s (%d ranks)"):format(c.title, c.n), function()
        local script = c.script:gsub("STORE", ground == "a bare store" and "store" or "pg.store")
        launch.ranks(c.n, grounds.prologue .. setup .. script .. "\nfinish()\n", c.options)
      end)
    end
  end)
end
