-- Tests of the language of claims and formulas.
local testing = dofile(pandoc.path.directory(PANDOC_SCRIPT_FILE) .. "/testing.lua")
local expression = require("weave.expression")
local values = {
  two = 2, three = 3, ["four.4096.tflops"] = 4, zero = 0, tenth = 0.1, ["naive+1.l1_hit"] = 96.5, ["05/loop.LDS.128"] = 64, ["00/a-b"] = 7,
  ["4092.gflop"] = 137.07, resource = "shared wavefronts",
}

-- Whether a claim holds, or part of what is said of it instead.
local function expect(text, wanted)
  local tree, why = expression.parse(text)
  local got
  if tree then got, why = expression.evaluate(tree, values) end
  if type(wanted) == "string" then testing.contains(text, tostring(why), wanted) else testing.equal(text, got, wanted) end
end

for _, text in ipairs({
  "two + three * two = 8", "(two + three) * two = 10", "10 - three - two = 5", "12 / three / two = 2",  -- precedence
  "two + three < 6 and three > two", "two <= 2", "four.4096.tflops > three > two", "two < four.4096.tflops > three",
  "three * tenth = 0.3", "three * tenth <= 0.3", "-2 < zero", "2e1 > 19", "50% * three = 1.5",
  "naive+1.l1_hit = 96.5", "05/loop.LDS.128 / 00/a-b > 9", "4092.gflop > 137", "two*three = 6",  -- keys are words
  "abs(two - three) = 1", "min(three, two, four.4096.tflops) = 2", "max(two, three) = 3", "floor(three / two) = 1", "ceil(three / two) = 2",
  "floor(three * tenth * 10) = 3",
  "within(98, 100, 2%)", "within(-98, -100, 2%)", "within(two, three, 1)", "within(three, four.4096.tflops, 30%) and two < three",
  "resource = 'shared wavefronts'",
}) do expect(text, true) end
for _, text in ipairs({
  "two > three and three > two", "three > two and two > three", "two < 2", "two >= three", "four.4096.tflops > two > three",
  "three < two < four.4096.tflops", "two = 2.000001", "within(97.9, 100, 2%)", "within(100, 102, 1.95%)", "within(two, three, 0.9)",
  "resource = 'L2'",
}) do expect(text, false) end

-- What would hold whatever is measured is refused, and what is malformed says so.
expect("two * three = two*three", "compares a term with itself")
expect("within(two, two, 2%)", "compares a term with itself")
expect("within(two, three, 31%)", "is true of too much")
expect("resource > two", "is not a number")
expect("resource = two", "compares a number with a text")
expect("two", "it ends too early")
expect("two + > three", "cannot read > three")
expect("two -3 = 1", "operators need spaces around them")
expect("(two + three > 4", "cannot read > 4")
expect("two > 1 and", "it ends too early")
expect("two ! three", "cannot read ! three")
expect("median(two, three) > 1", "cannot read median(two")
expect("abs(two, three) = 1", "cannot read , three)")
expect("within(two, three, 1) > 0", "cannot read > 0")
expect("resource + 1 > two", "string")
expect("two > three and two / zero > 1", "divides by zero")

-- Formulas are arithmetic alone; each key once, in the order of the text.
local tree, keys = expression.parse_formula("three + two * max(three, 05/loop.LDS.128)")
testing.equal("a formula", expression.value(tree, values), 131)
testing.same("its keys", keys, {"three", "two", "05/loop.LDS.128"})
testing.contains("a comparison is no formula", select(2, expression.parse_formula("two < three")), "cannot read < three")

testing.finish()
