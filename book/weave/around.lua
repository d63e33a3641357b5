-- What surrounds a page: contents, the pages before and after, section numbers, and its part of the search index.
-- In: the finished document. Out: the document with what template.html asks for as metadata; search/PAGE.js.

local text = require("weave.text")
local page = require("weave.page")
local elements = require("weave.elements")
local explorer = require("weave.explorer")

local around = {}

-- The list of all pages, as the cover has it.
function around.contents()
  local items = {}
  for _, id in ipairs(page.all) do
    if id ~= "index" then
      local info = page.info[id]
      items[#items + 1] = '<li><a href="' .. info.href .. '"><span class="chapter-number">' .. info.number ..
        "</span> " .. text.escape(info.title) .. "</a></li>"
    end
  end
  return elements.html('<nav class="contents" aria-label="Contents"><ul>' .. table.concat(items) .. "</ul></nav>")
end

-- An entry for each section: its heading, and the text up to the next one.
local function search_entries(doc)
  local json, title = text.json_string, page.info[page.id].title
  local entries, heading, id, words = {}, title, "", {}
  local function flush()
    if #words > 0 then
      entries[#entries + 1] = "TILE_SEARCH.push({page:" .. json(page.id .. ".html") .. ",id:" .. json(id) ..
        ",chapter:" .. json(title) .. ",title:" .. json(heading) .. ",text:" .. json(table.concat(words, " ")) .. "});"
    end
    words = {}
  end
  for _, block in ipairs(doc.blocks) do
    if block.t == "Header" then
      flush()
      heading, id = pandoc.utils.stringify(block), block.identifier
    elseif block.t ~= "RawBlock" then
      words[#words + 1] = pandoc.utils.stringify(block)
    end
  end
  flush()
  return table.concat(entries, "\n") .. "\n"
end

local function neighbour(offset)
  local _, position = pandoc.List(page.all):find(page.id)
  local id = page.all[position + offset]
  if not id then return nil end
  local info = page.info[id]
  return pandoc.MetaMap({href = pandoc.MetaString(info.href),
    title = pandoc.MetaString((info.number ~= "" and info.number .. " · " or "") .. info.title)})
end

local function all_pages()
  local items = pandoc.List({})
  for _, id in ipairs(page.all) do
    local info = page.info[id]
    items:insert(pandoc.MetaMap({href = pandoc.MetaString(info.href), number = pandoc.MetaString(info.number),
      title = pandoc.MetaString(id == "index" and "Cover" or info.title), current = id == page.id}))
  end
  return pandoc.MetaList(items)
end

-- In one document all headings are a level down, below the page's title.
local function as_part(blocks)
  local info = page.info[page.id]
  local title = page.id == "index" and "" or info.number ~= "" and "Chapter " .. info.number .. ". " .. info.title or info.title
  blocks = blocks:map(function(block)
    if block.t == "Header" then block.level = block.level + 1 end
    return block
  end)
  blocks:insert(1, pandoc.Header(1, title, {id = "page-" .. page.id, class = "page"}))
  return blocks
end

-- Section numbers, now that headings are final.
local function with_numbers(blocks)
  return blocks:map(function(block)
    if block.t == "Header" and block.attributes.number then
      block.content:insert(1, pandoc.Space())
      block.content:insert(1, pandoc.Span({pandoc.Str(block.attributes.number)}, {class = "section-number"}))
      block.attributes.number = nil
    end
    return block
  end)
end

function around.finish(doc)
  if not page.combined then page.write(page.work .. "/search/" .. page.id .. ".js", search_entries(doc)) end
  local number = page.info[page.id].number
  doc.meta.explorer = explorer.used
  doc.meta.previous = neighbour(-1)
  doc.meta.next = neighbour(1)
  doc.meta.contents = all_pages()
  doc.meta.number = number ~= "" and pandoc.MetaString(number) or nil
  if page.combined then doc.blocks = as_part(doc.blocks) end
  doc.blocks = with_numbers(doc.blocks)
  return doc
end

return around
