-- Tests of weave/experiments.lua.
local testing = dofile(pandoc.path.directory(PANDOC_SCRIPT_FILE) .. "/testing.lua")
local files = testing.with_labels({
  ["emit/03/breaks.tsv"] = "barrier\ttest\ta\\nb;\\n\tx <\\\\ y;\ta race\tread of As\nedge\tmessage\ta\tb\ta message\t\n",
})
testing.on_page(files, {}, function()
  local experiments = require("weave.experiments")
  local function shown(name) return testing.html(experiments.resolve(testing.div("::: {.break name=" .. name .. "}\nWhy.\n:::"))) end
  local html = shown("barrier")
  testing.contains("place", html, '<section class="break-it" id="break-03-barrier">')
  testing.contains("edit", html, "- b;")
  testing.contains("what then fails", html, "Then this test fails: <code>a race</code>, and says <code>read of As</code>")
  testing.contains("words of the prose", html, "<p>Why.</p>")
  testing.contains("what does not compile", shown("edge"), "Then it does not compile: <code>a message</code></p>")
  local edit = experiments.resolve(testing.div("::: {.break name=barrier}\nWhy.\n:::"))[3].text
  testing.equal("lines and backslashes", edit, "- a\n- b;\n+ x <\\ y;")
  experiments.require("03", "edge")
  testing.refused("unknown to the page", "breaks.json has no experiment nothing", shown, "nothing")
  testing.refused("unknown to whoever names it", "breaks.json of chapter 03 has no experiment nothing", experiments.require, "03", "nothing")
end)

testing.finish()
