-- SPDX-License-Identifier: MIT
--
-- Types for editors: what a Lua language server (LuaLS) shows for `require "symm"`. Never loaded, and
-- nothing is built from it; docs/lua-api.md tells what everything does. The tests hold it against the
-- running module and that page. Tensors are in meta_tensor.lua.
-- luacheck: ignore 212 241 431
---@meta symm

--- Milliseconds, or a text with a unit: "250ms", "2s", "1.5m", "1h". 0: the default; -1: none.
---@alias symm.duration number|string

---@class symm.error What a failed call raises; fields that do not apply are absent.
---@field code symm.code
---@field message string one line that a person can act on
---@field op? string what the script called
---@field group? string the group's name
---@field rank? integer the rank that reports
---@field peer? integer the rank that it waited for, or that failed
---@field channel? integer the signal channel
---@field seq? integer the number of the operation in its group
---@field where string the line of the script: "script.lua:7: "; may be empty
---@field traceback? string once nothing has caught the error

---@alias symm.code
---| "TIMEOUT" a deadline passed
---| "NETWORK" a connection could not be made or was lost
---| "STORE" the store refused or could not serve a request
---| "QUEUE_EMPTY" a queue was empty
---| "INVALID" an argument is wrong
---| "UNSUPPORTED" this combination is not supported
---| "PEER_DIED" another rank's process has ended
---| "MISMATCH" ranks disagree about a collective operation
---| "ABORTED" the group or runtime was aborted
---| "INTERRUPTED" a signal interrupted a wait
---| "CLOSED" the object is closed
---| "NOT_FOUND" no such name, file or key
---| "EXISTS" the name is taken
---| "DESTROYED" the named object was destroyed
---| "LIMIT" a limit was exceeded
---| "MISSING_PLUGIN" what was asked for needs a plugin that is missing
---| "OOM" memory is exhausted or over a limit
---| "CUDA" the CUDA driver or runtime reported an error
---| "NCCL" NCCL reported an error
---| "MPI" MPI reported an error
---| "IO" the operating system reported an input or output error
---| "SCRIPT" a Lua script raised an error of its own

---@class symm
---@field version string
---@field dtypes symm.dtype[] the names of the element types
local symm = {}

--- Monotonic nanoseconds since an arbitrary point.
---@return integer
function symm.now_ns() end

--- Sleeps; a number is milliseconds. Signals end it.
---@param duration symm.duration
function symm.sleep(duration) end

-- ---- stores ----

---@class symm.store
---@field kind "tcp"|"hash"|"prefix"
---@field port? integer the port in use
---@field timeout integer default of its waits in milliseconds; -1: none
local store = {}

---@class symm.TimeoutOptions
---@field timeout_ms? symm.duration

---@class symm.TCPStoreOptions
---@field host? string default "127.0.0.1"; "@name" is an abstract Unix socket
---@field port? integer default 29500; 0 on the master: the kernel chooses
---@field world_size? integer how many clients there will be
---@field is_master? boolean run the daemon in this process
---@field wait_for_workers? boolean default true
---@field timeout? symm.duration of connecting, and default of every later wait
---@field listen_fd? integer a bound socket that the daemon takes over

---@class symm.RendezvousUrlOptions
---@field rank? integer
---@field world_size? integer
---@field timeout? symm.duration

--- Connects to a store, and on the master runs it.
---@param options? symm.TCPStoreOptions
---@return symm.store
function symm.TCPStore(options) end

--- A store in this process alone.
---@return symm.store
function symm.HashStore() end

--- Every key K of it is prefix .. "/" .. K of the store below.
---@param prefix string
---@param store symm.store
---@return symm.store
function symm.PrefixStore(prefix, store) end

--- "env://" or "tcp://host:port?rank=R&world_size=N".
---@param url string
---@param options? symm.RendezvousUrlOptions
---@return symm.store store
---@return integer rank
---@return integer world_size
function symm.rendezvous_url(url, options) end

--- Replaces any value; when it returns, everybody sees it.
---@param key string
---@param value string
function store:set(key, value) end

--- Waits until the key exists.
---@param key string
---@param timeout_ms? symm.duration
---@return string
---@overload fun(self: symm.store, key: string, options: symm.TimeoutOptions): string
function store:get(key, timeout_ms) end

--- Adds to a decimal counter, and gives the sum.
---@param key string
---@param amount integer
---@return integer
function store:add(key, amount) end

--- Waits until all keys exist at one time.
---@param keys string[]
---@param timeout_ms? symm.duration
---@overload fun(self: symm.store, keys: string[], options: symm.TimeoutOptions)
function store:wait(keys, timeout_ms) end

--- Whether all keys exist now.
---@param keys string[]
---@return boolean
function store:check(keys) end

--- Whether it was there.
---@param key string
---@return boolean
function store:delete_key(key) end

---@return integer
function store:num_keys() end

--- The default of later waits.
---@param timeout_ms symm.duration
function store:set_timeout(timeout_ms) end

--- Where the daemon runs: waits until all other clients have left.
---@param timeout_ms? symm.duration
---@overload fun(self: symm.store, options: symm.TimeoutOptions)
function store:linger(timeout_ms) end

function store:close() end

---@return boolean
function store:is_closed() end

-- ---- process groups ----

---@class symm.group
---@field rank integer
---@field world_size integer
---@field group_name string
---@field timeout_ms integer default of its waits; -1: none
---@field store symm.store
local group = {}

---@class symm.GroupOptions
---@field group_name? string default "0"
---@field store? symm.store with rank and world_size
---@field init_method? string "env://" or a URL of rendezvous_url
---@field rank? integer
---@field world_size? integer
---@field timeout? symm.duration of this call, and default of every wait
---@field device? "cpu"

--- Collective. Without store and init_method the environment says where this process stands.
---@param options? symm.GroupOptions
---@return symm.group
function symm.init_process_group(options) end

--- The group's destroy; without a group, that of the one named "0".
---@param group? symm.group
---@param options? symm.TimeoutOptions
function symm.destroy_process_group(group, options) end

--- Returns when all ranks have called it.
---@param options? symm.TimeoutOptions
function group:barrier(options) end

--- Orderly end: the rank leaves, and the name is free again.
---@param options? symm.TimeoutOptions
function group:destroy(options) end

function group:close() end

---@return boolean
function group:is_closed() end

-- ---- symmetric memory ----

---@class symm.memory The handle of one block in one group.
---@field rank integer
---@field world_size integer
---@field group_name string
---@field device string
---@field buffer_size integer bytes
---@field signal_pad_size integer bytes
---@field channels integer
---@field offset integer bytes
---@field buffer_ptrs integer[] by rank, from 1
---@field signal_pad_ptrs integer[] by rank, from 1
local memory = {}

---@class symm.MemoryOptions
---@field dtype? symm.dtype default "float32"
---@field device? string
---@field group_name? string the group that rendezvous takes by default
---@field alloc_id? integer the same memory again under the same number

---@class symm.RendezvousOptions
---@field group_name? string
---@field timeout_ms? symm.duration

---@class symm.PutSignalOptions
---@field dst_rank integer
---@field channel? integer default 0
---@field timeout_ms? symm.duration

---@class symm.WaitSignalOptions
---@field src_rank integer
---@field channel? integer default 0
---@field timeout_ms? symm.duration

---@class symm.BarrierOptions
---@field channel? integer default 0
---@field timeout_ms? symm.duration

--- A tensor of a new block, zeroed; not collective.
---@param shape integer[]
---@param stride integer[]|nil nil: contiguous
---@param dtype symm.dtype
---@param device? string
---@param group_name? string the group that rendezvous takes by default
---@param alloc_id? integer the same memory again under the same number
---@return symm.tensor
---@overload fun(shape: integer[], stride: integer[]|nil, options: symm.MemoryOptions): symm.tensor
function symm.empty_strided_p2p(shape, stride, dtype, device, group_name, alloc_id) end

--- Collective: maps everybody's block into everybody. nil for ordinary memory.
---@param t symm.tensor
---@param group_name? string
---@return symm.memory?
---@overload fun(t: symm.tensor, options: symm.RendezvousOptions): symm.memory?
function symm.rendezvous(t, group_name) end

--- The handle of a block that was rendezvoused, without communication. nil for ordinary memory.
---@param t symm.tensor
---@param group_name? string
---@return symm.memory?
function symm.get_symmetric_memory(t, group_name) end

---@param t symm.tensor
---@return boolean
function symm.is_symm_mem_tensor(t) end

--- Makes a group known for rendezvous that is only a name over a store.
---@param group_name string
---@param rank integer
---@param world_size integer
---@param store symm.store
---@param timeout_ms? symm.duration
function symm.set_group_info(group_name, rank, world_size, store, timeout_ms) end

---@param group_name string
function symm.unset_group_info(group_name) end

--- Of the pads of blocks made from now on: a multiple of 4.
---@param bytes integer
function symm.set_signal_pad_size(bytes) end

---@return integer bytes
function symm.get_signal_pad_size() end

--- Sets elements of a contiguous uint32 tensor of one dimension.
---@param t symm.tensor
---@param offset integer
---@param value integer
---@param count? integer default 1
---@return symm.tensor t
function symm.memset32(t, offset, value, count) end

--- Writes one such element with release order.
---@param t symm.tensor
---@param offset integer
---@param value integer
---@return symm.tensor t
function symm.stream_write_value32(t, offset, value) end

--- A contiguous tensor over that rank's buffer.
---@param rank integer
---@param shape integer[]
---@param dtype symm.dtype
---@param storage_offset? integer in elements, default 0
---@return symm.tensor
function memory:get_buffer(rank, shape, dtype, storage_offset) end

--- The same from the block's first element.
---@param peer integer
---@param shape integer[]
---@param dtype symm.dtype
---@return symm.tensor
function memory:get_remote_tensor(peer, shape, dtype) end

--- A tensor over that rank's signal pad; by default all of it, as uint32.
---@param rank integer
---@param shape? integer[]
---@param dtype? symm.dtype
---@param storage_offset? integer in elements, default 0
---@return symm.tensor
function memory:get_signal_pad(rank, shape, dtype, storage_offset) end

--- Waits until the slot at dst_rank is free, then sets it.
---@param options symm.PutSignalOptions
function memory:put_signal(options) end

--- Waits until src_rank has signalled, then frees the slot.
---@param options symm.WaitSignalOptions
function memory:wait_signal(options) end

--- Returns when all ranks have called it on that channel.
---@param options? symm.BarrierOptions
function memory:barrier(options) end

function memory:close() end

---@return boolean
function memory:is_closed() end

return symm
