-- Figures: ::: {.figure src=FILE.svg alt="..."} puts a drawing into the page, in the page's colours. Several, separated by spaces, stand
-- beside each other where there is room.
-- In: a Div, and the drawing. Out: blocks. A figure that was not drawn, or has no text alternative, ends the weave.

local text = require("weave.text")
local page = require("weave.page")
local elements = require("weave.elements")

local figures = {}

-- gnuplot draws with these sentinel colours; on the page they follow the theme.
local theme_colours = {
  ["#010101"] = "var(--ink)", ["#020202"] = "var(--muted)", ["#030303"] = "var(--accent)",
  ["#040404"] = "var(--second)", ["#050505"] = "var(--third)", ["#060606"] = "var(--rule)",
  ["#070707"] = "var(--fourth)", ["#080808"] = "var(--paper)", ["#090909"] = "var(--axis)",
}

-- For e-readers, which may know no variables.
local plain_colours = {
  ink = "#222222", muted = "#666666", accent = "#1f5f8b", second = "#9a4718", third = "#3f6f2c", rule = "#cccccc",
  fourth = "#7a4a8c", paper = "#ffffff", axis = "#999999",
}

local function themed(svg)
  svg = svg:gsub("rgb%(%s*(%d+),%s*(%d+),%s*(%d+)%)", function(r, g, b)
    return string.format("#%02x%02x%02x", tonumber(r), tonumber(g), tonumber(b))
  end)
  svg = svg:gsub("#0%d0%d0%d", theme_colours)
  svg = svg:gsub("^.-(<svg)", "%1")
  if page.combined == "epub" then svg = svg:gsub("var%(%-%-(%l+)%)", plain_colours) end
  return svg
end

-- A page may have several drawings, each with the same names for its parts.
local function with_unique_ids(svg, prefix)
  return (svg:gsub("(%f[%w]id=[\"'])", "%1" .. prefix):gsub("(href=[\"']#)", "%1" .. prefix):gsub("url%(#", "url(#" .. prefix))
end

-- The parts of a drawing that can stand below each other, each as a drawing, and where it is shown; nil if it has none. In one document, which may be paper, it
-- stays whole.
local function panels_of(svg)
  if page.combined then return nil end
  local found = pandoc.List({})
  for shown, box, body in svg:gmatch("<g class='panel([%a -]*)' data%-box='([%d. ]+)'>(.-)</g>") do
    found:insert({svg = "<svg xmlns='http://www.w3.org/2000/svg' viewBox='" .. box .. "'>" .. body .. "</svg>", shown = shown})
  end
  return #found > 1 and found or nil
end

-- What stands before a panel, its class, and its style: one that begins further down begins a row, one that begins before the panel
-- before it ends lies over that, by so much.
local function place_of(panel, before)
  local x, y = panel:match("viewBox=[\"']([%d.]+) ([%d.]+)")
  local left, top, width = (before or ""):match("viewBox=[\"']([%d.]+) ([%d.]+) ([%d.]+)")
  if left and tonumber(y) > tonumber(top) then return '<i class="row-end"></i>', "", "" end
  local overlap = left and left + width - x or 0
  if overlap <= 0 then return "", "", "" end
  return "", "continued", string.format("; --overlap: %gpx", overlap)
end

local smallest_label = 12  -- pixels
local measure = 560  -- pixels that a column of text is wide: style.css

-- How wide a drawing wants to be, and how wide it must be for its smallest label to be legible, in pixels.
local function widths(svg)
  local natural, smallest = tonumber(svg:match("viewBox=[\"']%S+ %S+ ([%d.]+)")), math.huge
  for size in svg:gmatch("font%-size[=:]%s*[\"']?([%d.]+)") do smallest = math.min(smallest, tonumber(size)) end
  local legible = math.ceil(natural * smallest_label / (smallest < math.huge and smallest or smallest_label))
  return math.max(legible, math.ceil(natural)), legible
end

-- A drawing with attributes, and its widths and the rest of its style, which an EPUB has no use for.
local function with_attributes(svg, attributes, rest)
  local natural, legible = widths(svg)
  local style = page.combined == "epub" and "" or string.format(' style="--natural: %dpx; --legible: %dpx%s"', natural, legible, rest)
  return (svg:gsub("<svg", "<svg" .. (attributes .. style):gsub("%%", "%%%%"), 1))
end

local count = 0

-- A drawing as the page has it.
local function read_drawing(src)
  local svg = text.read(page.work .. "/figures/" .. src) or page.fail("no figure " .. src)
  count = count + 1
  svg = with_unique_ids(themed(svg), "f" .. page.id .. "-" .. count .. "-")
  svg = svg:gsub(">([^<>]*%S[^<>]*)<", function(words) return ">" .. text.typeset(words) .. "<" end)
  if page.combined then svg = svg:gsub("<text class='row%-again'.-</text>", "") end
  return (svg:gsub("<title>.-</title>", ""):gsub("<desc>.-</desc>", ""))
end

-- `class` of the figure: a drawing, unless it is given.
function figures.resolve(div, class)
  local src = div.attributes.src or page.fail("a figure without src")
  local alt = div.attributes.alt or page.fail("figure " .. src .. " has no text alternative")
  local drawings, natural = text.words_of(src):map(function(file) return {svg = read_drawing(file), shown = ""} end), 0
  for _, drawing in ipairs(drawings) do natural = natural + widths(drawing.svg) end
  local svg = drawings[1].svg
  local image = ' role="img" aria-label="' .. text.escape(alt) .. '"'
  local panels = #drawings > 1 and drawings or panels_of(svg)
  if panels then
    local parts = {}
    for i, panel in ipairs(panels) do
      local before, class_of, rest = place_of(panel.svg, #drawings == 1 and i > 1 and panels[i - 1].svg)
      local classes = (class_of .. panel.shown):match("^%s*(.-)%s*$")
      parts[i] = before .. with_attributes(panel.svg, classes ~= "" and ' class="' .. classes .. '"' or "", rest)
    end
    svg = '<div class="panels"' .. image .. ">" .. table.concat(parts) .. "</div>"
  else
    svg = with_attributes(svg, image, "")
  end
  class = (class or "drawing") .. (natural > measure and " full-width" or "")
  return {elements.figure_open(div, class),
          elements.html(elements.scrolling("scroll", div.attributes.label) .. svg .. "</div><figcaption>"),
          elements.caption_of(div), elements.html("</figcaption></figure>")}
end

return figures
