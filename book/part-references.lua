-- A part of the book as one file: its references are called after it, since each part has a list of its own.
-- In: what citeproc has made of a part, to be written to PART.KIND.json. Out: the same, with other ids.

local part = PANDOC_STATE.output_file:match("([^/]+)%.%a+%.json$")

local function renamed(id) return (id:gsub("^refs?%f[%W]", "%0-" .. part)) end

return {{
  Div = function(div)
    div.identifier = renamed(div.identifier)
    return div
  end,
  Link = function(link)
    local id = link.target:match("^#(refs?%f[%W].*)")
    if id then link.target = "#" .. renamed(id) end
    return link
  end,
}}
