-- Tables: ::: {.table name=NAME [of="KERNEL ..."]} shows a table that a program emitted, or what it has of some
-- kernels; ::: {.table caption="..."} frames a table that the prose has written out.
-- In: a Div, and table-NAME.tsv: a line of caption, a line of heads, then rows. Out: blocks; rows that are "equal" are one sentence, which
-- opens to show them; a name that the row above has as well is not shown again. Numbers of a column have their points below each other.
-- An unknown table, or one that has nothing of a kernel, ends the weave.

local text = require("weave.text")
local page = require("weave.page")
local elements = require("weave.elements")
local emitted = require("weave.emitted")

local tables = {}

local few = 30  -- bytes of a cell that is not broken

local function numeric(cell)
  return cell == "" or cell == "-" or cell == emitted.unmeasured or cell:match("^%-?%d") ~= nil and not cell:match("%d ?x ?%d") and not cell:find("·")
end

-- A table of names and what they mean is as wide as the text, any other may be as wide as a listing.
local function class_for(columns) return "data-table" .. (columns > 2 and " full-width" or "") end

-- The last column of a table may say why the one before it is not "equal".
local function has_reasons(heads) return heads[#heads] == "why" end

-- Of the cells of a column, what each number lacks at its right to have its point below the others': a style, or "".
local function paddings(cells)
  local most, decimals, styles = 0, {}, {}
  for i, words in ipairs(cells) do
    decimals[i] = words:match("^[-−]?%d[%d,]*%.?%d*$") and #(words:match("%.(%d+)$") or "")
    most = math.max(most, decimals[i] or 0)
  end
  for i = 1, #cells do
    local lacks = most - (decimals[i] or most)
    styles[i] = lacks == 0 and "" or "--digits: " .. lacks .. (decimals[i] == 0 and "; --point: 1" or "")
  end
  return styles
end

local function written(div)
  local blocks = pandoc.List(div.content)
  div.content = {}
  for _, body in ipairs(blocks[1].bodies) do
    for i, column in ipairs(blocks[1].colspecs) do
      local cells, words = {}, {}
      for _, row in ipairs(body.body) do
        cells[#cells + 1] = row.cells[i]
        words[#words + 1] = pandoc.utils.stringify(row.cells[i].contents)
      end
      local styles = paddings(words)
      for r, cell in ipairs(cells) do
        if #words[r] <= few then cell.attr.classes:insert(column[1] == "AlignRight" and "number" or "brief") end
        if column[1] == "AlignRight" and styles[r] ~= "" then cell.attr.attributes.style = styles[r] end
      end
    end
  end
  local before = pandoc.List({elements.figure_open(div, class_for(#blocks[1].colspecs)), elements.html("<figcaption>"),
    elements.caption_of(div, pandoc.read(div.attributes.caption, "markdown").blocks[1].content),
    elements.html("</figcaption>" .. elements.scrolling("scroll", div.attributes.label))})
  before:extend(blocks)
  before:insert(elements.html("</div></figure>"))
  return before
end

-- What a table has of some kernels: their columns where kernels head columns, else their rows.
local function of_kernels(heads, rows, name, kernels)
  local wanted, found = text.set_of(kernels), {}
  local columns = pandoc.List({1})
  for i, head in ipairs(heads) do
    if wanted[head] then columns[#columns + 1], found[head] = i, true end
  end
  local kept = pandoc.List(rows)
  if next(found) then
    local function some(row) return columns:map(function(column) return row[column] end) end
    heads, kept = some(heads), kept:map(some)
  else
    kept = kept:filter(function(row)
      local kernel = row[1]:match("^[%w_]+")
      found[kernel] = wanted[kernel]
      return wanted[kernel]
    end)
  end
  for kernel in pairs(wanted) do
    if not found[kernel] then page.fail("table " .. name .. " has nothing of " .. kernel) end
  end
  return heads, kept
end

local function markup(heads, rows)
  local out, right, brief, styles = {"<table><thead><tr>"}, {}, {}, {}
  for i = 1, #heads do
    local column = {}
    right[i], brief[i] = true, true  -- numbers only; words so few that they need not wrap
    for r, row in ipairs(rows) do
      column[r] = text.typeset(row[i])
      right[i], brief[i] = right[i] and numeric(row[i]), brief[i] and #row[i] <= few
    end
    styles[i] = right[i] and paddings(column) or {}
  end
  local function cell(tag, words, i, above, style)
    local reason, shown = i == #heads and has_reasons(heads), text.escape(text.typeset(words))
    local class = reason and "reason" or words == emitted.unmeasured and "number pending" or right[i] and "number" or
      brief[i] and (i == 1 and "row-name" or tag == "td" and "brief") or ""
    if words == above and i == 1 and not right[1] then shown = page.combined and "" or '<span class="hidden">' .. shown .. "</span>" end  -- for the eye once
    if words == above and reason and words ~= "" then shown = "the same" end
    local attributes = class ~= "" and ' class="' .. class .. '"' or ""
    if style and style ~= "" then attributes = attributes .. ' style="' .. style .. '"' end
    out[#out + 1] = "<" .. tag .. attributes .. (tag == "th" and ' scope="col"' or "") .. ">" .. shown .. "</" .. tag .. ">"
  end
  for i, words in ipairs(heads) do cell("th", words, i) end
  out[#out + 1] = "</tr></thead><tbody>"
  for r, row in ipairs(rows) do
    out[#out + 1] = "<tr>"
    for i, words in ipairs(row) do cell("td", words, i, r > 1 and rows[r - 1][i], styles[i][r]) end
    out[#out + 1] = "</tr>"
  end
  out[#out + 1] = "</tbody></table>"
  return table.concat(out)
end

-- Counts that are equal become one sentence, which unfolds to their rows; in one document, where nothing can be opened, the rows are shown.
local function collapsed(heads, rows)
  local equal, others = {}, {}
  for _, row in ipairs(rows) do table.insert(has_reasons(heads) and row[#row - 1] == "equal" and equal or others, row) end
  if #equal == 0 then return markup(heads, rows) end
  local sentence = (#others == 0 and "All " .. #rows or #equal .. " of " .. #rows) .. " counts equal what the hardware counted"
  local rest = #others > 0 and markup(heads, others) or ""
  if page.combined then return "<p>" .. sentence .. ".</p>" .. rest end
  local told = {table.unpack(heads, 1, #heads - 2)}  -- without the columns that say it
  for i, row in ipairs(equal) do equal[i] = {table.unpack(row, 1, #told)} end
  return rest .. '<details class="equal"><summary>' .. sentence .. "</summary>" .. markup(told, equal) .. "</details>"
end

function tables.resolve(div)
  if div.attributes.caption then return written(div) end
  local name = div.attributes.name or page.fail("a table without name or caption")
  local caption, heads, rows = emitted.table(page.home, name)
  if div.attributes.of then heads, rows = of_kernels(heads, rows, name, div.attributes.of) end
  return {elements.figure_open(div, class_for(#heads)), elements.html("<figcaption>"),
          elements.caption_of(div, text.typeset(caption)), elements.html("</figcaption>"),
          elements.html(elements.scrolling("scroll", div.attributes.label) .. collapsed(heads, rows) .. "</div></figure>")}
end

return tables
