-- Tests of weave/verdicts.lua; what it refuses of a row, the tests book.refuses-row-… show.
local testing = dofile(pandoc.path.directory(PANDOC_SCRIPT_FILE) .. "/testing.lua")
local files = testing.with_labels({
  ["emit/03/facts.tsv"] = "a\tpredicted\t1\t\t1\nb\tcounted\t2\t\t2\n",
  ["emit/03/breaks.tsv"] = "barrier\ttest\ta\tb\ta race\t\n",
  ["tests/chapter03.cmake"] = "add_test([=[chapter03.a race]=] ...)\n",
  ["labels/03.claims.json"] = pandoc.write(pandoc.Pandoc({pandoc.Div({pandoc.Plain({pandoc.Str("less")})},
    {id = "claim-03-1", holds = "a < b"})}), "json"),
  ["labels/index.claims.json"] = pandoc.write(pandoc.Pandoc({}), "json"),
})
testing.on_page(files, {page = "index"}, function(page)
  local verdicts = require("weave.verdicts")
  page.home = "03"
  local markdown = [[
::: {.settled of=03 verdict=confirmed at="#fig:tiles" holds="a < b" experiments=barrier}
It is so.
:::

::: {.settled of=03 verdict=open at="#fig:tiles"}
Or not.

We tried.
:::
]]
  local blocks = testing.blocks(markdown)
  verdicts.count(blocks)
  testing.contains("rows of a chapter", testing.html({verdicts.tally_table()}),
    '<tr><td>03</td><td class="number">1</td><td class="number">0</td><td class="number">1</td></tr>')
  local html = testing.html(verdicts.settled(blocks[1]))
  testing.contains("verdict", html, '<section class="settled confirmed" id="finding-03-1"><p class="verdict">confirmed <a class="permalink" href="#finding-03-1"')
  testing.contains("place", html, '<a href="03.html#fig:tiles" class="kept">Figure 3.1</a>')
  testing.contains("expression", html, "counted: <code>a &lt; b</code> with <code>03/a = 1, 03/b = 2</code>")
  testing.contains("experiment", html, '<a href="03.html#break-03-barrier">barrier</a>')
  local folded = testing.html(verdicts.fold(testing.blocks("# A chapter\n\n" .. markdown .. "\n# Another\n")))
  testing.contains("folded under a heading", folded, '</h1> <details class="folded"><summary>2 findings: 1\u{a0}confirmed, 1\u{a0}open</summary>')
  testing.contains("up to the next", folded, '</div> </details> <h1')
  page.combined = "epub"
  testing.equal("not folded in one document", testing.html(verdicts.fold(testing.blocks(markdown))):find("details", 1, true), nil)
  page.combined = false
  testing.contains("open", testing.html(verdicts.settled(blocks[2])), "<p>We tried.</p>")

  html = testing.html(verdicts.all_claims(function(div) return div end))
  testing.contains("page of a claim", html, '<h2 id="claims-of-03">03 Shared tiling</h2>')
  testing.contains("claim", html, '<a href="03.html#claim-03-1" id="of-claim-03-1" aria-label="to this place" title="to this place">¶</a> less')
  testing.contains("claims are folded", html, '<details class="folded"><summary>1 claim</summary>')
  testing.equal("no page without claims", html:find("claims-of-index", 1, true), nil)
  testing.refused("row of no chapter", '"It is so." is of no chapter', verdicts.count, testing.blocks("::: {.settled}\nIt is so.\n:::"))
end)

testing.finish()
