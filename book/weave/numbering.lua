-- Numbers for sections, figures, tables and listings, in the order of the page: the first of the two passes.
-- In: the blocks of a page. Out: the same with identifiers and the attributes `number` and `label`, and the lines of the
-- page's labels file: the page's number and title, then what each identifier is called.

local page = require("weave.page")
local elements = require("weave.elements")

local numbering = {}

-- What stands before a number on this page: "3." in chapter 03, "A." in the first appendix, nothing elsewhere.
local function prefix()
  if page.is_chapter() then return tostring(tonumber(page.id)) .. "." end
  local letter = page.letter(page.id)
  return letter ~= "" and letter .. "." or ""
end

-- `begin` stands before the numbers of figures, tables and listings.
local function number_blocks(blocks, counters, labels, begin)
  for _, block in ipairs(blocks) do
    if block.t == "Header" then
      if block.identifier ~= "" and not block.identifier:match(":") then
        block.identifier = "p" .. page.id .. "-" .. block.identifier
      end
      if block.level == 1 and not elements.has(block, "unnumbered") and prefix() ~= "" then
        counters.section = counters.section + 1
        local number = prefix() .. counters.section
        block.attributes.number = number
        labels[#labels + 1] = block.identifier .. "\tsection " .. number
      elseif block.identifier:match(":") then
        labels[#labels + 1] = block.identifier .. "\t“" .. pandoc.utils.stringify(block) .. "”"
      end
    elseif block.t == "Div" then
      for _, kind in ipairs({"figure", "table", "listing"}) do
        if elements.has(block, kind) or kind == "figure" and (elements.has(block, "explorer") or elements.has(block, "lookups")) then
          counters[kind] = counters[kind] + 1
          local name = kind:sub(1, 1):upper() .. kind:sub(2) .. " " .. begin .. counters[kind]
          block.attributes.label = name
          if block.identifier ~= "" then labels[#labels + 1] = block.identifier .. "\t" .. name end
        end
      end
      block.content = number_blocks(block.content, counters, labels, begin)
    end
  end
  return blocks
end

-- Numbers the blocks of a document; gives the lines of its labels. On a page without a number of its own, figures and tables have what its
-- `figures` says before theirs, so that no two of the whole book are called the same.
function numbering.apply(doc)
  local labels = {"page\t" .. (page.is_chapter() and page.id or "") .. "\t" .. pandoc.utils.stringify(doc.meta.title or "")}
  local begin = doc.meta.figures and pandoc.utils.stringify(doc.meta.figures) .. "." or prefix()
  doc.blocks = number_blocks(doc.blocks, {section = 0, figure = 0, table = 0, listing = 0}, labels, begin)
  return labels
end

return numbering
