-- Of the bibliography, which decides what a source is called on all pages ("NVIDIA 2025a"), a page lists what it cites; the page that cites
-- nothing is the bibliography, and lists all.
-- In: what citeproc has made of a page. Out: the same, with fewer references.

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
end}}
