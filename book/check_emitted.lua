-- Holds all that the programs emitted to common/report/emitted.tsv: a line for each file with what is wrong in it, and status 1 if there
-- is any. Run by pandoc on an empty page, with metadata
--   schema   emitted.tsv
--   work     directory with emit/NN/
--   chapters the directories NN, and those of pages that are no chapter's, separated by spaces
-- A trace has up to a million lines, all from one place of a program: the first lines speak for the others.

package.path = pandoc.path.join({pandoc.path.directory(PANDOC_SCRIPT_FILE), "?.lua"}) .. ";" .. package.path

local text = require("weave.text")
local schema = require("weave.schema")

local enough = 10000  -- lines

local function first_lines(path)
  local lines = {}
  for line in io.lines(path) do
    lines[#lines + 1] = line
    if #lines == enough then break end
  end
  return lines
end

-- What is wrong with a table, or nil.
local function table_complaint(lines)
  local heads = lines[2] and #text.split(lines[2]) or 0
  if heads == 0 then return "has no heads" end
  for i = 3, #lines do
    local cells = #text.split(lines[i])
    if cells ~= heads then return "line " .. i .. " has " .. cells .. " cells, not " .. heads end
  end
end

-- What is wrong with a file of rows, or nil.
local function complaint(listed, columns, lines)
  local key, seen = columns[1].type == "key" and columns[1].name, {}
  for i, line in ipairs(lines) do
    local row, why = schema.row(listed, columns, text.split(line))
    if not row then return "line " .. i .. ": " .. why end
    if key and seen[row[key]] then return "line " .. i .. ": " .. row[key] .. " is there twice" end
    if key then seen[row[key]] = true end
  end
end

local function check(doc)
  local function get(key) return pandoc.utils.stringify(doc.meta[key]) end
  local listed, wrong = schema.read(get("schema")), 0
  for chapter in get("chapters"):gmatch("%S+") do
    local directory = get("work") .. "/emit/" .. chapter
    for file in assert(io.popen("ls '" .. directory:gsub("'", "'\\''") .. "'")):lines() do  -- pandoc 2.17 cannot list one itself
      local columns, why = schema.columns(listed, file), nil
      if file == "description.json" then  -- of the program, not for pages: tile-record reads it
        why = nil
      elseif not columns then
        why = "is not listed there: say what its columns are"
      else
        local lines = first_lines(directory .. "/" .. file)
        if columns[1].type == "cells" then why = table_complaint(lines) else why = complaint(listed, columns, lines) end
      end
      if why then
        wrong = wrong + 1
        io.stderr:write("emit/" .. chapter .. "/" .. file .. " is not as common/report/emitted.tsv says: " .. why .. "\n")
      end
    end
  end
  if wrong > 0 then os.exit(1) end
  return pandoc.Pandoc({})
end

return {{Pandoc = check}}
