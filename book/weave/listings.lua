-- Listings: ::: {.listing region=NAME [file=FILE] [counts=KERNEL] [since=NN [was=NAME]] [folded=yes]} shows a region of a program, the lines between
-- `// [snippet NAME]` and `// [/snippet NAME]`, with their numbers in the file, and beside each line what the model counted; with `since`,
-- what changed since chapter NN, whose region is called so or `was`; a folded one, on a page that can open it, when asked.
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

function listings.indent(line) return #line:match("^ *") end

local signs = {removed = "- ", added = "+ ", ["left-out"] = "⋮"}

-- The rows as a program of which lines are marked: by a sign, which colour blind readers and those who listen need, and by colours.
function listings.marked(rows)
  local common, digits = 99, 0
  for _, row in ipairs(rows) do
    if row.text:match("%S") then common = math.min(common, listings.indent(row.text)) end
    digits = math.max(digits, #tostring(row.number or ""))
  end
  for _, row in ipairs(rows) do
    local number = tostring(row.number or "")
    row.text, row.number = listings.shown(row.text:sub(common + 1)), (signs[row.kind] or "") .. number
    if page.combined == "epub" and row.kind ~= "left-out" then  -- no grid puts numbers below each other there
      row.number = (signs[row.kind] or "  ") .. (" "):rep(digits - #number) .. number
    end
  end
  return code.program(rows, true)
end

-- The lines of two regions as rows of a difference: the longest common sequence is kept, of which two lines show where a change is.
local function changes(old, new)
  local common = {}
  for i = #old + 1, 1, -1 do
    common[i] = {}
    for j = #new + 1, 1, -1 do
      common[i][j] = (i > #old or j > #new) and 0 or old[i].text == new[j].text and common[i + 1][j + 1] + 1 or
        math.max(common[i + 1][j], common[i][j + 1])
    end
  end
  local rows, i, j = pandoc.List({}), 1, 1
  local function take(line, number, kind) rows:insert({text = line.text, number = number, kind = kind}) end
  while i <= #old or j <= #new do
    if i <= #old and j <= #new and old[i].text == new[j].text then
      take(new[j], new[j].number)
      i, j = i + 1, j + 1
    elseif j > #new or i <= #old and common[i + 1][j] >= common[i][j + 1] then
      take(old[i], nil, "removed")
      i = i + 1
    else
      take(new[j], new[j].number, "added")
      j = j + 1
    end
  end
  local function near(at)
    for k = math.max(1, at - 2), math.min(#rows, at + 2) do
      if rows[k].kind then return true end
    end
  end
  local shown = pandoc.List({})
  for at, row in ipairs(rows) do
    if near(at) then
      shown:insert(row)
    elseif #shown > 0 and shown[#shown].kind ~= "left-out" then
      shown:insert({text = "", kind = "left-out"})
    end
  end
  if #shown > 0 and shown[#shown].kind == "left-out" then shown[#shown] = nil end
  if #shown == 0 then page.fail("a listing of what changed, and nothing did") end
  return shown
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
  local since = div.attributes.since
  local old = since and listings.region(page.sources[since] or page.fail("no chapter " .. since), div.attributes.was or region)
  for _, line in ipairs(old or {}) do line.text = listings.shown(line.text) end
  local html, name, first, last = elements.html, file:match("[^/]+$"), shown[1].number, shown[#shown].number
  local lines = text.escape(name) .. (first == last and ", line " .. first or ", lines " .. first .. "–" .. last)
  local source = page.combined and '<span class="source">' .. lines .. "</span>" or
    '<a class="source" href="source/' .. name .. ".html#L-" .. first .. '">' .. lines .. "</a>"
  local frame = '<div class="code-frame' .. (old and " diff" or "") .. (by_line and " counted-lines" or "") .. '">' .. elements.scrolling("code", div.attributes.label) ..
    (old and listings.marked(changes(old, shown)) or code.program(shown)) .. "</div></div>"
  local blocks = pandoc.List({
    elements.figure_open(div, "listing full-width"), html("<figcaption>"), elements.caption_of(div), html(source .. "</figcaption>")})
  blocks:extend(div.attributes.folded and elements.folded({html(frame)}, #shown .. " lines of code") or {html(frame)})
  return blocks .. {html("</figure>")}
end

return listings
