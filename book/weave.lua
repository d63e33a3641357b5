-- The weaver: turns a chapter's prose and its program's output into a page. A pandoc filter; each kind of element has its module
-- in weave/, whose head says what comes in and what goes out.
--
-- Metadata (set by book/CMakeLists.txt):
--   page      this page's id: index, preface, 02, notation, ...; pages: all of them, in reading order, separated by spaces
--   pass      "collect" writes this page's labels and claims; "weave" resolves everything
--   work      directory with labels/, emit/NN/, figures/, search/
--   tests     directory with the CTest entries of every test program
--   root      the repository
--   combined  "print" or "epub": this page as a part of one document
--   only      with pass "weave": if not empty, only what tests ask for is resolved: listings, figures, experiments, numbers, tables
--   source    the chapter's program, relative to root (chapters only)
--   sources   the programs of all chapters, and
--   records   what else numbers come from; all have pages
--   shared    other files that listings may show, and that have pages; as the last two relative to root, separated by spaces
-- What the prose names and does not exist is an error, and so is a claim that its numbers do not bear out.

package.path = pandoc.path.join({pandoc.path.directory(PANDOC_SCRIPT_FILE), "?.lua"}) .. ";" .. package.path

local prose = require("weave.prose")
local page = require("weave.page")
local elements = require("weave.elements")
local number = require("weave.numbers")
local claims = require("weave.claims")
local references = require("weave.references")
local listings = require("weave.listings")
local tables = require("weave.tables")
local figures = require("weave.figures")
local explorer = require("weave.explorer")
local code = require("weave.code")
local experiments = require("weave.experiments")
local verdicts = require("weave.verdicts")
local terms = require("weave.terms")
local around = require("weave.around")

-- Numbers and names everything; that is all of the first pass.
local function collect(doc)
  page.open(doc.meta)
  local found = claims.number(doc)
  local labels = references.number(doc)
  verdicts.count(doc.blocks)
  if page.weaving() then
    terms.define(doc)
    terms.anchor(doc)
    doc.blocks = verdicts.fold(doc.blocks)
    return doc
  end
  labels:extend(terms.collect(doc))
  doc:walk({Span = function(span)  -- other pages are woven anew where it changes
    local a = span.attributes
    if a.is and a.key then labels:insert(table.concat({"formula", a.key, a.is, a.decimals or "", a.unit or ""}, "\t")) end
  end})
  page.write(page.work .. "/labels/" .. page.id .. ".claims.json", pandoc.write(pandoc.Pandoc(found), "json"))
  page.write(page.work .. "/labels/" .. page.id .. ".tsv", table.concat(labels, "\n") .. "\n")
  return pandoc.Pandoc({})
end

local function resolve_span(span)
  if elements.has(span, "given") then return span.content end  -- words.lua alone asks for it
  if page.weaving() then return claims.resolve(span) or number(span) end
end

-- What is done in the second pass, and what not where only tests ask.
local function weaving(f) return function(element) if page.weaving() then return f(element) end end end
local function reading(f) return weaving(function(element) if not page.only_tests then return f(element) end end) end

local resolve_link = reading(references.link)

-- The words of a claim as they stand on the page of all claims.
local function resolved(div) return pandoc.walk_block(div, {Span = resolve_span, Link = resolve_link}) end

-- Class of a Div -> what resolves it.
local resolvers = {
  listing = listings.resolve, table = tables.resolve,
  figure = figures.resolve, explorer = explorer.resolve, lookups = explorer.resolve,
  answer = function(div) return elements.folded(div.content, "Answer") end,
  ["break"] = experiments.resolve, settled = verdicts.settled, tally = verdicts.tally_table,
  ["all-claims"] = function() return verdicts.all_claims(resolved) end, contents = around.contents,
}

local function resolve_div(div)
  local class = div.classes:find_if(function(class) return resolvers[class] end)
  if class then return resolvers[class](div) end
end

return {
  {Pandoc = collect},
  {Span = resolve_span, Link = resolve_link, Cite = references.check_cite},
  {Span = weaving(references.side_note)},
  {Div = weaving(resolve_div)},
  {Inlines = weaving(prose.join_operators)},
  {Inlines = weaving(prose.keep_punctuation)},
  {Inlines = weaving(prose.typeset)},
  {Pandoc = weaving(claims.check_ceilings)},
  {Pandoc = reading(around.finish)},
  {Code = reading(code.inline_element), Math = reading(code.formula_element)},
}
