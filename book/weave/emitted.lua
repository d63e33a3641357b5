-- What the chapter programs said: facts by their keys, and the rows of every other file below emit/NN/.
-- In: keys and names of files. Out: facts {kind, text, value} and rows of fields. A missing one ends the weave.

local text = require("weave.text")
local page = require("weave.page")

local emitted = {
  unmeasured = "not yet measured",  -- how a program says that a GPU has yet to give a number
}

local facts = {}  -- "NN" -> key -> {kind, text, value}; the value in full precision, if it is a number

-- The lines of a file; `what` says what the prose wanted of it.
function emitted.lines(chapter, file, what)
  local whole = text.read(page.work .. "/emit/" .. chapter .. "/" .. file)
  if not whole then page.fail(what .. ": chapter " .. chapter .. " emits no " .. file) end
  return text.lines_of(whole)
end

-- The fields of each line.
function emitted.rows(chapter, file, what)
  local rows = {}
  for i, line in ipairs(emitted.lines(chapter, file, what)) do rows[i] = text.split(line) end
  return rows
end

local function facts_of(chapter)
  if facts[chapter] then return facts[chapter] end
  local result = {}
  for _, f in ipairs(emitted.rows(chapter, "facts.tsv", "numbers")) do
    result[f[1]] = {kind = f[2], text = f[3], value = tonumber(f[4])}
  end
  facts[chapter] = result
  return result
end

-- The fact that a key names, and the key in full.
function emitted.fact(key)
  local chapter, rest = key:match("^(%d%d)/(.+)$")
  if not chapter then chapter, rest = page.home, key end
  local fact = facts_of(chapter)[rest] or page.fail("no number has the key " .. chapter .. "/" .. rest)
  return fact, chapter .. "/" .. rest
end

return emitted
