-- Finds what is there for the book and is not in it: regions of programs that no listing shows, predictions that no page names,
-- figures that no page shows. Prints a line for each and ends with status 1 if there is any. Run by pandoc on an empty page, with metadata
--   pages    the text of every page, as ID=FILE, separated by newlines
--   figures  the names of all figures that are drawn, separated by spaces
--   work     directory with emit/NN/
--   root     the repository
--
-- A region is also used if mistakes are made in it: ctest/mutants.cpp takes a program from its first region to the end of the one
-- called launch, or the last. Of facts it is those that a chapter's own `predict` gives that must be used: of those in one chapter whose
-- keys end with the same word (the same number for every kernel, say) one, on a page, in a figure or by the program itself, its tests
-- included. Counted and measured ones are what every program says of each of its kernels.

package.path = pandoc.path.join({pandoc.path.directory(PANDOC_SCRIPT_FILE), "?.lua"}) .. ";" .. package.path

local text = require("weave.text")
local expression = require("weave.expression")
local listings = require("weave.listings")

-- What figures/figures.cpp reads of the predictions.
local read_by_figures = {"%.loads%.global$", "%.loads%.shared$", "^lda%.%d+%.ms$", "^lda%.%d+%.in_turns%.ms$", "%.swizzle%.down$",
  "%.swizzle%.up$", "%.smem_bytes$", "%.stages$", "%.stretches$", "^a6000%.registers_per_thread$"}

local used = {regions = {}, keys = {}, figures = {}}  -- "FILE REGION", "NN WORD", name -> true
local complaints = 0

local function complain(what)
  complaints = complaints + 1
  io.stderr:write(what .. "\n")
end

-- The last word of a key; from0 and from1 are the same one.
local function last_word(key)
  local word = key:match("[^.]+$")
  return word:match("^%d+$") or (word:gsub("%d+", ""))
end

-- Pages ---------------------------------------------------------------------------------------------------------------
local function use_key(key, page)
  local chapter, rest = key:match("^(%d%d)/(.+)$")
  used.keys[(chapter or page) .. " " .. last_word(rest or key)] = true
end

-- What a Div or Span of a page names.
local function use(element, page, source)
  local a = element.attributes
  if a.key then use_key(a.key, page) end
  if a.holds then
    local _, keys = expression.parse((a.holds:gsub("%s+", " ")))
    for _, key in ipairs(keys) do use_key(key, page) end
  end
  if a.region then used.regions[(a.file or source) .. " " .. a.region] = true end
  if a.name and element.classes:includes("table") then used.figures[(a.chapter or page) .. "/table-" .. a.name] = true end
  for name in (a.src or ""):gmatch("(%S+)%.svg") do used.figures[name] = true end
end

local function read_page(id, file, root)
  local source = file:sub(#root + 2):gsub("%.md$", ".cu")
  local function visit(element) use(element, id, source) end
  local doc = pandoc.read(text.read(file) or error("no file " .. file), "markdown-implicit_figures")
  pandoc.walk_block(pandoc.Div(doc.blocks), {Div = visit, Span = visit})
end

-- Programs ------------------------------------------------------------------------------------------------------------
-- Facts that a program asks for itself.
local function use_own_facts(program, chapter)
  for _, call in ipairs({"%.value(%b())", "[^%.]text(%b())"}) do
    for arguments in program:gmatch(call) do
      local key = arguments:match('([^"]+)"%)$')
      if key then used.keys[chapter .. " " .. last_word(key)] = true end
    end
  end
end

local function check_regions(file, program)
  local first, last, launch
  local names = {}
  for number, line in ipairs(text.lines_of(program)) do
    local closing, name = listings.marker(line)
    if closing == "" then
      first = first or name
      names[#names + 1] = {name = name, line = number}
    elseif name then
      last, launch = name, launch or name == "launch"
    elseif line:match("^TILE_CHAPTER") then
      break
    end
  end
  for _, region in ipairs(names) do
    local bounds_mistakes = region.name == first or region.name == (launch and "launch" or last)
    if not used.regions[file .. " " .. region.name] and not bounds_mistakes then
      complain(file .. ":" .. region.line .. ": no listing shows region " .. region.name .. ": show it, or remove its markers")
    end
  end
end

local function check_predictions(chapter, facts)
  local said = {}
  for _, line in ipairs(text.lines_of(facts)) do
    local key, kind = table.unpack(text.split(line))
    local word = last_word(key)
    local unused = kind == "predicted" and not used.keys[chapter .. " " .. word] and not said[word]
    for _, pattern in ipairs(read_by_figures) do unused = unused and not key:match(pattern) end
    if unused then
      said[word] = true
      complain("chapter " .. chapter .. ": nobody uses the prediction " .. key .. ", nor any that ends in ." .. word ..
        ": name it on a page, or remove it from predict")
    end
  end
end

-- Everything ------------------------------------------------------------------------------------------------------------
local function check(doc)
  local function get(key) return pandoc.utils.stringify(doc.meta[key]) end
  local root = get("root")
  local pages = {}
  for id, file in get("pages"):gmatch("(%S+)=([^\n]+)") do pages[#pages + 1] = {id = id, file = file} end
  for _, page in ipairs(pages) do read_page(page.id, page.file, root) end
  for _, page in ipairs(pages) do
    if page.id:match("^%d+$") then
      local source = page.file:gsub("%.md$", ".cu")
      local program = text.read(source) or error("no file " .. source)
      use_own_facts(program, page.id)
      check_regions(source:sub(#root + 2), program)
      check_predictions(page.id, text.read(get("work") .. "/emit/" .. page.id .. "/facts.tsv") or error("no facts of " .. page.id))
    end
  end
  for name in get("figures"):gmatch("%S+") do
    if not used.figures[name] then complain("no page shows figure " .. name .. ": show it, or remove it from figures.cmake") end
  end
  if complaints > 0 then os.exit(1) end
  return pandoc.Pandoc({})
end

return {{Pandoc = check}}
