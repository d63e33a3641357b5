-- Figures that a reader may change: the drawing src, and with it the first accesses of a warp at some sites, as the chapters' traces have
-- them (NN/ in front names another chapter).
--   ::: {.explorer src=... alt=... traces="KERNEL/SITE:ROW[+PAD][^DOWN,UP] ..."}  an access to shared memory, and the layout of the tile:
--       words in a row, words of padding after it, and the swizzle col ^ ((row >> DOWN) << UP)
--   ::: {.lookups src=... alt=... traces="KERNEL/SITE ..."}  an access to global memory, and how many words the matrix's rows are apart
-- In: a Div, and samples.tsv and kernels.tsv of the chapters. Out: the figure's blocks and its data. An access that no trace has ends
-- the weave.

local page = require("weave.page")
local elements = require("weave.elements")
local emitted = require("weave.emitted")
local figures = require("weave.figures")

local explorer = {
  used = {},  -- "explorer", "lookups" -> true: the page has one, and so needs its script
}

-- What a warp's first access at a site touched: lane -> word, the bytes of a lane, load or store, and the array. The site must be in
-- `space`, shared or global.
local function lanes_of(chapter, kernel, site, space)
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
local function listed_words(words)
  local listed = {}
  for lane = 0, 31 do listed[lane + 1] = words[lane] or "null" end
  return "[" .. table.concat(listed, ", ") .. "]"
end

local function shared_access(description)
  local chapter, kernel, site, row, pad, swizzle = description:match("^(%d*)/?([^/:]+)/([^/:]+):([1-9]%d*)%+?(%d*)(.*)$")
  local down, up = (swizzle or ""):match("^%^(%d+),(%d+)$")
  if not site or swizzle ~= "" and not up then
    page.fail("an explorer's trace is KERNEL/SITE:ROW[+PAD][^DOWN,UP], not " .. description)
  end
  chapter, pad = chapter ~= "" and chapter or page.id, pad ~= "" and pad or "0"
  swizzle = up and '{"down": ' .. down .. ', "up": ' .. up .. "}" or "null"
  local words, bytes, op = lanes_of(chapter, kernel, site, "shared")
  for lane = 0, 31 do
    if (words[lane] or 0) % (row + pad) >= tonumber(row) then
      page.fail(description .. ": lane " .. lane .. " is in the padding, so the row is another")
    end
  end
  return string.format('{"title": "chapter %s, %s: %s", "bytes": %s, "op": "%s", "row": %s, "pad": %s, "swizzle": %s, "words": %s}',
    chapter, kernel, site, bytes, op, row, pad, swizzle, listed_words(words))
end

-- The leading dimension of a kernel's matrix.
local function apart(chapter, kernel, array)
  return emitted.rows(chapter, "kernels.tsv", "kernels", {kernel})[1]["ld" .. array:lower()]
end

local function global_access(description)
  local chapter, kernel, site = description:match("^(%d*)/?([^/:]+)/([^/:]+)$")
  if not site then page.fail("a trace of global memory is KERNEL/SITE, not " .. description) end
  if chapter == "" then chapter = page.id end
  local words, bytes, op, array = lanes_of(chapter, kernel, site, "global")
  return string.format('{"title": "chapter %s, %s: %s", "array": "%s", "bytes": %s, "op": "%s", "ld": %s, "words": %s}',
    chapter, kernel, site, array, bytes, op, apart(chapter, kernel, array), listed_words(words))
end

-- Class of a figure -> what writes an access from its description.
local accesses = {explorer = shared_access, lookups = global_access}

-- A drawing, with the traces that the reader may choose from; its script is needed on pages only.
function explorer.resolve(div)
  local kind, traces = elements.has(div, "explorer") and "explorer" or "lookups", {}
  for description in (div.attributes.traces or page.fail("a figure of class " .. kind .. " without traces")):gmatch("%S+") do
    traces[#traces + 1] = accesses[kind](description)
  end
  local blocks = pandoc.List(figures.resolve(div, "drawing " .. kind))
  if not page.combined then
    explorer.used[kind] = true
    blocks:insert(2, elements.html('<script type="application/json">[' .. table.concat(traces, ",\n") .. "]</script>"))
  end
  return blocks
end

return explorer
