-- Tests of weave/text.lua.
local testing = dofile(pandoc.path.directory(PANDOC_SCRIPT_FILE) .. "/testing.lua")
local text = require("weave.text")

testing.same("lines", text.lines_of("a\n\nb\n"), {"a", "", "b"})
testing.same("lines of Windows", text.lines_of("a\r\nb"), {"a", "b"})
testing.same("no lines", text.lines_of(""), {})
testing.same("fields", text.split("a\t\tb"), {"a", "", "b"})
testing.same("an empty last field", text.split("a\t"), {"a", ""})
testing.equal("HTML", text.escape('1 < 2 & "so"'), "1 &lt; 2 &amp; &quot;so&quot;")
testing.equal("JSON in a script", text.json_string('a"</script>\n'), [["a\u0022\u003c/script>\u000a"]])
for plain, set in pairs({
  ["-"] = "–", ["- / -"] = "– / –", ["4096 x 4096"] = "4096\u{a0}×\u{a0}4096", ["M x N x K"] = "M × N × K", ["x 0.67"] = "×\u{a0}0.67", ["x cuBLAS"] = "×\u{a0}cuBLAS", ["x < y"] = "x < y",
  ["0.194-0.198 s"] = "0.194–0.198 s", ["1980-1980"] = "1980", ["NVIDIA H200, 2026-11-21"] = "NVIDIA H200, 2026-11-21", ["16x8-2"] = "16x8-2", ["64x1x4096"] = "64×1×4096",
  ["128x128x16 16x8"] = "128×128×16 16×8", ["0x7632"] = "0x7632", ["tile_4x16"] = "tile_4x16", ["at.64x64.ms"] = "at.64x64.ms", ["at 8x8."] = "at 8×8.",
  ["64x1x4096 (1.02), 512 (0.98)"] = "64×1×4096\u{a0}(1.02), 512\u{a0}(0.98)", ["63.1 (issue slots)"] = "63.1 (issue slots)",
  ["-5%"] = "−5%", ["[-1, 1)"] = "[−1, 1)", ["h200-x"] = "h200-x", ["28 us"] = "28 µs", ["3.39e+38"] = "3.39 × 10³⁸", ["6.1e-05"] = "6.1 × 10⁻⁵",
  ["the model's"] = "the model’s", ["lanes' words"] = "lanes’ words", ["'a' is"] = "'a' is",
}) do
  testing.equal("set in type", text.typeset(plain), set)
end
local words = text.set_of(" two words ")
testing.equal("a word of a set", words.two and words.words, true)
testing.equal("no word of a set", words[""], nil)
testing.equal("no such file", text.read("/nonexistent"), nil)

testing.finish()
