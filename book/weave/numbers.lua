-- Numbers in the prose: []{.predicted key=…}, []{.counted key=…}, []{.measured key=…}.
-- In: a Span with one of these classes. Out: a Span with the number's text, which says on hover what it is, in full and with its unit. A key that does
-- not exist, or that is of another kind, ends the weave.

local page = require("weave.page")
local elements = require("weave.elements")
local emitted = require("weave.emitted")

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
      local class = fact.text == emitted.unmeasured and kind .. " pending" or kind
      return pandoc.Span({pandoc.Str(fact.text)}, {class = class, title = meaning .. " (" .. emitted.in_full(fact, full) .. ")"})
    end
  end
end
