-- What the chapter programs said: facts by their keys, the rows of every other file below emit/NN/, and tables; and what the pages make of
-- it: []{.predicted is="(BM + BN) * BK / NUM_THREADS" [key=KEY] [decimals=N] [unit=UNIT]} is a formula over the program's constants and over
-- predictions, which may have a key of its own for claims and other pages.
-- In: keys, formulas and names of files. Out: facts {kind, value, unit, text} and rows by the names of their columns, which
-- common/report/emitted.tsv lists. What is missing ends the weave; what nobody asks for is not looked at, for a chapter says thousands of
-- things of which a page needs a hundred.

local text = require("weave.text")
local page = require("weave.page")
local expression = require("weave.expression")

local emitted = {
  unmeasured = "not yet measured",  -- how a program says that a GPU has yet to give a number
}

local function lines(chapter, file, what)
  local whole = text.read(page.work .. "/emit/" .. chapter .. "/" .. file)
  if not whole then page.fail(what .. ": chapter " .. chapter .. " emits no " .. file) end
  return text.lines_of(whole)
end

-- File -> the names of its columns.
local columns_of = text.remembered(function(file)
  local columns = {}
  for line in io.lines(page.root .. "/common/report/emitted.tsv") do
    local of, column = line:match("^([^#\t][^\t]*)\t([^\t]+)")
    if of == file then columns[#columns + 1] = column end
  end
  return columns
end)

local function row_of(file, line)
  local row, fields = {}, text.split(line)
  for i, name in ipairs(columns_of(file)) do row[name] = fields[i] end
  return row
end

-- The rows of a file; `what` says what the prose wanted of it. Where `first` is given, only rows that begin with these fields.
function emitted.rows(chapter, file, what, first)
  local beginning = first and table.concat(first, "\t") .. "\t" or ""
  local rows = {}
  for _, line in ipairs(lines(chapter, file, what)) do
    if line:sub(1, #beginning) == beginning then rows[#rows + 1] = row_of(file, line) end
  end
  return rows
end

-- The table `name` of a chapter: caption, heads, and rows of cells.
function emitted.table(chapter, name)
  local rows = lines(chapter, "table-" .. name .. ".tsv", "table " .. name)
  local caption = table.remove(rows, 1)
  for i, line in ipairs(rows) do rows[i] = text.split(line) end
  return caption, table.remove(rows, 1), rows
end

-- A fact in full: "03/shared.4096.ms = 15.1491 ms", or its text where there is no number.
function emitted.in_full(fact, key)
  if not fact.value then return key .. " = " .. fact.text end
  return key .. " = " .. string.format("%.6g", fact.value) .. (fact.unit ~= "" and " " .. fact.unit or "")
end

-- Chapter -> key -> fact, or until it is asked for its line.
local facts_of = text.remembered(function(chapter)
  local result = {}
  for _, line in ipairs(lines(chapter, "facts.tsv", "numbers")) do result[line:match("^[^\t]*")] = line end
  return result
end)

local function constant(chapter, name)
  local line = ("\n" .. (text.read(page.work .. "/emit/" .. chapter .. "/constants.tsv") or "")):match("\n" .. name:gsub("%p", "%%%0") .. "\t([^\n]*)")
  return line and {kind = "constant", value = tonumber(line), unit = "", text = text.number(tonumber(line))}
end

-- The formula that a chapter's page gives this key: the prose may come to it from any page.
local function keyed_formula(chapter, key)
  local prose = page.sources[chapter] and text.read(page.root .. "/" .. page.sources[chapter]:gsub("%.cu$", ".md")) or ""
  for attributes in prose:gmatch("%[%]{%.predicted%s+([^}]*)}") do
    if attributes:match("key=(%S+)") == key and attributes:find('is="', 1, true) then
      return emitted.formula(chapter, attributes:match('is="([^"]*)"'), attributes:match("decimals=(%d+)"), attributes:match('unit="?([^%s"]+)'))
    end
  end
end

-- What a formula of a chapter's page comes to: a fact, and with what values.
function emitted.formula(chapter, formula, decimals, unit)
  formula = formula:gsub("%s+", " ")
  local tree, keys = expression.parse_formula(formula)
  local function refuse(why) page.fail('formula "' .. formula .. '": ' .. why) end
  if not tree then refuse(keys) end
  local values, with = {}, {}
  for i, key in ipairs(keys) do
    local fact = emitted.fact(key:match("^%d%d[%w_-]*/") and key or chapter .. "/" .. key)
    if fact.kind ~= "constant" and fact.kind ~= "predicted" then refuse(key .. " is " .. fact.kind .. ", and so no prediction") end
    values[key] = fact.value or refuse(key .. " is a text")
    with[i] = key .. " = " .. string.format("%.6g", fact.value)
  end
  local value, why = expression.value(tree, values)
  if not value then refuse(why) end
  if not page.sources[chapter] then chapter = (keys[1] or ""):match("^([^/]+)/") end  -- whose constants they are
  return {kind = "predicted", value = value, unit = unit or "", text = text.number(value, tonumber(decimals)), formula = formula, chapter = chapter,
          with = #with > 0 and ", with " .. table.concat(with, ", ") or ""}
end

-- The fact that a key names, and the key in full.
function emitted.fact(key)
  local chapter, rest = key:match("^(%d%d[%w_-]*)/(.+)$")
  if not chapter then chapter, rest = page.home, key end
  local all = facts_of(chapter)
  local fact = all[rest] or constant(chapter, rest) or keyed_formula(chapter, rest) or
    page.fail("no number has the key " .. chapter .. "/" .. rest)
  if type(fact) == "string" then
    fact = row_of("facts.tsv", fact)
    fact.value = tonumber(fact.value)
  end
  all[rest] = fact
  return fact, chapter .. "/" .. rest
end

return emitted
