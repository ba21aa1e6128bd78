-- SPDX-License-Identifier: MIT
--
-- The grounds on which symmetric memory stands, for specs that run their scripts on each: a process
-- group, and a group that is only a name over a bare store.
--
--     for title, ground in pairs(grounds.each) do
--       launch.ranks(2, grounds.prologue .. ground .. script)
--     end
--
-- They give a script `symm`, `rank`, `world`, `name` (of the group), `check`, `fails` and `finish`.

local grounds = {}

grounds.prologue = [[
local symm = require "symm"
local rank, world = tonumber(os.getenv("RANK")), tonumber(os.getenv("WORLD_SIZE"))
local name, finish
local function check(ok, text)
  if not ok then error(("rank %d: %s"):format(rank, text or "check failed"), 2) end
end
-- The call must raise an error object with this code and, if given, this text in its message.
local function fails(code, text, f, ...)
  local ok, err = pcall(f, ...)
  if ok then error(("rank %d: no %s error"):format(rank, code), 2) end
  if type(err) ~= "table" or err.code ~= code or not tostring(err):find(text or "", 1, true) then
    error(("rank %d: expected %s with '%s', got %s"):format(rank, code, text or "", tostring(err)), 2)
  end
  return err
end
]]

grounds.each = {
  ["a process group"] = [[
local pg = symm.init_process_group{timeout = "20s"}
name = pg.group_name
finish = function() pg:destroy() end
]],
  ["a bare store"] = [[
local store = symm.TCPStore{host = os.getenv("MASTER_ADDR"), port = tonumber(os.getenv("MASTER_PORT")),
  world_size = world, is_master = rank == 0, timeout = "20s",
  listen_fd = rank == 0 and tonumber(os.getenv("SYMM_MASTER_LISTEN_FD")) or nil}
name = "bare"
symm.set_group_info(name, rank, world, store, "20s")
finish = function()
  symm.unset_group_info(name)
  store:linger("20s")
end
]],
}

return grounds
