-- Tests of weave/prose.lua.
local testing = dofile(pandoc.path.directory(PANDOC_SCRIPT_FILE) .. "/testing.lua")
local prose = require("weave.prose")

local kept = "\u{a0}"
local function set(markdown)
  return pandoc.utils.stringify(prose.typeset(pandoc.read(markdown).blocks[1].content))
end
for written, expected in pairs({
  ["a tile of 32 x 4 words"] = "a tile of 32_×_4 words", ["2 x (16 + 8)"] = "2_×_(16_+_8)", ["`BK` = 8, $k$ = 4"] = "BK_=_8, k_=_4", ["x cuBLAS"] = "×_cuBLAS", ["an x here"] = "an x here",
  ["tile $t$ + `STAGES` - 1 is"] = "tile t_+_STAGES_−_1 is", ["from 3 - to 4"] = "from 3 – to 4",
  ["8 us and us"] = "8 µs and us", ["[64]{.claim} - 8"] = "64_−_8", ["at 64x1x8."] = "at 64×1×8.",
}) do
  testing.equal("set in type", set(written), expected:gsub("_", kept))
end
local formula = prose.typeset(pandoc.read("of tile $t$ + `STAGES` - 1 is").blocks[1].content)
testing.equal("a formula and its operator", pandoc.utils.stringify(formula[9]), (("t_+_STAGES"):gsub("_", kept)))
local joined = prose.join_operators(pandoc.read("column [18]{.predicted} ${} \\oplus 4 \\cdot 2 =$ 26, where $a =$ 1").blocks[1].content)
testing.equal("a formula that continues is joined", pandoc.utils.stringify(joined[3]), "18{} \\oplus 4 \\cdot 2 =26,")
testing.equal("and kept", joined[3].classes[1], "kept")
testing.equal("what comes behind is not", pandoc.utils.stringify(joined[5]), "where")
testing.equal("without a blank", #joined[7].content, 2)
joined = prose.join_operators(pandoc.read("byte $(8 + {}$[2]{.predicted}$) \\cdot 4$").blocks[1].content)
testing.equal("a formula with a number in it", #joined[3].content, 3)
local marked = prose.keep_punctuation(pandoc.read("where $x$, too").blocks[1].content)
testing.equal("a formula and its comma", marked[3].classes[1], "kept")
testing.equal("together", pandoc.utils.stringify(marked[3]), "x,")
local bracketed = prose.keep_punctuation(pandoc.read("of ($x$, $y$)").blocks[1].content)
testing.equal("a bracket before a formula", bracketed[4].classes[1], "kept")
testing.equal("and what is in it", pandoc.utils.stringify(bracketed[4]), "(x,")
testing.equal("of which the text loses nothing", pandoc.utils.stringify(bracketed), "of (x, y)")

testing.finish()
