-- Claims: [text]{.claim holds="..."} is what the text says of numbers, tested. With above=KERNEL it is the page's explanation
-- of why that kernel was measured above one of its ceilings. (The page of others' claims, claims.md: verdicts.lua.)
-- In: Spans, and above.tsv of the chapter. Out: Spans that say on hover what was tested; for the page of all claims, the claims of
-- a page by themselves. A false claim ends the weave, and so does a kernel above a ceiling that no claim explains.

local page = require("weave.page")
local elements = require("weave.elements")
local emitted = require("weave.emitted")
local expression = require("weave.expression")

local claims = {}

-- What an expression comes to: {pending, kind, holds, keys}, where keys says what each key is now. Its kind is that of its
-- least certain number. A false one fails, as does one that cannot be evaluated; `words` is what the reader is told.
function claims.judge(holds, words)
  holds = holds:gsub("%s+", " ")
  local function refuse(why) page.fail('claim "' .. words .. '": ' .. holds .. ": " .. why) end
  local tree, keys = expression.parse(holds)
  if not tree then refuse(keys) end
  if #keys == 0 then refuse("no key, so nothing is tested") end
  local values, found, shown, pending = {}, {}, {}, false
  for i, key in ipairs(keys) do
    local fact, full = emitted.fact(key)
    values[key] = fact.value or fact.text
    found[fact.kind] = true
    pending = pending or fact.text == emitted.unmeasured
    shown[i] = emitted.in_full(fact, full)
  end
  local verdict = {pending = pending, holds = holds, keys = table.concat(shown, ", "),
                   kind = found.measured and "measured" or found.counted and "counted" or "predicted"}
  if pending then return verdict end
  local result, why = expression.evaluate(tree, values)
  if not result then refuse(why or "does not hold, with " .. verdict.keys) end
  return verdict
end

-- The certainty that a reader is told of: the verdict's kind, unless a GPU has yet to decide.
function claims.certainty(verdict) return verdict.pending and emitted.unmeasured or verdict.kind end

-- Numbers in a text that are neither part of a name nor of a longer number, as they are written.
local function typed_numbers(text)
  local found = {}
  for number in (" " .. text .. " "):gmatch("%f[%w_.,/](%d+%.?%d*)%f[^%w_]") do
    table.insert(found, (number:gsub("%.$", "")))
  end
  return found
end

-- Words and expression say the same number: one with decimals, or all that the words are, stands in the expression as it is, or as a percentage of
-- one or beyond one, as far as it is written.
local function check_typed_numbers(span, words, holds)
  local function left_out() return pandoc.Str("_") end  -- a number by its key is not typed
  local plain = pandoc.utils.stringify(span:walk({Code = left_out, Span = left_out, Link = left_out}))
  local literals = typed_numbers((holds:gsub("[%w_./%-]*[%a_][%w_./%-]*", " ")))
  for _, number in ipairs(typed_numbers(plain)) do
    local decimals = number:match("%.(%d+)")
    local margin, stands = 0.51 * 10 ^ -#(decimals or ""), not decimals and plain ~= number
    for _, literal in ipairs(literals) do
      for _, meant in ipairs({literal, 100 * literal, 100 * math.abs(literal - 1)}) do
        stands = stands or math.abs(meant - number) <= margin
      end
    end
    if not stands then page.fail('claim "' .. words .. '": ' .. holds .. ": nothing in it is the " .. number .. " of the words") end
  end
end

local explained_above = {}

-- nil for a Span that is no claim.
function claims.resolve(span)
  if not elements.has(span, "claim") then return nil end
  if span.attributes.above then explained_above[span.attributes.above] = true end
  local words = pandoc.utils.stringify(span)
  local verdict = claims.judge(span.attributes.holds or page.fail('claim "' .. words .. '" without holds'), words)
  check_typed_numbers(span, words, verdict.holds)
  local title = "claim, " .. claims.certainty(verdict) .. ": " .. verdict.holds .. "  (" .. verdict.keys .. ")"
  local classes = verdict.pending and {"claim", "pending"} or {"claim"}
  return pandoc.Span(span.content, pandoc.Attr(span.identifier, classes, {{"title", title}, {"data-kind", verdict.kind}}))
end

-- A kernel that was measured above one of its ceilings is an error, in the counts, the rates or the idea of the machine,
-- until the page says which. Called once all claims of the page are resolved.
function claims.check_ceilings()
  if not page.is_chapter() then return end
  local above = {}
  for _, row in ipairs(emitted.rows(page.id, "above.tsv", "kernels above their ceilings")) do
    if not explained_above[row.kernel] then page.fail(row.text .. ": explain it in a claim with above=" .. row.kernel) end
    above[row.kernel] = true
  end
  for kernel in pairs(explained_above) do
    if not above[kernel] then
      page.fail(kernel .. " was not measured above a ceiling: the claim with above=" .. kernel .. " explains nothing")
    end
  end
end

-- Names the claims of a page; gives each as a Div with its identifier, its expression and its words.
function claims.number(doc)
  local found = pandoc.List({})
  local function drop_asides(span)
    if elements.has(span, "aside") then return {} end
    if elements.has(span, "claim") then page.fail('claim "' .. pandoc.utils.stringify(span) .. '" is part of another') end
  end
  local numbered = pandoc.walk_block(pandoc.Div(doc.blocks), {Span = function(span)
    if not elements.has(span, "claim") then return nil end
    span.identifier = "claim-" .. page.id .. "-" .. #found + 1
    local words = pandoc.walk_block(pandoc.Plain(span.content), {Span = drop_asides})
    found:insert(pandoc.Div({words}, {id = span.identifier, holds = span.attributes.holds}))
    return span
  end})
  doc.blocks = numbered.content
  return found
end

return claims
