-- Tests of the language of claims. Run by pandoc, whose Lua it is: pandoc --from markdown --lua-filter expression_test.lua /dev/null
local expression = dofile(pandoc.path.directory(PANDOC_SCRIPT_FILE) .. "/../expression.lua")

local values = {
  ["two"] = 2, ["three"] = 3, ["four.4096.tflops"] = 4, ["zero"] = 0,
  ["naive+1.l1_hit"] = 96.5, ["05/loop.LDS.128"] = 64, ["00/a-b"] = 7, ["4092.gflop"] = 137.07, ["tenth"] = 0.1,
  ["resource"] = "shared wavefronts",
}
local wrong = 0

local function expect(text, wanted)
  local tree, why = expression.parse(text)
  local got
  if tree then got, why = expression.evaluate(tree, values) end
  local same = type(wanted) == "string" and why ~= nil and why:find(wanted, 1, true) ~= nil
  if got ~= nil then same = got == wanted end
  if not same then
    wrong = wrong + 1
    io.stderr:write(string.format("%s: expected %s, got %s\n", text, tostring(wanted), tostring(got == nil and why or got)))
  end
end

-- Precedence and associativity.
expect("two + three * two = 8", true)
expect("(two + three) * two = 10", true)
expect("10 - three - two = 5", true)
expect("12 / three / two = 2", true)
expect("12 / three * two = 8", true)
expect("two + three < 6 and three > two", true)
expect("two > three and three > two", false)
expect("three > two and two > three", false)
-- Comparisons, in chains as well.
expect("two < 2", false)
expect("two <= 2", true)
expect("two >= three", false)
expect("two <= three", true)
expect("three <= two", false)
expect("four.4096.tflops > three > two", true)
expect("four.4096.tflops > two > three", false)
expect("three < two < four.4096.tflops", false)
expect("two < four.4096.tflops > three", true)
expect("three * tenth = 0.3", true)
expect("three * tenth <= 0.3", true)
expect("two = 2.000001", false)
expect("-2 < zero", true)
expect("2e1 = 20", true)
-- What would hold whatever is measured is refused.
expect("two * three = two*three", "compares a term with itself")
expect("max(two, three) < three < three", "compares a term with itself")
expect("within(two, two, 2%)", "compares a term with itself")
expect("within(two, three, 31%)", "is true of too much")
expect("two < three and three + 0 = three", true)
-- Keys are words: they may hold signs and begin with digits.
expect("naive+1.l1_hit = 96.5", true)
expect("05/loop.LDS.128 = 64", true)
expect("00/a-b = 7", true)
expect("4092.gflop > 137", true)
expect("05/loop.LDS.128 / 00/a-b > 9", true)
expect("two*three = 6", true)
-- Functions.
expect("abs(two - three) = 1", true)
expect("min(three, two, four.4096.tflops) = 2", true)
expect("max(two, three) = 3", true)
-- Tolerance: relative to the second argument if in percent, else absolute; the bound itself counts.
expect("within(98, 100, 2%)", true)
expect("within(97.9, 100, 2%)", false)
expect("within(102, 100, 2%)", true)
expect("within(100, 102, 1.95%)", false)
expect("within(-98, -100, 2%)", true)
expect("within(two, three, 1)", true)
expect("within(two, three, 0.9)", false)
expect("within(three, four.4096.tflops, 30%) and two < three", true)
expect("50% * three = 1.5", true)
-- Texts.
expect("resource = 'shared wavefronts'", true)
expect("resource = 'L2'", false)
expect("resource > two", "is not a number")
expect("resource = two", "compares a number with a text")
expect("resource + 1 = two", "is not a number")
-- What is malformed says so.
expect("", "expected a number or a key before the end")
expect("two", "expected a comparison before the end")
expect("two <", "expected a number or a key before the end")
expect("two + > three", "expected a number or a key before >")
expect("two -3 = 1", "operators need spaces around them")
expect("two three > 1", "operators need spaces around them")
expect("(two + three > 4", "expected ) before >")
expect("two > 1 and", "expected a number or a key before the end")
expect("two ! three", "cannot read !")
expect("median(two, three) > 1", "there is no function median")
expect("within(two, three)", "2 is the wrong number of arguments for within")
expect("abs(two, three) = 1", "2 is the wrong number of arguments for abs")
expect("within(two, three, 1) > 0", "a comparison is not a number")
expect("two / zero > 1", "divides by zero")
expect("two > three and two / zero > 1", "divides by zero")

-- Each key once, in the order of the text.
local _, keys = expression.parse("three > two and max(three, 05/loop.LDS.128) > 1")
if table.concat(keys, " ") ~= "three two 05/loop.LDS.128" then
  wrong = wrong + 1
  io.stderr:write("keys: " .. table.concat(keys, " ") .. "\n")
end

if wrong > 0 then os.exit(1) end
