-- Tests of weave/numbers.lua.
local testing = dofile(pandoc.path.directory(PANDOC_SCRIPT_FILE) .. "/testing.lua")
local files = testing.with_labels({
  ["emit/03/facts.tsv"] = "lines\tcounted\t1365.25\t\t1,365\nswizzle\tpredicted\t\t\tcol ^ ((row % 8) << 3)\nms\tmeasured\t\t\tnot yet measured\n",
})
testing.on_page(files, {}, function()
  local number = require("weave.numbers")
  local span = number(testing.inline("[]{.counted key=lines}"))
  testing.equal("text", pandoc.utils.stringify(span), "1,365")
  testing.same("class", span.classes, {"counted"})
  testing.equal("on hover", span.attributes.title, "counted: by the SIMT model (03/lines = 1365.25)")
  testing.same("pending", number(testing.inline("[]{.measured key=ms}")).classes, {"measured", "pending"})
  testing.contains("a formula is program text", testing.html({pandoc.Plain({number(testing.inline("[]{.predicted key=swizzle}"))})}),
    "<code>col ^ ((row % 8) &lt;&lt; 3)</code>")
  testing.equal("no number", number(testing.inline("[x]{.aside}")), nil)
  testing.refused("of another kind", "number lines is counted, the prose calls it measured", number,
    testing.inline("[]{.measured key=lines}"))
  testing.refused("without key", "a predicted number without key", number, testing.inline("[]{.predicted}"))
end)

testing.finish()
