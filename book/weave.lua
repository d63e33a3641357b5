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

local prose = require("weave.prose")
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
  if elements.has(span, "given") then return span.content end  -- words.lua alone asks for it
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

local function join_operators(inlines) return page.weaving() and prose.join_operators(inlines) or nil end
local function keep_punctuation(inlines) return page.weaving() and prose.keep_punctuation(inlines) or nil end
local function typeset(inlines) return page.weaving() and prose.typeset(inlines) or nil end

local function program_text(inline)
  if page.weaving() and not page.only_tests then return elements.html_inline(code.inline(inline.text)) end
end

local function in_line(formula)
  if not page.weaving() or page.only_tests or page.combined == "epub" or formula.mathtype ~= "InlineMath" then return nil end
  return elements.html_inline(code.formula(formula))
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
  {Inlines = join_operators},
  {Inlines = keep_punctuation},
  {Inlines = typeset},
  {Pandoc = check_ceilings},
  {Pandoc = finish},
  {Code = program_text, Math = in_line},
}
