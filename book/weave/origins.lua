-- Where a number comes from: the line that computes it, that is counted, or that records it.
-- In: a chapter, a key and its kind; places.tsv and lines.tsv of the chapter, its program, and its records. Out: a file below the
-- repository's root and a line of it, or nil where no line is known.

local text = require("weave.text")
local page = require("weave.page")
local emitted = require("weave.emitted")

local origins = {}

local function remembered(f)
  local known = {}
  return function(key)
    if known[key] == nil then known[key] = f(key) or false end
    return known[key] or nil
  end
end

-- The places of a chapter's numbers as they stand in their file: they are many, and a page asks for few.
local places_of = remembered(function(chapter)
  local whole = text.read(page.work .. "/emit/" .. chapter .. "/places.tsv")  -- none for a page whose numbers are of others
  return whole and "\n" .. whole
end)

-- The call that made the number with this key.
local function made_at(chapter, key)
  local places = places_of(chapter)
  local _, behind = (places or ""):find("\n" .. key .. "\t", 1, true)
  if not behind then return nil end
  local file, line = places:match("^([^\t\n]+)\t(%d+)\n", behind + 1)
  return {file = file, line = tonumber(line)}
end

-- Kernel -> the lines of the program whose accesses are counted, in order.
local counted_lines_of = remembered(function(chapter)
  local kernels = {}
  for _, row in ipairs(emitted.rows(chapter, "lines.tsv", "counts")) do
    kernels[row.kernel] = kernels[row.kernel] or {}
    table.insert(kernels[row.kernel], tonumber(row.line))
  end
  for _, lines in pairs(kernels) do table.sort(lines) end
  return kernels
end)

local lines_of_file = remembered(function(file)
  local whole = text.read(page.root .. "/" .. file)
  return whole and text.lines_of(whole)
end)

local function source_of(chapter) return page.sources[chapter] end

-- The access that a key like "shared.load-As.requests" counts, or the first access of its kernel.
local function counted_at(chapter, key)
  local file, kernel, site = source_of(chapter), key:match("^([^.]+)%.?([^.]*)")
  local counted = file and counted_lines_of(chapter)
  if not counted or not counted[kernel] then return nil end
  for _, number in ipairs(counted[kernel]) do
    local tags = (lines_of_file(file)[number] or ""):match("//@ ([%w%- ]+)$") or ""
    if text.set_of(tags)[site] then return {file = file, line = number} end
  end
  return {file = file, line = counted[kernel][1]}
end

-- A record as a tree: each line is {line, key, name or number that tells it from its like, parts}. Records are written with one
-- value a line, and what is inside is indented.
local function tree_of(lines)
  local root = {line = 1, key = "", parts = {}}
  local open = {{indent = -1, node = root}}
  for number, line in ipairs(lines) do
    local indent, rest = #line:match("^ *"), line:match("^ *(.*)$")
    if not rest:match("^[%]}]") then
      while open[#open].indent >= indent do open[#open] = nil end
      local parent = open[#open].node
      local node = {line = number, key = rest:match('^"([^"]*)":') or "", parts = {}}
      table.insert(parent.parts, node)
      if node.key == "name" or node.key == "M" then parent.called = rest:match(': "?([^",]*)') end
      open[#open + 1] = {indent = indent, node = node}
    end
  end
  return root
end

local record_of = remembered(function(chapter)
  local directory = (source_of(chapter) or ""):match("^(.*)/")
  if not directory then return nil end
  for _, file in ipairs(page.records) do
    if file:sub(1, #directory) == directory and file:match("/measured/[^/]*%.json$") then
      return {file = file, tree = tree_of(lines_of_file(file) or {})}
    end
  end
end)

-- What keys call otherwise than records do.
local called_otherwise = {ncu = "counters", percent_of_cublas = "ratio", ms = "median_ms"}

-- The part of a node that a word of a key names, at any depth: the nearest that is called so, or else that has it in its name.
local function part_named(node, word)
  word = called_otherwise[word] or word
  local level, likely = node.parts, nil
  while #level > 0 do
    local next_level = {}
    for _, part in ipairs(level) do
      if part.key == word or part.called == word then return part end
      if not likely and #word > 3 and ("_" .. part.key .. "_"):find("_" .. word .. "_", 1, true) then likely = part end
      for _, inner in ipairs(part.parts) do next_level[#next_level + 1] = inner end
    end
    level = next_level
  end
  return likely
end

-- Where in a record a key's words lead, as far as they do: what is computed from several values has the place of what holds them.
local function recorded_at(chapter, key)
  local record = record_of(chapter)
  if not record then return nil end
  local node = record.tree
  for word in key:gmatch("[^.]+") do node = part_named(node, word) or node end
  if node == record.tree then return nil end
  return {file = record.file, line = node.line}
end

-- The origin of the number with this key of this chapter: {file, line} or nil.
function origins.of(chapter, key, kind)
  local found = kind == "counted" and counted_at(chapter, key) or kind == "measured" and recorded_at(chapter, key)
  return found or made_at(chapter, key)
end

-- The page that shows a file, line by line: of programs it has the name of the file, of other files all of the path.
function origins.address(file, line)
  local name = file:match("^chapters/[^/]+/(chapter%d+%.cu)$") or page.shared[file] and file:match("[^/]+$")
  if not name and not text.set_of(table.concat(page.records, " "))[file] then page.fail(file .. ", where numbers come from, has no page: add it to records in book/CMakeLists.txt") end
  return "source/" .. (name or file:gsub("/", "-")) .. ".html#L-" .. line
end

return origins
