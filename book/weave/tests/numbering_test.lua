-- Tests of weave/numbering.lua.
local testing = dofile(pandoc.path.directory(PANDOC_SCRIPT_FILE) .. "/testing.lua")
local markdown = [[
# First {#first}

::: {.figure #fig:a}
x
:::

::: {.explorer #fig:b}
x
:::

# Aside {.unnumbered}

## Part {#sec:part}

::: {.table #tab:a}
x
:::

# Second

::: {.listing}
x
:::
]]

local function labels_of(id, pages, figures)
  local labels, doc
  testing.on_page({}, {page = id, pages = pages, pass = "collect"}, function()
    doc = pandoc.Pandoc(testing.blocks(markdown), pandoc.Meta({title = pandoc.MetaString("A title"), figures = figures and pandoc.MetaString(figures)}))
    labels = require("weave.numbering").apply(doc)
  end)
  return labels, doc
end

local labels, doc = labels_of("03", "index 03")
testing.same("labels of a chapter", labels, {"page\t03\tA title", "p03-first\tsection 3.1", "fig:a\tFigure 3.1", "fig:b\tFigure 3.2",
  "sec:part\t“Part”", "tab:a\tTable 3.1", "p03-second\tsection 3.2"})
testing.equal("number of a heading", doc.blocks[1].attributes.number, "3.1")
testing.equal("name of a listing without label", doc.blocks[8].attributes.label, "Listing 3.1")
testing.same("the second appendix", {labels_of("appendix-b", "index appendix-a appendix-b appendix-c")[2]}, {"pappendix-b-first\tsection B.1"})
testing.equal("its figures", select(2, labels_of("appendix-b", "index appendix-a appendix-b")).blocks[2].attributes.label, "Figure B.1")
testing.same("elsewhere figures alone have numbers", {labels_of("index", "index 03")[2]}, {"fig:a\tFigure 1"})
testing.same("or what the page puts before them", {labels_of("part-1", "index part-1", "I")[2]}, {"fig:a\tFigure I.1"})

testing.finish()
