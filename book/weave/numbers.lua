-- Numbers in the prose: []{.predicted key=…}, []{.counted key=…}, []{.measured key=…}.
-- In: a Span with one of these classes. Out: a link with the number's text to the line that computes, counts or records it; it says on
-- hover, and to the script, what the number is, in full and with its unit. A key that does not exist, or that is of another kind,
-- ends the weave.

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

-- nil for a Span that is no number.
return function(span)
  for kind, meaning in pairs(kinds) do
    if elements.has(span, kind) then
      local key = span.attributes.key or page.fail("a " .. kind .. " number without key")
      local fact, full = emitted.fact(key)
      if fact.kind ~= kind then page.fail("number " .. key .. " is " .. fact.kind .. ", the prose calls it " .. kind) end
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
