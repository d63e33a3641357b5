-- Tests of weave/emitted.lua.
local testing = dofile(pandoc.path.directory(PANDOC_SCRIPT_FILE) .. "/testing.lua")
local files = testing.with_labels({
  ["emit/03/facts.tsv"] = "lines\tcounted\t1,365\t1365.25\nresource\tcounted\tbanks\t\n",
  ["emit/01/facts.tsv"] = "lines\tpredicted\t33\t33\n",
})
testing.on_page(files, {}, function(page)
  local emitted = require("weave.emitted")
  local fact, full = emitted.fact("lines")
  testing.equal("text", fact.text, "1,365")
  testing.equal("value in full", fact.value, 1365.25)
  testing.equal("kind", fact.kind, "counted")
  testing.equal("key in full", full, "03/lines")
  testing.equal("a text has no value", emitted.fact("resource").value, nil)
  testing.equal("of another chapter", emitted.fact("01/lines").value, 33)
  page.home = "01"
  testing.equal("of the page at home", emitted.fact("lines").value, 33)
  testing.refused("unknown key", "no number has the key 01/nonsense", emitted.fact, "nonsense")
  testing.refused("unknown file", "table x: chapter 03 emits no table-x.tsv", emitted.rows, "03", "table-x.tsv", "table x")
end)

testing.finish()
