-- SPDX-License-Identifier: MIT
--
-- Turns Lua files into one C file: the table symmL_faces of lua/faces.h.
--   lua5.4 scripts/embed.lua OUT.c lua/symm/*.lua

local function quote(line)
  -- three octal digits always, so that a digit that follows is not taken into the escape
  return '"' .. line:gsub('[\\"%c\128-\255]', function(c)
    if c == "\n" then return "\\n" end
    return ("\\%03o"):format(c:byte())
  end):gsub("%?", "\\?") .. '"'
end

local function module_name(path)
  local stem = assert(path:match("([^/]+)%.lua$"), path .. " is no .lua file")
  return stem == "init" and "symm" or "symm." .. stem
end

local function read(path)
  local file = assert(io.open(path, "rb"))
  local text = assert(file:read("a"))
  file:close()
  return text
end

local out = { '#include "lua/faces.h"\n\nconst struct symmL_face symmL_faces[] = {\n' }
for i = 2, #arg do
  local text = read(arg[i])
  assert(load(text, "@" .. arg[i], "t"))
  out[#out + 1] = ('    {"%s",\n'):format(module_name(arg[i]))
  for line in text:gmatch("[^\n]*\n?") do
    if line ~= "" then out[#out + 1] = "     " .. quote(line) .. "\n" end
  end
  out[#out + 1] = ('     "", %d},\n'):format(#text)
end
out[#out + 1] = "    {NULL, NULL, 0}};\n"

local file = assert(io.open(arg[1], "wb"))
assert(file:write(table.concat(out)))
assert(file:close())
