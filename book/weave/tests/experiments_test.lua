-- Tests of weave/experiments.lua.
local testing = dofile(pandoc.path.directory(PANDOC_SCRIPT_FILE) .. "/testing.lua")
local source = "int a;\n  if (x < 1) {\n    // [snippet r]\n    wait();  // why\n    read(\"\\n\");  //@ load-A\n  }\nint b;\n"
local broken = source:gsub("    wait%(%);  // why\n", "")
local files = testing.with_labels({
  ["chapter03.cu"] = source,
  ["emit/03/breaks.tsv"] = "barrier\ttest\t    wait();  // why\\n\t\ta race\trace: read\n" ..
    "edge\tmessage\tx < 1\tx <= 1\ta message\t\n" ..
    "both\ttest\tread(\"\\\\n\")\\fint b\tread(\"\\\\t\")\\fint c\ta race\trace: read\n" ..
    "gone\ttest\tint z\tint y\ta race\trace: read\n",
})
testing.on_page(files, {}, function(page)
  local experiments = require("weave.experiments")
  local function shown(name) return testing.html(experiments.resolve(testing.div("::: {.break name=" .. name .. "}\nWhy.\n:::"))) end
  local html = shown("barrier")
  testing.contains("place", html, '<section class="break-it" id="break-03-barrier">')
  testing.contains("words of the prose", html, "<p>Why.</p>")
  testing.contains("a line that goes", html, '<span class="line-number removed">- 4</span><span class="line removed">')
  testing.contains("the line before", html, '<span class="line-number">2</span><span class="line">if (x &lt; 1) { </span>')
  testing.contains("the line behind, without its tag", html, 'read(&quot;\\n&quot;); </span></code>')
  testing.equal("no line instead", html:find('added"', 1, true), nil)
  testing.contains("what then fails", html, 'Then this test fails: <code class="kept">a race</code>, and says <code class="kept">race: read</code>. The whole of it: <code>./tile test chapter03.breaks</code>')
  html = shown("edge")
  testing.contains("a part of a line: old", html, '<span class="line-number removed">- 2</span>')
  testing.contains("a part of a line: new", html, '<span class="line-number added">+ </span><span class="line added">')
  testing.contains("what does not compile", html, 'Then it does not compile: <code class="kept">a message</code>')
  local _, programs = shown("both"):gsub('<pre class="program difference">', "")
  testing.equal("two edits", programs, 2)
  testing.refused("edit of nothing", "the text that experiment gone edits is gone from chapter03.cu", shown, "gone")

  local function ran(program, says)
    os.execute("mkdir -p '" .. page.work .. "/breaks/chapter03'")
    page.write(page.work .. "/breaks/chapter03/barrier.cu", program)
    page.write(page.work .. "/breaks/chapter03/captured.tsv", "barrier\t" .. says .. "\n")
  end
  ran(broken, "race: read,\\n  chapter03.cu:3")
  testing.contains("what the run said", shown("barrier"), '<pre class="captured">race: read, chapter03.cu:3</pre>')
  ran((broken:gsub("[^\n]+", "", 1)), "race: read without the first line")
  testing.contains("a run with empty lines for what need not be compiled", shown("barrier"), "race: read without the first line")
  ran((broken:gsub("[^\n]+", "int other;", 1)), "race: read")
  testing.equal("nothing of a run of a changed program", shown("barrier"):find("captured", 1, true), nil)
  ran(broken .. " ", "race: read")
  testing.equal("nothing of a run of another program", shown("barrier"):find("captured", 1, true), nil)

  experiments.require("03", "edge")
  testing.refused("unknown to the page", "breaks.json has no experiment nothing", shown, "nothing")
  testing.refused("unknown to whoever names it", "breaks.json of chapter 03 has no experiment nothing", experiments.require, "03", "nothing")
end)

testing.finish()
