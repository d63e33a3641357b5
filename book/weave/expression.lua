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
-- parse(text) gives a tree and the list of its keys; evaluate(tree, values) gives true or false. parse_formula(text) and value(tree,
-- values) do the same for arithmetic alone, a formula of the prose. All give nil and a complaint when they cannot.

local expression = {}

local operators = {["<="] = true, [">="] = true, ["<"] = true, [">"] = true, ["="] = true,
                   ["("] = true, [")"] = true, [","] = true, ["*"] = true}
local comparisons = {["<"] = true, ["<="] = true, [">"] = true, [">="] = true, ["="] = true}

local function complain(message) error({complaint = message}, 0) end

local function number_of(word)
  local digits, percent = word:match("^([+-]?%d+%.?%d*)(%%?)$")
  digits = digits or word:match("^[+-]?%d+%.?%d*[eE][+-]?%d+$")
  if digits then return {kind = "number", value = percent == "%" and tonumber(digits) / 100 or tonumber(digits), percent = percent == "%"} end
end

local function tokens_of(text)
  local tokens, at = {}, 1
  while true do
    at = text:match("^%s*()", at)
    if at > #text then break end
    local word = text:match("^[%w_.+/-]+%%?", at)
    local quoted = text:match("^'[^']*'", at)
    local sign = text:match("^[<>]=", at) or text:sub(at, at)
    local token
    if quoted then
      token, at = {kind = "text", value = quoted:sub(2, -2)}, at + #quoted
    elseif word == "+" or word == "-" or word == "/" then
      token, at = {kind = word}, at + 1
    elseif word then
      token, at = number_of(word) or {kind = word == "and" and "and" or "word", value = word}, at + #word
    elseif operators[sign] then
      token, at = {kind = sign}, at + #sign
    else
      complain("cannot read " .. sign)
    end
    token.shown = token.value and tostring(quoted or word) or token.kind
    tokens[#tokens + 1] = token
  end
  tokens[#tokens + 1] = {kind = "end", shown = "the end"}
  return tokens
end

local widest = 0.3  -- tolerance, of a number
local arguments_of = {abs = {1, 1}, floor = {1, 1}, ceil = {1, 1}, min = {1, math.huge}, max = {1, math.huge}, within = {3, 3}}

-- A term in words, the same for the same one however it is spaced.
local function written(node)
  local inner = {}
  for i, part in ipairs(node) do inner[i] = written(part) end
  return node.kind .. " " .. tostring(node.value or "") .. "(" .. table.concat(inner, ", ") .. ")"
end

local function refuse_copy(a, b)
  if written(a) == written(b) then complain("compares a term with itself") end
end

-- A recursive descent: conjunction > comparison > sum > product > operand; a formula is a sum.
local function parse(text, is_formula)
  local tokens, at, keys, seen = tokens_of(text), 1, {}, {}
  local sum
  local function next_is(kind) return tokens[at].kind == kind end
  local function missing(what)
    local hint = (next_is("word") or next_is("number")) and " (operators need spaces around them)" or ""
    complain("expected " .. what .. " before " .. tokens[at].shown .. hint)
  end
  local function expect(kind)
    if not next_is(kind) then missing(kind) end
    at = at + 1
  end
  local function call(name)
    local fewest, most = table.unpack(arguments_of[name] or complain("there is no function " .. name))
    local node = {kind = name}
    repeat
      at = at + 1
      node[#node + 1] = sum()
    until not next_is(",")
    expect(")")
    if #node < fewest or #node > most then complain(#node .. " is the wrong number of arguments for " .. name) end
    if name == "within" then
      refuse_copy(node[1], node[2])
      if node[3].percent and node[3].value > widest then complain(string.format("within %g%% is true of too much", 100 * node[3].value)) end
    end
    return node
  end
  local function operand()
    local token = tokens[at]
    if token.kind == "number" or token.kind == "text" then
      at = at + 1
      return token
    elseif token.kind == "word" then
      at = at + 1
      if next_is("(") then return call(token.value) end
      if not seen[token.value] then keys[#keys + 1], seen[token.value] = token.value, true end
      return {kind = "key", value = token.value}
    elseif token.kind == "(" then
      at = at + 1
      local node = sum()
      expect(")")
      return node
    end
    missing("a number or a key")
  end
  local function chain_of(inner, signs)
    local node = inner()
    while signs[tokens[at].kind] do
      local sign = tokens[at].kind
      at = at + 1
      node = {kind = sign, node, inner()}
    end
    return node
  end
  local function product() return chain_of(operand, {["*"] = true, ["/"] = true}) end
  function sum() return chain_of(product, {["+"] = true, ["-"] = true}) end
  local function comparison()
    local node = {kind = "compare", signs = {}, sum()}
    while comparisons[tokens[at].kind] do
      node.signs[#node.signs + 1] = tokens[at].kind
      at = at + 1
      node[#node + 1] = sum()
      refuse_copy(node[#node - 1], node[#node])
    end
    if #node.signs == 0 then
      if node[1].kind ~= "within" then missing("a comparison") end
      return node[1]
    end
    return node
  end
  local tree = is_formula and sum() or {kind = "and", comparison()}
  while next_is("and") and not is_formula do
    at = at + 1
    tree[#tree + 1] = comparison()
  end
  if not next_is("end") then missing("an operator") end
  return tree, keys
end

local function equal(a, b)
  if type(a) ~= type(b) then complain("compares a number with a text") end
  return a == b or type(a) == "number" and math.abs(a - b) <= 1e-9 * math.max(math.abs(a), math.abs(b))
end

local function number(value)
  if type(value) ~= "number" then complain("the text '" .. tostring(value) .. "' is not a number") end
  return value
end

local function compared(a, sign, b)
  if sign == "=" then return equal(a, b) end
  number(a)
  number(b)
  if sign == "<" then return a < b end
  if sign == ">" then return a > b end
  return equal(a, b) or (sign == "<=") == (a < b)
end

local functions = {
  ["+"] = function(a, b) return a + b end,
  ["-"] = function(a, b) return a - b end,
  ["*"] = function(a, b) return a * b end,
  ["/"] = function(a, b) return b ~= 0 and a / b or complain("divides by zero") end,
  abs = math.abs, min = math.min, max = math.max,
  floor = function(a) return math.floor(a + 1e-9) end, ceil = function(a) return math.ceil(a - 1e-9) end,
  within = function() complain("a comparison is not a number") end,
}

local function value_of(node, values)
  if node.kind == "number" or node.kind == "text" then return node.value end
  if node.kind == "key" then return values[node.value] end
  local arguments = {}
  for i, inner in ipairs(node) do arguments[i] = number(value_of(inner, values)) end
  return functions[node.kind](table.unpack(arguments))
end

local function holds(node, values)
  if node.kind == "and" then
    local all = true
    for _, inner in ipairs(node) do all = holds(inner, values) and all end  -- evaluates all: a complaint must not hide
    return all
  elseif node.kind == "within" then
    local a, b = number(value_of(node[1], values)), number(value_of(node[2], values))
    local tolerance = number(value_of(node[3], values))
    return math.abs(a - b) <= (node[3].percent and tolerance * math.abs(b) or tolerance)
  end
  local all = true
  for i, sign in ipairs(node.signs) do
    all = compared(value_of(node[i], values), sign, value_of(node[i + 1], values)) and all
  end
  return all
end

-- Calls f; a complaint becomes nil and the second result.
local function guarded(f, ...)
  local results = table.pack(pcall(f, ...))
  if results[1] then return table.unpack(results, 2, results.n) end
  local why = results[2]
  if type(why) ~= "table" then error(why, 0) end
  return nil, why.complaint
end

-- The tree of an expression, and its keys in the order in which they occur.
function expression.parse(text) return guarded(parse, text) end
function expression.parse_formula(text) return guarded(parse, text, true) end

-- Whether the expression holds, given the values of its keys: numbers or texts.
function expression.evaluate(tree, values) return guarded(holds, tree, values) end

-- The number that a formula is, given the values of its keys.
function expression.value(tree, values) return guarded(function() return number(value_of(tree, values)) end) end

return expression
