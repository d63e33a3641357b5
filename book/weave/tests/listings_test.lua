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
// [snippet text]
  "]] .. ("x"):rep(92) .. [[",
// [/snippet text]
// [snippet directive]
    while (more)
#pragma unroll
      next();
// [/snippet directive]
// [snippet broken]
bool c = a &&  //
         b;
// [/snippet broken]
// [snippet statement]
  int four =  //@ load-B
      read(a,  // one
           b);
// [/snippet statement]
// [snippet open]
]]
local files = testing.with_labels({
  ["chapter03.cu"] = source,
  ["common/x.hpp"] = "// [snippet wrapper]\nint w;\n// [/snippet wrapper]\n",
  ["emit/03/lines.tsv"] = "shared\t3\t4\tsector\t4 sectors\nshared\t3\t1\twavefront\t1 wavefront\nshared\t26\t8\tsector\t8 sectors\nother\t6\t2\tsector\t2 sectors\n",
})
testing.on_page(files, {shared = "common/x.hpp common/y.hpp"}, function()
  local listings = require("weave.listings")
  local function shown(region)
    local lines = {}
    for i, line in ipairs(listings.region("chapter03.cu", region)) do lines[i] = line.number .. ":" .. line.text end
    return lines
  end
  testing.same("a region without markers, indentation and blank ends", shown("outer"), {"3:int a;  //@ load-A store-As", "4:", "6:  int b;"})
  testing.same("a region within", shown("inner"), {"6:int b;"})
  testing.same("a directive keeps its column, and others theirs without it", shown("directive"), {"17:while (more)", "18:#pragma unroll", "19:  next();"})
  testing.refused("unknown region", "no region nowhere in chapter03.cu", shown, "nowhere")
  testing.refused("open region", "region open of chapter03.cu is not closed", shown, "open")
  testing.refused("unknown file", "no file nothing.cu", listings.region, "nothing.cu", "outer")

  local function listing(attributes)
    return testing.html(listings.resolve(testing.div('::: {.listing label="Listing 3.1" ' .. attributes .. "}\nThe loop.\n:::")))
  end
  local html = listing("region=outer counts=shared")
  testing.contains("caption", html, "<strong>Listing 3.1.</strong> The loop.")
  testing.contains("source", html, '<a class="source" href="source/chapter03.cu.html#L-3">chapter03.cu, lines 3–6</a>')
  testing.contains("line numbers", html, '<span class="line-number">6</span>')
  testing.contains("counts beside the line", html, '</span><span class="line-count">4 sectors, 1 wavefront</span>')
  testing.contains("counts at the end of a statement", listing("region=statement counts=shared"), 'b); </span><span class="line-count">8 sectors</span></code>')
  testing.equal("no tags", html:find("//@", 1, true), nil)
  testing.equal("no empty comments", listing("region=broken"):find("//", 1, true), nil)
  testing.equal("no counts unless asked for", listing("region=outer"):find("line%-count"), nil)
  testing.equal("open unless asked for", html:find("<details", 1, true), nil)
  testing.contains("folded", listing("region=outer folded=yes"), '</figcaption> <details class="folded"><summary>3 lines of code</summary><div class="code-frame">')
  testing.contains("another file", listing("region=wrapper file=common/x.hpp"), "x.hpp, line 2<")
  testing.refused("a file without a page", "a listing of common/z.hpp, which has no page", listing, "region=wrapper file=common/z.hpp")
  testing.refused("counts of another file", "a listing of common/x.hpp with counts", listing,
    "region=wrapper file=common/x.hpp counts=shared")
  testing.refused("unknown kernel", "no counts of a kernel nobody", listing, "region=outer counts=nobody")
  testing.refused("a line that does not fit", "chapter03.cu, line 11: a listing has 95 columns, and this line has 97", listing, "region=wide")
  testing.contains("but for a text", listing("region=text"), "xxx")
  testing.refused("without region", "a listing without region", listing, "")
end)

testing.finish()
