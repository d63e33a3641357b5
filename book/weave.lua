-- The weaver: turns a chapter's prose and its program's output into a page.
--
-- Metadata (set by book/CMakeLists.txt):
--   page      this page's id: index, preface, 02, notation, ...
--   pages     all page ids, in reading order, separated by spaces
--   pass      "collect" writes this page's labels and claims; "weave" resolves everything
--   work      directory with labels/, emit/NN/, figures/, search/
--   tests     directory with the CTest entries of every test program
--   root      the repository
--   only      with pass "weave": if not empty, only what tests ask for is resolved: listings, figures, experiments, numbers, tables
--   source    the chapter's program, relative to root (chapters only)
--   shared    other files that listings may show, relative to root, separated by spaces: those that have a page of their own
-- Anything that the prose names and that does not exist is an error: listing regions, numbers, tables, figures,
-- cross-references, citations, break-it experiments. So is a claim that its numbers do not bear out.

local expression = dofile(pandoc.path.join({pandoc.path.directory(PANDOC_SCRIPT_FILE), "expression.lua"}))

local page, pages, pass, work, tests, root, source, shared, combined, only
local home             -- the page to whose chapter keys without NN/ belong
local labels = {}      -- id -> {page, text}
local page_info = {}   -- page id -> {href, number, title}
local facts = {}       -- "NN" -> key -> {kind, text, value}; the value in full precision, if it is a number
local bibliography = {}
local counters = {section = {0, 0}, figure = 0, table = 0, listing = 0}

local function fail(message)
  io.stderr:write("weave: page " .. tostring(page) .. ": " .. message .. "\n")
  os.exit(1)
end

local function read(path)
  local file = io.open(path, "rb")
  if not file then return nil end
  local text = file:read("a")
  file:close()
  return text
end

local function write(path, text)
  local file, why = io.open(path, "wb")
  if not file then fail("cannot write " .. path .. ": " .. tostring(why)) end
  file:write(text)
  file:close()
end

local function lines_of(text)
  local result = {}
  for line in (text:gsub("\r", "") .. "\n"):gmatch("(.-)\n") do result[#result + 1] = line end
  if result[#result] == "" then result[#result] = nil end
  return result
end

local function split(line)
  local fields = {}
  for field in (line .. "\t"):gmatch("(.-)\t") do fields[#fields + 1] = field end
  return fields
end

local function escape(text)
  return (text:gsub("&", "&amp;"):gsub("<", "&lt;"):gsub(">", "&gt;"):gsub('"', "&quot;"))
end

local function html(text) return pandoc.RawBlock("html", text) end
local function html_inline(text) return pandoc.RawInline("html", text) end
local function has(element, class) return element.classes:includes(class) end

local function chapter_of(element) return element.attributes.chapter or page end

local function emitted(chapter, file, what)
  local text = read(work .. "/emit/" .. chapter .. "/" .. file)
  if not text then fail(what .. ": chapter " .. chapter .. " emits no " .. file) end
  return text
end

-- Setup ---------------------------------------------------------------------------------------------------------
local function setup(meta)
  local function get(key) return meta[key] and pandoc.utils.stringify(meta[key]) or "" end
  page, pass, work, tests, root, source = get("page"), get("pass"), get("work"), get("tests"), get("root"), get("source")
  shared = {}
  for file in get("shared"):gmatch("%S+") do shared[file] = true end
  home = page
  combined = get("combined") ~= "" and get("combined")  -- "print" or "epub": one document instead of pages
  pages = {}
  for id in get("pages"):gmatch("%S+") do pages[#pages + 1] = id end
  for key in (read(root .. "/book/references.bib") or ""):gmatch("@%w+{([^,%s]+),") do bibliography[key] = true end
  only = get("only")
  if pass == "collect" or only ~= "" then return end
  for _, id in ipairs(pages) do
    for _, line in ipairs(lines_of(read(work .. "/labels/" .. id .. ".tsv") or fail("no labels of page " .. id))) do
      local f = split(line)
      if f[1] == "page" then
        page_info[id] = {href = combined and "#page-" .. id or id .. ".html", number = f[2], title = f[3]}
      else
        if labels[f[1]] then fail("label " .. f[1] .. " is defined twice") end
        labels[f[1]] = {page = id, text = f[2]}
      end
    end
  end
end

local function load_facts(chapter)
  if facts[chapter] then return facts[chapter] end
  local result = {}
  for _, line in ipairs(lines_of(emitted(chapter, "facts.tsv", "numbers"))) do
    local f = split(line)
    result[f[1]] = {kind = f[2], text = f[3], value = tonumber(f[4])}
  end
  facts[chapter] = result
  return result
end

-- The fact that a key names, and the key in full.
local function fact_of(key)
  local chapter, rest = key:match("^(%d%d)/(.+)$")
  if not chapter then chapter, rest = home, key end
  local fact = load_facts(chapter)[rest] or fail("no number has the key " .. chapter .. "/" .. rest)
  return fact, chapter .. "/" .. rest
end

-- Numbering: sections, figures, tables and listings, in the order of the page -------------------------------------
local collected = {}

local function number_prefix()
  if page:match("^%d+$") then return tostring(tonumber(page)) .. "." end
  if not page:match("^appendix") then return "" end
  local letter = string.byte("A") - 1
  for _, id in ipairs(pages) do
    if id:match("^appendix") then letter = letter + 1 end
    if id == page then break end
  end
  return string.char(letter) .. "."
end

local function number_blocks(blocks)
  for _, block in ipairs(blocks) do
    if block.t == "Header" then
      if block.identifier ~= "" and not block.identifier:match(":") then
        block.identifier = "p" .. page .. "-" .. block.identifier
      end
      if block.level == 1 and not has(block, "unnumbered") and number_prefix() ~= "" then
        counters.section[1] = counters.section[1] + 1
        local number = number_prefix() .. counters.section[1]
        block.attributes.number = number
        collected[#collected + 1] = block.identifier .. "\tsection " .. number
      elseif block.identifier:match(":") then
        collected[#collected + 1] = block.identifier .. "\t“" .. pandoc.utils.stringify(block) .. "”"
      end
    elseif block.t == "Div" then
      for _, kind in ipairs({"figure", "table", "listing"}) do
        if has(block, kind) or kind == "figure" and has(block, "explorer") then
          counters[kind] = counters[kind] + 1
          local name = kind:sub(1, 1):upper() .. kind:sub(2) .. " " .. number_prefix() .. counters[kind]
          block.attributes.label = name
          if block.identifier ~= "" then collected[#collected + 1] = block.identifier .. "\t" .. name end
        end
      end
      block.content = number_blocks(block.content)
    end
  end
  return blocks
end

-- Names the claims of a page; gives each as a Div with its identifier, its expression and its words.
local function number_claims(doc)
  local claims = pandoc.List({})
  local function drop_asides(span)
    if has(span, "aside") then return {} end
    if has(span, "claim") then fail('claim "' .. pandoc.utils.stringify(span) .. '" is part of another') end
  end
  local numbered = pandoc.walk_block(pandoc.Div(doc.blocks), {Span = function(span)
    if not has(span, "claim") then return nil end
    span.identifier = "claim-" .. page .. "-" .. #claims + 1
    local words = pandoc.walk_block(pandoc.Plain(span.content), {Span = drop_asides})
    claims:insert(pandoc.Div({words}, {id = span.identifier, holds = span.attributes.holds}))
    return span
  end})
  doc.blocks = numbered.content
  return claims
end

-- The page of all claims says how many rows of each chapter have which verdict: chapter -> verdict -> rows.
local verdicts = {"confirmed", "corrected", "open"}
local tally, settled_chapters = {}, {}

local function count_verdicts(blocks)
  for _, block in ipairs(blocks) do
    if block.t == "Div" and has(block, "settled") then
      local chapter = block.attributes.of or fail('"' .. pandoc.utils.stringify(block.content[1]) .. '" is of no chapter')
      if not tally[chapter] then
        tally[chapter] = {}
        settled_chapters[#settled_chapters + 1] = chapter
      end
      local verdict = block.attributes.verdict or fail('"' .. pandoc.utils.stringify(block.content[1]) .. '" has no verdict')
      tally[chapter][verdict] = (tally[chapter][verdict] or 0) + 1
    end
  end
end

local function collect(doc)
  setup(doc.meta)
  local claims = number_claims(doc)
  doc.blocks = number_blocks(doc.blocks)
  count_verdicts(doc.blocks)
  if pass == "collect" then
    write(work .. "/labels/" .. page .. ".claims.json", pandoc.write(pandoc.Pandoc(claims), "json"))
    local title = pandoc.utils.stringify(doc.meta.title or "")
    local number = page:match("^%d+$") and page or ""
    table.insert(collected, 1, "page\t" .. number .. "\t" .. title)
    write(work .. "/labels/" .. page .. ".tsv", table.concat(collected, "\n") .. "\n")
    return pandoc.Pandoc({})
  end
  return doc
end

-- Inlines ---------------------------------------------------------------------------------------------------------
local kinds = {
  predicted = "predicted: arithmetic, computed by the program",
  counted = "counted: by the SIMT model",
  measured = "measured: on a GPU, recorded",
}

local unmeasured = "not yet measured"

-- What an expression comes to: {pending, kind, holds, keys}, where keys says what each key is now. Its kind is that of its
-- least certain number. A false one fails, as does one that cannot be evaluated; `text` is what the reader is told.
local function judge(holds, text)
  holds = holds:gsub("%s+", " ")
  local function refuse(why) fail('claim "' .. text .. '": ' .. holds .. ": " .. why) end
  local tree, keys = expression.parse(holds)
  if not tree then refuse(keys) end
  if #keys == 0 then refuse("no key, so nothing is tested") end
  local values, found, shown, pending = {}, {}, {}, false
  for i, key in ipairs(keys) do
    local fact, full = fact_of(key)
    values[key] = fact.value or fact.text
    found[fact.kind] = true
    pending = pending or fact.text == unmeasured
    shown[i] = full .. " = " .. (fact.value and string.format("%.6g", fact.value) or fact.text)
  end
  local verdict = {pending = pending, holds = holds, keys = table.concat(shown, ", "),
                   kind = found.measured and "measured" or found.counted and "counted" or "predicted"}
  if pending then return verdict end
  local result, why = expression.evaluate(tree, values)
  if result == nil then refuse(why) end
  if not result then refuse("does not hold, with " .. verdict.keys) end
  return verdict
end

-- [text]{.claim holds="..."}: what the text says of numbers, tested. With above=KERNEL it is the page's explanation of why
-- that kernel was measured above a ceiling.
local explained_above = {}
local function claim(span)
  if span.attributes.above then explained_above[span.attributes.above] = true end
  local text = pandoc.utils.stringify(span)
  local verdict = judge(span.attributes.holds or fail('claim "' .. text .. '" without holds'), text)
  local class = verdict.pending and "claim pending" or "claim"
  local title = "claim, " .. (verdict.pending and unmeasured or verdict.kind) .. ": " .. verdict.holds .. "  (" .. verdict.keys .. ")"
  return pandoc.Span(span.content, {id = span.identifier, class = class, title = title, ["data-kind"] = verdict.kind})
end

local function resolve_span(span)
  if pass ~= "weave" then return nil end
  if has(span, "claim") then return claim(span) end
  for kind, meaning in pairs(kinds) do
    if has(span, kind) then
      local key = span.attributes.key or fail("a " .. kind .. " number without key")
      local fact, full = fact_of(key)
      if fact.kind ~= kind then fail("number " .. key .. " is " .. fact.kind .. ", the prose calls it " .. kind) end
      local class = fact.text == unmeasured and kind .. " pending" or kind
      return pandoc.Span({pandoc.Str(fact.text)}, {class = class, title = meaning .. " (" .. full .. ")"})
    end
  end
end

-- A kernel that was measured above one of its ceilings is an error, in the counts, the rates or the idea of the machine,
-- until the page says which.
local function check_ceilings()
  if pass ~= "weave" or not page:match("^%d+$") then return nil end
  for _, line in ipairs(lines_of(emitted(page, "above.tsv", "kernels above their ceilings"))) do
    local kernel, what = table.unpack(split(line))
    if not explained_above[kernel] then fail(what .. ": explain it in a claim with above=" .. kernel) end
    explained_above[kernel] = "needed"
  end
  for kernel, state in pairs(explained_above) do
    if state ~= "needed" then fail(kernel .. " was not measured above a ceiling: the claim with above=" .. kernel .. " explains nothing") end
  end
end

local side_note
local function resolve_aside(span)
  if has(span, "aside") then return side_note(span.content) end
end

-- The address of an element of a page.
local function address(id, on_page) return (combined or on_page == page) and "#" .. id or on_page .. ".html#" .. id end

-- A link to a label or a page of the book: its own words, or without any the label's.
local function resolve_link(link)
  if pass ~= "weave" or only ~= "" or link.target:sub(1, 1) ~= "#" then return nil end
  local id = link.target:sub(2)
  local function link_to(text, target)
    return pandoc.Link(#link.content > 0 and link.content or {pandoc.Str(text)}, target)
  end
  local chapter = id:match("^ch:(.+)$")
  if chapter then
    local info = page_info[chapter] or fail("no page is called " .. chapter)
    return link_to(info.number ~= "" and "chapter " .. info.number or info.title, info.href)
  end
  local label = labels[id] or fail("no label is called " .. id)
  return link_to(label.text, address(id, label.page))
end

local function check_cite(cite)
  for _, citation in ipairs(cite.citations) do
    if citation.id ~= "*" and not bibliography[citation.id] then fail("the bibliography has no entry " .. citation.id) end
  end
end

local notes = 0
function side_note(content)
  if pass ~= "weave" then return nil end
  if combined == "epub" then return pandoc.Note({pandoc.Para(content)}) end
  notes = notes + 1
  local id = "note-" .. page .. "-" .. notes
  local result = pandoc.List({html_inline(
    '<label for="' .. id .. '" class="note-mark" aria-label="side note">' .. notes .. "</label>" ..
    '<input type="checkbox" id="' .. id .. '" class="note-toggle" aria-label="show side note"/>' ..
    '<span class="side-note" role="note"><span class="note-number">' .. notes .. "</span> ")})
  result:extend(content)
  result:insert(html_inline("</span>"))
  return result
end

-- Listings ----------------------------------------------------------------------------------------------------
-- The region's lines without snippet markers, each with its number in the file.
local function region_of(file, region)
  local text = read(root .. "/" .. file) or fail("no file " .. file)
  local kept, inside, found = {}, false, false
  for number, line in ipairs(lines_of(text)) do
    local closing, name = line:match("^%s*// %[(/?)snippet ([%w%-]+)%]%s*$")
    if name == region then
      if (closing == "") == inside then fail("region " .. region .. " of " .. file .. " does not open and close in turn") end
      inside, found = closing == "", true
    elseif not name and inside then
      kept[#kept + 1] = {number = number, text = line}
    end
  end
  if not found then fail("no region " .. region .. " in " .. file) end
  if inside then fail("region " .. region .. " of " .. file .. " is not closed") end
  while #kept > 0 and kept[#kept].text == "" do kept[#kept] = nil end
  local indent = 999
  for _, line in ipairs(kept) do
    if line.text ~= "" then indent = math.min(indent, #line.text:match("^ *")) end
  end
  for _, line in ipairs(kept) do line.text = line.text:sub(indent + 1) end
  return kept
end

local function count_notes(chapter, kernel)
  local notes_by_line, known = {}, false
  for _, line in ipairs(lines_of(emitted(chapter, "lines.tsv", "counts"))) do
    local f = split(line)
    if f[1] == kernel then
      known = true
      local number = tonumber(f[2])
      notes_by_line[number] = (notes_by_line[number] and notes_by_line[number] .. ", " or "") .. f[3]
    end
  end
  if not known then fail("no counts of a kernel " .. kernel) end
  return notes_by_line
end

local function caption_of(div, default)
  local inlines = pandoc.List({pandoc.Strong({pandoc.Str(div.attributes.label .. ".")}), pandoc.Space()})
  for i, block in ipairs(div.content) do
    if i > 1 then inlines:insert(pandoc.Space()) end
    if block.content then inlines:extend(block.content) end
  end
  if #inlines == 2 then inlines:insert(pandoc.Str(default .. ".")) end  -- the prose gives no caption of its own
  return pandoc.Plain(inlines)
end

local function figure_open(div, class)
  local id = div.identifier ~= "" and ' id="' .. div.identifier .. '"' or ""
  local margin = has(div, "margin") and " margin-figure" or has(div, "full") and " full-width" or ""
  if has(div, "wide") then margin = margin .. " wide" end
  return html("<figure" .. id .. ' class="' .. class .. margin .. '">')
end

local function listing(div)
  local file = div.attributes.file or source
  if file ~= source and not shared[file] then
    fail("a listing of " .. file .. ", which has no page: name it in shared_sources of book/CMakeLists.txt")
  end
  if file ~= source and div.attributes.counts then fail("a listing of " .. file .. " with counts, which are the chapter's own") end
  local region = div.attributes.region or fail("a listing without region")
  local code = region_of(file, region)
  local numbers, texts, counts = {}, {}, {}
  local by_line = div.attributes.counts and count_notes(chapter_of(div), div.attributes.counts)
  for i, line in ipairs(code) do
    numbers[i] = tostring(line.number)
    texts[i] = line.text:gsub("%s*//@ [%w%- ]+$", "")
    counts[i] = by_line and by_line[line.number] or ""
  end
  local first, last = code[1].number, code[#code].number
  local href = "source/" .. file:match("[^/]+$") .. ".html#L-" .. first
  local blocks = pandoc.List({
    figure_open(div, "listing full-width"),
    html("<figcaption>"), caption_of(div),
    html((combined and '<span class="source">' or '<a class="source" href="' .. href .. '">') .. escape(file:match("[^/]+$")) ..
      ", lines " .. first .. "–" .. last .. (combined and "</span>" or "</a>") .. "</figcaption>"),
    html('<div class="code-frame"><pre class="line-numbers" aria-hidden="true">' .. table.concat(numbers, "\n") .. "</pre>"),
    html('<div class="code" tabindex="0" role="region" aria-label="' .. escape(div.attributes.label) .. '">'),
    pandoc.CodeBlock(table.concat(texts, "\n"), {class = "cuda"}),
    html("</div>"),
  })
  if by_line then
    blocks:insert(html('<pre class="line-counts" aria-label="counted per warp-wide execution of the line">' ..
      "\n" .. escape(table.concat(counts, "\n")) .. "</pre>"))  -- HTML drops a newline right after <pre>
  end
  blocks:insert(html("</div></figure>"))
  return blocks
end

-- Tables ------------------------------------------------------------------------------------------------------
local function numeric(text)
  return text == "" or text == "-" or text == unmeasured or text:match("^%-?%d") ~= nil
end

-- A table written out in the prose: ::: {.table caption="..."} around it.
local function written_table(div)
  local blocks = pandoc.List(div.content)
  div.content = {}
  local before = pandoc.List({figure_open(div, "data-table"), html("<figcaption>"), caption_of(div, div.attributes.caption),
    html('</figcaption><div class="scroll" tabindex="0" role="region" aria-label="' .. escape(div.attributes.label) .. '">')})
  before:extend(blocks)
  before:insert(html("</div></figure>"))
  return before
end

-- What a table has of some kernels: their columns where kernels head columns, else their rows.
local function of_kernels(rows, name, kernels)
  local wanted, found = {}, {}
  for kernel in kernels:gmatch("%S+") do wanted[kernel] = true end
  local columns = {1}
  for i, head in ipairs(split(rows[2])) do
    if wanted[head] then columns[#columns + 1], found[head] = i, true end
  end
  local kept = {rows[1], rows[2]}
  if next(found) then
    for r = 2, #rows do
      local fields, some = split(rows[r]), {}
      for _, i in ipairs(columns) do some[#some + 1] = fields[i] end
      kept[r] = table.concat(some, "\t")
    end
  else
    for r = 3, #rows do
      local kernel = rows[r]:match("^[%w_]+")
      if wanted[kernel] then kept[#kept + 1], found[kernel] = rows[r], true end
    end
  end
  for kernel in pairs(wanted) do
    if not found[kernel] then fail("table " .. name .. " has nothing of " .. kernel) end
  end
  return kept
end

local function data_table(div)
  if div.attributes.caption then return written_table(div) end
  local name = div.attributes.name or fail("a table without name or caption")
  local rows = lines_of(emitted(chapter_of(div), "table-" .. name .. ".tsv", "table " .. name))
  if div.attributes.of then rows = of_kernels(rows, name, div.attributes.of) end
  local header = split(rows[2])
  local right, short_names = {}, true  -- names of rows that are short do not wrap
  for r = 3, #rows do short_names = short_names and #split(rows[r])[1] <= 30 end
  for i = 1, #header do
    right[i] = true
    for r = 3, #rows do right[i] = right[i] and numeric(split(rows[r])[i]) end
  end
  local out = {'<div class="scroll" tabindex="0" role="region" aria-label="' .. escape(div.attributes.label) .. '"><table><thead><tr>'}
  local function cell(tag, text, i)
    local class = right[i] and ' class="number"' or ""
    if text == unmeasured then class = ' class="number pending"' end
    if i == 1 and class == "" and short_names then class = ' class="row-name"' end
    out[#out + 1] = "<" .. tag .. class .. (tag == "th" and ' scope="col"' or "") .. ">" .. escape(text) .. "</" .. tag .. ">"
  end
  for i, text in ipairs(header) do cell("th", text, i) end
  out[#out + 1] = "</tr></thead><tbody>"
  for r = 3, #rows do
    out[#out + 1] = "<tr>"
    for i, text in ipairs(split(rows[r])) do cell("td", text, i) end
    out[#out + 1] = "</tr>"
  end
  out[#out + 1] = "</tbody></table></div></figure>"
  return {figure_open(div, "data-table" .. (#header > 5 and " full-width" or "")), html("<figcaption>"),
          caption_of(div, rows[1]),
          html("</figcaption>"), html(table.concat(out))}
end

-- Figures -----------------------------------------------------------------------------------------------------
-- gnuplot draws with these sentinel colours; on the page they follow the theme.
local theme_colours = {
  ["#010101"] = "var(--ink)", ["#020202"] = "var(--muted)", ["#030303"] = "var(--accent)",
  ["#040404"] = "var(--second)", ["#050505"] = "var(--third)", ["#060606"] = "var(--rule)",
  ["#070707"] = "var(--fourth)",
}

local function themed(svg)
  svg = svg:gsub("rgb%(%s*(%d+),%s*(%d+),%s*(%d+)%)", function(r, g, b)
    return string.format("#%02x%02x%02x", tonumber(r), tonumber(g), tonumber(b))
  end)
  svg = svg:gsub("#0%d0%d0%d", theme_colours)
  svg = svg:gsub("^.-(<svg)", "%1")
  return svg
end

local figure_count = 0
local function figure(div, class)
  local src = div.attributes.src or fail("a figure without src")
  local alt = div.attributes.alt or fail("figure " .. src .. " has no text alternative")
  local svg = read(work .. "/figures/" .. src) or fail("no figure " .. src)
  figure_count = figure_count + 1
  local prefix = "f" .. page .. "-" .. figure_count .. "-"
  svg = themed(svg):gsub('id="([^"]+)"', 'id="' .. prefix .. '%1"'):gsub("url%(#", "url(#" .. prefix)
  svg = svg:gsub('href="#([^"]+)"', 'href="#' .. prefix .. '%1"'):gsub('href=\'#([^\']+)\'', "href='#" .. prefix .. "%1'")
  svg = svg:gsub("id='([^']+)'", "id='" .. prefix .. "%1'")
  svg = svg:gsub("<title>.-</title>", ""):gsub("<desc>.-</desc>", "")
  svg = svg:gsub("<svg", '<svg role="img" aria-label="' .. escape(alt) .. '"', 1)
  return {figure_open(div, class or "drawing"), html('<div class="scroll" tabindex="0" role="region" aria-label="' ..
          escape(div.attributes.label) .. '">' .. svg .. "</div><figcaption>"), caption_of(div), html("</figcaption></figure>")}
end

-- The bank explorer: ::: {.explorer src=... alt=... traces="KERNEL/SITE:ROW[+PAD][^DOWN,UP] ..."} is the figure src, an access that the
-- reader may change. With it come the first accesses of a warp at these sites, as the chapters' traces have them (NN/ in front names
-- another chapter), and the layout of the tile: words in a row, words of padding behind it, and the swizzle col ^ ((row >> DOWN) << UP).
local function lanes_of(chapter, kernel, site)
  local words, bytes, op = {}, nil, nil
  for _, line in ipairs(lines_of(emitted(chapter, "samples.tsv", "accesses"))) do
    local f = split(line)
    if f[1] == kernel and f[2] == site then
      if f[3] ~= "shared" then fail(site .. " of " .. kernel .. " is not in shared memory") end
      local lane = tonumber(f[6])
      if words[lane] then break end  -- of an unrolled loop the trace has several
      words[lane], bytes, op = tonumber(f[7]), f[5], f[8]
    end
  end
  if not bytes then fail("chapter " .. chapter .. " has no trace of " .. kernel .. " " .. site) end
  return words, bytes, op
end

local function traced_access(description)
  local name, row, behind = description:match("^([^:]+):([1-9]%d*)(.*)$")
  local chapter, kernel, site = (name or ""):match("^(%d*)/?([^/]+)/([^/]+)$")
  local pad, swizzle = (behind or ""):match("^%+(%d+)(.*)$")
  if not pad then pad, swizzle = "0", behind end
  local down, up = (swizzle or ""):match("^%^(%d+),(%d+)$")
  if not site or swizzle ~= "" and not up then
    fail("an explorer's trace is KERNEL/SITE:ROW[+PAD][^DOWN,UP], not " .. description)
  end
  chapter = chapter ~= "" and chapter or page
  local words, bytes, op = lanes_of(chapter, kernel, site)
  local listed = {}
  for lane = 0, 31 do
    listed[lane + 1] = words[lane] and string.format("%d", words[lane]) or "null"
    if (words[lane] or 0) % (row + pad) >= tonumber(row) then
      fail(description .. ": lane " .. lane .. " is in the padding, so the row is another")
    end
  end
  return string.format('{"title": "chapter %s, %s: %s", "bytes": %s, "op": "%s", "row": %s, "pad": %s, "swizzle": %s, "words": [%s]}',
    chapter, kernel, site, bytes, op, row, pad, up and '{"down": ' .. down .. ', "up": ' .. up .. "}" or "null", table.concat(listed, ", "))
end

local explored = false
local function explorer(div)
  local traces = {}
  for description in (div.attributes.traces or fail("an explorer without traces")):gmatch("%S+") do
    traces[#traces + 1] = traced_access(description)
  end
  local blocks = pandoc.List(figure(div, "drawing explorer"))
  if not combined then
    explored = true
    blocks:insert(2, html('<script type="application/json">[' .. table.concat(traces, ",\n") .. "]</script>"))
  end
  return blocks
end

-- Break-it experiments ------------------------------------------------------------------------------------------
local function break_it(div)
  local name = div.attributes.name or fail("a break-it experiment without name")
  for _, line in ipairs(lines_of(emitted(page, "breaks.tsv", "experiment " .. name))) do
    local f = split(line)
    if f[1] == name then
      local function unescape(text) return (text:gsub("\\t", "\t"):gsub("\\n", "\n"):gsub("\\\\", "\\")) end
      local diff = {}
      for _, old in ipairs(lines_of(unescape(f[3]))) do diff[#diff + 1] = "- " .. old end
      for _, new in ipairs(lines_of(unescape(f[4]))) do diff[#diff + 1] = "+ " .. new end
      local blocks = pandoc.List({html('<section class="break-it" id="break-' .. page .. "-" .. name .. '">'),
        html('<div class="code" tabindex="0" role="region" aria-label="edit ' .. escape(name) .. '">'),
        pandoc.CodeBlock(table.concat(diff, "\n"), {class = "diff"}), html("</div>")})
      blocks:extend(div.content)
      local outcome = f[2] == "test" and "Then this test fails: " or "Then it does not compile: "
      local says = f[6] and f[6] ~= "" and ", and says <code>" .. escape(f[6]) .. "</code>" or ""
      blocks:insert(html('<p class="outcome">' .. outcome .. "<code>" .. escape(f[5]) .. "</code>" .. says ..
                         "</p></section>"))
      return blocks
    end
  end
  fail("breaks.json has no experiment " .. name)
end

-- All claims ----------------------------------------------------------------------------------------------------
-- What others claimed, settled: ::: {.settled of=NN verdict=... at="#label ..." holds="..." tests="..." experiments="..."}
-- The first paragraph says what was claimed. What is true instead, or what was tried, follows.
local function require_test(name)
  local program = name:match("^([^.]+)%.") or fail("no test is called " .. name)
  local entries = read(tests .. "/" .. program .. ".cmake") or fail("no test program is called " .. program)
  if not entries:find("add_test([=[" .. name .. "]=]", 1, true) then fail("no test is called " .. name) end
end

local function require_experiment(chapter, name)
  for _, line in ipairs(lines_of(emitted(chapter, "breaks.tsv", "experiment " .. name))) do
    if split(line)[1] == name then return end
  end
  fail("breaks.json of chapter " .. chapter .. " has no experiment " .. name)
end

-- What an expression is, of which kind, and what its keys are now.
local function shown_expression(verdict)
  return {pandoc.Str((verdict.pending and unmeasured or verdict.kind) .. ": "), pandoc.Code(verdict.holds), pandoc.Str(" with "),
          pandoc.Code(verdict.keys)}
end

-- What settles a row: a list of inlines for each expression, test and experiment.
local function evidence(div, chapter, text)
  local found = pandoc.List({})
  if div.attributes.holds then found:insert(shown_expression(judge(div.attributes.holds, text))) end
  for name in (div.attributes.tests or ""):gmatch("%S+") do
    require_test(name)
    found:insert({pandoc.Str("test "), pandoc.Code(name)})
  end
  for name in (div.attributes.experiments or ""):gmatch("%S+") do
    require_experiment(chapter, name)
    found:insert({pandoc.Str("experiment "), pandoc.Link(pandoc.Str(name), address("break-" .. chapter .. "-" .. name, chapter))})
  end
  return found
end

local function places(div, text)
  local found = pandoc.List({pandoc.Str("in ")})
  for id in (div.attributes.at or fail('where is "' .. text .. '" settled?')):gmatch("#(%S+)") do
    local label = labels[id] or fail("no label is called " .. id)
    if #found > 1 then found:insert(pandoc.Str(", ")) end
    found:insert(pandoc.Link(pandoc.Str(label.text), address(id, label.page)))
  end
  return found
end

local function settled(div)
  local text = pandoc.utils.stringify(div.content[1])
  local chapter, verdict = div.attributes.of, div.attributes.verdict
  if not page_info[chapter] then fail("no page is called " .. chapter) end
  if not pandoc.List(verdicts):includes(verdict) then
    fail('"' .. text .. '" has no verdict ' .. table.concat(verdicts, ", ") .. ", but " .. verdict)
  end
  local found = evidence(div, chapter, text)
  if verdict ~= "open" and #found == 0 then fail('nothing settles "' .. text .. '"') end
  if verdict ~= "confirmed" and #div.content < 2 then
    fail((verdict == "open" and "what was tried" or "what is true instead") .. ' is missing: "' .. text .. '"')
  end
  found:insert(1, places(div, text))
  local lines = pandoc.List({})
  for i, line in ipairs(found) do
    if i > 1 then lines:insert(pandoc.LineBreak()) end
    lines:extend(line)
  end
  local blocks = pandoc.List({html('<section class="settled ' .. verdict .. '"><p class="verdict">' .. verdict .. "</p><div>")})
  blocks:extend(div.content)
  blocks:insert(pandoc.Div({pandoc.Para(lines)}, {class = "evidence"}))
  blocks:insert(html("</div></section>"))
  return blocks
end

local function tally_table()
  local out = {'<table><thead><tr><th scope="col">chapter</th>'}
  for _, verdict in ipairs(verdicts) do out[#out + 1] = '<th scope="col" class="number">' .. verdict .. "</th>" end
  out[#out + 1] = "</tr></thead><tbody>"
  for _, chapter in ipairs(settled_chapters) do
    out[#out + 1] = "<tr><td>" .. chapter .. "</td>"
    for _, verdict in ipairs(verdicts) do out[#out + 1] = '<td class="number">' .. (tally[chapter][verdict] or 0) .. "</td>" end
    out[#out + 1] = "</tr>"
  end
  return html(table.concat(out) .. "</tbody></table>")
end

-- Every .claim of a page, in the words of that page.
local function claims_of(id)
  home = id
  local items = pandoc.List({})
  for _, div in ipairs(pandoc.read(read(work .. "/labels/" .. id .. ".claims.json") or fail("no claims of page " .. id), "json").blocks) do
    local words = pandoc.walk_block(div, {Span = resolve_span, Link = resolve_link}).content[1]
    local verdict = judge(div.attributes.holds or "", pandoc.utils.stringify(words))
    words.content:insert(pandoc.Space())
    words.content:insert(pandoc.Span(shown_expression(verdict), {class = "evidence"}))
    local link = pandoc.Link(pandoc.Str("¶"), address(div.identifier, id), "to this place", {["aria-label"] = "to this place"})
    words.content:insert(1, pandoc.Space())
    words.content:insert(1, link)
    items:insert({words})
  end
  home = page
  return items
end

local function all_claims()
  local blocks = pandoc.List({})
  for _, id in ipairs(pages) do
    local items = claims_of(id)
    if #items > 0 then
      local info = page_info[id]
      blocks:insert(pandoc.Header(2, {pandoc.Str((info.number ~= "" and info.number .. " " or "") .. info.title)}, {id = "claims-of-" .. id}))
      blocks:insert(pandoc.Div({pandoc.BulletList(items)}, {class = "all-claims"}))
    end
  end
  return blocks
end

local function resolve_div(div)
  if pass ~= "weave" then return nil end
  if has(div, "listing") then return listing(div) end
  if has(div, "figure") then return figure(div) end
  if has(div, "explorer") then return explorer(div) end
  if has(div, "break") then return break_it(div) end
  if has(div, "table") then return data_table(div) end
  if only ~= "" then return nil end
  if has(div, "settled") then return settled(div) end
  if has(div, "tally") then return tally_table() end
  if has(div, "all-claims") then return all_claims() end
  if has(div, "contents") then
    local items = {}
    for _, id in ipairs(pages) do
      if id ~= "index" then
        local info = page_info[id]
        items[#items + 1] = '<li><a href="' .. info.href .. '"><span class="chapter-number">' .. info.number ..
          "</span> " .. escape(info.title) .. "</a></li>"
      end
    end
    return html('<nav class="contents" aria-label="Contents"><ul>' .. table.concat(items) .. "</ul></nav>")
  end
end

-- The page around it ------------------------------------------------------------------------------------------
local function json_string(text)
  return '"' .. text:gsub('[%c"\\<]', function(c) return string.format("\\u%04x", c:byte()) end) .. '"'
end

local function write_search_index(doc)
  local entries, heading, id, text = {}, page_info[page].title, "", {}
  local function flush()
    if #text > 0 then
      entries[#entries + 1] = "TILE_SEARCH.push({page:" .. json_string(page .. ".html") .. ",id:" .. json_string(id) ..
        ",chapter:" .. json_string(page_info[page].title) .. ",title:" .. json_string(heading) .. ",text:" ..
        json_string(table.concat(text, " ")) .. "});"
    end
    text = {}
  end
  for _, block in ipairs(doc.blocks) do
    if block.t == "Header" then
      flush()
      heading, id = pandoc.utils.stringify(block), block.identifier
    elseif block.t ~= "RawBlock" then
      text[#text + 1] = pandoc.utils.stringify(block)
    end
  end
  flush()
  write(work .. "/search/" .. page .. ".js", table.concat(entries, "\n") .. "\n")
end

local function finish(doc)
  if pass ~= "weave" or only ~= "" then return nil end
  if not combined then write_search_index(doc) end
  local position
  for i, id in ipairs(pages) do if id == page then position = i end end
  local function neighbour(offset)
    local id = pages[position + offset]
    if not id then return nil end
    local info = page_info[id]
    return pandoc.MetaMap({href = pandoc.MetaString(info.href),
      title = pandoc.MetaString((info.number ~= "" and info.number .. " · " or "") .. info.title)})
  end
  doc.meta.explorer = explored
  doc.meta.previous = neighbour(-1)
  doc.meta.next = neighbour(1)
  local items = pandoc.List({})
  for _, id in ipairs(pages) do
    local info = page_info[id]
    items:insert(pandoc.MetaMap({href = pandoc.MetaString(info.href), number = pandoc.MetaString(info.number),
      title = pandoc.MetaString(id == "index" and "Cover" or info.title), current = id == page}))
  end
  doc.meta.contents = pandoc.MetaList(items)
  doc.meta.number = page_info[page].number ~= "" and pandoc.MetaString(page_info[page].number) or nil
  -- Section numbers, now that headings are final.
  if combined then
    local title = page == "index" and "" or page_info[page].number ~= "" and "Chapter " .. page_info[page].number .. ". " .. page_info[page].title
      or page_info[page].title
    doc.blocks = doc.blocks:map(function(block)
      if block.t == "Header" then block.level = block.level + 1 end
      return block
    end)
    doc.blocks:insert(1, pandoc.Header(1, title, {id = "page-" .. page, class = "page"}))
  end
  doc.blocks = doc.blocks:map(function(block)
    if block.t == "Header" and block.attributes.number then
      block.content:insert(1, pandoc.Space())
      block.content:insert(1, pandoc.Span({pandoc.Str(block.attributes.number)}, {class = "section-number"}))
      block.attributes.number = nil
    end
    return block
  end)
  return doc
end

return {
  {Pandoc = collect},
  {Span = resolve_span, Link = resolve_link, Cite = check_cite},
  {Span = resolve_aside},
  {Div = resolve_div},
  {Pandoc = check_ceilings},
  {Pandoc = finish},
}
