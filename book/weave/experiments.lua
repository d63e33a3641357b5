-- Break-it experiments: ::: {.break name=NAME} shows an edit and what then fails.
-- In: a Div, and breaks.tsv, which the experiments' program makes of the chapter's breaks.json. Out: blocks, and rows of the
-- experiments for whoever names one. An unknown experiment ends the weave.

local text = require("weave.text")
local page = require("weave.page")
local elements = require("weave.elements")
local emitted = require("weave.emitted")

local experiments = {}

-- The experiment `name` of a chapter, a row of breaks.tsv, or nil.
local function find(chapter, name)
  for _, row in ipairs(emitted.rows(chapter, "breaks.tsv", "experiment " .. name)) do
    if row.name == name then return row end
  end
end

function experiments.require(chapter, name)
  if not find(chapter, name) then page.fail("breaks.json of chapter " .. chapter .. " has no experiment " .. name) end
end

local function unescape(field) return (field:gsub("\\t", "\t"):gsub("\\n", "\n"):gsub("\\\\", "\\")) end

function experiments.resolve(div)
  local name = div.attributes.name or page.fail("a break-it experiment without name")
  local found = find(page.id, name) or page.fail("breaks.json has no experiment " .. name)
  local diff = {}
  for _, old in ipairs(text.lines_of(unescape(found.old))) do diff[#diff + 1] = "- " .. old end
  for _, new in ipairs(text.lines_of(unescape(found.new))) do diff[#diff + 1] = "+ " .. new end
  local html = elements.html
  local blocks = pandoc.List({html('<section class="break-it" id="break-' .. page.id .. "-" .. name .. '">'),
    html(elements.scrolling("code", "edit " .. name)),
    pandoc.CodeBlock(table.concat(diff, "\n"), {class = "diff"}), html("</div>")})
  blocks:extend(div.content)
  local outcome = found.outcome == "test" and "Then this test fails: " or "Then it does not compile: "
  local says = found.says ~= "" and ", and says <code>" .. text.escape(found.says) .. "</code>" or ""
  blocks:insert(html('<p class="outcome">' .. outcome .. "<code>" .. text.escape(found.result) .. "</code>" .. says ..
                     "</p></section>"))
  return blocks
end

return experiments
