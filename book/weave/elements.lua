-- What several kinds of elements are made of: raw HTML, classes, captions, the frame of a figure.
-- In: pandoc's elements. Out: pandoc's elements.

local text = require("weave.text")

local elements = {}

function elements.html(markup) return pandoc.RawBlock("html", markup) end
function elements.html_inline(markup) return pandoc.RawInline("html", markup) end
function elements.has(element, class) return element.classes:includes(class) end

-- The opening tag of something that may scroll sideways, for the keyboard and for screen readers.
function elements.scrolling(class, label)
  return '<div class="' .. class .. '" tabindex="0" role="region" aria-label="' .. text.escape(label) .. '">'
end

-- "Figure 3.2. " and the words of a Div, or where it has none `default`, a text or inlines.
function elements.caption_of(div, default)
  local inlines = pandoc.List({pandoc.Strong({pandoc.Str(div.attributes.label .. ".")}), pandoc.Space()})
  for i, block in ipairs(div.content) do
    if i > 1 then inlines:insert(pandoc.Space()) end
    if block.content then inlines:extend(block.content) end
  end
  if #inlines == 2 then  -- the prose gives no caption of its own
    inlines:extend(type(default) == "string" and {pandoc.Str(default)} or default)
    inlines:insert(pandoc.Str("."))
  end
  return pandoc.Plain(inlines)
end

function elements.figure_open(div, class)
  local id = div.identifier ~= "" and ' id="' .. div.identifier .. '"' or ""
  return elements.html("<figure" .. id .. ' class="' .. class .. (elements.has(div, "full") and " full-width" or "") .. '">')
end

return elements
