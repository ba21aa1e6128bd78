-- SPDX-License-Identifier: MIT
--
-- From the rounds of a bench to its rows, and the rows as a table or as lines of JSON:
--   {"bench","case","unit","ours","peers":{name:value},"ratio","target","ok","spread"}
-- ratio, target and ok are null where there is none: no peer, no target, or the target's peer is
-- missing. spread has the least and the most of the rounds, {name:[least,most]}, of ours and peers.

local sample = require "tests.bench.support.sample"

local report = {}

-- ---- rows ----

-- A name's figures, one a round, in the bench's unit; nil if it did not compete.
local function figures(rounds, name, row, scale)
  local list = {}
  for i, found in ipairs(rounds) do
    if not found[name] then return nil end
    list[i] = found[name][row.over or "max"] / scale
  end
  return list
end

local function median(list) return sample.median(table.move(list, 1, #list, 1, {})) end

local function median_of_pairs(a, b, f)
  local list = {}
  for i = 1, #a do list[i] = f(a[i], b[i]) end
  return sample.median(list)
end

local function best(values)
  local name
  for peer, value in pairs(values) do
    if not name or value < values[name] then name = peer end
  end
  return name
end

local function number(value) return ("%.6g"):format(value) end

-- The target's text, and whether it is reached: nil if its peer is missing.
local function judge(target, unit, ours, peer)
  if target.most then
    return ("<= %s %s"):format(number(target.most), unit), median(ours) <= target.most
  end
  if target.factor then
    local ratio = peer and median_of_pairs(ours, peer, function(a, b) return a / b end)
    return ("<= %s x %s"):format(number(target.factor), target.of), ratio and ratio <= target.factor
  end
  local text = ("<= %s + %s %s"):format(target.of, number(target.extra), unit)
  local extra = peer and median_of_pairs(ours, peer, function(a, b) return a - b end)
  return text, extra and extra <= target.extra
end

local function make_row(bench, this, row, rounds)
  local ours = assert(figures(rounds, row.ours, row, this.nanoseconds), row.ours)
  local made = {
    bench = bench, case = row.case, unit = this.unit, ours = median(ours), peers = {}, names = {},
    spread = { ours = ours },
  }
  for _, name in ipairs(row.peers or {}) do
    local short = name:match("^[^/]+")
    local list = figures(rounds, name, row, this.nanoseconds)
    if list then
      made.names[#made.names + 1] = short
      made.peers[short], made.spread[short] = median(list), list
    end
  end
  local target = row.target or {}
  made.against = target.of or best(made.peers)
  local peer = made.against and made.spread[made.against]
  if peer then
    made.ratio = median_of_pairs(ours, peer, function(a, b) return a / b end)
  end
  if row.target then made.target, made.ok = judge(target, this.unit, ours, peer) end
  return made
end

function report.rows(bench, this, rounds)
  local rows = {}
  for i, row in ipairs(this.rows) do rows[i] = make_row(bench, this, row, rounds) end
  return rows
end

-- ---- JSON ----

local function quote(text) return '"' .. text:gsub('[%c"\\]', function(c)
  return ("\\u%04x"):format(c:byte())
end) .. '"' end

local function json(value)
  if value == nil then return "null" end
  if type(value) == "number" then return number(value) end
  if type(value) == "string" then return quote(value) end
  return tostring(value)
end

local function json_peers(row)
  local parts = {}
  for i, name in ipairs(row.names) do parts[i] = quote(name) .. ":" .. json(row.peers[name]) end
  return "{" .. table.concat(parts, ",") .. "}"
end

local function json_spread(row)
  local parts = {}
  for _, name in ipairs { "ours", table.unpack(row.names) } do
    local list = row.spread[name]
    parts[#parts + 1] = ("%s:[%s,%s]"):format(quote(name), number(math.min(table.unpack(list))),
      number(math.max(table.unpack(list))))
  end
  return "{" .. table.concat(parts, ",") .. "}"
end

function report.print_json(rows)
  for _, row in ipairs(rows) do
    local parts = {}
    for _, key in ipairs { "bench", "case", "unit", "ours", "peers", "ratio", "target", "ok" } do
      local text = key == "peers" and json_peers(row) or json(row[key])
      parts[#parts + 1] = quote(key) .. ":" .. text
    end
    print("{" .. table.concat(parts, ",") .. ',"spread":' .. json_spread(row) .. "}")
  end
end

-- ---- a table ----

local function first_line(command)
  local pipe = assert(io.popen(command .. " 2>/dev/null", "r"))
  local line = pipe:read("l")
  pipe:close()
  return line
end

-- What the figures hold for, in one line.
function report.machine(rounds)
  local parts = {
    first_line("sed -n 's/^model name[^:]*: //p' /proc/cpuinfo") or first_line("uname -m") or "?",
    (first_line("nproc") or "?") .. " CPUs",
    "Linux " .. (first_line("uname -r") or "?"),
    first_line([[$(sed -n "s/^cc = //p" build/config.ninja) --version]]) or "unknown compiler",
    "commit " .. (first_line("git describe --always --dirty=+changes") or "unknown"),
    rounds .. (rounds == 1 and " round" or " rounds"),
    "load " .. (first_line("cut -d ' ' -f 1 /proc/loadavg") or "?"),
  }
  return table.concat(parts, "; ")
end

-- Three significant digits, and at least three decimals below 1.
local function short(value)
  if value < 10 then return ("%.3f"):format(value) end
  return ("%.1f"):format(value)
end

local function peers_text(row)
  local parts = {}
  for i, name in ipairs(row.names) do parts[i] = name .. " " .. short(row.peers[name]) end
  return table.concat(parts, ", ")
end

local function cells(row)
  local ok = row.target and (row.ok == nil and "?" or row.ok and "yes" or "NO") or ""
  return {
    row.case, short(row.ours), peers_text(row),
    row.ratio and ("%.2f x %s"):format(row.ratio, row.against) or "", row.target or "", ok,
  }
end

function report.print_table(this, machine, rows)
  local lines, widths = { { "case", "ours", "peers", "ratio", "target", "ok" } }, {}
  for _, row in ipairs(rows) do lines[#lines + 1] = cells(row) end
  for _, line in ipairs(lines) do
    for i, cell in ipairs(line) do widths[i] = math.max(widths[i] or 0, #cell) end
  end
  print(("%s; %s"):format(this.what, this.unit))
  print(machine .. "\n")
  for _, line in ipairs(lines) do
    local parts = {}
    for i, cell in ipairs(line) do parts[i] = cell .. (" "):rep(widths[i] - #cell) end
    print((table.concat(parts, "  "):gsub("%s+$", "")))
  end
end

return report
