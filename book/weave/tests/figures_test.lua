-- Tests of weave/figures.lua.
local testing = dofile(pandoc.path.directory(PANDOC_SCRIPT_FILE) .. "/testing.lua")
local svg = [[<?xml version="1.0"?><!-- x --><svg><title>t</title><g id="part" fill="rgb( 1, 1, 1)" stroke="#040404"/>]] ..
  [[<use href="#part"/><use href='#other'/><g id='other' clip="url(#part)"/></svg>]]
testing.on_page(testing.with_labels({["figures/a.svg"] = svg,
  ["figures/wide.svg"] = "<svg viewBox='0 0 640 82'><text font-size='13'>a</text><text font-size='10'>b</text></svg>",
  ["figures/halves.svg"] = "<svg viewBox='0 0 500 82'><g class='panel' data-box='0.0 0 300.0 82.0'><text font-size='13'>a</text></g>" ..
    "<g class='panel' data-box='300.0 0 200.0 50.0'><text font-size='13'>b</text></g></svg>",
  ["figures/small.svg"] = '<svg viewBox="0 0 300 82"><text font-size="13.00">a</text></svg>'}), {}, function()
  local figures = require("weave.figures")
  local function shown(attributes, class)
    return testing.html(figures.resolve(testing.div('::: {.figure label="Figure 3.1" ' .. attributes .. "}\nA caption.\n:::"), class))
  end
  local html = shown('#fig:a src=a.svg alt="over 50% <of> it"')
  testing.contains("frame", html, '<figure id="fig:a" class="drawing">')
  testing.contains("text alternative", html, '<svg role="img" aria-label="over 50% &lt;of&gt; it"><g')
  testing.contains("colours of the theme", html, 'fill="var(--ink)" stroke="var(--second)"')
  testing.contains("names of its own", html, 'id="f03-1-part"')
  testing.contains("uses of them", html, [[href="#f03-1-part"/><use href='#f03-1-other'/><g id='f03-1-other' clip="url(#f03-1-part)"]])
  testing.contains("caption", html, "<strong>Figure 3.1.</strong> A caption.")
  testing.contains("names of a second drawing", shown("src=a.svg alt=x"), 'id="f03-2-part"')
  testing.contains("class and place", shown("src=a.svg alt=x .margin", "drawing explorer"), 'class="drawing explorer margin-figure"')
  testing.contains("legible labels", shown("src=wide.svg alt=x"), 'style="--natural: 768px; --legible: 768px"')
  testing.contains("wider than the text", shown("src=wide.svg alt=x"), 'class="drawing full-width"')
  testing.contains("large labels", shown("src=small.svg alt=x"), '--natural: 300px; --legible: 277px')
  local halves = shown('src=halves.svg alt="a and 50%"')
  testing.contains("panels", halves, '<div class="panels" role="img" aria-label="a and 50%"><svg style="--natural: 300px; --legible: 277px"')
  testing.contains("a panel's own box", halves, "viewBox='300.0 0 200.0 50.0'><text font-size='13'>b</text></svg></div>")
  local two = shown('src="small.svg wide.svg" alt=x')
  testing.contains("drawings beside each other", two, '<div class="panels" role="img" aria-label="x"><svg style="--natural: 300px; --legible: 277px"')
  testing.contains("the second one", two, '</svg><svg style="--natural: 768px; --legible: 768px" viewBox=')
  testing.contains("as wide as both", two, 'class="drawing full-width"')
  testing.refused("one of two is not drawn", "no figure b.svg", shown, 'src="small.svg b.svg" alt=x')
  testing.refused("not drawn", "no figure b.svg", shown, "src=b.svg alt=x")
  testing.refused("without text alternative", "figure a.svg has no text alternative", shown, "src=a.svg")
  testing.refused("without src", "a figure without src", shown, "alt=x")
end)

testing.finish()
