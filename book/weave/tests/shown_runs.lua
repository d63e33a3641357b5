-- Of which break-it experiments a page shows what their run said, a line each. ctest/breaks-shown.sh runs it, like the tests beside it,
-- on what the program `breaks` wrote: below the directory RUNS are the source, chapter03.cu, the experiments, breaks.tsv, and breaks/ with
-- the edited copies and captured.tsv.
local testing = dofile(pandoc.path.directory(PANDOC_SCRIPT_FILE) .. "/testing.lua")
local runs = os.getenv("RUNS")
local function file(name)
  local opened = assert(io.open(runs .. "/" .. name, "rb"))
  local whole = opened:read("a")
  opened:close()
  return whole
end
local files = {["chapter03.cu"] = file("chapter03.cu"), ["emit/03/breaks.tsv"] = file("breaks.tsv")}
testing.on_page(files, {breaks = runs .. "/breaks"}, function()
  local experiments = require("weave.experiments")
  for name in file("breaks.tsv"):gmatch("([^\t\n]+)[^\n]*\n") do
    local is_there, blocks = pcall(experiments.resolve, testing.div("::: {.break name=" .. name .. "}\nx\n:::"))
    if is_there and testing.html(blocks):find('<pre class="captured">', 1, true) then io.stderr:write(name .. "\n") end
  end
end)

testing.finish()
