-- Text: files, lines, fields separated by tabs, and how text is written in HTML and JSON. Knows nothing of the book.
-- In: paths and texts. Out: texts and lists of them.

local text = {}

-- What a file holds, or nil.
function text.read(path)
  local file = io.open(path, "rb")
  if not file then return nil end
  local whole = file:read("a")
  file:close()
  return whole
end

-- f, which is called once for each key.
function text.remembered(f)
  local known = {}
  return function(key)
    if known[key] == nil then known[key] = f(key) or false end
    return known[key] or nil
  end
end

function text.lines_of(whole)
  local result = {}
  for line in whole:gsub("\r", ""):gsub("([^\n])$", "%1\n"):gmatch("(.-)\n") do result[#result + 1] = line end
  return result
end

-- The fields of a line, which tabs separate.
function text.split(line)
  local fields = {}
  for field in (line .. "\t"):gmatch("(.-)\t") do fields[#fields + 1] = field end
  return fields
end

-- The words of a text, which spaces separate.
function text.words_of(words)
  local list = pandoc.List({})
  for word in words:gmatch("%S+") do list:insert(word) end
  return list
end

-- The same as a set.
function text.set_of(words)
  local set = {}
  for word in words:gmatch("%S+") do set[word] = true end
  return set
end

-- Text as HTML shows it, in attributes as well.
function text.escape(plain)
  return (plain:gsub("&", "&amp;"):gsub("<", "&lt;"):gsub(">", "&gt;"):gsub('"', "&quot;"))
end

-- A number as the programs write it for readers, "1,234,567", with so many decimals; without any, with three significant digits, or none
-- after the point if it is whole (format_number in common/bench/text.cpp).
function text.number(value, decimals)
  local size = math.abs(value)
  decimals = decimals or (value == math.floor(value) or size >= 100) and 0 or size >= 10 and 1 or size >= 1 and 2 or 3
  local whole, rest = string.format("%." .. decimals .. "f", size):match("^(%d+)(.*)$")
  whole = whole:reverse():gsub("%d%d%d", "%0,"):reverse():gsub("^,", "")
  return (value < 0 and "-" or "") .. whole .. rest
end

local superscripts = {["0"] = "⁰", ["1"] = "¹", ["2"] = "²", ["3"] = "³", ["4"] = "⁴", ["5"] = "⁵", ["6"] = "⁶", ["7"] = "⁷", ["8"] = "⁸", ["9"] = "⁹",
  ["-"] = "⁻"}

-- What programs print, which have a keyboard's letters only, as it is set in a book.
function text.typeset(plain)
  if plain:match("^%-[-/ ]*$") then return (plain:gsub("%-", "–")) end  -- cells without a number
  plain = plain:gsub("(%w)'(%l)", "%1’%2"):gsub("s'(%s)", "s’%1"):gsub("(%d) us%f[%A]", "%1 µs"):gsub("^us$", "µs")
  plain = plain:gsub("^x %f[%w]", "×\u{a0}"):gsub("(%d) x %f[%d]", "%1\u{a0}×\u{a0}"):gsub("%f[%w](%u) x %f[%u]", "%1 × ")
  plain = plain:gsub("(%d)e([+-])0*(%d+)%f[%W]", function(digit, sign, power)
    return digit .. " × 10" .. ((sign == "-" and sign or "") .. power):gsub(".", superscripts)
  end)
  plain = plain:gsub("[%w_./-]+", function(word)  -- extents that are one word, "4096x64x4096", but no name that has some
    local extents, stop = word:match("^([1-9]%d*x%d[%dx]*)(%.?)$")
    return extents and extents:gsub("x", "×") .. stop or nil
  end)
  plain = plain:gsub("(%d) (%([%d.]+%))", "%1\u{a0}%2")  -- a number, and another that belongs to it
  return (plain:gsub("[%w.,-]+", function(word)
    local from, to = word:match("^(%d[%d.,]*)%-(%d[%d.,]*)$")
    if from then return from == to and from or from .. "–" .. to end
    return word:match("^%-%d") and "−" .. word:sub(2) or nil
  end))
end

-- Text as a string of JSON that may stand in a <script>.
function text.json_string(plain)
  return '"' .. plain:gsub('[%c"\\<]', function(c) return string.format("\\u%04x", c:byte()) end) .. '"'
end

return text
