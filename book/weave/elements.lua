-- What several kinds of elements are made of: raw HTML, classes, captions, the frame of a figure.
-- In: pandoc's elements. Out: pandoc's elements.

local text = require("weave.text")
local page = require("weave.page")

local elements = {}

function elements.html(markup) return pandoc.RawBlock("html", markup) end
function elements.html_inline(markup) return pandoc.RawInline("html", markup) end
function elements.has(element, class) return element.classes:includes(class) end

-- Blocks between two pieces of markup.
function elements.within(before, blocks, after)
  local whole = pandoc.List({elements.html(before)})
  whole:extend(blocks)
  whole:insert(elements.html(after))
  return whole
end

-- Folds what not every reader wants to see; one document, where nothing can be opened, has all of it.
function elements.folded(blocks, summary)
  if page.combined then return blocks end
  return elements.within('<details class="folded"><summary>' .. summary .. "</summary>", blocks, "</details>")
end

-- The opening tag of something that may scroll sideways, for the keyboard and for screen readers.
function elements.scrolling(class, label)
  return '<div class="' .. class .. '" tabindex="0" role="region" aria-label="' .. text.escape(label) .. '">'
end

-- "Figure 3.2. " and the words of a Div, or where it has none `default`, a text or inlines.
function elements.caption_of(div, default)
  local inlines = pandoc.List({pandoc.Strong({pandoc.Str(div.attributes.label .. ".")}), pandoc.Space()})
  local own = pandoc.utils.blocks_to_inlines(div.content, {pandoc.Space()})
  if #own > 0 then return pandoc.Plain(inlines .. own) end
  inlines:extend(type(default) == "string" and {pandoc.Str(default)} or default)
  return pandoc.Plain(inlines .. {pandoc.Str(".")})
end

function elements.figure_open(div, class)
  local id = div.identifier ~= "" and ' id="' .. div.identifier .. '"' or ""
  return elements.html("<figure" .. id .. ' class="' .. class .. (elements.has(div, "full") and " full-width" or "") .. '">')
end

return elements
