-- Program text as HTML, a line a row: its number in the file, the text in the colours of the writer's highlighter, and what the
-- model counted of it.
-- In: lines, and for each of them a number and a count, or none. Out: markup. One row is one line of the <pre>, so that what a
-- reader copies is the program.

local text = require("weave.text")
local page = require("weave.page")

local code = {}

-- The writer's options, with its highlighter. A fragment has no page around it, but the writer requires a title.
local options = pandoc.WriterOptions(PANDOC_WRITER_OPTIONS)
options.template = pandoc.template.compile("$body$")
local title = {title = "fragment"}

-- The lines of a program text as HTML.
local function coloured_lines(lines)
  local block = pandoc.CodeBlock(table.concat(lines, "\n"), {class = "cuda"})
  local html = pandoc.write(pandoc.Pandoc({block}, title), "html5", options)
  local coloured = pandoc.List({})
  for line in (html:match("<code[^>]*>(.*)</code>") .. "\n"):gmatch("(.-)\n") do
    coloured:insert(line:match('^<span id="[^"]*"><a [^>]*></a>(.*)</span>$') or line)
  end
  for i = #coloured + 1, #lines do coloured[i] = "" end  -- blank lines at the end
  return coloured
end

local function cell(class, markup) return '<span class="' .. class .. '">' .. markup .. "</span>" end

-- A line of markup that a narrow page breaks between words, after "::", "(", "[", "," and "<", and not where a line is indented.
local function breakable(markup)
  local function with_breaks(plain)
    return (plain:gsub("::", "%0<wbr/>"):gsub("[(%[,]", "%0<wbr/>"):gsub("&lt;", "%0<wbr/>"))
  end
  markup = markup:gsub("(<[^>]*>)([^<]*)", function(tag, plain) return tag .. with_breaks(plain) end)
  markup = markup:gsub("^[^<]+", with_breaks):gsub("<wbr/>(</span>%s)", "%1"):gsub("<wbr/>(%s)", "%1"):gsub("<wbr/>(</span>)$", "%1"):gsub("<wbr/>$", "")
  return (markup:gsub("^ +", '<span class="indent">%0</span>'))
end

-- One row. In a book for e-readers, which know no grids, a count stands on a line of its own below the text.
local function row_of(row, markup)
  local classes, counted = row.kind and " " .. row.kind or "", row.count and cell("line-count", text.escape(row.count)) or ""
  if page.combined ~= "epub" then
    return cell("line-number" .. classes, row.number) .. cell("line" .. classes, markup .. "\n") .. counted
  end
  return cell("line-number", row.number) .. " " .. cell("line" .. classes, markup) .. "\n" .. counted .. (row.count and "\n" or "")
end

-- Rows, each {text, number, count, kind}, of which the last two may be nil, in their <pre>; those of an edit break where it is narrow.
function code.program(rows, is_edit)
  local coloured, markup = coloured_lines(rows:map(function(row) return row.text end)), {}
  for i, row in ipairs(rows) do markup[i] = row_of(row, is_edit and breakable(coloured[i]) or coloured[i]) end
  return '<pre class="program' .. (is_edit and " difference" or "") .. '"><code class="sourceCode">' ..
    table.concat(markup) .. "</code></pre>"
end

-- A formula in a line of text as HTML. The writer lets every bracket grow, which there only sets it apart, and gives "mod" gaps besides
-- those that any operator has; and an operator that a formula begins with, "max", has a gap to nothing.
function code.formula_element(math)
  if page.combined == "epub" or math.mathtype ~= "InlineMath" then return nil end
  local html = pandoc.write(pandoc.Pandoc({pandoc.Plain({math})}, title), "html5", options):gsub("%s+$", "")
  html = html:gsub('stretchy="true"', 'stretchy="false"')
  html = html:gsub("(<semantics><mrow>)<mo>(%a+)</mo>", "%1<mi>%2</mi>")
  return pandoc.RawInline("html", (html:gsub("<mspace[^>]*></mspace>(<m[oi])>mod<(/m[oi])><mspace[^>]*></mspace>", "%1>mod<%2>")))
end

local longest_kept = 20  -- columns
local longest_formula = 32

-- Whether a text is a formula for bits of an address: "col ^ ((row >> 2) << 3)", or a swizzle's arguments: "<1, 2, 3>".
function code.is_formula(words)
  return words:find("%^ %(") ~= nil or words:find("%) << ") ~= nil or words:find("^<%d[%d, ]*>$") ~= nil
end

-- Whether a piece of program text in a sentence stays on one line.
function code.kept(words) return #words <= (code.is_formula(words) and longest_formula or longest_kept) end

-- Words of program text that is too long for one line: a line may end after a part of a name or of an address, and not at the hyphens
-- of an option.
function code.in_parts(words)
  return table.concat(text.words_of(words):map(function(word)
    local escaped = text.escape(word)
    if #word <= longest_kept then return word:find("-", 1, true) and '<span class="kept">' .. escaped .. "</span>" or escaped end
    return (escaped:gsub("(%w_+)%f[%w]", "%1<wbr/>"):gsub("::", "%0<wbr/>"):gsub("[/,(]%f[^%s)]", "%0<wbr/>"))
  end), " ")
end

-- Program text in a sentence.
function code.inline(words)
  if code.kept(words) then return '<code class="kept">' .. text.escape(words) .. "</code>" end
  return "<code>" .. code.in_parts(words) .. "</code>"
end

function code.inline_element(inline) return pandoc.RawInline("html", code.inline(inline.text)) end

return code
