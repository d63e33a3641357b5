-- The schema of what the programs emit, common/report/emitted.tsv: which columns a file has, and whether a line fits them.
-- In: that file, and lines as lists of fields. Out: columns {name, type}, and complaints.

local text = require("weave.text")

local schema = {}

local number_pattern = "^%-?%d+%.?%d*$"
local scientific_pattern = "^%-?%d+%.?%d*e[+-]%d+$"

local function is_number(field) return field:match(number_pattern) ~= nil or field:match(scientific_pattern) ~= nil end

-- Whether a text is the value, rounded to as many digits as it shows.
local function shows(shown, value)
  local digits, rest = shown:match("^(%-?[%d,]+%.?%d*)(.*)$")
  if not digits or rest ~= "" and rest:sub(1, 1) ~= " " then return false end
  local decimals = #(digits:match("%.(%d*)$") or "")
  return math.abs(tonumber((digits:gsub(",", ""))) - tonumber(value)) <= 0.5000001 * 10 ^ -decimals
end

-- Type -> whether a field is of it; `row` has the fields before it by their names.
local types = {
  word = function(field) return field:match("^%S+$") ~= nil end,
  key = function(field) return field:match("^%S+$") ~= nil end,
  text = function(field) return field ~= "" end,
  ["text?"] = function() return true end,
  whole = function(field) return field:match("^%d+$") ~= nil end,
  number = is_number,
  ["number?"] = function(field) return field == "" or is_number(field) end,
  shown = function(field, row) return field ~= "" and (row.value == "" or shows(field, row.value)) end,
}

local function one_of(field, alternatives) return ("|" .. alternatives .. "|"):find("|" .. field .. "|", 1, true) ~= nil end

-- Reads the schema: {columns = file -> its columns in order, types = those that the file itself defines}.
function schema.read(path)
  local found = {columns = {}, types = {}}
  for _, line in ipairs(text.lines_of(text.read(path) or error("no file " .. path))) do
    if line:sub(1, 1) ~= "#" then
      local file, name, kind = table.unpack(text.split(line))
      if file == "(type)" then
        found.types[name] = kind
      else
        found.columns[file] = found.columns[file] or {}
        table.insert(found.columns[file], {name = name, type = kind})
      end
    end
  end
  return found
end

-- The columns of a file, or nil for a file that the schema does not have.
function schema.columns(found, file) return found.columns[file] or found.columns[file:gsub("^table%-.*%.tsv$", "table-*.tsv")] end

local function fits(found, kind, field, row)
  if types[kind] then return types[kind](field, row) end
  local alternatives = found.types[kind]
  if not alternatives then return one_of(field, kind) end
  return field == "" or one_of(field, alternatives) or one_of(field:match("^(.-)/[%w ]+$") or "", alternatives)
end

-- The fields of a line by the names of their columns, or nil and what does not fit.
function schema.row(found, columns, fields)
  if #fields ~= #columns then return nil, "has " .. #fields .. " fields, not " .. #columns end
  local row = {}
  for i, column in ipairs(columns) do
    if not fits(found, column.type, fields[i], row) then
      return nil, column.name .. " is '" .. fields[i] .. "', not " .. column.type
    end
    row[column.name] = fields[i]
  end
  return row
end

return schema
