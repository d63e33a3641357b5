-- Numbers in the prose: []{.predicted key=…}, []{.counted key=…}, []{.measured key=…}, and formulas, []{.predicted is="…"} (emitted.lua).
-- In: a Span with one of these classes. Out: a link with the number's text to the line that computes, counts or records it, of a formula
-- to the constants; it says on hover, and to the script, what the number is, in full and with its unit. A key that does not exist, or that
-- is of another kind, ends the weave.

local text = require("weave.text")
local page = require("weave.page")
local elements = require("weave.elements")
local emitted = require("weave.emitted")
local origins = require("weave.origins")
local code = require("weave.code")

local kinds = {
  predicted = "predicted: arithmetic, computed by the program",
  counted = "counted: by the SIMT model",
  measured = "measured: on a GPU, recorded",
}

-- The formula on hover, and where the program lists its constants.
local function formula_link(fact, words)
  local file = page.sources[fact.chapter]
  local title = "predicted: a formula over the program's constants (" .. fact.formula .. " = " .. string.format("%.6g", fact.value) ..
    (fact.unit ~= "" and " " .. fact.unit or "") .. fact.with .. ")"
  if page.combined or not file then return pandoc.Span(words, {class = "predicted", title = title}) end
  local program = text.read(page.root .. "/" .. file)
  local _, line = program:sub(1, program:find(".constants = ", 1, true) or 1):gsub("\n", "")
  return pandoc.Link(words, "source/" .. file:match("[^/]+$") .. ".html#L-" .. line + 1, title,
    {class = "predicted number-link", ["data-at"] = file .. ", line " .. line + 1})
end

-- nil for a Span that is no number.
return function(span)
  for kind, meaning in pairs(kinds) do
    if elements.has(span, kind) then
      local a = span.attributes
      local key = a.key or a.is or page.fail("a " .. kind .. " number without key")
      local fact, full
      if a.is then fact = emitted.formula(page.home, a.is, a.decimals, a.unit) else fact, full = emitted.fact(key) end
      if fact.kind ~= kind then page.fail("number " .. key .. " is " .. fact.kind .. ", the prose calls it " .. kind) end
      if fact.formula then return formula_link(fact, {pandoc.Str(fact.text)}) end
      local title = meaning .. " (" .. emitted.in_full(fact, full) .. ")"
      local words = {fact.text:match("^[%w_]+$") and not code.kept(fact.text) and elements.html_inline(code.in_parts(fact.text)) or
        code.is_formula(fact.text) and pandoc.Code(fact.text) or pandoc.Str(text.typeset(fact.text))}
      if fact.text == emitted.unmeasured then return pandoc.Span(words, {class = kind .. " pending", title = title}) end
      local chapter, rest = full:match("^([^/]+)/(.+)$")
      local origin = not page.combined and origins.of(chapter, rest, kind)
      if not origin then return pandoc.Span(words, {class = kind, title = title}) end
      return pandoc.Link(words, origins.address(origin.file, origin.line), title,
        {class = kind .. " number-link", ["data-at"] = origin.file .. ", line " .. origin.line})
    end
  end
end
