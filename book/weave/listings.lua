-- Listings: ::: {.listing region=NAME [file=FILE] [counts=KERNEL] [folded=yes]} shows a region of a program, the lines between
-- `// [snippet NAME]` and `// [/snippet NAME]`, with their numbers in the file, and beside each line what the model counted; a folded one,
-- on a page that can open it, when asked.
-- In: a Div. Out: blocks. An unknown region or kernel ends the weave.

local text = require("weave.text")
local page = require("weave.page")
local elements = require("weave.elements")
local emitted = require("weave.emitted")
local code = require("weave.code")

local listings = {}

local widest = 95  -- columns of a line that fits the frame of a page; .clang-format has the same

-- "" and the name where a region opens, "/" and the name where it closes, else nil.
function listings.marker(line) return line:match("^%s*// %[(/?)snippet ([%w%-]+)%]%s*$") end

-- A line as a page shows it: without tags of its accesses, and without what keeps the formatter from joining lines.
function listings.shown(line) return (line:gsub("%s*//@ [%w%- ]+$", ""):gsub("([^%s/])%s+//$", "%1")) end

local function without_indent(lines)
  local indent = 999
  for _, line in ipairs(lines) do  -- a directive stands at the first column, wherever it is
    if line.text:match("^[^#]") then indent = math.min(indent, #line.text:match("^ *")) end
  end
  for _, line in ipairs(lines) do
    if line.text:match("^[^#]") then line.text = line.text:sub(indent + 1) end
  end
  return lines
end

-- The region's lines without snippet markers, each {number, text} with its number in the file.
function listings.region(file, region)
  local whole = text.read(page.root .. "/" .. file) or page.fail("no file " .. file)
  local kept, inside, found = pandoc.List({}), false, false
  for number, line in ipairs(text.lines_of(whole)) do
    local closing, name = listings.marker(line)
    if name == region then
      inside, found = closing == "", true
    elseif not name and inside then
      kept:insert({number = number, text = line})
    end
  end
  if not found then page.fail("no region " .. region .. " in " .. file) end
  if inside then page.fail("region " .. region .. " of " .. file .. " is not closed") end
  while #kept > 0 and kept[#kept].text == "" do kept[#kept] = nil end
  return without_indent(kept)
end

-- What the model counted of a kernel, line by line.
local function counts_by_line(chapter, kernel)
  local notes = {}
  for _, row in ipairs(emitted.rows(chapter, "lines.tsv", "counts", {kernel})) do
    local number = tonumber(row.line)
    notes[number] = (notes[number] and notes[number] .. ", " or "") .. row.text
  end
  if not next(notes) then page.fail("no counts of a kernel " .. kernel) end
  return notes
end

-- Whether a statement, or what begins or ends a block, ends with this line.
local function ends_statement(line) return line:gsub("%s*//.*$", ""):match("[;{}]$") ~= nil end

-- Moves counts of lines to the ends of their statements, which they would cut in two where they stand below a line.
local function at_ends(lines)
  for i, line in ipairs(lines) do
    local last = i
    while last < #lines and not ends_statement(lines[last].text) and not (last > i and lines[last].count) do last = last + 1 end
    if last > i and line.count and ends_statement(lines[last].text) and not lines[last].count then
      lines[last].count, line.count = line.count, nil
    end
  end
end

-- The file that a listing shows: the chapter's program, or one that has a page of its own to link to.
local function file_of(div)
  local file = div.attributes.file or page.source
  if file ~= page.source and not page.shared[file] then
    page.fail("a listing of " .. file .. ", which has no page: name it in shared_sources of book/CMakeLists.txt")
  elseif file ~= page.source and div.attributes.counts then
    page.fail("a listing of " .. file .. " with counts, which are of the chapter's program")
  end
  return file
end

function listings.resolve(div)
  local file = file_of(div)
  local region = div.attributes.region or page.fail("a listing without region")
  local shown = listings.region(file, region)
  local by_line = div.attributes.counts and counts_by_line(page.id, div.attributes.counts)
  for _, line in ipairs(shown) do
    if #line.text > widest and not line.text:match('^%s*"') then  -- a text cannot be broken
      page.fail(file .. ", line " .. line.number .. ": a listing has " .. widest .. " columns, and this line has " .. #line.text ..
        ": run clang-format")
    end
    line.text, line.count = listings.shown(line.text), by_line and by_line[line.number]
  end
  at_ends(shown)
  local html, name, first, last = elements.html, file:match("[^/]+$"), shown[1].number, shown[#shown].number
  local lines = text.escape(name) .. (first == last and ", line " .. first or ", lines " .. first .. "–" .. last)
  local source = page.combined and '<span class="source">' .. lines .. "</span>" or
    '<a class="source" href="source/' .. name .. ".html#L-" .. first .. '">' .. lines .. "</a>"
  local frame = '<div class="code-frame' .. (by_line and " counted-lines" or "") .. '">' .. elements.scrolling("code", div.attributes.label) ..
    code.program(shown) .. "</div></div>"
  if div.attributes.folded and not page.combined then
    frame = '<details class="folded"><summary>' .. #shown .. " lines of code</summary>" .. frame .. "</details>"
  end
  return {
    elements.figure_open(div, "listing full-width"),
    html("<figcaption>"), elements.caption_of(div), html(source .. "</figcaption>"), html(frame .. "</figure>"),
  }
end

return listings
