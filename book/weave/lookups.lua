-- The lookup explorer: ::: {.lookups src=... alt=... traces="KERNEL/SITE ..."} is the figure src, an access to global memory whose lanes the
-- reader may step through, and whose rows they may move. With it come the first accesses of a warp at these sites, as the chapters'
-- traces have them (NN/ in front names another chapter), and how many words the rows of their matrices are apart.
-- In: a Div, and samples.tsv and kernels.tsv of the chapters. Out: the figure's blocks and its data. An access that no trace has ends
-- the weave.

local page = require("weave.page")
local elements = require("weave.elements")
local emitted = require("weave.emitted")
local explorer = require("weave.explorer")
local figures = require("weave.figures")

local lookups = {
  used = false,  -- whether this page has one, and so needs its script
}

-- The leading dimension of a kernel's matrix.
local function apart(chapter, kernel, array)
  for _, row in ipairs(emitted.rows(chapter, "kernels.tsv", "kernels")) do
    if row.kernel == kernel then return row["ld" .. array:lower()] or page.fail(array .. " is no matrix of " .. kernel) end
  end
  page.fail("chapter " .. chapter .. " has no kernel " .. kernel)
end

local function traced_access(description)
  local chapter, kernel, site = description:match("^(%d*)/?([^/:]+)/([^/:]+)$")
  if not site then page.fail("a trace of global memory is KERNEL/SITE, not " .. description) end
  if chapter == "" then chapter = page.id end
  local words, bytes, op, array = explorer.lanes_of(chapter, kernel, site, "global")
  local listed = {}
  for lane = 0, 31 do listed[lane + 1] = words[lane] and string.format("%d", words[lane]) or "null" end
  return string.format('{"title": "chapter %s, %s: %s", "array": "%s", "bytes": %s, "op": "%s", "ld": %s, "words": [%s]}',
    chapter, kernel, site, array, bytes, op, apart(chapter, kernel, array), table.concat(listed, ", "))
end

function lookups.resolve(div)
  local traces = {}
  for description in (div.attributes.traces or page.fail("a figure of lookups without traces")):gmatch("%S+") do
    traces[#traces + 1] = traced_access(description)
  end
  local blocks = pandoc.List(figures.resolve(div, "drawing lookups"))
  if not page.combined then
    lookups.used = true
    blocks:insert(2, elements.html('<script type="application/json">[' .. table.concat(traces, ",\n") .. "]</script>"))
  end
  return blocks
end

return lookups
