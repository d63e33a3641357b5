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

-- The tables of a record, and the columns that say what a row is of. What stands behind a name is what of a run is in that table alone.
local tables = {
  {name = "kernels", of = {"name"}},
  {name = "metrics", of = {"kernel", "set", "metric"}},
  {name = "runs", of = {"kernel", "problem"}},
  {name = "cublas", of = {"kernel", "problem"}, field = ".cublas_tflops"},
  {name = "cublaslt", of = {"kernel", "problem"}, field = ".lt_tflops"},
}

-- The fields of a line of a table; of a problem in quotes, its extents.
local function fields_of(line)
  local fields = {}
  for field in (line:gsub('"([%dx]+)[^"]*"', "%1") .. ","):gmatch("([^,]*),") do fields[#fields + 1] = field end
  return fields
end

-- Adds the rows of a table to what is found by the beginning of a key: "shared.4096", "shared.counters.lines", "shared.counters".
local function add_rows(found, file, of, field)
  local columns = {}
  for number, line in ipairs(lines_of_file(file) or {}) do
    local fields = fields_of(line)
    if number == 1 then
      for i, column in ipairs(fields) do columns[column] = i end
    else
      local address
      for _, column in ipairs(of) do
        local value = column == "sweep" and column or fields[columns[column]]
        if value ~= "" then
          address = address and address .. "." .. value or value
          if column ~= "kernel" and not field then found[address] = found[address] or {file = file, line = number} end
        end
      end
      if field then found[address .. field] = {file = file, line = number} end
    end
  end
end

-- What a chapter's record has, by the beginning of a key.
local recorded_in = remembered(function(chapter)
  local directory, found = (source_of(chapter) or ""):match("^(.*)/"), {}
  for _, record in ipairs(page.records) do
    if directory and record:match("^(.*)/measured/[^/.]+$") == directory then
      for _, t in ipairs(tables) do add_rows(found, record .. "/" .. t.name .. ".csv", t.of, t.field) end
      for _, t in ipairs(tables) do
        if t.of[2] == "problem" then add_rows(found, record .. "/sweep-" .. t.name .. ".csv", {"sweep", "problem"}, t.field) end
      end
      for number, line in ipairs(lines_of_file(record .. "/environment.json") or {}) do
        local word = line:match('^%s*"(%l[%w_]*)":')
        if word then found[word] = found[word] or {file = record .. "/environment.json", line = number} end
      end
      break
    end
  end
  return found
end)

-- The row of a record that a key leads to: the one that most of its words name.
local function recorded_at(chapter, key)
  local found = recorded_in(chapter)
  key = key:gsub("%.ncu%.", ".counters.")
  while key do
    if found[key] then return found[key] end
    key = key:match("^(.*)%.[^.]*$")
  end
end

-- The origin of the number with this key of this chapter: {file, line} or nil.
function origins.of(chapter, key, kind)
  local found = kind == "counted" and counted_at(chapter, key) or kind == "measured" and recorded_at(chapter, key)
  return found or made_at(chapter, key)
end

-- The page that shows a file, line by line: of programs it has the name of the file, of other files all of the path; a record is one page.
function origins.address(file, line)
  local name = file:match("^chapters/[^/]+/(chapter%d+%.cu)$") or page.shared[file] and file:match("[^/]+$")
  local record, part = file:match("^(chapters/[^/]+/measured/[^/]+)/([^/]+)$")
  local shown = record or file
  if not name and not text.set_of(table.concat(page.records, " "))[shown] then page.fail(file .. ", where numbers come from, has no page: add it to records in book/CMakeLists.txt") end
  return "source/" .. (name or shown:gsub("/", "-")) .. ".html#" .. (part and part .. "-" or "L-") .. line
end

return origins
