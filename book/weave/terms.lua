-- Terms: the words of the machine and of its costs, as notation.md lists them in tables headed "word" and "meaning". Where one first
-- appears on a page, its row stands in the margin; in the book as one document, where it first appears in the book.
-- In: the blocks of a page, before anything is resolved. Out: the same with definitions, and the rows that the page has words of,
-- for its labels file. Captions, headings, claims and program text define nothing, nor do words that are meant otherwise: [lines]{.plain}.

local text = require("weave.text")
local page = require("weave.page")
local elements = require("weave.elements")

local terms = {}

local glossary_page = "notation"

local function is_of_words(simple) return pandoc.utils.stringify(simple.headers[1]) == "word" end

-- The rows of the glossary: {name, names, forms, meaning}: "warp, lane", its terms, they and their plurals, and a list of inlines.
local function glossary()
  local rows = {}
  local whole = text.read(page.root .. "/book/" .. glossary_page .. ".md") or ""
  pandoc.walk_block(pandoc.Div(pandoc.read(whole, "markdown").blocks), {Table = function(listed)
    local simple = pandoc.utils.to_simple_table(listed)
    for _, cells in ipairs(is_of_words(simple) and simple.rows or {}) do
      local row = {name = pandoc.utils.stringify(cells[1]), names = {}, forms = pandoc.List({}),
                   meaning = pandoc.utils.blocks_to_inlines(cells[2])}
      for name in (row.name .. ","):gmatch("%s*(.-),") do
        table.insert(row.names, name)
        row.forms:extend({name, name .. (name:match("[sx]$") and "es" or "s")})
      end
      rows[#rows + 1] = row
    end
  end})
  return rows
end

-- First word of a form -> forms {words, row}, the longest first.
local function forms_by_first_word()
  local forms = {}
  for _, row in ipairs(glossary()) do
    for _, form in ipairs(row.forms) do
      local words = text.words_of(form)
      forms[words[1]] = forms[words[1]] or {}
      table.insert(forms[words[1]], {words = words, row = row})
    end
  end
  for _, alike in pairs(forms) do table.sort(alike, function(a, b) return #a.words > #b.words end) end
  return forms
end

-- A word between what precedes and follows it: "(warps," is "(", "warps" and ",".
local function parts_of(inline)
  if not inline or inline.t ~= "Str" then return "", "", "" end
  return inline.text:match("^([^%w]*)(.-)([^%w]*)$")
end

-- The form that stands in a list of inlines from position i on, or nil.
local function form_at(inlines, i, forms)
  local _, first = parts_of(inlines[i])
  for _, form in ipairs(forms[first] or {}) do
    local all = true
    for n = 2, #form.words do
      local before, word = parts_of(inlines[i + 2 * (n - 1)])
      local space = inlines[i + 2 * n - 3]
      all = all and before == "" and word == form.words[n] and (space.t == "Space" or space.t == "SoftBreak")
    end
    if all then return form end
  end
end

-- What stands in the margin: each term with its meaning, where semicolons part as many as there are terms, "32 threads; one of them"; else
-- all terms with the one that they share.
local function note_of(row)
  local meanings = {pandoc.List({})}
  for _, inline in ipairs(row.meaning) do
    local last, before = meanings[#meanings], inline.t == "Str" and inline.text:match("^(.*);$")
    if before or inline.t ~= "Space" or #last > 0 then last:insert(before and pandoc.Str(before) or inline) end
    if before then meanings[#meanings + 1] = pandoc.List({}) end
  end
  local each, note = #row.names == #meanings, pandoc.List({})
  for i, name in ipairs(row.names) do
    note:insert(pandoc.Strong({pandoc.Str(name)}))
    if each or i == #row.names then
      note:extend({pandoc.Str(":"), pandoc.Space()})
      note:extend(each and meanings[i] or row.meaning)
    end
    if i < #row.names then note:extend({pandoc.Str(each and ";" or ","), pandoc.Space()}) end
  end
  return note
end

local count = 0

-- The words in the text, and the row in the margin; the checkbox shows it where there is no margin.
local function defined(words, row)
  count = count + 1
  local id = "term-" .. page.id .. "-" .. count
  return pandoc.List({
    elements.html_inline('<label for="' .. id .. '" class="term">'), words, elements.html_inline("</label>" ..
      '<input type="checkbox" id="' .. id .. '" class="note-toggle" aria-label="define ' .. text.escape(row.name) .. '"/>'),
    pandoc.Span(note_of(row), {class = "side-note definition", role = "note"}),
  })
end

local passed_over = text.set_of("plain claim figure explorer lookups listing table break settled tally contents aside")

local function is_passed_over(element) return element.classes:find_if(function(class) return passed_over[class] end) ~= nil end

-- Calls visit(row, before, words, after) for each term in a list of inlines, in order, with what stands around its words; what it returns
-- takes their place.
local function each_term(inlines, forms, visit)
  local result, i = pandoc.List({}), 1
  while i <= #inlines do
    local inline, form = inlines[i], form_at(inlines, i, forms)
    local length = form and 2 * #form.words - 1 or 1
    local instead = form and
      visit(form.row, (parts_of(inline)), table.concat(form.words, " "), select(3, parts_of(inlines[i + length - 1])))
    if instead then
      result:extend(instead)
      i = i + length
    else
      if inline.content and inline.t ~= "Link" and inline.t ~= "Cite" and not (inline.t == "Span" and is_passed_over(inline)) then
        inline.content = each_term(inline.content, forms, visit)
      end
      result:insert(inline)
      i = i + 1
    end
  end
  return result
end

local function each_term_of_blocks(blocks, forms, visit)
  for _, block in ipairs(blocks) do
    if block.t == "Para" or block.t == "Plain" then
      block.content = each_term(block.content, forms, visit)
    elseif block.t == "BulletList" or block.t == "OrderedList" then
      block.content = block.content:map(function(item) return each_term_of_blocks(item, forms, visit) end)
    elseif block.t == "Div" and not is_passed_over(block) or block.t == "BlockQuote" then
      block.content = each_term_of_blocks(block.content, forms, visit)
    end
  end
  return blocks
end

-- The lines "term<TAB>name" of a chapter's labels file: the rows that it has words of.
function terms.collect(doc)
  if not page.is_chapter() then return {} end
  local lines = pandoc.List({})
  each_term_of_blocks(doc.blocks, forms_by_first_word(), function(row)
    local line = "term\t" .. row.name
    if not lines:includes(line) then lines:insert(line) end
  end)
  return lines
end

-- Puts into the margin the rows of a page's words; in one document those alone whose words no earlier chapter has.
function terms.define(doc)
  if not page.is_chapter() or page.combined == "epub" or page.only_tests then return end
  local done = {}
  doc.blocks = each_term_of_blocks(doc.blocks, forms_by_first_word(), function(row, before, words, after)
    if done[row.name] or page.combined and page.first_with_term[row.name] ~= page.id then return nil end
    done[row.name] = true
    return pandoc.List({pandoc.Str(before)}) .. (defined(pandoc.Str(words), row) .. {pandoc.Str(after)})
  end)
end

local function address(name) return "word-" .. name:gsub("%W+", "-") end

-- Gives each row of the glossary an address, on the page that shows it.
function terms.anchor(doc)
  if page.id ~= glossary_page then return end
  doc.blocks = pandoc.walk_block(pandoc.Div(doc.blocks), {Table = function(listed)
    if not is_of_words(pandoc.utils.to_simple_table(listed)) then return nil end
    for _, body in ipairs(listed.bodies) do
      for _, row in ipairs(body.body) do row.attr.identifier = address(pandoc.utils.stringify(row.cells[1].contents)) end
    end
    return listed
  end}).content
end

-- What a search finds on the page of the glossary in addition to its sections: {id, title, text, forms}, texts all; the forms stand between bars.
function terms.definitions()
  return pandoc.List(page.id == glossary_page and glossary() or {}):map(function(row)
    return {id = address(row.name), title = row.name, text = pandoc.utils.stringify(row.meaning),
            forms = "|" .. table.concat(row.forms, "|"):lower() .. "|"}
  end)
end

return terms
