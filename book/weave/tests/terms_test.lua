-- Tests of weave/terms.lua.
local testing = dofile(pandoc.path.directory(PANDOC_SCRIPT_FILE) .. "/testing.lua")
local files = testing.with_labels({
  ["labels/03.tsv"] = "page\t03\tShared tiling\nterm\twarp, lane\nterm\tissue slot\nterm\tline\n",
  ["labels/index.tsv"] = "page\t\tTile by Tile\n",
  ["labels/01.tsv"] = "page\t01\tNaive\nterm\tline\n",
  ["book/notation.md"] = "| word | meaning |\n|---|---|\n| warp, lane | 32 threads; one of them |\n| issue slot | a *chance* |\n| line | 128 bytes |\n| LD, ST | *loads* and stores; both |\n| A, B, C | x; y |\n\n" ..
    "| name | meaning |\n|---|---|\n| step | a turn |\n",
})
local function document()
  return pandoc.Pandoc(testing.blocks("# Warps\n\nOf a [warp]{.plain}, [a warp less]{.claim}, (warps) and warps, step by step.\n\n" ..
    "- *Issue\n  slots*, a line, a lane.\n\n::: {.listing}\nAn issue slot.\n:::\n"))
end
testing.on_page(files, {pages = "index 01 03"}, function()
  local terms = require("weave.terms")
  testing.same("what the page has words of", terms.collect(document()), {"term\twarp, lane", "term\tline"})
  local doc = document()
  terms.define(doc)
  local html = testing.html(doc.blocks)
  testing.contains("where it first appears", html, 'Of a <span class="plain">warp</span>, <span class="claim">a warp less</span>, (<label for="term-03-1" class="term">warps</label>')
  testing.contains("its row", html, '<span class="side-note definition" role="note"><strong>warp</strong>: 32 threads; <strong>lane</strong>: one of them</span>) and warps,')
  testing.contains("what an earlier chapter has, too", html, '<span class="side-note definition" role="note"><strong>line</strong>')
  local _, definitions = html:gsub("definition", "")
  testing.equal("once each", definitions, 2)
end)
testing.on_page(files, {pages = "index 01 03", combined = "print"}, function()
  local doc = document()
  require("weave.terms").define(doc)
  local _, definitions = testing.html(doc.blocks):gsub("definition", "")
  testing.equal("in one document not what an earlier chapter has", definitions, 1)
end)
testing.on_page(files, {pages = "index 01 03"}, function()
  local doc = pandoc.Pandoc(testing.blocks("First ST, then C."))
  require("weave.terms").define(doc)
  local html = testing.html(doc.blocks)
  testing.contains("each term with its meaning", html, '<strong>LD</strong>: <em>loads</em> and stores; <strong>ST</strong>: both</span>')
  testing.contains("terms that share one", html, '<strong>A</strong>, <strong>B</strong>, <strong>C</strong>: x; y</span>')
end)
testing.on_page(files, {pages = "index 01 03", page = "01"}, function()
  local doc = document()
  require("weave.terms").define(doc)
  testing.contains("in the first chapter that has it", testing.html(doc.blocks), '<strong>line</strong>: 128 bytes</span>')
end)

testing.on_page(files, {pages = "index 01 03", page = "notation"}, function()
  local terms = require("weave.terms")
  local doc = pandoc.Pandoc(testing.blocks(files["book/notation.md"]))
  terms.anchor(doc)
  testing.contains("a row has an address", testing.html(doc.blocks), 'id="word-issue-slot"')
  testing.equal("a name of the tiles has none", testing.html(doc.blocks):find("word-step", 1, true), nil)
  local first = terms.definitions()[1]
  testing.same("what a search finds", {first.id, first.name, first.meaning, first.forms},
    {"word-warp-lane", "warp, lane", "32 threads; one of them", "|warp|warps|lane|lanes|"})
end)
testing.on_page(files, {pages = "index 01 03"}, function()
  testing.equal("nothing of another page", #require("weave.terms").definitions(), 0)
end)

testing.finish()
