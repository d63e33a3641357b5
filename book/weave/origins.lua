-- Where a number comes from: the line that computes it, that is counted, or that records it.
-- In: a chapter, a key and its kind; places.tsv and lines.tsv of the chapter, its program, and its records. Out: a file below the
-- repository's root and a line of it, or nil where no line is known.

local text = require("weave.text")
local page = require("weave.page")
local emitted = require("weave.emitted")

local origins = {}

-- The places of a chapter's numbers as they stand in their file: they are many, and a page asks for few.
local places_of = text.remembered(function(chapter)
  local whole = text.read(page.work .. "/emit/" .. chapter .. "/places.tsv")  -- none for a page whose numbers are of others
  return whole and "\n" .. whole
end)

-- The call that made the number with this key.
local function made_at(chapter, key)
  local places = places_of(chapter) or ""
  local _, last = places:find("\n" .. key .. "\t", 1, true)
  local file, line = places:match("^([^\t\n]+)\t(%d+)\n", (last or #places) + 1)
  return file and {file = file, line = tonumber(line)}
end

-- "NN/KERNEL" -> the lines of the program whose accesses are counted, in order.
local counted_lines_of = text.remembered(function(key)
  local chapter, kernel = key:match("^(.-)/(.*)$")
  local rows = pandoc.List(emitted.rows(chapter, "lines.tsv", "counts", {kernel}))
  local lines = rows:map(function(row) return tonumber(row.line) end)
  lines:sort()
  return lines
end)

local lines_of_file = text.remembered(function(file)
  local whole = text.read(page.root .. "/" .. file)
  return whole and text.lines_of(whole)
end)

-- The access that a key like "shared.load-As.requests" counts, or the first access of its kernel.
local function counted_at(chapter, key)
  local file, kernel, site = page.sources[chapter], key:match("^([^.]+)%.?([^.]*)")
  local counted = file and counted_lines_of(chapter .. "/" .. kernel) or {}
  for _, number in ipairs(counted) do
    local tags = (lines_of_file(file)[number] or ""):match("//@ ([%w%- ]+)$") or ""
    if text.set_of(tags)[site] then return {file = file, line = number} end
  end
  return counted[1] and {file = file, line = counted[1]}
end

-- The tables of a record, and the columns that say what a row is of; cuBLAS's have one number that the runs do not have.
local tables = {
  {name = "metrics", of = {"kernel", "set", "metric"}},
  {name = "runs", of = {"kernel", "problem"}},
  {name = "sweep-runs", of = {"sweep", "problem"}},
  {name = "cublas", of = {"kernel", "problem"}, only = ".cublas_tflops"},
  {name = "cublaslt", of = {"kernel", "problem"}, only = ".lt_tflops"},
  {name = "sweep-cublas", of = {"sweep", "problem"}, only = ".cublas_tflops"},
  {name = "sweep-cublaslt", of = {"sweep", "problem"}, only = ".lt_tflops"},
}

-- The fields of a line of a table; of a problem in quotes, its extents.
local function fields_of(line) return text.split((line:gsub('"([%dx]+)[^"]*"', "%1"):gsub(",", "\t"))) end

-- What a chapter's record has, by the beginning of a key: "shared.4096", "shared.counters.lines", "shared.counters".
local recorded_in = text.remembered(function(chapter)
  local found = {}
  local function add(address, file, line) found[address] = found[address] or {file = file, line = line} end
  local directory = (page.sources[chapter] or ""):gsub("/chapter%d+%.cu$", ""):gsub("%.cu$", "")  -- a lab's records are in its name's
  local record = page.records:find_if(function(file) return file:match("^(.*)/measured/[^/.]+$") == directory end)
  for _, t in ipairs(record and tables or {}) do
    local file, columns = record .. "/" .. t.name .. ".csv", {}
    for number, line in ipairs(lines_of_file(file) or {}) do
      local fields, address = fields_of(line), nil
      for i, field in ipairs(fields) do
        if number == 1 then columns[field] = i end
      end
      for _, column in ipairs(number > 1 and t.of or {}) do
        local value = columns[column] and fields[columns[column]] or column  -- "sweep" is no column
        if value ~= "" then
          address = address and address .. "." .. value or value
          if column ~= "kernel" and not t.only then add(address, file, number) end
        end
      end
      if number > 1 and t.only then add(address .. t.only, file, number) end
    end
  end
  local environment, fields, name = (record or "") .. "/environment.json", {}, nil
  for number, line in ipairs(record and lines_of_file(environment) or {}) do
    local space, word, value = line:match('^(%s+)"(%l[%w_]*)": "?([^",]*)')
    if space == "  " then add(word, environment, number) end
    if space == "      " then fields[word], name = number, word == "name" and value or name end
    if line:match("^    }") then  -- the end of a kernel, whose name comes after some of its fields
      for field, at in pairs(name and fields or {}) do add(field == "name" and name or name .. "." .. field, environment, at) end
      fields, name = {}, nil
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
  local name = (file:match("%.cu$") or page.shared[file]) and file:match("[^/]+$")
  local record, part = file:match("^(chapters/.+/measured/[^/]+)/([^/]+)$")
  local shown = record or file
  if not name and not page.records:includes(shown) then
    page.fail(file .. ", where numbers come from, has no page: add it to records in book/CMakeLists.txt")
  end
  return "source/" .. (name or shown:gsub("/", "-")) .. ".html#" .. (part and part .. "-" or "L-") .. line
end

return origins
