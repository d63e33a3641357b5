-- Finds, in the prose of a page, results that are typed instead of keyed, and words that compare without a test.
-- Prints a line for each and ends with status 1 if there is any. Run by pandoc on a page, with metadata
--   page         this page's id
--   pages        all page ids, separated by spaces
--   exceptions   a file of reviewed exceptions, a line each: page, phrase and reason, separated by tabs. A finding within such
--                a phrase is none; an exception without any finding is an error itself.
--
-- Prose is all text outside code, formulas, keyed numbers and claims, the text alternatives of figures included. A question
-- claims nothing, nor does an exercise; and a clause with a citation repeats what others found.

-- Units of results: a number before one of these, and any number with a fraction or with thousands, is a result.
local units = [[TFLOP/s GFLOP/s GB/s TB/s GHz MHz GFLOP MB GB ms us s W percent times cycle cycles wavefront wavefronts
  pass passes sector sectors request requests register registers instruction instructions lookup lookups]]
local number_words = [[two three four five six seven eight nine ten eleven twelve sixteen thirty-two sixty-four hundred thousand]]

-- Words that compare, wherever they stand ...
local comparatives = [[more less fewer most least mostly only nearly almost roughly approximately hardly barely exactly identical
  faster slower larger smaller bigger higher lower greater longer shorter better worse cheaper closer wider narrower deeper
  fastest slowest largest smallest biggest highest lowest greatest longest shortest best worst tightest
  half halves halved twice double doubles doubled equal equals exceeds rises falls increases decreases]]
-- ... but for these phrases, and the ones that must go on (or begin) in a certain way.
local idioms = {"no longer", "once more", "any more", "what is more", "not only", "if only", "only if", "only when",
  "lower left", "lower right"}
local after_share = [[of less more fewer as faster slower higher lower larger smaller to at and or]]
local as_idioms = {well = true, soon = true, long = true, far = true, is = true}
local counted_nouns = [[number numbers count counts time times speed rate throughput cost costs requests sectors wavefronts
  instructions ceiling registers]]

local function set_of(text)
  local set = {}
  for word in text:gmatch("%S+") do set[word] = true end
  return set
end
units, number_words, comparatives = set_of(units), set_of(number_words), set_of(comparatives)
counted_nouns, after_share = set_of(counted_nouns), set_of(after_share)
local places = set_of("is are was were lie lies far well stays")
local share_begins = set_of("a one two three")

-- Prose as text ---------------------------------------------------------------------------------------------------
-- What is not to be read stands between \1 and \2; a \3 begins the place of a citation.
local opaque, opaque_end, cited = "\1", "\2", "\3"

local passages = {}  -- all texts of the page, in order

local text_of

local function opaque_text(text) return opaque .. text:gsub("[\1\2\3]", "") .. opaque_end end

local function inline_text(inline)
  if inline.t == "Str" then return (inline.text:gsub("’", "'")) end
  if inline.t == "Space" or inline.t == "SoftBreak" or inline.t == "LineBreak" then return " " end
  if inline.t == "Code" then return opaque_text("`" .. inline.text .. "`") end
  if inline.t == "Math" then return opaque_text("$" .. inline.text .. "$") end
  if inline.t == "Cite" then return cited .. opaque_text(pandoc.utils.stringify(inline.content)) end
  if inline.t == "Span" then
    local classes = inline.classes
    if classes:includes("claim") then return opaque_text(text_of(inline.content)) end
    if classes:includes("aside") then
      passages[#passages + 1] = text_of(inline.content)
      return ""
    end
    if inline.attributes.key then return opaque_text("[" .. inline.attributes.key .. "]") end
  end
  if inline.t == "Note" then return "" end  -- its blocks are visited by themselves
  if inline.t == "Quoted" then return '"' .. text_of(inline.content) .. '"' end
  if inline.t == "Link" and #inline.content == 0 then return opaque_text(inline.target) end
  return inline.content and text_of(inline.content) or ""
end

function text_of(inlines)
  local parts = {}
  for i, inline in ipairs(inlines) do parts[i] = inline_text(inline) end
  return table.concat(parts)
end

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

local function gather(doc)
  local function take(block) passages[#passages + 1] = text_of(block.content) end
  local function attributes(div)
    for _, name in ipairs({"alt", "caption"}) do passages[#passages + 1] = div.attributes[name] end
  end
  pandoc.walk_block(pandoc.Div(without_exercises(doc.blocks)), {Para = take, Plain = take, Header = take, Div = attributes})
end

-- Clauses and their findings -----------------------------------------------------------------------------------------
-- Replaces what is not to be read, so that positions stay.
local function readable(text)
  return (text:gsub("\1[^\2]*\2", function(hidden) return opaque .. string.rep(" ", #hidden - 2) .. opaque_end end))
end

local function shown(text) return (text:gsub("[\1\2\3]", ""):gsub("%s+", " "):gsub("^ ", ""):gsub(" $", "")) end

-- Sentences of a passage: {from, to} positions.
local function sentences_of(text)
  local found, from = {}, 1
  for stop in readable(text):gmatch("[.?!][\"\2)]*()%s") do
    found[#found + 1] = {from, stop - 1}
    from = stop
  end
  found[#found + 1] = {from, #text}
  return found
end

-- The words of a text with their positions; an opaque part is the word "\1".
local function words_of(text)
  local words = {}
  for from, word in readable(text):gmatch("()([\1%w][%w,./%%'-]*)") do
    local bare = word:gsub("[.,/']+$", "")
    words[#words + 1] = {text = bare, lower = bare:lower(), from = from, to = from + #bare - 1, stops = #bare < #word}
  end
  return words
end

local function is_number(word)
  return word ~= nil and (word.text:match("^%d[%d.,]*$") ~= nil or number_words[word.lower] ~= nil)
end

-- A finding is {from, to, what}.
local function typed_numbers(words)
  local found = {}
  for i, word in ipairs(words) do
    local following = words[i + 1] and words[i + 1].text
    local result = word.text:match("^%d+%.%d") or word.text:match("^%d+,%d%d%d") or word.text:match("^%d+%%$")
    if result then
      found[#found + 1] = {word.from, word.to, "typed result"}
    elseif is_number(word) and following and units[following] then
      found[#found + 1] = {word.from, words[i + 1].to, "typed result"}
    end
  end
  return found
end

-- Whether words[i] compares; if so, the last word of it.
local function compares(words, i)
  local function lower(offset) return words[i + offset] and words[i + offset].lower or "" end
  local word = lower(0)
  local quantity = lower(1) == opaque or is_number(words[i + 1])
  if comparatives[word] then
    for _, idiom in ipairs(idioms) do
      if idiom == lower(-1) .. " " .. word or idiom == word .. " " .. lower(1) then return nil end
    end
    local bound = (word == "most" or word == "least") and lower(-1) == "at" and lower(1) == opaque
    return not bound and i or nil
  elseif word == "third" or word == "thirds" or word == "quarter" or word == "quarters" then
    local ends = words[i].stops or lower(1) == "" or after_share[lower(1)]  -- else an ordinal: a third path
    return share_begins[lower(-1)] and ends and i or nil
  elseif word == "about" then
    return (quantity or lower(1) == "a" or lower(1) == "as" or lower(1) == "one" or lower(1) == "half") and i + 1 or nil
  elseif word == "within" then
    for offset = 1, 4 do
      if lower(offset) == "percent" then return i + offset end
    end
  elseif word == "as" and (lower(2) == "as" or lower(-1) == "times") then
    return not as_idioms[lower(1)] and i + (lower(2) == "as" and 2 or 1) or nil
  elseif word == "same" then
    return (counted_nouns[lower(1)] or counted_nouns[lower(2)]) and i + 1 or nil
  elseif word == "close" or word == "far" then
    return (lower(1) == "to" or lower(1) == "from") and i + 1 or nil
  elseif word == "above" or word == "below" then
    return places[lower(-1)] and i or nil
  end
end

local function comparisons(words)
  local found, i = {}, 1
  while i <= #words do
    local last = compares(words, i)
    if last then found[#found + 1] = {words[i].from, words[last].to, "untested comparison"} end
    i = (last or i) + 1
  end
  return found
end

-- Whether the clause round a position, up to a colon or semicolon, cites somebody.
local function in_quoted_clause(sentence, position)
  local from, to = 1, #sentence
  for at in readable(sentence):gmatch("()[;:]") do
    if at < position then from = at + 1 else to = math.min(to, at) end
  end
  return sentence:sub(from, to):find(cited, 1, true) ~= nil
end

-- Exceptions ------------------------------------------------------------------------------------------------------
local function read_exceptions(path, page, pages)
  local function refuse(what, line)
    io.stderr:write(path .. ": " .. what .. ": " .. line .. "\n")
    os.exit(2)
  end
  local file = io.open(path) or error("no file " .. path)
  local exceptions = {}
  for line in file:lines() do
    local at, phrase, reason = line:match("^([^\t]+)\t([^\t]+)\t([^\t]+)$")
    if line ~= "" and not line:match("^#") then
      if not at then refuse("not page, phrase and reason", line) end
      if not pages[at] then refuse("no such page", line) end
    end
    if at == page then exceptions[#exceptions + 1] = {phrase = phrase, used = false} end
  end
  file:close()
  return exceptions
end

-- Whether an exception's phrase, as it is shown, covers the positions of a sentence.
local function excepted(exceptions, sentence, from, to)
  local before = #shown(sentence:sub(1, from - 1) .. "x")
  local whole = shown(sentence)
  local last = before + #shown(sentence:sub(from, to)) - 1
  for _, exception in ipairs(exceptions) do
    local at = 1
    while true do
      local first, final = whole:find(exception.phrase, at, true)
      if not first then break end
      if first <= before and final >= last then
        exception.used = true
        return true
      end
      at = first + 1
    end
  end
  return false
end

-- The page --------------------------------------------------------------------------------------------------------
local function check(doc)
  local page = pandoc.utils.stringify(doc.meta.page)
  local pages = set_of(pandoc.utils.stringify(doc.meta.pages))
  local exceptions = read_exceptions(pandoc.utils.stringify(doc.meta.exceptions), page, pages)
  local count = 0
  local function report(what) count = count + 1; io.stderr:write("page " .. page .. ": " .. what .. "\n") end
  gather(doc)
  for _, passage in ipairs(passages) do
    for _, range in ipairs(sentences_of(passage)) do
      local sentence = passage:sub(range[1], range[2])
      local words = words_of(sentence)
      local question = sentence:match("%?[\"\2)]*%s*$") ~= nil
      local findings = pandoc.List(typed_numbers(words))
      findings:extend(comparisons(words))
      for _, finding in ipairs(findings) do
        local from, to, what = table.unpack(finding)
        if not question and not in_quoted_clause(sentence, from) and not excepted(exceptions, sentence, from, to) then
          report(what .. " \"" .. shown(sentence:sub(from, to)) .. "\" in: " .. shown(sentence))
        end
      end
    end
  end
  for _, exception in ipairs(exceptions) do
    if not exception.used then report('the exception "' .. exception.phrase .. '" excepts nothing: remove it from book/words.tsv') end
  end
  if count > 0 then
    io.stderr:write("page " .. page .. ": " .. count .. " findings. Write a result by key, put a comparison into a .claim, or say in " ..
      "book/words.tsv why it is neither.\n")
    os.exit(1)
  end
  return pandoc.Pandoc({})
end

return {{Pandoc = check}}
