-- Break-it experiments: ::: {.break name=NAME} shows an edit, and what a reader who makes it will see.
-- In: a Div; breaks.tsv, which the experiments' program makes of the chapter's breaks.json; and the chapter's program. Out: blocks, and
-- rows of the experiments for whoever names one. Where no message was kept yet, the page says how to see it. An unknown experiment ends
-- the weave.

local text = require("weave.text")
local page = require("weave.page")
local elements = require("weave.elements")
local emitted = require("weave.emitted")
local code = require("weave.code")
local listings = require("weave.listings")

local experiments = {}

-- The experiment `name` of a chapter, a row of breaks.tsv.
function experiments.require(chapter, name)
  return emitted.rows(chapter, "breaks.tsv", "experiment " .. name, {name})[1] or
    page.fail("breaks.json of chapter " .. chapter .. " has no experiment " .. name)
end

local escapes = {t = "\t", n = "\n", ["\\"] = "\\"}
local function unescape(field) return (field:gsub("\\(.)", escapes)) end

-- Where an experiment edits the source, in the order of the source, each {from, to, new}.
local function places_of(source, file, row)
  local places, news = pandoc.List({}), (row.new .. "\\f"):gmatch("(.-)\\f")
  for old in (row.old .. "\\f"):gmatch("(.-)\\f") do
    local from, to = source:find(unescape(old), 1, true)
    if not from then page.fail("the text that experiment " .. row.name .. " edits is gone from " .. file) end
    places:insert({from = from, to = to, new = unescape(news())})
  end
  places:sort(function(a, b) return a.from < b.from end)
  return places
end

local function line_of(source, position) return select(2, source:sub(1, position - 1):gsub("\n", "")) + 1 end

-- The lines that an edit replaces and those that it puts in their place: whole lines, without those that stay as they are, each
-- {number, text, kind}; a line is shown before and after it, and a row for lines that are left out between.
local function difference(source, place)
  local first, last, lines = line_of(source, place.from), line_of(source, place.to), text.lines_of(source)
  local begin = source:sub(1, place.from - 1):match("[^\n]*$")
  local rest = source:sub(place.to + 1):match("^[^\n]*")
  local whole_lines = source:sub(place.to, place.to) == "\n"  -- with the line break: nothing of the next line is replaced
  local new = begin == "" and place.new == "" and {} or text.lines_of(begin .. place.new .. (whole_lines and "" or rest))
  local from, to, new_from, new_to = first, last, 1, #new
  while from <= to and new_from <= new_to and lines[from] == new[new_from] do from, new_from = from + 1, new_from + 1 end
  while from <= to and new_from <= new_to and lines[to] == new[new_to] do to, new_to = to - 1, new_to - 1 end
  local rows = pandoc.List({})
  local function add(number, line, kind) rows:insert({number = number, text = line or "", kind = kind}) end
  -- The nearest line in a direction that shows a reader where this is: before the edit, none that is deeper in than it.
  local depth = math.max(listings.indent(from <= last and lines[from] or ""), listings.indent(new[new_from] or ""))
  local function neighbour(number, step)
    while lines[number] and (lines[number] == "" or listings.marker(lines[number]) or step < 0 and listings.indent(lines[number]) > depth) do
      number = number + step
    end
    return lines[number] and number
  end
  local before, after = neighbour(from - 1, -1), neighbour(to + 1, 1)
  if before then add(before, lines[before]) end
  if before and before < from - 1 then add(nil, nil, "left-out") end
  for number = from, to do add(number, lines[number], "removed") end
  for i = new_from, new_to do add(nil, new[i], "added") end
  if after and after > to + 1 then add(nil, nil, "left-out") end
  if after then add(after, lines[after]) end
  return rows
end

local function outcome(row)
  local opening = row.test ~= "" and "Then this test fails: " .. code.inline(row.test) or "Then it does not compile"
  if row.message ~= "" then
    return '<p class="outcome">' .. opening .. ":</p>" .. elements.scrolling("scroll", "what is then said") ..
      '<pre class="captured">' .. text.escape(unescape(row.message)) .. "</pre></div>"
  end
  return '<p class="outcome">' .. opening .. ", and says " .. code.inline(row.says) ..
    ". The whole of it: <code>./tile test chapter" .. page.id .. ".breaks</code>.</p>"
end

function experiments.resolve(div)
  local name = div.attributes.name or page.fail("a break-it experiment without name")
  local row = experiments.require(page.id, name)
  local file = row.file and row.file ~= "" and row.file or page.source
  local source = text.read(page.root .. "/" .. file) or page.fail("no file " .. file)
  local blocks = div.content
  blocks:insert(elements.html('<div class="code-frame diff">' .. elements.scrolling("code", "edit " .. name)))
  for _, place in ipairs(places_of(source, file, row)) do blocks:insert(elements.html(listings.marked(difference(source, place)))) end
  return elements.within('<section class="break-it" id="break-' .. page.id .. "-" .. name .. '">', blocks,
    "</div></div>" .. outcome(row) .. "</section>")
end

return experiments
