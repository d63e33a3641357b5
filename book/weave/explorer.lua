-- The bank explorer: ::: {.explorer src=... alt=... traces="KERNEL/SITE:ROW[+PAD][^DOWN,UP] ..."} is the figure src, an access
-- that the reader may change. With it come the first accesses of a warp at these sites, as the chapters' traces have them (NN/ in
-- front names another chapter), and the layout of the tile: words in a row, words of padding behind it, and the swizzle
-- col ^ ((row >> DOWN) << UP).
-- In: a Div, and samples.tsv of the chapters. Out: the figure's blocks and its data. An access that no trace has ends the weave.

local page = require("weave.page")
local elements = require("weave.elements")
local emitted = require("weave.emitted")
local figures = require("weave.figures")

local explorer = {
  used = false,  -- whether this page has one, and so needs its script
}

-- What a warp's first access at a site touched: lane -> word, the bytes of a lane, load or store, and the array. The site must be in
-- `space`, shared or global.
function explorer.lanes_of(chapter, kernel, site, space)
  local words, bytes, op, array = {}, nil, nil, nil
  for _, row in ipairs(emitted.rows(chapter, "samples.tsv", "accesses", {kernel, site})) do
    if row.space ~= space then page.fail(site .. " of " .. kernel .. " is not in " .. space .. " memory") end
    local lane = tonumber(row.lane)
    if words[lane] then break end  -- of an unrolled loop the trace has several
    words[lane], bytes, op, array = tonumber(row.word), row.bytes, row.op, row.array
  end
  if not bytes then page.fail("chapter " .. chapter .. " has no trace of " .. kernel .. " " .. site) end
  return words, bytes, op, array
end

-- The words of 32 lanes as the page's scripts read them.
function explorer.listed(words)
  local listed = {}
  for lane = 0, 31 do listed[lane + 1] = words[lane] and string.format("%d", words[lane]) or "null" end
  return "[" .. table.concat(listed, ", ") .. "]"
end

-- The parts of KERNEL/SITE:ROW[+PAD][^DOWN,UP].
local function parse(description)
  local name, row, behind = description:match("^([^:]+):([1-9]%d*)(.*)$")
  local chapter, kernel, site = (name or ""):match("^(%d*)/?([^/]+)/([^/]+)$")
  local pad, swizzle = (behind or ""):match("^%+(%d+)(.*)$")
  if not pad then pad, swizzle = "0", behind end
  local down, up = (swizzle or ""):match("^%^(%d+),(%d+)$")
  if not site or swizzle ~= "" and not up then
    page.fail("an explorer's trace is KERNEL/SITE:ROW[+PAD][^DOWN,UP], not " .. description)
  end
  return {chapter = chapter ~= "" and chapter or page.id, kernel = kernel, site = site, row = row, pad = pad,
          swizzle = up and '{"down": ' .. down .. ', "up": ' .. up .. "}" or "null"}
end

local function traced_access(description)
  local a = parse(description)
  local words, bytes, op = explorer.lanes_of(a.chapter, a.kernel, a.site, "shared")
  for lane = 0, 31 do
    if (words[lane] or 0) % (a.row + a.pad) >= tonumber(a.row) then
      page.fail(description .. ": lane " .. lane .. " is in the padding, so the row is another")
    end
  end
  return string.format('{"title": "chapter %s, %s: %s", "bytes": %s, "op": "%s", "row": %s, "pad": %s, "swizzle": %s, "words": %s}',
    a.chapter, a.kernel, a.site, bytes, op, a.row, a.pad, a.swizzle, explorer.listed(words))
end

-- A drawing of class `kind`, with the traces that the reader may choose from, written by `access_of` from their descriptions. Its
-- script is needed on pages only: `figure.used` says so.
function explorer.figure_with_traces(div, figure, kind, access_of)
  local traces = {}
  for description in (div.attributes.traces or page.fail("a figure of class " .. kind .. " without traces")):gmatch("%S+") do
    traces[#traces + 1] = access_of(description)
  end
  local blocks = pandoc.List(figures.resolve(div, "drawing " .. kind))
  if not page.combined then
    figure.used = true
    blocks:insert(2, elements.html('<script type="application/json">[' .. table.concat(traces, ",\n") .. "]</script>"))
  end
  return blocks
end

function explorer.resolve(div) return explorer.figure_with_traces(div, explorer, "explorer", traced_access) end

return explorer
