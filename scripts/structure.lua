-- SPDX-License-Identifier: MIT
--
-- What scripts/lint checks about the tree as a whole: licence lines, lengths, words that must not
-- stay, sources that build.ninja does not list, and pages that point to what is not there.
--   lua5.4 scripts/structure.lua FILE...     prints what is wrong and ends with 1 if anything is

local MOST_FILE_LINES, MOST_FUNCTION_LINES = 599, 80
local MOST_COLUMNS, MOST_LUA_COLUMNS = 100, 120

local problems = 0
local function complain(format, ...)
  problems = problems + 1
  print(format:format(...))
end

local function read(path)
  local file = io.open(path, "rb")
  if not file then return nil end
  local text = file:read("a")
  file:close()
  return text
end

local function split(text)
  local lines = {}
  for line in text:gmatch("([^\n]*)\n?") do lines[#lines + 1] = line end
  if lines[#lines] == "" then lines[#lines] = nil end
  return lines
end

local function is_c(path) return path:match("%.[ch]$") or path:match("%.cuh?$") end
local function is_lua(path) return path:match("%.lua$") end
local function is_script(path, text) return text:match("^#!") or path == "build.ninja" end

-- ---- one file ----

local function check_licence(path, lines)
  for i = 1, math.min(2, #lines) do
    if lines[i]:find("SPDX-License-Identifier: MIT", 1, true) then return end
  end
  complain("%s:1: the first lines lack SPDX-License-Identifier: MIT", path)
end

-- A C function ends with a line that is "}"; a struct or a table with "};".
local function check_c_functions(path, lines)
  local start
  for i, line in ipairs(lines) do
    if not start and line:match("{$") and not line:match('^extern "C"') then start = i end
    if start and line:match("^}") then
      if line == "}" and i - start + 1 > MOST_FUNCTION_LINES then
        complain("%s:%d: a function of %d lines (at most %d)", path, start, i - start + 1,
          MOST_FUNCTION_LINES)
      end
      start = nil
    end
  end
end

local function check_lua_functions(path, lines)
  local start
  for i, line in ipairs(lines) do
    local is_one_line = line:match("%f[%w]end%)?$")
    if line:match("^l?o?c?a?l? ?function ") and not is_one_line then start = i end
    if start and line:match("^end") then
      if i - start + 1 > MOST_FUNCTION_LINES then
        complain("%s:%d: a function of %d lines (at most %d)", path, start, i - start + 1,
          MOST_FUNCTION_LINES)
      end
      start = nil
    end
  end
end

local WORDS = { "TO" .. "DO", "FIX" .. "ME", "XX" .. "X", "HA" .. "CK" }
local PHRASES = { "place" .. "holder", "not implemented " .. "yet", "for " .. "now" }

local function check_words(path, lines)
  for i, line in ipairs(lines) do
    for _, word in ipairs(WORDS) do
      if line:find("%f[%w]" .. word .. "%f[%W]") then
        complain("%s:%d: '%s' must not stay", path, i, word)
      end
    end
    for _, phrase in ipairs(PHRASES) do
      if line:lower():find("%f[%w]" .. phrase .. "%f[%W]") then
        complain("%s:%d: '%s' must not stay", path, i, phrase)
      end
    end
  end
end

local function check_columns(path, lines)
  local most = is_lua(path) and MOST_LUA_COLUMNS or MOST_COLUMNS
  for i, line in ipairs(lines) do
    local columns = utf8.len(line) or #line
    if columns > most then
      complain("%s:%d: %d columns (at most %d)", path, i, columns, most)
    end
    if line:match("%s$") then complain("%s:%d: space at the end of the line", path, i) end
  end
end

local function check_file(path)
  local text = assert(read(path), path)
  local lines = split(text)
  if is_c(path) or is_lua(path) or is_script(path, text) then
    check_licence(path, lines)
    if #lines > MOST_FILE_LINES then
      complain("%s: %d lines (at most %d)", path, #lines, MOST_FILE_LINES)
    end
    check_words(path, lines)
  end
  if is_c(path) then check_c_functions(path, lines) end
  if is_lua(path) then check_lua_functions(path, lines) end
  if is_c(path) or is_lua(path) then check_columns(path, lines) end
end

-- ---- sources and build.ninja ----

local function check_build(paths)
  local ninja = assert(read("build.ninja"))
  for _, path in ipairs(paths) do
    local is_source = path:match("^core/.+%.c$") or path:match("^lua/.+%.c$")
      or path:match("^lua/symm/.+%.lua$") or path:match("^tests/.+_test%.c$")
    if is_lua(path) and read(path):find("\n---@meta", 1, true) then is_source = nil end -- for editors
    local object = path:match("^(core/.+)%.c$") or path:match("^(lua/.+)%.c$")
    if is_source and not ninja:find("%f[%S]" .. path:gsub("%p", "%%%0") .. "%f[%s]") then
      complain("%s: build.ninja does not list it", path)
    elseif object then
      local _, count = ninja:gsub("/" .. object:gsub("%p", "%%%0") .. "%.o%f[%W]", "")
      if count < 2 then complain("%s: build.ninja compiles it, but nothing takes it in", path) end
    end
  end
end

local function without_comments(text)
  return (text:gsub("/%*.-%*/", " "):gsub("#[^\n]*\\\n[^#]-[^\\]\n", "\n"):gsub("\n#[^\n]*", "\n"))
end

-- Functions that the public headers declare.
local function public_functions(paths)
  local names = {}
  for _, path in ipairs(paths) do
    if path:match("^core/include/symm/.*%.h$") or path:match("^lua/include/symm/.*%.h$") then
      for name in without_comments(read(path)):gmatch("%f[%w_](symm_[%w_]+)%s*%(") do
        names[name] = path
      end
    end
  end
  return names
end

-- ---- pages: what they point to. What the reference has to name is held by tests/functional/docs*_spec.lua ----

-- A function that a page names but no header has.
local function check_known(page, text, functions)
  for name in text:gmatch("%f[%w_](symm_%l[%l%d_]*)%(") do
    if not functions[name] then complain("%s: there is no function %s", page, name) end
  end
end

-- The anchors of a page's headings, as GitHub and others make them.
local function anchors_of(text)
  local anchors = {}
  for heading in ("\n" .. text:gsub("\n```.-\n```", "")):gmatch("\n#+ ([^\n]*)") do
    anchors[heading:lower():gsub("[^%w%s_-]", ""):gsub(" ", "-")] = true
  end
  return anchors
end

local function check_links(page, text)
  for link in text:gsub("\n```.-\n```", ""):gmatch("%]%(([^)%s]+)%)") do
    local path, anchor = link:match("^([^#]*)#?(.*)$")
    if not link:match("^%a+:") then
      local target = path == "" and page or (page:match("^.*/") or "") .. path
      local there = read(target) -- of a folder "" or nothing
      if not there and not io.open(target) then
        complain("%s: there is no %s", page, target)
      elseif anchor ~= "" and not anchors_of(there or "")[anchor] then
        complain("%s: %s has no heading for #%s", page, target, anchor)
      end
    end
  end
end

local function check_pages(paths)
  local functions = public_functions(paths)
  for _, path in ipairs(paths) do
    local text = path:match("%.md$") and read(path)
    if text then
      check_known(path, text, functions)
      check_links(path, text)
    end
  end
end

for _, path in ipairs(arg) do check_file(path) end
check_build(arg)
check_pages(arg)
os.exit(problems == 0)
