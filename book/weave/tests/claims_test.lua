-- Tests of weave/claims.lua; those of the expressions are in expression_test.lua.
local testing = dofile(pandoc.path.directory(PANDOC_SCRIPT_FILE) .. "/testing.lua")
local files = testing.with_labels({
  ["emit/03/facts.tsv"] = "a\tpredicted\t1\t\t1\nb\tcounted\t2\t\t2\nc\tmeasured\t3.04\tms\t3.0\nd\tmeasured\t\t\tnot yet measured\n",
  ["emit/03/above.tsv"] = "shared\tshared was measured at 3, above its ceiling of 2\n",
})
testing.on_page(files, {}, function()
  local claims = require("weave.claims")
  testing.equal("arithmetic", claims.judge("a = 1", "x").kind, "predicted")
  testing.equal("a count among arithmetic", claims.judge("a < b", "x").kind, "counted")
  testing.equal("a time among counts", claims.judge("a < b < c", "x").kind, "measured")
  testing.equal("keys", claims.judge("a <\n c", "x").keys, "03/a = 1, 03/c = 3.04 ms")
  testing.equal("spaces", claims.judge("a <\n c", "x").holds, "a < c")
  testing.equal("pending, whatever the rest says", claims.certainty(claims.judge("b < a and d > 1", "x")), "not yet measured")
  testing.refused("false", 'claim "more": a > b: does not hold, with 03/a = 1, 03/b = 2', claims.judge, "a > b", "more")
  testing.refused("without key", "no key, so nothing is tested", claims.judge, "2 > 1", "x")

  local doc = pandoc.Pandoc(testing.blocks('One [*less*[a note]{.aside}]{.claim holds="a < b"}, and [more]{.claim holds="b > a"}.'))
  local found = claims.number(doc)
  testing.equal("number of claims", #found, 2)
  testing.equal("identifier", found[2].identifier, "claim-03-2")
  testing.equal("words without notes", pandoc.utils.stringify(found[1]), "less")
  local span = claims.resolve(doc.blocks[1].content[3])
  testing.equal("identifier in place", span.identifier, "claim-03-1")
  testing.equal("on hover", span.attributes.title, "claim, counted: a < b  (03/a = 1, 03/b = 2)")
  testing.equal("no claim", claims.resolve(testing.inline("[x]{.aside}")), nil)
  for words, holds in pairs({["3.04"] = "within(c, 3.04, 1%)", ["2"] = "b = 2", ["2.5 percent"] = "c > 1.025 * a", ["`k1.5`"] = "a < b", ["[7.5]{.counted}"] = "a < b",
                             ["at 4096"] = "a < b", ["all 17"] = "a < b", ["0.5 percent, 3.0"] = "c > 3 and a > 0.995"}) do
    testing.equal("words " .. words, claims.resolve(testing.inline("[" .. words .. ']{.claim holds="' .. holds .. '"}')).classes[1], "claim")
  end
  for words, number in pairs({["3.40"] = "3.40", ["30"] = "30", ["4.3 times"] = "4.3", ["2.5 and 7.5 percent"] = "7.5"}) do
    testing.refused(words .. ", of another number", 'claim "' .. words .. '": 1.025 * a < c < 3.041: nothing in it is the ' .. number .. " of the words",
      claims.resolve, testing.inline("[" .. words .. ']{.claim holds="1.025 * a < c < 3.041"}'))
  end
  testing.refused("a claim in a claim", 'claim "more" is part of another', claims.number,
    pandoc.Pandoc(testing.blocks('[much [more]{.claim holds="a < b"}]{.claim holds="a < b"}')))

  testing.refused("above a ceiling", "shared was measured at 3, above its ceiling of 2: explain it in a claim with above=shared",
    claims.check_ceilings)
  claims.resolve(testing.inline('[x]{.claim above=shared holds="a < b"}'))
  claims.check_ceilings()
  claims.resolve(testing.inline('[x]{.claim above=naive holds="a < b"}'))
  testing.refused("below a ceiling", "naive was not measured above a ceiling", claims.check_ceilings)
end)

testing.finish()
