-- Tests of weave/experiments.lua.
local testing = dofile(pandoc.path.directory(PANDOC_SCRIPT_FILE) .. "/testing.lua")
local source = "int a;\n  if (x < 1) {\n    // [snippet r]\n    wait();  // why\n    read(\"\\n\");  //@ load-A\n  }\nint b;\nint f(int a,  //\n      int c) {\n  int d;\n}\n"
local files = {
  ["chapter03.cu"] = source,
  ["emit/03/breaks.tsv"] = "barrier\t    wait();  // why\\n\t\ta race\trace: read\t\n" ..
    "edge\tx < 1\tx <= 1\t\t\terror: a message\n" ..
    "both\tread(\"\\\\n\")\\fint b\tread(\"\\\\t\")\\fint c\ta race\trace: read\trace: read,\\n  chapter03.cu\n" ..
    "guard\tint c\tint z\ta race\trace: read\t\n" ..
    "gone\tint z\tint y\ta race\trace: read\t\n",
}
testing.on_page(files, {}, function(page)
  local experiments = require("weave.experiments")
  local function shown(name) return testing.html(experiments.resolve(testing.div("::: {.break name=" .. name .. "}\nWhy.\n:::"))) end
  local html = shown("barrier")
  testing.contains("place", html, '<section class="break-it" id="break-03-barrier">')
  testing.contains("words of the prose", html, "<p>Why.</p>")
  testing.contains("a line that goes", html, '<span class="line-number removed">- 4</span><span class="line removed">')
  testing.contains("the line before", html, '<span class="line-number">2</span><span class="line">if (<wbr/>x &lt; 1) { </span>')
  testing.contains("the line after, without its tag", html, 'read(<wbr/>&quot;\\n&quot;); </span></code>')
  testing.equal("no line instead", html:find('added"', 1, true), nil)
  testing.contains("what then fails", html, 'Then this test fails: <code class="kept">a race</code>, and says <code class="kept">race: read</code>. The whole of it: <code>./tile test chapter03.breaks</code>')
  html = shown("edge")
  testing.contains("a part of a line: old", html, '<span class="line-number removed">- 2</span>')
  testing.contains("a part of a line: new", html, '<span class="line-number added">+ </span><span class="line added">')
  testing.contains("what does not compile", html, 'Then it does not compile:</p>')
  testing.contains("the compiler's message", html, '<pre class="captured">error: a message</pre>')
  testing.contains("a test's message", shown("both"), '<pre class="captured">race: read, chapter03.cu</pre>')
  local _, programs = shown("both"):gsub('<pre class="program difference">', "")
  testing.equal("two edits", programs, 2)
  testing.equal("no row where no line is left out", shown("guard"):find("⋮", 1, true), nil)
  testing.contains("a row for lines that are left out", shown("barrier"), '{ </span><span class="line-number left-out">⋮</span><span class="line left-out"> </span>')
  html = shown("guard")
  testing.contains("no empty comments", html, "int a, </span>")
  testing.contains("an indented line", html, '<span class="line removed"><span class="indent"> </span>int c) { </span>')
  testing.refused("edit of nothing", "the text that experiment gone edits is gone from chapter03.cu", shown, "gone")
end)

testing.finish()
