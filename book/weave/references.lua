-- References: links to labels and pages, citations, side notes.
-- In: Links whose target is #LABEL or #ch:PAGE, Cites, Spans of class aside. Out: the same with addresses and words, and notes
-- in the margin. A label, a page or a source that does not exist ends the weave.

local page = require("weave.page")
local elements = require("weave.elements")

local references = {}

-- A link that is named as a label is: "Table 3.1" is not broken.
function references.named(words, target)
  return pandoc.Link({pandoc.Str(words)}, target, "", words:match("^%a+ %w[%w.]*$") and {class = "kept"} or nil)
end

-- A link to a label or a page of the book: its own words, or without any the label's. nil for a link that leads out of the book.
function references.link(link)
  if link.target:sub(1, 1) ~= "#" then return nil end
  local id = link.target:sub(2)
  local function link_to(words, target)
    return #link.content > 0 and pandoc.Link(link.content, target) or references.named(words, target)
  end
  local chapter = id:match("^ch:(.+)$")
  if chapter then
    local info = page.info[chapter] or page.fail("no page is called " .. chapter)
    return link_to(info.number ~= "" and "chapter " .. info.number or info.title, info.href)
  end
  local label = page.label(id)
  return link_to(label.text, page.address(id, label.page))
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
