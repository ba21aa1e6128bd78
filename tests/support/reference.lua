-- SPDX-License-Identifier: MIT
--
-- What the reference says, for specs that hold it against what there is: the entries, tables and
-- examples of docs/*.md, the declarations of lua/symm/meta*.lua and of the public headers.
--
-- An entry of a page is a list item that begins with code: "- `t:sum([dim])`, `t:sum({dim=})` -> ...".
-- Its heads are the pieces of code before anything else is said.

local reference = {}

function reference.read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("a")
  file:close()
  return text
end

function reference.lines_of(command)
  local pipe, lines = assert(io.popen(command)), {}
  for line in pipe:lines() do lines[#lines + 1] = line end
  pipe:close()
  return lines
end

-- ---- sets: tables whose keys count ----

function reference.set(list)
  local set = {}
  for _, item in ipairs(list) do set[item] = true end
  return set
end

function reference.sorted(set)
  local keys = {}
  for key in pairs(set) do keys[#keys + 1] = key end
  table.sort(keys)
  return keys
end

-- The keys of `a` that `b` lacks, as one text; nil if there are none.
function reference.lacking(a, b)
  local names = {}
  for _, key in ipairs(reference.sorted(a)) do
    if not b[key] then names[#names + 1] = key end
  end
  return names[1] and table.concat(names, ", ")
end

-- The set of a table's keys.
function reference.names(map)
  local set = {}
  for key in pairs(map or {}) do set[key] = true end
  return set
end

-- ---- pages ----

local function add_head(entry, code)
  local prefix, mark, name, arguments = code:match("^(%w+)([.:])([%w_]+)(.*)$")
  if not prefix then
    prefix, mark = "", ""
    name, arguments = code:match("^([%w_]+)(%(.*%))$")
  end
  if name and (arguments == "" or arguments:match("^%(.*%)$")) then
    entry.heads[#entry.heads + 1] = {
      code = code, prefix = prefix, name = name, full = prefix .. mark .. name,
      arguments = arguments ~= "" and arguments:sub(2, -2) or nil,
    }
  end
end

local function read_heads(entry)
  local rest = entry.text
  while true do
    local code, after = rest:match("^`([^`]+)`(.*)$")
    if not code then break end
    add_head(entry, code)
    rest = after:match("^, (.*)$") or ""
  end
end

-- { entries = {{section, text, heads}}, rows = {{section, cells}}, blocks = {{info, text}}, prose }.
-- Blocks are not part of the prose.
function reference.page(path)
  local page = { entries = {}, rows = {}, blocks = {} }
  local section, entry, block, prose = "", nil, nil, {}
  for line in reference.read(path):gmatch("([^\n]*)\n") do
    if block then
      if line == "```" then
        block = nil
      else
        block.text = block.text .. line .. "\n"
      end
    elseif line:match("^```") then
      block = { info = line:sub(4), text = "", section = section }
      table.insert(page.blocks, block)
      entry = nil
    else
      prose[#prose + 1] = line
      if line:match("^#") then section = line:match("^#+ (.*)$") end
      if line:match("^%- `") then
        entry = { section = section, text = line:sub(3), heads = {} }
        table.insert(page.entries, entry)
      elseif entry and line:match("^ +%S") then
        entry.text = entry.text .. " " .. line:match("^ +(.*)$")
      else
        entry = nil
      end
      if line:match("^| ?`?[%w-]") then
        local cells = {}
        for cell in line:gmatch("| ([^|]*) %f[|]") do cells[#cells + 1] = cell end
        if cells[1] then table.insert(page.rows, { section = section, cells = cells }) end
      end
    end
  end
  for _, item in ipairs(page.entries) do read_heads(item) end
  page.prose = table.concat(prose, "\n")
  return page
end

-- The names of positional arguments, in order, and the set of named ones: "shape[, dtype], {a=, b=}".
function reference.arguments(text)
  local positional, named = {}, {}
  for keys in text:gmatch("{(.-)}") do
    for key in keys:gmatch("([%w_]+)=") do named[key] = true end
  end
  for name in text:gsub("{.-}", ""):gmatch("[%w_.]+") do positional[#positional + 1] = name end
  return positional, named
end

-- ---- lua/symm/meta*.lua ----

local function read_meta(path, meta)
  local class, notes = nil, {}
  for line in reference.read(path):gmatch("([^\n]*)\n") do
    local note = line:match("^%-%-%-(.*)$")
    if note then
      notes[#notes + 1] = note
      class = note:match("^@class ([%w_.]+)") or (note:match("^@alias ([%w_.]+)")) or class
      meta.classes[class or ""] = meta.classes[class or ""] or { fields = {}, operators = {}, values = {} }
      local of = meta.classes[class or ""]
      local field, operator = note:match("^@field ([%w_]+)"), note:match("^@operator (%w+)")
      local value, text = note:match('^| "([^"]+)" ?(.*)$')
      if field then of.fields[field] = true end
      if operator then of.operators["__" .. operator] = true end
      if value then of.values[#of.values + 1] = { value, text } end
    else
      local owner, name, parameters = line:match("^function ([%w_]+)[.:]([%w_]+)%((.-)%) end$")
      if owner then
        local known = meta.functions[owner] or {}
        meta.functions[owner] = known
        known[name] = { parameters = {}, notes = table.concat(notes, "\n"), twice = known[name] ~= nil }
        for parameter in parameters:gmatch("[%w_.]+") do
          table.insert(known[name].parameters, parameter)
        end
      end
      notes = {}
    end
  end
end

-- { classes = {NAME = {fields, operators, values}}, functions = {OWNER = {NAME = {parameters, notes}}} }
function reference.meta()
  local meta = { classes = {}, functions = {} }
  for _, path in ipairs(reference.lines_of("ls lua/symm/meta*.lua")) do read_meta(path, meta) end
  return meta
end

-- ---- public headers ----

local function parameter_names(text)
  local names = {}
  for parameter in text:gsub("%b()", function(inner)
    return inner:match("^%(%*") and inner or "" -- a pointer to a function keeps its name
  end):gmatch("[^,]+") do
    local name = parameter:match("%(%*([%w_]+)%)") or parameter:match("([%w_]+)[%s%[%]]*$")
    if name and parameter:match("%S+%s+%S") then names[#names + 1] = name end
  end
  return names
end

-- { functions = {NAME = {header, parameters, is_inline}}, words = every identifier, public = {NAME =
-- header} of types and constants that have to be told of }
function reference.headers()
  local found = { functions = {}, words = {}, public = {} }
  for _, path in ipairs(reference.lines_of("ls core/include/symm/*.h lua/include/symm/*.h")) do
    local header = path:match("symm/[%w_]+%.h$")
    local text = reference.read(path)
    for word in text:gmatch("[%w_]+") do found.words[word] = true end
    local guard = "SYMM_" .. header:match("symm/([%w_]+)%.h"):upper() .. "_H"
    for name in text:gmatch("\n#define (SYMM_[%w_]+)") do
      if name ~= guard and not name:match("_ENUM$") then found.public[name] = header end
    end
    text = text:gsub("/%*.-%*/", " "):gsub("\\\n", " "):gsub("\n#[^\n]*", "\n")
    for name in text:gmatch("%f[%w_]struct (symm_[%w_]+) {") do found.public[name] = header end
    for name in text:gmatch("typedef [^;{]-([%w_]+);") do found.public[name] = header end
    for name in text:gmatch("typedef [^;]-%(%*(symm_[%w_]+)%)%b();") do found.public[name] = header end
    for name in text:gmatch("%f[%w_]enum (symm_[%w_]+) {") do found.public[name] = header end
    for before, name, parameters, last in text:gmatch("([%w_* ]+)%f[%w_](symm_[%w_]+)(%b())%s*([;{])") do
      found.functions[name] = {
        header = header, is_inline = last == "{",
        parameters = before:match("%S") and parameter_names(parameters:sub(2, -2)),
      }
    end
  end
  return found
end

return reference
