-- Finds, in the prose of a page, results that are typed instead of keyed: a number with a unit, a fraction or thousands. Prints a line for
-- each and ends with status 1 if there is any. Run by pandoc on a page, with the metadata `page`, its id.
--
-- Prose is all text outside code, formulas, numbers by key and claims, the text alternatives of figures included. A question and an
-- exercise claim nothing, a clause with a citation repeats what others found, and [65,536]{.given} is no result but was set: a constant
-- of a program, a version, a goal.

local function set_of(words)
  local set = {}
  for word in words:gmatch("%S+") do set[word] = true end
  return set
end
local units = set_of([[TFLOP/s GFLOP/s GB/s TB/s GHz MHz GFLOP MB GB ms us s W percent times cycle cycles wavefront wavefronts pass passes
  sector sectors request requests register registers instruction instructions lookup lookups]])
local number_words = set_of("two three four five six seven eight nine ten eleven twelve sixteen thirty-two sixty-four hundred thousand")

-- What is not to be read stands for itself as \1, a citation as \2.
local unread, cited = "\1", "\2"

local function unread_text() return pandoc.Str(unread) end

local readable = {
  Code = unread_text, Math = unread_text, Note = function() return pandoc.Str("") end,
  Cite = function() return pandoc.Str(cited) end,
  Link = function(link) return #link.content == 0 and unread_text() or nil end,
  Span = function(span)
    local a = span.attributes
    if a.key or a.is or span.classes:includes("claim") or span.classes:includes("given") then return unread_text() end
    if span.classes:includes("aside") then return {pandoc.Str(". "), pandoc.Span(span.content), pandoc.Str(". ")} end
  end,
}

local function without_exercises(blocks)
  local kept, level = pandoc.List({}), nil
  for _, block in ipairs(blocks) do
    if block.t == "Header" and (not level or block.level <= level) then
      level = pandoc.utils.stringify(block) == "Exercises" and block.level or nil
    end
    if not level then kept:insert(block) end
  end
  return kept
end

-- The typed results of a clause, as they are written.
local function typed_results(clause)
  local found, words = {}, {}
  for word in clause:gmatch("[\1%w][%w,./%%'-]*") do words[#words + 1] = (word:gsub("[.,/']+$", "")) end
  for i, word in ipairs(words) do
    local counted = (word:match("^%d[%d.,]*$") or number_words[word:lower()]) and units[words[i + 1]]
    if counted then
      found[#found + 1] = word .. " " .. words[i + 1]
    elseif word:match("^%d+%.%d") or word:match("^%d+,%d%d%d") or word:match("^%d+%%$") then
      found[#found + 1] = word
    end
  end
  return found
end

local function check(doc)
  local page, count = pandoc.utils.stringify(doc.meta.page), 0
  local passages = {}
  local function take(block) passages[#passages + 1] = (pandoc.utils.stringify(block.content):gsub("’", "'")) end
  local function take_attributes(div)
    for _, name in ipairs({"alt", "caption"}) do passages[#passages + 1] = div.attributes[name] end
  end
  local prose = pandoc.walk_block(pandoc.Div(without_exercises(doc.blocks)), readable)
  pandoc.walk_block(prose, {Para = take, Plain = take, Header = take, Div = take_attributes})
  for _, passage in ipairs(passages) do
    for sentence in (passage .. " "):gsub("([.?!][\"\1)]*)%s", "%1\n"):gmatch("[^\n]+") do
      for clause in (sentence:match("%?[\"\1)]*%s*$") and "" or sentence):gmatch("[^:;]+") do
        for _, result in ipairs(clause:find(cited, 1, true) and {} or typed_results(clause)) do
          count = count + 1
          io.stderr:write("page " .. page .. ': typed result "' .. result .. '" in: ' .. sentence:gsub("[\1\2]", "…") .. "\n")
        end
      end
    end
  end
  if count > 0 then
    io.stderr:write("page " .. page .. ": " .. count .. " findings. Write a result by key; what is none is [65,536]{.given}.\n")
    os.exit(1)
  end
  return pandoc.Pandoc({})
end

return {{Pandoc = check}}
