-- Tests of weave/tables.lua.
local testing = dofile(pandoc.path.directory(PANDOC_SCRIPT_FILE) .. "/testing.lua")
local files = {
  ["emit/03/table-sizes.tsv"] = "Sizes\nkernel\tms\tnote\nshared\t1,365.2\tx < y\nshared, as compiled\tnot yet measured\t-\nnaive\t2\tz\n",
  ["emit/03/table-tuning.tsv"] = "Ranking\nconfiguration\twarps\n128x64x8\t4\n",
  ["emit/03/table-stalls.tsv"] = "Stalls\nwaiting for\tshared\tnaive\nbarrier\t1\t2\n",
  ["emit/03/table-counters.tsv"] = "Counts\nkernel\tcounted\tmeasured\tratio\twhy\nshared\t1\t1\tequal\t\nshared\t3\t2\t0.67\tit is so\nshared\t6\t3\t0.5\tit is so\nnaive\t4\t4\tequal\t\n",
  ["emit/03/table-repeated.tsv"] = "Sizes\nkernel\tms\ntma\t1\ntma\t2\nthin\t3\n",
}
testing.on_page(files, {}, function(page)
  local tables = require("weave.tables")
  local function shown(attributes)
    return testing.html(tables.resolve(testing.div('::: {.table label="Table 3.1" ' .. attributes .. "}\n:::")))
  end
  local html = shown("name=sizes")
  testing.contains("its own caption", html, "<strong>Table 3.1.</strong> Sizes.")
  testing.contains("a column of numbers", html, '<th class="number" scope="col">ms</th>')
  testing.contains("points below each other", html, '<td class="number" style="--digits: 1; --point: 1">2</td>')
  testing.contains("a number", html, '<td class="number">1,365.2</td><td class="brief">x &lt; y</td>')
  testing.contains("pending", html, '<td class="number pending">not yet measured</td>')
  html = shown('name=sizes of="shared"')
  testing.contains("rows of a kernel", html, "shared, as compiled")
  html = shown('name=stalls of="naive"')
  testing.contains("columns of a kernel", html, '<td class="row-name">barrier</td><td class="number">2</td></tr>')
  testing.contains("written in the prose", testing.html(tables.resolve(
    testing.div('::: {.table label="Table 3.2" caption="By hand"}\n| a |\n|---|\n| 1 |\n:::'))), "By hand.")
  testing.contains("its numbers", testing.html(tables.resolve(
    testing.div('::: {.table label="Table 3.2" caption="By hand"}\n|a|b|\n|-|-:|\n|x|1.25|\n|y|0.5|\n:::'))),
    'style="text-align: right; --digits: 1;">0.5</td>')
  testing.contains("configurations are names", shown("name=tuning"), '<td class="row-name">128×64×8</td><td class="number">4</td>')
  html = shown("name=counters")
  testing.contains("rows that differ", html, '<td class="number">2</td><td class="number">0.67</td><td class="reason">it is so</td></tr>')
  testing.contains("a reason once", html, '<td class="number">3</td><td class="number" style="--digits: 1">0.5</td><td class="reason">the same</td></tr>')
  testing.contains("equal rows under a sentence", html, '<summary>2 of 4 counts equal what the hardware counted</summary><table>')
  html = shown("name=repeated")
  testing.contains("a name once", html, '<td class="row-name">tma</td><td class="number">1</td></tr><tr><td class="row-name"><span class="hidden">tma</span></td>')
  page.combined = "epub"
  testing.contains("empty in one document", shown("name=repeated"), '<td class="row-name"></td><td class="number">2</td>')
  page.combined = false
end)

testing.finish()
