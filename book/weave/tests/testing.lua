-- What the tests of the weaver's modules share. A test is a Lua filter that pandoc, whose Lua it is, runs on an empty page:
--   pandoc --from markdown --lua-filter text_test.lua /dev/null
-- It calls `finish` at its end, which ends with status 1 if anything was not as expected.

local directory = pandoc.path.directory(PANDOC_SCRIPT_FILE)
package.path = pandoc.path.join({directory, "..", "..", "?.lua"}) .. ";" .. package.path
local text = require("weave.text")
local schema = text.read(pandoc.path.join({directory, "..", "..", "..", "common", "report", "emitted.tsv"}))

local testing = {}
local wrong = 0
local refusal  -- the last complaint; errors lose what they carry on their way through pandoc

function testing.equal(what, got, wanted)
  if got == wanted then return end
  wrong = wrong + 1
  io.stderr:write(string.format("%s: expected %s, got %s\n", what, tostring(wanted), tostring(got)))
end

-- Lists of texts.
function testing.same(what, got, wanted) testing.equal(what, table.concat(got, " | "), table.concat(wanted, " | ")) end

-- Whether the text contains `part` as it stands.
function testing.contains(what, got, part)
  if not got:find(part, 1, true) then testing.equal(what, got, "a text with " .. part) end
end

-- Whether the call is refused with a complaint that contains `complaint`.
function testing.refused(what, complaint, f, ...)
  refusal = nil
  local done, why = pcall(f, ...)
  if not done and not refusal then error(why, 0) end
  testing.contains(what, refusal or "no refusal", complaint)
end

-- Calls f(page, work) with the modules as they are loaded for page 03 of a small book, and with these files below its directories;
-- `metadata` may give it other metadata.
function testing.on_page(files, metadata, f)
  for name in pairs(package.loaded) do
    if name:match("^weave%.") then package.loaded[name] = nil end
  end
  pandoc.system.with_temporary_directory("weave", function(work)
    files["common/report/emitted.tsv"] = schema
    files["labels/index.tsv"] = "page\t\tTile by Tile\n"
    files["labels/03.tsv"] = "page\t03\tShared tiling\nfig:tiles\tFigure 3.1\n"
    for path, whole in pairs(files) do
      os.execute("mkdir -p '" .. work .. "/" .. (path:match("^(.*)/") or "") .. "'")
      local file = assert(io.open(work .. "/" .. path, "wb"))
      file:write(whole)
      file:close()
    end
    local meta = {page = "03", pages = "index 03", pass = "weave", work = work, root = work, tests = work .. "/tests",
                  source = "chapter03.cu"}
    for key, value in pairs(metadata) do meta[key] = value end
    local page = require("weave.page")
    page.fail = function(message)
      refusal = message
      error("refused: " .. message, 0)
    end
    page.open(meta)
    f(page)
  end)
end

-- Markdown as the first block, a Div.
function testing.div(markdown) return pandoc.read(markdown, "markdown-implicit_figures").blocks[1] end

-- Blocks as HTML in one line.
function testing.html(blocks) return (pandoc.write(pandoc.Pandoc(blocks), "html"):gsub("%s+", " ")) end

function testing.finish()
  if wrong > 0 then os.exit(1) end
end

return testing
