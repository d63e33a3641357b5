-- Tests of weave/emitted.lua.
local testing = dofile(pandoc.path.directory(PANDOC_SCRIPT_FILE) .. "/testing.lua")
local files = testing.with_labels({
  ["emit/03/facts.tsv"] = "lines\tcounted\t1365.25\t\t1,365\nresource\tcounted\t\t\tbanks\nms\tmeasured\t2.5\tms\t2.50\nmany\tcounted\t1,365\t\t1,365\n",
  ["emit/01/facts.tsv"] = "lines\tpredicted\t33\t\t33\n",
  ["emit/03/lines.tsv"] = "shared\t12\t1,365\tsector\t1,365 sectors\n",
  ["emit/03/samples.tsv"] = "a\tload-A\tglobal\tA\t4\t0\t7\tload\nab\tload-A\tglobal\tA\t4\t0\t8\tload\n",
  ["emit/03/table-bad.tsv"] = "A caption\na\tb\n1\n",
})
testing.on_page(files, {}, function(page)
  local emitted = require("weave.emitted")
  local fact, full = emitted.fact("lines")
  testing.equal("text", fact.text, "1,365")
  testing.equal("value in full", fact.value, 1365.25)
  testing.equal("kind", fact.kind, "counted")
  testing.equal("key in full", full, "03/lines")
  testing.equal("a text has no value", emitted.fact("resource").value, nil)
  testing.equal("in full", emitted.in_full(emitted.fact("ms")), "03/ms = 2.5 ms")
  testing.equal("a text in full", emitted.in_full(emitted.fact("resource")), "03/resource = banks")
  testing.equal("unit", emitted.fact("ms").unit, "ms")
  testing.equal("of another chapter", emitted.fact("01/lines").value, 33)
  testing.equal("asked for again", emitted.fact("ms").text, "2.50")
  testing.refused("a fact that is none", "emit/03/facts.tsv, line 4: value is '1,365', not number?", emitted.fact, "many")
  local rows = emitted.rows("03", "samples.tsv", "x", {"a", "load-A"})
  testing.equal("rows that begin so", #rows, 1)
  testing.equal("and not those of another whose name begins so", rows[1].word, "7")
  testing.equal("all rows", #emitted.rows("03", "samples.tsv", "x"), 2)
  page.home = "01"
  testing.equal("of the page at home", emitted.fact("lines").value, 33)
  testing.refused("unknown key", "no number has the key 01/nonsense", emitted.fact, "nonsense")
  testing.refused("a number with commas", "emit/03/lines.tsv, line 1: value is '1,365', not number", emitted.rows, "03", "lines.tsv", "x")
  testing.refused("a table with a cell too few", "emit/03/table-bad.tsv, line 3: has 1 cells, not 2", emitted.table, "03", "bad")
  testing.refused("unknown file", "table x: chapter 03 emits no table-x.tsv", emitted.table, "03", "x")
end)

testing.finish()
