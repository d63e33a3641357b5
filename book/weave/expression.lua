-- The language of claims: what `holds` may say in [text]{.claim holds="..."}. For instance
--   05/unrolled.4096.tflops > 1.3 * 05/block2d.4096.tflops and within(a.cycles, 33, 2%)
--
--   word        a run of letters, digits and . _ + - /  (so put spaces around the operators + - /)
--   number      a word of digits, possibly with a sign, a fraction and an exponent; 2% is 0.02
--   key         any other word: the key of a fact, NN/key for one of chapter NN
--   'text'      for keys whose value is a text: shared.4096.ceiling.resource = 'banks'
--   arithmetic  + - * / ( ) abs(x) floor(x) ceil(x) min(x, ...) max(x, ...)
--   comparison  < <= > >= =, in chains as well: a > b > c
--               = means equal to nine digits, since the values were computed in floating point; <= and >= include that
--   within(a, b, 2%)   |a - b| is at most 2% of |b|; at most 30% may be asked for
--   within(a, b, 0.5)  |a - b| is at most 0.5
--   and         between comparisons
--
-- Of two terms that are compared neither may be the other's copy: whatever is measured, that would hold or not.
--
-- parse(text) gives the expression in Lua, and the list of its keys; evaluate(source, values) gives true or false. parse_formula(text) and
-- value(source, values) do the same for arithmetic alone, a formula of the prose. All give nil and a complaint when they cannot.

local re = re or require("re")  -- the grammars of LPeg, which pandoc brings along

local expression = {}

local widest = 30  -- percent, of a tolerance

local function complain(message) error(message, 0) end

local keys, seen, farthest  -- of the text that is read

-- What the parts of an expression become in Lua.
local lua = {}
function lua.reach(_, position)
  farthest = math.max(farthest, position)
  return true
end
function lua.joined(...) return table.concat({...}, " ") end
function lua.literal(digits) return string.format("%.17g", tonumber(digits)) end
function lua.percent(digits) return string.format("%.17g", tonumber(digits) / 100) end
function lua.quoted(text) return string.format("%q", text) end
function lua.divisor(operand) return "/ divisor(" .. operand .. ")" end
function lua.key(word)
  if not seen[word] then keys[#keys + 1], seen[word] = word, true end
  return 'values["' .. word .. '"]'
end
local function refuse_copy(a, b)
  if a == b then complain("compares a term with itself") end
end
function lua.within(a, b, tolerance)
  refuse_copy(a, b)
  return "within(" .. a .. ", " .. b .. ", " .. tolerance .. ")"
end
function lua.within_percent(a, b, digits)
  if tonumber(digits) > widest then complain("within " .. digits .. "% is true of too much") end
  return lua.within(a, b, lua.percent(digits) .. " * abs(" .. b .. ")")
end
function lua.chain(...)
  local parts = {...}
  for i = 2, #parts, 2 do
    refuse_copy(parts[i - 1], parts[i + 1])
    parts[i] = '"' .. parts[i] .. '"'
  end
  return "chain(" .. table.concat(parts, ", ") .. ")"
end
function lua.all(...) return "all(" .. table.concat({...}, ", ") .. ")" end

local rules = [[
  claim      <- (comparison (space 'and' !letter comparison)*) -> all space !.
  formula    <- sum space !.
  comparison <- (space 'within(' sum comma sum comma space number '%' close) -> within_percent
              / (space 'within(' sum comma sum comma sum close) -> within
              / (sum (space {'<=' / '>=' / [<>=]} sum)+) -> chain
  sum        <- (product (space {[+-] !letter} product)*) -> joined
  product    <- (operand (space {'*'} operand / (space '/' !letter operand) -> divisor)*) -> joined
  operand    <- space ((number '%') -> percent / (number !letter) -> literal / ("'" {[^']*} "'") -> quoted
              / ({'(' / 'abs(' / 'floor(' / 'ceil('} sum close) -> joined
              / ({'min(' / 'max('} sum ({','} sum)* close) -> joined
              / (!('and' !letter) !([+/-] !letter) {letter+} !'(') -> key)
  number     <- {[+-]? %d+ ('.' %d*)? ([eE] [+-]? %d+)?}
  letter     <- [A-Za-z0-9_.+/-]
  comma      <- space ','
  close      <- space {')'}
  space      <- %s* '' => reach
]]
local claim, formula = re.compile(rules, lua), re.compile("start <- formula " .. rules, lua)

local function number(value)
  if type(value) ~= "number" then complain("the text '" .. tostring(value) .. "' is not a number") end
  return value
end

local function equal(a, b)
  if type(a) ~= type(b) then complain("compares a number with a text") end
  return a == b or type(a) == "number" and math.abs(a - b) <= 1e-9 * math.max(math.abs(a), math.abs(b))
end

local compared = {
  ["="] = equal,
  ["<"] = function(a, b) return number(a) < number(b) end,
  [">"] = function(a, b) return number(a) > number(b) end,
  ["<="] = function(a, b) return number(a) < number(b) or equal(a, b) end,
  [">="] = function(a, b) return number(a) > number(b) or equal(a, b) end,
}

local functions = {
  abs = math.abs, min = math.min, max = math.max,
  floor = function(a) return math.floor(a + 1e-9) end, ceil = function(a) return math.ceil(a - 1e-9) end,
  divisor = function(a) return a ~= 0 and a or complain("divides by zero") end,
  within = function(a, b, tolerance) return math.abs(a - b) <= tolerance end,
  chain = function(...)
    local parts, holds = {...}, true
    for i = 2, #parts, 2 do holds = compared[parts[i]](parts[i - 1], parts[i + 1]) and holds end
    return holds
  end,
  all = function(...)
    for _, holds in ipairs({...}) do if not holds then return false end end
    return true
  end,
}

-- What f gives, or nil and why it cannot.
local function guarded(f, ...)
  local done, result, second = pcall(f, ...)
  if done then return result, second end
  return nil, (tostring(result):gsub("^%[string.-%]:%d+: ", ""))
end

local function parse(grammar, text)
  keys, seen, farthest = {}, {}, 1
  local source, rest = grammar:match(text), text:sub(farthest)
  if source then return source, keys end
  local hint = rest:match("^[%w_.+/-]") and " (operators need spaces around them)" or ""
  complain(rest == "" and "it ends too early" or "cannot read " .. rest .. hint)
end

-- An expression in Lua, and its keys in the order in which they occur.
function expression.parse(text) return guarded(parse, claim, text) end
function expression.parse_formula(text) return guarded(parse, formula, text) end

-- Whether the expression holds, given the values of its keys: numbers or texts.
function expression.evaluate(source, values)
  return guarded(load("return " .. source, nil, "t", setmetatable({values = values}, {__index = functions})))
end

-- The number that a formula is, given the values of its keys.
function expression.value(source, values)
  local value, why = expression.evaluate(source, values)
  if value == nil then return nil, why end
  return guarded(number, value)
end

return expression
