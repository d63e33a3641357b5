-- Prose: how it is set that was written with a keyboard's letters. In: the inlines of a paragraph, a cell, a caption. Out: the same, set.

local text = require("weave.text")
local page = require("weave.page")

local prose = {}

local function kept(inlines) return pandoc.Span(inlines, pandoc.Attr("", {"kept"})) end
local function words_of(inline) return inline and inline.t == "Str" and inline.text or "" end
local function inline_formula(inline) return inline and inline.t == "Math" and inline.mathtype == "InlineMath" end

-- A formula and the punctuation following it stay on one line, and so does a bracket before it.
function prose.keep_punctuation(inlines)
  for i = #inlines - 1, 1, -1 do
    local marks, rest = words_of(inlines[i + 1]):match("^([,.;:)]+)(.*)$")
    local before, bracket = words_of(inlines[i - 1]):match("^(.-)([(%[]+)$")
    if inline_formula(inlines[i]) then
      if marks then inlines[i], inlines[i + 1] = kept({inlines[i], pandoc.Str(marks)}), pandoc.Str(rest) end
      if bracket then inlines[i - 1], inlines[i] = pandoc.Str(before), kept({pandoc.Str(bracket), inlines[i]}) end
    end
  end
  return inlines
end

-- Between two factors of prose these are operators, and all three stand on one line: a name and its value, too.
local operators = {["x"] = "×", ["-"] = "−", ["+"] = "+", ["="] = "="}

local values = text.set_of("Link Span Math Code")

local function is_factor(inline, pattern) return words_of(inline):match(pattern) or values[inline.t] end
local function may_follow(operator, inline)
  if operator == "=" then return inline.t ~= "Code" and is_factor(inline, "^%d") end
  return is_factor(inline, "^[%d%u(]")
end
-- Whether the first or the last thing of an inline, `edge` 1 or -1, is a formula.
local function is_formula(inline, edge)
  if inline.t ~= "Span" or not inline.classes:includes("kept") then return inline.t == "Math" end
  return inline.content[edge == 1 and 1 or #inline.content].t == "Math"
end
local function is_blank(inline) return inline.t == "Space" or inline.t == "SoftBreak" end

-- A formula that ends with an operator stays with what follows, one that begins with an operator, following {}, with what is before it; the
-- operator has its gaps, so there is no blank.
function prose.join_operators(inlines)
  local function formula(inline, pattern) return inline_formula(inline) and inline.text:match(pattern) end
  local joined, i = pandoc.List({}), 1
  while i <= #inlines do
    local parts = pandoc.List({inlines[i]})
    while true do
      local blank = inlines[i + 1] and is_blank(inlines[i + 1])
      local following = inlines[i + (blank and 2 or 1)]
      local goes_on = blank and (formula(inlines[i], "=%s*$") or formula(following, "^{}%s*\\")) or
        not blank and (formula(inlines[i], "{}%s*$") or formula(following, "^%)"))
      if not following or not goes_on then break end
      parts:insert(following)
      i = i + (blank and 2 or 1)
    end
    joined:insert(#parts == 1 and parts[1] or kept(parts))
    i = i + 1
  end
  return joined
end

-- Prose is written with a keyboard's letters: ranges, minus signs, and "32 x 4", which is set with a cross, on one line.
function prose.typeset(inlines)
  for _, inline in ipairs(inlines) do
    if inline.text == ":::" then page.fail("a fence that is text: indent it as the item that it is in") end
    if inline.t == "Str" and inline.text ~= "us" and inline.text ~= "-" and not inline.text:find("://", 1, true) then
      inline.text = text.typeset(inline.text)
    end
  end
  for i = 3, #inlines do  -- the unit, not the people
    local following = words_of(inlines[i]):match("^us(%p*)$")
    if following and is_blank(inlines[i - 1]) and pandoc.utils.stringify(inlines[i - 2]):match("%d$") then
      inlines[i].text = "µs" .. following
    end
  end
  if #inlines >= 3 and words_of(inlines[1]) == "x" and is_blank(inlines[2]) and inlines[3].t == "Str" then
    inlines[1], inlines[2] = pandoc.Str("×"), pandoc.Str("\u{a0}")  -- "x cuBLAS", in a table's head
  end
  for i = 3, #inlines - 2 do
    local operator = operators[words_of(inlines[i])]
    if operator and is_blank(inlines[i - 1]) and is_blank(inlines[i + 1]) and is_factor(inlines[i - 2], "[%d%u)]$") and
       may_follow(operator, inlines[i + 2]) then
      inlines[i - 1], inlines[i], inlines[i + 1] = pandoc.Str("\u{a0}"), pandoc.Str(operator), pandoc.Str("\u{a0}")
      if is_formula(inlines[i - 2], -1) or is_formula(inlines[i + 2], 1) then  -- beside which a line ends in spite of the blank
        inlines[i + 2] = kept({table.unpack(inlines, i - 2, i + 2)})
        for gone = i - 2, i + 1 do inlines[gone] = pandoc.Str("") end
      end
    end
  end
  for _, inline in ipairs(inlines) do
    if inline.t == "Str" and inline.text == "-" then inline.text = text.typeset(inline.text) end
  end
  return inlines
end

return prose
