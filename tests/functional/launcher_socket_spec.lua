-- SPDX-License-Identifier: MIT
--
-- The socket that symmrun -n N hands to rank 0, so that nobody can take the port in between.

local launch = require "tests.support.launch"

-- The sockets of TCP that listen on a port of this machine, by inode: /proc/net/tcp has them as
-- "N: ADDRESS:PORT REMOTE STATE ... UID TIMEOUT INODE", numbers in hexadecimal, 0A is LISTEN.
local listening = [[
local function listening(port)
  local inodes = {}
  for line in io.lines "/proc/self/net/tcp" do
    local there, state, rest = line:match("^ *%d+: %x+:(%x+) %x+:%x+ (%x%x) (.*)$")
    if there and tonumber(there, 16) == port and state == "0A" then
      inodes[rest:match("^%S+ %S+ %S+ +%d+ +%d+ (%d+)")] = true
    end
  end
  return inodes
end
-- The inode of the socket that is this process's descriptor, nil: it is none.
local function socket_of(fd)
  local pipe = io.popen("readlink /proc/$PPID/fd/" .. fd)
  local name = pipe:read "l"
  pipe:close()
  return name and name:match "^socket:%[(%d+)%]$"
end
]]

describe("symmrun -n hands to rank 0", function()
  it("a socket that listens on MASTER_PORT", function()
    launch.ranks(2, listening .. [[
      if os.getenv "RANK" == "0" then
        local fd = assert(os.getenv "SYMM_MASTER_LISTEN_FD", "there is no variable")
        local inode = assert(socket_of(fd), "descriptor " .. fd .. " is no socket")
        assert(listening(tonumber(os.getenv "MASTER_PORT"))[inode], "it does not listen there")
      else
        assert(os.getenv "SYMM_MASTER_LISTEN_FD" == nil, "another rank has the variable")
      end]])
  end)

  it("the one that its store then listens on", function()
    launch.ranks(2, listening .. [[
      local port, fd = tonumber(os.getenv "MASTER_PORT"), os.getenv "SYMM_MASTER_LISTEN_FD"
      local before = fd and socket_of(fd)
      local pg = require("symm").init_process_group()
      if pg.rank == 0 then
        local now = listening(port)
        assert(now[before] and next(now, before) == nil and next(now) == before,
          "another socket listens")
      end
      pg:barrier()
      pg:destroy()]])
  end)
end)
