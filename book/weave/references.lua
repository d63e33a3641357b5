-- References: numbers for sections, figures, tables and listings, in the order of the page, which the first pass gives and the second
-- refers to; links to labels and pages, citations, side notes.
-- In: the blocks of a page; Links whose target is #LABEL or #ch:PAGE, Cites, Spans of class aside. Out: blocks with identifiers and the
-- attributes `number` and `label`, and the lines of the page's labels file: its number, title and step, then what each identifier is called; links
-- with addresses and words, and notes in the margin. A label, a page or a source that does not exist ends the weave.

local page = require("weave.page")
local elements = require("weave.elements")

local references = {}

-- What stands before a number on this page: "3." in chapter 03, "A." in the first appendix, nothing elsewhere.
local function prefix()
  if page.is_chapter() then return tostring(tonumber(page.id)) .. "." end
  local letter = page.letter(page.id)
  return letter ~= "" and letter .. "." or ""
end

local kinds = {figure = "Figure", explorer = "Figure", lookups = "Figure", table = "Table", listing = "Listing"}

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
        labels:insert(block.identifier .. "\tsection " .. number)
      elseif block.identifier:match(":") then
        labels:insert(block.identifier .. "\t“" .. pandoc.utils.stringify(block) .. "”")
      end
    elseif block.t == "Div" then
      for _, class in ipairs(block.classes) do
        local kind = kinds[class]
        if kind then
          counters[kind] = (counters[kind] or 0) + 1
          block.attributes.label = kind .. " " .. begin .. counters[kind]
          if block.identifier ~= "" then labels:insert(block.identifier .. "\t" .. block.attributes.label) end
        end
      end
      block.content = number_blocks(block.content, counters, labels, begin)
    end
  end
  return blocks
end

-- Numbers the blocks of a document; gives the lines of its labels. On a page without a number of its own, figures and tables have what its
-- `figures` says before theirs, so that no two of the whole book are called the same.
function references.number(doc)
  local function said(name) return pandoc.utils.stringify(doc.meta[name] or "") end
  local labels = pandoc.List({table.concat({"page", page.is_chapter() and page.id or "", said("title"), said("step")}, "\t")})
  local begin = doc.meta.figures and pandoc.utils.stringify(doc.meta.figures) .. "." or prefix()
  doc.blocks = number_blocks(doc.blocks, {section = 0}, labels, begin)
  return labels
end

-- A link that is named as a label is: "Table 3.1" is not broken.
function references.named(words, target)
  return pandoc.Link({pandoc.Str(words)}, target, "", words:match("^%a+ %w[%w.]*$") and {class = "kept"} or nil)
end

-- A link to a label or a page of the book: its own words, or without any the label's. nil for a link that leads out of the book.
function references.link(link)
  if link.target:sub(1, 1) ~= "#" then return nil end
  local id = link.target:sub(2)
  local chapter, words, target = id:match("^ch:(.+)$"), nil, nil
  if chapter then
    local info = page.info[chapter] or page.fail("no page is called " .. chapter)
    words, target = info.number ~= "" and "chapter " .. info.number or info.title, info.href
  else
    local label = page.label(id)
    words, target = label.text, page.address(id, label.page)
  end
  return #link.content > 0 and pandoc.Link(link.content, target) or references.named(words, target)
end

function references.check_cite(cite)
  for _, citation in ipairs(cite.citations) do
    if citation.id ~= "*" and not page.has_reference(citation.id) then
      page.fail("the bibliography has no entry " .. citation.id)
    end
  end
end

local notes = 0

-- nil for a Span that is no aside.
function references.side_note(span)
  if not elements.has(span, "aside") then return nil end
  if page.combined == "epub" then return pandoc.Note({pandoc.Para(span.content)}) end
  notes = notes + 1
  local id = "note-" .. page.id .. "-" .. notes
  local result = pandoc.List({elements.html_inline(
    '<label for="' .. id .. '" class="note-mark" aria-label="side note">' .. notes .. "</label>" ..
    '<input type="checkbox" id="' .. id .. '" class="note-toggle" aria-label="show side note"/>' ..
    '<span class="side-note" role="note"><span class="note-number">' .. notes .. "</span> ")})
  result:extend(span.content)
  result:insert(elements.html_inline("</span>"))
  return result
end

return references
