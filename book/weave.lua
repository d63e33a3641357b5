-- The weaver: turns a chapter's prose and its program's output into a page. A pandoc filter; each kind of element has its module
-- in weave/, whose head says what comes in and what goes out.
--
-- Metadata (set by book/CMakeLists.txt):
--   page      this page's id: index, preface, 02, notation, ...
--   pages     all page ids, in reading order, separated by spaces
--   pass      "collect" writes this page's labels and claims; "weave" resolves everything
--   work      directory with labels/, emit/NN/, figures/, search/
--   tests     directory with the CTest entries of every test program
--   breaks    directory with the break-it experiments that were built, and what they said
--   root      the repository
--   combined  "print" or "epub": this page as a part of one document
--   only      with pass "weave": if not empty, only what tests ask for is resolved: listings, figures, experiments, numbers, tables
--   source    the chapter's program, relative to root (chapters only)
--   sources   the programs of all chapters, and
--   records   what else numbers come from, relative to root, separated by spaces: all have pages
--   shared    other files that listings may show, relative to root, separated by spaces: those that have a page of their own
-- Anything that the prose names and that does not exist is an error: listing regions, numbers, tables, figures,
-- cross-references, citations, break-it experiments. So is a claim that its numbers do not bear out.

package.path = pandoc.path.join({pandoc.path.directory(PANDOC_SCRIPT_FILE), "?.lua"}) .. ";" .. package.path

local text = require("weave.text")
local page = require("weave.page")
local elements = require("weave.elements")
local numbering = require("weave.numbering")
local number = require("weave.numbers")
local claims = require("weave.claims")
local references = require("weave.references")
local listings = require("weave.listings")
local tables = require("weave.tables")
local figures = require("weave.figures")
local explorer = require("weave.explorer")
local lookups = require("weave.lookups")
local code = require("weave.code")
local experiments = require("weave.experiments")
local verdicts = require("weave.verdicts")
local terms = require("weave.terms")
local around = require("weave.around")

-- Numbers and names everything; that is all of the first pass.
local function collect(doc)
  page.open(doc.meta)
  local found = claims.number(doc)
  local labels = numbering.apply(doc)
  verdicts.count(doc.blocks)
  if page.weaving() then
    terms.define(doc)
    terms.anchor(doc)
    doc.blocks = verdicts.fold(doc.blocks)
    return doc
  end
  for _, line in ipairs(terms.collect(doc)) do labels[#labels + 1] = line end
  page.write(page.work .. "/labels/" .. page.id .. ".claims.json", pandoc.write(pandoc.Pandoc(found), "json"))
  page.write(page.work .. "/labels/" .. page.id .. ".tsv", table.concat(labels, "\n") .. "\n")
  return pandoc.Pandoc({})
end

local function resolve_span(span)
  if page.weaving() then return claims.resolve(span) or number(span) end
end

local function resolve_link(link)
  if page.weaving() and not page.only_tests then return references.link(link) end
end

local function resolve_aside(span)
  if page.weaving() then return references.side_note(span) end
end

-- The words of a claim as they stand on the page of all claims.
local function resolved(div) return pandoc.walk_block(div, {Span = resolve_span, Link = resolve_link}) end

-- Class of a Div -> what resolves it; tests ask for those of the first group.
local tested = {
  {"listing", listings.resolve},
  {"figure", figures.resolve},
  {"explorer", explorer.resolve},
  {"lookups", lookups.resolve},
  {"break", experiments.resolve},
  {"table", tables.resolve},
}
local others = {
  {"settled", verdicts.settled},
  {"tally", verdicts.tally_table},
  {"all-claims", function() return verdicts.all_claims(resolved) end},
  {"contents", around.contents},
}

local function resolve_div(div)
  if not page.weaving() then return nil end
  for _, group in ipairs({tested, page.only_tests and {} or others}) do
    for _, kind in ipairs(group) do
      if elements.has(div, kind[1]) then return kind[2](div) end
    end
  end
end

-- A formula and the punctuation behind it stay on one line.
local function keep_punctuation(inlines)
  if not page.weaving() then return nil end
  for i = #inlines - 1, 1, -1 do
    local formula, behind = inlines[i], inlines[i + 1]
    local marks, rest = (behind.t == "Str" and behind.text or ""):match("^([,.;:)]+)(.*)$")
    if formula.t == "Math" and formula.mathtype == "InlineMath" and marks then
      inlines[i] = pandoc.Span({formula, pandoc.Str(marks)}, pandoc.Attr("", {"kept"}))
      inlines[i + 1] = pandoc.Str(rest)
    end
  end
  return inlines
end

-- Prose is written with a keyboard's letters: ranges, minus signs, and "32 x 4", which is set with a cross, on one line.
local function typeset(inlines)
  if not page.weaving() then return nil end
  for _, inline in ipairs(inlines) do
    if inline.t == "Str" and inline.text ~= "us" and not inline.text:find("://", 1, true) then
      inline.text = text.typeset(inline.text)
    end
  end
  local function is_factor(inline, pattern)
    return inline and (inline.t == "Link" or inline.t == "Span" or inline.t == "Str" and inline.text:match(pattern) ~= nil)
  end
  local function is_blank(inline) return inline.t == "Space" or inline.t == "SoftBreak" end
  for i = 3, #inlines do  -- the unit, not the people
    local behind = inlines[i].t == "Str" and inlines[i].text:match("^us(%p*)$")
    if behind and is_blank(inlines[i - 1]) and pandoc.utils.stringify(inlines[i - 2]):match("%d$") then
      inlines[i].text = "µs" .. behind
    end
  end
  if #inlines >= 3 and inlines[1].t == "Str" and inlines[1].text == "x" and is_blank(inlines[2]) and inlines[3].t == "Str" then
    inlines[1], inlines[2] = pandoc.Str("×"), pandoc.Str("\u{a0}")  -- "x cuBLAS", in a table's head
  end
  for i = 3, #inlines - 2 do
    if inlines[i].t == "Str" and inlines[i].text == "x" and is_blank(inlines[i - 1]) and is_blank(inlines[i + 1]) and
       is_factor(inlines[i - 2], "[%d%u)]$") and is_factor(inlines[i + 2], "^[%d%u(]") then
      inlines[i - 1], inlines[i], inlines[i + 1] = pandoc.Str("\u{a0}"), pandoc.Str("×"), pandoc.Str("\u{a0}")
    end
  end
  return inlines
end

local function keep_short(inline)
  if page.weaving() and code.kept(inline.text) then inline.classes:insert("kept") end
  return inline
end

-- The writer lets every bracket grow, which in a line of text only sets it apart.
local function without_growing(formula)
  if not page.weaving() or page.only_tests or page.combined == "epub" or formula.mathtype ~= "InlineMath" then return nil end
  return elements.html_inline(code.formula(formula):gsub('stretchy="true"', 'stretchy="false"'))
end

local function check_ceilings()
  if page.weaving() and page.is_chapter() then claims.check_ceilings() end
end

local function finish(doc)
  if page.weaving() and not page.only_tests then return around.finish(doc) end
end

return {
  {Pandoc = collect},
  {Span = resolve_span, Link = resolve_link, Cite = references.check_cite},
  {Span = resolve_aside},
  {Div = resolve_div},
  {Inlines = keep_punctuation},
  {Inlines = typeset},
  {Pandoc = check_ceilings},
  {Pandoc = finish},
  {Code = keep_short, Math = without_growing},
}
