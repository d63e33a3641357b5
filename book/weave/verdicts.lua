-- The page "All claims": what others claimed, settled; how many rows of each chapter have which verdict; every claim of the book.
-- In: ::: {.settled of=NN verdict=... at="#label ..." holds="..." tests="..." experiments="..."}, whose first paragraph says what was
-- claimed (what is true instead, or what was tried, follows), .tally and .all-claims, the claims that the first pass found on each page, and
-- the CTest entries of every test program. Out: blocks; the rows of a chapter are folded under a line that counts them, and have addresses.
-- A row that nothing settles ends the weave.

local text = require("weave.text")
local page = require("weave.page")
local elements = require("weave.elements")
local claims = require("weave.claims")
local experiments = require("weave.experiments")
local references = require("weave.references")

local verdicts = {}

local names = pandoc.List({"confirmed", "corrected", "open"})
local tally, chapters = {}, {}  -- chapter -> verdict -> rows; the chapters in order
local shown = {}  -- chapter -> rows that are on the page already

local function is_row(block) return block.t == "Div" and elements.has(block, "settled") end

-- Counts the rows of a page, before any of them is resolved.
function verdicts.count(blocks)
  for _, block in ipairs(blocks) do
    if is_row(block) then
      local words = pandoc.utils.stringify(block.content[1])
      local chapter = block.attributes.of or page.fail('"' .. words .. '" is of no chapter')
      if not tally[chapter] then tally[chapter], chapters[#chapters + 1] = {}, chapter end
      local verdict = block.attributes.verdict or page.fail('"' .. words .. '" has no verdict')
      tally[chapter][verdict] = (tally[chapter][verdict] or 0) + 1
    end
  end
end

local function counted(n, word) return n .. " " .. word .. (n == 1 and "" or "s") end

-- Rows that stand together, which are of one chapter, folded under how many have which verdict.
function verdicts.fold(blocks)
  local out, rows = pandoc.List({}), pandoc.List({})
  local function close()
    if #rows == 0 then return end
    local kinds = tally[rows[1].attributes.of]
    local of_each = names:filter(function(verdict) return kinds[verdict] end)
    of_each = of_each:map(function(verdict) return kinds[verdict] .. "\u{a0}" .. verdict end)
    out:extend(elements.folded(rows, counted(#rows, "finding") .. ": " .. table.concat(of_each, ", ")))
    rows = pandoc.List({})
  end
  for _, block in ipairs(blocks) do
    if not is_row(block) then close() end
    (is_row(block) and rows or out):insert(block)
  end
  close()
  return out
end

function verdicts.tally_table()
  local function cells(f) return table.concat(names:map(f)) end
  local out = '<table><thead><tr><th scope="col">chapter</th>' ..
    cells(function(verdict) return '<th scope="col" class="number">' .. verdict .. "</th>" end) .. "</tr></thead><tbody>"
  for _, chapter in ipairs(chapters) do
    out = out .. "<tr><td>" .. chapter .. "</td>" ..
      cells(function(verdict) return '<td class="number">' .. (tally[chapter][verdict] or 0) .. "</td>" end) .. "</tr>"
  end
  return elements.html(out .. "</tbody></table>")
end

local function require_test(name)
  local entries = text.read(page.tests .. "/" .. (name:match("^(.+)%.") or "") .. ".cmake") or ""
  if not entries:find("add_test([=[" .. name .. "]=]", 1, true) then page.fail("no test is called " .. name) end
end

-- What an expression is, of which kind, and what its keys are now.
local function shown_expression(verdict)
  return {pandoc.Str(claims.certainty(verdict) .. ": "), pandoc.Code(verdict.holds), pandoc.Str(" with "), pandoc.Code(verdict.keys)}
end

-- What settles a row: a list of inlines for each expression, test and experiment.
local function evidence(div, chapter, words)
  local a, found = div.attributes, pandoc.List({})
  if a.holds then found:insert(shown_expression(claims.judge(a.holds, words))) end
  for _, name in ipairs(text.words_of(a.tests or "")) do
    require_test(name)
    found:insert({pandoc.Str("test "), pandoc.Code(name)})
  end
  for _, name in ipairs(text.words_of(a.experiments or "")) do
    experiments.require(chapter, name)
    found:insert({pandoc.Str("experiment "), pandoc.Link(pandoc.Str(name), page.address("break-" .. chapter .. "-" .. name, chapter))})
  end
  return found
end

local function places(div, words)
  local found = pandoc.List({pandoc.Str("in ")})
  for id in (div.attributes.at or page.fail('where is "' .. words .. '" settled?')):gmatch("#(%S+)") do
    local label = page.label(id)
    if #found > 1 then found:insert(pandoc.Str(", ")) end
    found:insert(references.named(label.text, page.address(id, label.page)))
  end
  return found
end

function verdicts.settled(div)
  local words = pandoc.utils.stringify(div.content[1])
  local chapter, verdict = div.attributes.of, div.attributes.verdict
  if not page.info[chapter] then page.fail("no page is called " .. chapter) end
  if not names:includes(verdict) then
    page.fail('"' .. words .. '" has no verdict ' .. table.concat(names, ", ") .. ", but " .. verdict)
  end
  local found = evidence(div, chapter, words)
  if verdict ~= "open" and #found == 0 then page.fail('nothing settles "' .. words .. '"') end
  if verdict ~= "confirmed" and #div.content < 2 then
    page.fail((verdict == "open" and "what was tried" or "what is true instead") .. ' is missing: "' .. words .. '"')
  end
  found:insert(1, places(div, words))
  local lines = pandoc.List({})
  for i, line in ipairs(found) do
    if i > 1 then lines:insert(pandoc.LineBreak()) end
    lines:extend(line)
  end
  shown[chapter] = (shown[chapter] or 0) + 1
  local id = "finding-" .. chapter .. "-" .. shown[chapter]
  div.content:insert(pandoc.Div({pandoc.Para(lines)}, {class = "evidence"}))
  return elements.within('<section class="settled ' .. verdict .. '" id="' .. id .. '"><p class="verdict">' .. verdict ..
    ' <a class="permalink" href="#' .. id .. '" aria-label="link to this finding">#</a></p><div>', div.content, "</div></section>")
end

-- Every .claim of a page, in the words of that page; `resolved` turns its numbers and links into what is shown.
local function claims_of(id, resolved)
  page.home = id:match("^notebook%-(%d+)$") or id
  local items = pandoc.List({})
  local found = text.read(page.work .. "/labels/" .. id .. ".claims.json") or page.fail("no claims of page " .. id)
  for _, div in ipairs(pandoc.read(found, "json").blocks) do
    local words = resolved(div).content[1]
    local verdict = claims.judge(div.attributes.holds or "", pandoc.utils.stringify(words))
    local link = pandoc.Link(pandoc.Str("¶"), page.address(div.identifier, id), "to this place",
      {id = "of-" .. div.identifier, ["aria-label"] = "to this place"})
    local inlines = pandoc.List({link, pandoc.Space()})
    inlines:extend(words.content)
    items:insert({pandoc.Plain(inlines .. {pandoc.Space(), pandoc.Span(shown_expression(verdict), {class = "evidence"})})})
  end
  page.home = page.id
  return items
end

-- On paper and in an EPUB, where nobody follows a link to the words, they are only counted.
function verdicts.all_claims(resolved)
  local blocks, number = pandoc.List({}), 0
  for _, id in ipairs(page.all) do
    local items = claims_of(id, resolved)
    number = number + #items
    if #items > 0 and not page.combined then
      blocks:insert(pandoc.Header(2, {pandoc.Str(page.full_title(id))}, {id = "claims-of-" .. id}))
      blocks:extend(elements.folded({pandoc.Div({pandoc.BulletList(items)}, {class = "all-claims"})}, counted(#items, "claim")))
    end
  end
  local where = page.combined and "the book's HTML lists them, with the values of their keys." or "here they are, with the values of their keys."
  blocks:insert(1, pandoc.Para(pandoc.Inlines({pandoc.Str("There are " .. counted(number, "such expression") .. ": " .. where)})))
  return blocks
end

return verdicts
