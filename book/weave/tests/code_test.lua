-- Tests of weave/code.lua.
local testing = dofile(pandoc.path.directory(PANDOC_SCRIPT_FILE) .. "/testing.lua")
testing.on_page(testing.labels, {}, function()
  local code = require("weave.code")
  local lines = code.coloured({"int a;  // x < y", "", '"&"', ""}, "cpp")
  testing.equal("a line each", #lines, 4)
  testing.contains("colours", lines[1], '<span class="dt">int</span> a')
  testing.contains("escaped", lines[1], "x &lt; y")
  testing.equal("nothing of the highlighter's anchors", lines[1]:find("<a "), nil)
  testing.equal("a blank line", lines[2], "")
  testing.equal("rows", code.rows({"a", "b"}, {"7", "9"}, {nil, "1 <wavefront>"}),
    '<pre class="program"><code class="sourceCode"><span class="line-number">7</span><span class="line">a\n</span>' ..
    '<span class="line-number">9</span><span class="line">b\n</span><span class="line-count">1 &lt;wavefront&gt;</span></code></pre>')
  testing.equal("where a line may break", code.breakable('  <span class="op">::</span>f<span class="op">(&amp;</span>a<span class="op">,</span> b[i]<span class="op">);</span>'),
    '<span class="indent">  </span><span class="op">::<wbr/></span>f<span class="op">(<wbr/>&amp;</span>a<span class="op">,</span> b[<wbr/>i]<span class="op">);</span>')
  testing.equal("few words in a sentence stay together", code.inline("a < b"), '<code class="kept">a &lt; b</code>')
  testing.equal("many do not", code.inline("a" .. string.rep(" a", 11)), "<code>a" .. string.rep(" a", 11) .. "</code>")
  testing.contains("but a formula does", code.inline("col ^ (((row >> 2) & mask) << 3)"), 'class="kept"')
  testing.contains("a formula", code.formula(pandoc.Math("InlineMath", "x")), "<em>x</em>")
end)
testing.on_page(testing.labels, {combined = "epub"}, function()
  testing.equal("e-readers: counts below", require("weave.code").rows({"a", "b"}, {"7", "9"}, {"1 wavefront"}),
    '<pre class="program"><code class="sourceCode"><span class="line-number">7</span> <span class="line">a</span>\n<span class="line-count">1 wavefront</span>\n' ..
    '<span class="line-number">9</span> <span class="line">b</span>\n</code></pre>')
end)

testing.finish()
