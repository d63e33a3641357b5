-- The lookup explorer: ::: {.lookups src=... alt=... traces="KERNEL/SITE ..."} is the figure src, an access to global memory whose lanes the
-- reader may step through, and whose rows they may move. With it come the first accesses of a warp at these sites, as the chapters'
-- traces have them (NN/ in front names another chapter), and how many words the rows of their matrices are apart.
-- In: a Div, and samples.tsv and kernels.tsv of the chapters. Out: the figure's blocks and its data. An access that no trace has ends
-- the weave.

local page = require("weave.page")
local emitted = require("weave.emitted")
local explorer = require("weave.explorer")

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
  return string.format('{"title": "chapter %s, %s: %s", "array": "%s", "bytes": %s, "op": "%s", "ld": %s, "words": %s}',
    chapter, kernel, site, array, bytes, op, apart(chapter, kernel, array), explorer.listed(words))
end

function lookups.resolve(div) return explorer.figure_with_traces(div, lookups, "lookups", traced_access) end

return lookups
