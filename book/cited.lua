-- Of the bibliography, which decides what a source is called on all pages ("NVIDIA 2025a"), a page lists what it cites; the page that cites
-- nothing is the bibliography, and lists all.
-- In: what citeproc has made of a page. Out: the same, with fewer references, of which an address is broken behind a slash, and a range of
-- pages not at all.

local function html(markup) return pandoc.RawInline("html", markup) end

local breaks = {
  Link = function(link)
    local words = pandoc.utils.stringify(link.content)
    local host, path = words:match("^(%w+://[^/]*)(/.+)$")
    if not host then return nil end
    link.content = pandoc.List({pandoc.Span({pandoc.Str(host)}, pandoc.Attr("", {"kept"}))})
    for part in path:gmatch("/[^/]*") do
      link.content:insert(pandoc.Str("/"))
      if part ~= "/" then link.content:extend({html("<wbr/>"), pandoc.Str(part:sub(2))}) end
    end
    return link
  end,
  Str = function(words)
    if words.text:match("%d–%d") then return pandoc.Span({words}, pandoc.Attr("", {"kept"})) end
  end,
}

local function set(div)
  if div.classes:includes("csl-entry") then return pandoc.walk_block(div, breaks) end
end

return {{Pandoc = function(doc)
  local cited = {}
  local whole = pandoc.walk_block(pandoc.Div(doc.blocks), {Cite = function(cite)
    for _, citation in ipairs(cite.citations) do cited[citation.id] = true end
  end})
  if not next(cited) then return nil end
  doc.blocks = pandoc.walk_block(whole, {Div = function(div)
    local source = div.identifier:match("^ref%-(.+)$")
    if source and not cited[source] then return {} end
  end}).content
  return doc
end}, {Div = set}}
