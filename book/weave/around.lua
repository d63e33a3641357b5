-- What surrounds a page: contents, the pages before and after, section numbers, and its part of the search index.
-- In: the finished document. Out: the document with what template.html asks for as metadata; search/PAGE.js.

local text = require("weave.text")
local page = require("weave.page")
local elements = require("weave.elements")
local emitted = require("weave.emitted")
local explorer = require("weave.explorer")
local terms = require("weave.terms")

local around = {}

-- What stands in a list of all pages before those that begin something.
local heads = {["00"] = "Part I", ["21"] = "Part II", ["appendix-simt-model"] = "Appendices"}

local function head_of(id)
  return heads[id] or id == page.all:find_if(function(other) return other:match("^notebook") end) and "Notebooks" or nil
end

-- Chapter -> what the cover says of its step: a bar, as long as its kernel is fast, and what was gained.
local function rungs()
  local _, _, rows = emitted.table("part-1", "ladder")
  local fastest, of = 0, {}
  for _, row in ipairs(rows) do fastest = math.max(fastest, tonumber(row[8]) or 0) end
  for _, row in ipairs(rows) do
    local share, gain = (tonumber(row[8]) or 0) / fastest, tonumber(row[9]) and row[9] .. "× " or ""
    of[row[1]] = {bar = string.format('<span class="rate" style="--share: %.3f" title="%s TFLOP/s at 4096"></span>', share, row[8]),
      step = string.format('<span class="step">%s TFLOP/s, %s of cuBLAS: %s%s</span>', row[8], row[10], gain, text.escape(page.info[row[1]].step))}
  end
  return of
end

-- The list of all pages, as the cover has it: the ladder. In one document links are the writer's: it may cut the document into files.
function around.contents()
  local of = rungs()
  local items, lists = {}, pandoc.List({})  -- a list's items are a table, until all are there
  for _, id in ipairs(page.all) do
    if head_of(id) then
      lists:insert(pandoc.Para({pandoc.Emph({pandoc.Str(head_of(id))})}))
      items[#items + 1] = '<li class="part-head">' .. head_of(id) .. "</li>"
    end
    if id ~= "index" then
      local info, rung = page.info[id], of[id] or {bar = "", step = ""}
      local number = info.number .. page.letter(id)
      local words = (number ~= "" and number .. " " or "") .. info.title
      if #lists == 0 or lists[#lists].t then lists:insert({}) end
      table.insert(lists[#lists], {pandoc.Plain({pandoc.Link({pandoc.Str(words)}, info.href)})})
      items[#items + 1] = '<li><a href="' .. info.href .. '"><span class="chapter-number">' .. number ..
        "</span> " .. text.escape(info.title) .. rung.bar .. "</a>" .. rung.step .. "</li>"
    end
  end
  if page.combined then
    return pandoc.Div(lists:map(function(list) return list.t and list or pandoc.BulletList(list) end), {class = "contents"})
  end
  return elements.html('<nav class="contents" aria-label="Contents"><ul>' .. table.concat(items) .. "</ul></nav>")
end

-- The text of a block as a search should find it, and what program text is in it. Cells, items and paragraphs are words apart;
-- definitions in the margin are not of the section.
local function searched(block)
  if block.t == "RawBlock" then
    return "", (block.text:match('<pre class="program">.*</pre>') or ""):gsub('<span class="line%-%l+">[^<]*</span>', " "):gsub("<[^>]*>", "")
  end
  local function ended(part)
    part.content:insert(pandoc.Space())
    return part
  end
  local function left_out(element)  -- a term is found by itself, and nobody looks for expressions
    if elements.has(element, "definition") or elements.has(element, "evidence") then return {} end
  end
  local without = pandoc.walk_block(pandoc.Div({block}), {Plain = ended, Para = ended, Header = ended, Span = left_out, Div = left_out,
    Cite = function() return {} end, Math = function(formula)  -- as one types it: "w mod 32"
    local simple = pandoc.Math("InlineMath", (formula.text:gsub("\\[td]?frac{([^{}]*)}{([^{}]*)}", "%1/%2")))
    return pandoc.Str((pandoc.write(pandoc.Pandoc({pandoc.Plain({simple})}), "plain"):gsub("%s+$", "")))
  end})
  local said = pandoc.utils.stringify(without):gsub("%s+([.,;:])", "%1"):gsub("%s+$", "")
  return said, block.t == "CodeBlock" and block.text or ""
end

-- The names in a program text, each once.
local function names_in(code)
  local names, seen = {}, {}
  for name in code:gmatch("[%a_][%w_]+") do
    if #name > 3 and not seen[name] then names[#names + 1] = name end
    seen[name] = true
  end
  return table.concat(names, " ")
end

-- An entry for each section: its number and heading, the text up to the next one, and the names in its programs. The first is the page.
-- And one for each word that the page defines, with its forms.
local function search_entries(doc)
  local info, names = page.info[page.id], text.words_of("page id chapter number title text code forms")
  local first = {number = info.number, title = page.id == "index" and "Cover" or info.title, text = "", code = ""}
  local entries = pandoc.List({first})
  for _, block in ipairs(doc.blocks) do
    if block.t == "Header" then
      local title = pandoc.utils.stringify(block)
      entries:insert({id = block.identifier, number = block.attributes.number, title = title, text = "", code = ""})
    else
      local entry, plain, program = entries[#entries], searched(block)
      entry.text = entry.text .. (entry.text ~= "" and plain ~= "" and " " or "") .. plain
      entry.code = entry.code .. " " .. program
    end
  end
  entries:extend(terms.definitions())
  return table.concat(entries:map(function(entry)
    entry.page, entry.chapter, entry.code = page.id .. ".html", page.full_title(page.id), names_in(entry.code or "")
    local parts = names:map(function(name) return name .. ":" .. text.json_string(entry[name] or "") end)
    return "TILE_SEARCH.push({" .. table.concat(parts, ",") .. "});\n"
  end))
end

local function neighbour(offset)
  local _, position = page.all:find(page.id)
  local id = page.all[position + offset]
  return id and {href = pandoc.MetaString(page.info[id].href), title = pandoc.MetaString(page.full_title(id, "\u{a0}·\u{a0}"))}
end

local function all_pages()
  return page.all:map(function(id)
    local info = page.info[id]
    return {href = pandoc.MetaString(info.href), number = pandoc.MetaString(info.number .. page.letter(id)),
      title = pandoc.MetaString(id == "index" and "Cover" or info.title), current = id == page.id, head = head_of(id)}
  end)
end

-- Whether there is a reference, and so a list of them.
local function cites(blocks)
  local found = false
  pandoc.walk_block(pandoc.Div(blocks), {Cite = function() found = true end})
  return found
end

-- What stands over the title, "Chapter 03" or "Appendix A", or nil.
local function kicker()
  local number, letter = page.info[page.id].number, page.letter(page.id)
  return number ~= "" and "Chapter " .. number or letter ~= "" and "Appendix " .. letter or nil
end

-- In one document all headings are a level down, below the page's title. In print each part has pages of its own kind, which say
-- at their head what they are of.
local function as_part(blocks, subtitle)
  local title = (kicker() and kicker() .. ". " or "") .. page.info[page.id].title
  blocks = blocks:map(function(block)
    if block.t == "Header" then block.level = block.level + 1 end
    return block
  end)
  if page.id == "index" then
    blocks = blocks:filter(function(block)  -- an EPUB's first page has title and subtitle
      return page.combined ~= "epub" or block.t ~= "Div" or not elements.has(block, "cover")
    end)
    blocks:insert(1, elements.html('<div id="page-index"></div>'))
    return blocks
  end
  if subtitle then blocks:insert(1, pandoc.Div({pandoc.Para(subtitle)}, {class = "subtitle"})) end
  blocks:insert(1, pandoc.Header(1, title, {id = "page-" .. page.id, class = "page"}))
  if cites(blocks) then blocks:insert(pandoc.Header(2, "References", {id = "references-of-" .. page.id})) end
  if page.id == "bibliography" or cites(blocks) then blocks:insert(pandoc.Div({}, {id = "refs"})) end  -- which citeproc fills
  if page.combined == "print" then
    local kind = "part-" .. page.id
    return elements.within("<style>@page " .. kind .. " { @top-left { content: \"" .. title:gsub('[\\"]', "\\%0") ..
      "\" } }</style>" .. '<section class="part" style="page: ' .. kind .. '">', blocks, "</section>")
  end
  return blocks
end

-- Section numbers, now that headings are final.
local function with_numbers(blocks)
  return blocks:map(function(block)
    if block.t == "Header" and block.attributes.number then
      local number = pandoc.Span({pandoc.Str(block.attributes.number)}, {class = "section-number"})
      block.content = pandoc.List({number, pandoc.Space()}) .. pandoc.List(block.content)
      block.attributes.number = nil
    end
    return block
  end)
end

function around.finish(doc)
  if not page.combined then page.write(page.work .. "/search/" .. page.id .. ".js", search_entries(doc)) end
  local number = page.info[page.id].number
  for kind in pairs(explorer.used) do doc.meta[kind], doc.meta.interactive = true, true end
  doc.meta.previous, doc.meta.next, doc.meta.contents = neighbour(-1), neighbour(1), all_pages()
  if cites(doc.blocks) then  -- with all others, of which cited.lua leaves what this page cites
    doc.meta.nocite = pandoc.MetaInlines({pandoc.Cite({pandoc.Str("@*")}, {pandoc.Citation("*", "NormalCitation")})})
  end
  doc.meta.number = number ~= "" and pandoc.MetaString(number) or nil
  doc.meta.kicker = kicker() and pandoc.MetaString(kicker()) or nil
  if page.combined then doc.blocks = as_part(doc.blocks, doc.meta.subtitle) end
  doc.blocks = with_numbers(doc.blocks)
  if page.combined then  -- the whole has its own title, and what this page was woven from is nobody's business
    local kept = {}
    for _, name in ipairs({"bibliography", "nocite", "link-citations", "csl"}) do kept[name] = doc.meta[name] end
    doc.meta = pandoc.Meta(kept)
  end
  return doc
end

return around
