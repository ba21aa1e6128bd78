-- SPDX-License-Identifier: MIT
--
-- docs/lua-api.md and lua/symm/meta*.lua against the module and its classes as they run. A name that is missing
-- in one of them, and one that is too many, is a failure.

local reference = require "tests.support.reference"
local symm = require "symm"

local lua_page = reference.page("docs/lua-api.md")
local meta = reference.meta()

local function same(expected, found, what, where)
  local missing, surplus = reference.lacking(expected, found), reference.lacking(found, expected)
  if missing then error(("%s lacks %s: %s"):format(where, what, missing), 0) end
  if surplus then error(("%s has %s that do not exist: %s"):format(where, what, surplus), 0) end
end

-- ---- what runs ----

local GENERIC = reference.set { "__index", "__newindex", "__name", "__gc", "__close", "__tostring", "methods" }

-- The binding compares a property's name with each that it knows; only its source has the list.
local function properties_of(class)
  local names = {}
  for _, path in ipairs(reference.lines_of([[grep -lF '.name = "]] .. class .. [["' lua/*.c]])) do
    for name in reference.read(path):gmatch('strcmp%(key, "([%w_]+)"%) == 0') do names[name] = true end
  end
  return names
end

-- Prefix in the page, name of the class, owner of the functions in meta.lua.
local classes = {
  { prefix = "t", name = "symm.tensor", owner = "tensor" },
  { prefix = "store", name = "symm.store", owner = "store" },
  { prefix = "pg", name = "symm.group", owner = "group" },
  { prefix = "h", name = "symm.memory", owner = "memory" },
}
local samples = {}

setup(function()
  samples.t, samples.store = symm.zeros { 1 }, symm.HashStore()
  samples.pg = symm.init_process_group { store = samples.store, rank = 0, world_size = 1, group_name = "docs" }
  samples.h = symm.rendezvous(symm.empty_strided_p2p({ 1 }, nil, "uint32", "cpu", "docs"))
  for _, class in ipairs(classes) do
    local metatable = debug.getmetatable(samples[class.prefix])
    assert.equal(class.name, metatable.__name)
    class.methods, class.properties = reference.names(metatable.methods), properties_of(class.name)
    class.operators = {}
    for name in pairs(metatable) do
      if not GENERIC[name] then class.operators[name] = true end
    end
  end
end)

teardown(function()
  samples.h:close()
  samples.pg:destroy()
end)

local function module_names(is_function)
  local names = {}
  for name, value in pairs(symm) do
    if (type(value) == "function") == is_function then names[name] = true end
  end
  return names
end

-- Entries of the page by prefix: names of functions, names of values.
local function documented(prefix)
  local functions, values = {}, {}
  for _, entry in ipairs(lua_page.entries) do
    for _, head in ipairs(entry.heads) do
      if head.prefix == prefix then (head.arguments and functions or values)[head.name] = true end
    end
  end
  return functions, values
end

describe("docs/lua-api.md", function()
  it("has every name of the module, and no other", function()
    local functions, values = documented("symm")
    same(module_names(true), functions, "functions of the module", "the page")
    same(module_names(false), values, "values of the module", "the page")
  end)

  it("has every method and property of every class, and no other", function()
    for _, class in ipairs(classes) do
      local functions, values = documented(class.prefix)
      same(class.methods, functions, "methods of " .. class.name, "the page")
      same(class.properties, values, "properties of " .. class.name, "the page")
      for name in pairs(class.properties) do
        assert.has_no.errors(function() return samples[class.prefix][name] end)
      end
    end
  end)

  it("names nothing that does not exist", function()
    local prefixes = { symm = symm }
    for _, class in ipairs(classes) do prefixes[class.prefix] = samples[class.prefix] end
    for code in lua_page.prose:gmatch("`([^`\n]+)`") do
      local prefix, name = code:match("^(%w+)[.:]([%w_]+)$")
      if not prefix then prefix, name = code:match("^(%w+)[.:]([%w_]+)%(.*%)$") end
      if prefixes[prefix] then
        local found, value = pcall(function() return prefixes[prefix][name] end)
        local is_class = debug.getregistry()[code] ~= nil
        assert(is_class or found and (prefix ~= "symm" or value ~= nil), code .. " does not exist")
      end
    end
  end)

  it("has every operator", function()
    local text = {
      __add = "`a + b`", __sub = "`a - b`", __mul = "`a * b`", __div = "`a / b`", __pow = "`a ^ b`",
      __unm = "`-a`", __len = "`#t`",
    }
    for _, class in ipairs(classes) do
      for name in pairs(class.operators) do
        assert(text[name], "no text is known for " .. name .. " of " .. class.name)
        assert(lua_page.prose:find(text[name], 1, true), "the page lacks " .. text[name])
      end
    end
    same(classes[1].operators, reference.names(text), "operators of tensors", "this spec")
  end)
end)

-- ---- named arguments: asked for with one that no function knows ----

local function sample_of(name, head)
  local known = {
    shape = { 1 }, stride = { 1 }, value = 1, start = 1, stop = 2, ["..."] = 1, other = samples.t, url = "env://",
    group = samples.pg, key = "k", keys = {}, t = head.full == "symm.tensor" and { 1 } or samples.t,
  }
  return assert(known[name], "this spec has no sample of the argument '" .. name .. "' of " .. head.full)
end

-- The named arguments of the function of a head, by its own word.
local function named_by_function(head)
  local before = head.arguments:match("^(.-)[%[, ]*{")
  local arguments = {}
  if head.prefix ~= "symm" then arguments[1] = samples[head.prefix] end
  for _, name in ipairs((reference.arguments(before))) do
    arguments[#arguments + 1] = sample_of(name, head)
  end
  arguments[#arguments + 1] = { nonsense = 1 }
  local object = head.prefix == "symm" and symm or samples[head.prefix]
  local ok, err = pcall(object[head.name], table.unpack(arguments))
  local known = not ok and tostring(err):match("unknown argument 'nonsense'; known: (.*)$")
  assert(known, head.code .. " takes no named arguments: " .. tostring(err))
  local set = {}
  for name in known:gmatch("[%w_]+") do set[name] = true end
  return set
end

local function each_named_head(f)
  for _, entry in ipairs(lua_page.entries) do
    for _, head in ipairs(entry.heads) do
      if head.arguments and head.arguments:find("{", 1, true) then f(head) end
    end
  end
end

describe("named arguments", function()
  it("are on the page as the functions know them", function()
    local count = 0
    each_named_head(function(head)
      local _, named = reference.arguments(head.arguments)
      same(named_by_function(head), named, "named arguments", head.code)
      count = count + 1
    end)
    assert(count > 20, "the page has too few functions with named arguments")
  end)

  it("of the binding all belong to functions that the page has", function()
    local seen = {}
    each_named_head(function(head)
      seen[table.concat(reference.sorted(named_by_function(head)), " ")] = true
    end)
    for _, path in ipairs(reference.lines_of("ls lua/*.c")) do
      for body in reference.read(path):gmatch("static const char %*const [%w_]+%[%] = {([^{}]-)NULL}") do
        local set = {}
        for name in body:gmatch('"([%w_]+)"') do set[name] = true end
        local list = table.concat(reference.sorted(set), " ")
        assert(seen[list], path .. ": no function on the page takes {" .. list .. "}")
      end
    end
  end)
end)

-- ---- meta.lua ----

-- The fields of the options that a declaration takes.
local function options_in_meta(declaration)
  local fields = {}
  for class in declaration.notes:gmatch("symm%.(%u%w+Options)") do
    for name in pairs(assert(meta.classes["symm." .. class], class).fields) do fields[name] = true end
  end
  return fields
end

local function declaration_of(head)
  local owner = "symm"
  for _, class in ipairs(classes) do
    if class.prefix == head.prefix then owner = class.owner end
  end
  return meta.functions[owner] and meta.functions[owner][head.name]
end

describe("lua/symm/meta.lua", function()
  it("is Lua", function()
    for _, path in ipairs(reference.lines_of("ls lua/symm/meta*.lua")) do assert(loadfile(path, "t")) end
  end)

  it("declares every name of the module, and no other", function()
    same(module_names(true), reference.names(meta.functions.symm), "functions of the module", "meta.lua")
    same(module_names(false), meta.classes.symm.fields, "values of the module", "meta.lua")
  end)

  it("declares every method, property and operator of every class, and no other", function()
    for _, class in ipairs(classes) do
      same(class.methods, reference.names(meta.functions[class.owner]), "methods of " .. class.name, "meta.lua")
      same(class.properties, meta.classes[class.name].fields, "properties of " .. class.name, "meta.lua")
      same(class.operators, meta.classes[class.name].operators, "operators of " .. class.name, "meta.lua")
    end
  end)

  it("declares nothing twice", function()
    for owner, functions in pairs(meta.functions) do
      for name, declaration in pairs(functions) do assert(not declaration.twice, owner .. "." .. name) end
    end
  end)

  it("has the arguments that the page has", function()
    local seen = {}
    for _, entry in ipairs(lua_page.entries) do
      for _, head in ipairs(entry.heads) do
        if head.arguments and not seen[head.full] then
          seen[head.full] = true
          local declared, given = {}, reference.arguments(head.arguments)
          for _, name in ipairs(declaration_of(head).parameters) do
            if name ~= "options" then declared[#declared + 1] = name end
          end
          if given[#given] == "value" and given[1] == "..." then given[2] = nil end -- set(..., value)
          assert.equal(table.concat(given, ", "), table.concat(declared, ", "), head.code)
        end
      end
    end
  end)

  it("has the named arguments that the functions know", function()
    each_named_head(function(head)
      same(named_by_function(head), options_in_meta(declaration_of(head)), "options of " .. head.full, "meta.lua")
    end)
  end)

  it("has the fields of error objects", function()
    local fields = { traceback = true }
    for name in reference.read("lua/error.c"):gmatch('set_%l+%(L, "(%l+)"') do fields[name] = true end
    fields.where = true
    same(fields, meta.classes["symm.error"].fields, "fields of errors", "meta.lua")
    local page = {}
    for _, row in ipairs(lua_page.rows) do
      local name = row.section == "Errors" and row.cells[1]:match("^`(%l+)`$")
      if name then page[name] = true end
    end
    same(fields, page, "fields of errors", "the page")
  end)
end)
