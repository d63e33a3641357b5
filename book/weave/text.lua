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

-- Whether the file was written, and if not, why.
function text.write(path, whole)
  local file, why = io.open(path, "wb")
  if not file then return false, tostring(why) end
  file:write(whole)
  file:close()
  return true
end

function text.lines_of(whole)
  local result = {}
  for line in (whole:gsub("\r", "") .. "\n"):gmatch("(.-)\n") do result[#result + 1] = line end
  if result[#result] == "" then result[#result] = nil end
  return result
end

-- The fields of a line, which tabs separate.
function text.split(line)
  local fields = {}
  for field in (line .. "\t"):gmatch("(.-)\t") do fields[#fields + 1] = field end
  return fields
end

-- The words of a text, which spaces separate, as a set.
function text.set_of(words)
  local set = {}
  for word in words:gmatch("%S+") do set[word] = true end
  return set
end

-- Text as HTML shows it, in attributes as well.
function text.escape(plain)
  return (plain:gsub("&", "&amp;"):gsub("<", "&lt;"):gsub(">", "&gt;"):gsub('"', "&quot;"))
end

-- Text as a string of JSON that may stand in a <script>.
function text.json_string(plain)
  return '"' .. plain:gsub('[%c"\\<]', function(c) return string.format("\\u%04x", c:byte()) end) .. '"'
end

return text
