-- Tests of weave/listings.lua.
local testing = dofile(pandoc.path.directory(PANDOC_SCRIPT_FILE) .. "/testing.lua")
local source = [[
int before;
  // [snippet outer]
  int a;  //@ load-A store-As

  // [snippet inner]
    int b;
  // [/snippet inner]

  // [/snippet outer]
// [snippet wide]
int ]] .. ("x"):rep(92) .. [[;
// [/snippet wide]
// [snippet statement]
  int four =  //@ load-B
      read(a,  // one
           b);
// [/snippet statement]
// [snippet open]
]]
local files = {
  ["chapter03.cu"] = source,
  ["common/x.hpp"] = "// [snippet wrapper]\nint w;\n// [/snippet wrapper]\n",
  ["emit/03/lines.tsv"] = "shared\t3\t4\tsector\t4 sectors\nshared\t3\t1\twavefront\t1 wavefront\nshared\t14\t8\tsector\t8 sectors\nother\t6\t2\tsector\t2 sectors\n",
}
files["chapter02.cu"] = source:gsub("int a;", "long a;"):gsub("    int b;\n", "")
testing.on_page(files, {shared = "common/x.hpp common/y.hpp", sources = "chapter02.cu chapter03.cu"}, function()
  local listings = require("weave.listings")
  local function shown(region)
    local lines = {}
    for i, line in ipairs(listings.region("chapter03.cu", region)) do lines[i] = line.number .. ":" .. line.text end
    return lines
  end
  testing.same("a region without markers, indentation and blank ends", shown("outer"), {"3:int a;  //@ load-A store-As", "4:", "6:  int b;"})

  local function listing(attributes)
    return testing.html(listings.resolve(testing.div('::: {.listing label="Listing 3.1" ' .. attributes .. "}\nThe loop.\n:::")))
  end
  local html = listing("region=outer counts=shared")
  testing.contains("source", html, '<a class="source" href="source/chapter03.cu.html#L-3">chapter03.cu, lines 3–6</a>')
  testing.contains("line numbers", html, '<span class="line-number">6</span>')
  testing.contains("counts beside the line", html, '</span><span class="line-count">4 sectors, 1 wavefront</span>')
  testing.contains("counts at the end of a statement", listing("region=statement counts=shared"), 'b); </span><span class="line-count">8 sectors</span></code>')
  testing.equal("no tags", html:find("//@", 1, true), nil)
  testing.equal("no counts unless asked for", listing("region=outer"):find("line%-count"), nil)
  testing.contains("folded", listing("region=outer folded=yes"), '</figcaption> <details class="folded"><summary>3 lines of code</summary> <div class="code-frame">')
  local changed = listing("region=outer since=02")
  testing.contains("a line that was removed", changed, '<span class="line-number removed">- </span><span class="line removed">')
  testing.contains("a line that was added", changed, '<span class="line-number added">+ 6</span>')
  testing.refused("nothing that changed", "a listing of what changed, and nothing did", listing, "region=statement since=02")
  testing.refused("a line that does not fit", "chapter03.cu, line 11: a listing has 95 columns, and this line has 97", listing, "region=wide")
end)

testing.finish()
