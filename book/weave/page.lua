-- The page that is woven, and what it knows of the others.
-- In: the metadata that book/CMakeLists.txt gives (see weave.lua), and the labels that the first pass wrote for every page.
-- Out: this page's id and paths as fields of the module, addresses of pages and labels, and `fail`, which ends the weave.

local text = require("weave.text")

local page = {
  all = {},              -- all page ids, in reading order
  home = nil,            -- the page to whose chapter keys without NN/ belong
  combined = false,      -- "print" or "epub": one document instead of pages
  only_tests = false,    -- only what tests ask for is resolved
  shared = {},           -- file -> true: what listings may show besides source
  sources = {},          -- chapter -> its program; "NN-QUESTION" -> that of a question of its notebook
  records = {},          -- files that have a page and that numbers come from: records, and what reads them
  labels = {},           -- id -> {page, text}
  info = {},             -- page id -> {href, number, title, step}
  first_with_term = {},  -- row of the glossary -> the first chapter that has a word of it
}  -- and id, pass, work, tests, breaks, root, source: the metadata

local bibliography = {}

-- A complaint ends the weave.
function page.fail(message)
  io.stderr:write("weave: page " .. tostring(page.id) .. ": " .. message .. "\n")
  os.exit(1)
end

-- Writes a file, unless it says this already: what is made from it need not be made again.
function page.write(path, whole)
  if text.read(path) == whole then return end
  local file, why = io.open(path, "wb")
  if not file then page.fail("cannot write " .. path .. ": " .. why) end
  file:write(whole)
  file:close()
end

local function read_labels()
  for _, id in ipairs(page.all) do
    local lines = text.lines_of(text.read(page.work .. "/labels/" .. id .. ".tsv") or page.fail("no labels of page " .. id))
    for _, line in ipairs(lines) do
      local f = text.split(line)
      if f[1] == "page" then
        page.info[id] = {href = page.combined and "#page-" .. id or id .. ".html", number = f[2], title = f[3], step = f[4]}
      elseif f[1] == "term" then
        page.first_with_term[f[2]] = page.first_with_term[f[2]] or id
      elseif f[1] ~= "formula" then
        if page.labels[f[1]] then page.fail("label " .. f[1] .. " is defined twice") end
        page.labels[f[1]] = {page = id, text = f[2]}
      end
    end
  end
end

-- Takes the metadata of the page's document.
function page.open(meta)
  local function get(key) return meta[key] and pandoc.utils.stringify(meta[key]) or "" end
  for _, key in ipairs({"pass", "work", "tests", "root", "source"}) do page[key] = get(key) end
  page.id, page.shared, page.sources = get("page"), text.set_of(get("shared")), {}
  page.home = page.id:match("^notebook%-(%d+)$") or page.id
  for file in get("sources"):gmatch("%S+") do
    local chapter, question = file:match("(%d+)[^/]*/lab/(.+)%.cu$")
    page.sources[chapter and chapter .. "-" .. question or file:match("chapter(%d+)%.cu$")] = file
    page.shared[file] = true  -- it has a page of its own
  end
  page.records, page.all = text.words_of(get("records")), text.words_of(get("pages"))
  page.combined = get("combined") ~= "" and get("combined")
  page.only_tests = get("only") ~= ""
  for key in (text.read(page.root .. "/book/references.bib") or ""):gmatch("@%w+{([^,%s]+),") do bibliography[key] = true end
  page.labels, page.info, page.first_with_term = {}, {}, {}
  if page.pass ~= "collect" and not page.only_tests then read_labels() end
end

-- Whether elements are resolved now: labels are collected first.
function page.weaving() return page.pass == "weave" end

function page.is_chapter() return page.id:match("^%d+$") ~= nil end

-- "A" of the first appendix, "" of a page that is none.
function page.letter(id)
  local appendices = page.all:filter(function(other) return other:match("^appendix") ~= nil end)
  local _, number = appendices:find(id)
  return number and string.char(string.byte("A") + number - 1) or ""
end

-- "03 Shared tiling", or the title of a page without a number; `between` stands in the place of the blank.
function page.full_title(id, between)
  local info = page.info[id]
  return (info.number ~= "" and info.number .. (between or " ") or "") .. info.title
end

function page.has_reference(id) return bibliography[id] == true end

-- The label called `id`, {page, text}.
function page.label(id) return page.labels[id] or page.fail("no label is called " .. id) end

-- The address of an element of a page.
function page.address(id, on_page)
  return (page.combined or on_page == page.id) and "#" .. id or on_page .. ".html#" .. id
end

return page
