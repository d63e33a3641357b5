-- Tests of weave/origins.lua.
local testing = dofile(pandoc.path.directory(PANDOC_SCRIPT_FILE) .. "/testing.lua")
local directory = "chapters/03-shared/"
local files = {
  [directory .. "chapter03.cu"] = "int a;\n",
  [directory .. "measured/gpu-cycles.csv"] = "tflops,registers\n1,2\n",
  [directory .. "measured/gpu.json"] = '{\n  "kernels": [\n    {\n      "name": "shared",\n      "registers": 40,\n      "runs": [\n        {\n' ..
    '          "M": 4096,\n          "tflops": 7\n        }\n      ]\n    }\n  ]\n}\n',
}
local metadata = {source = directory .. "chapter03.cu", sources = directory .. "chapter03.cu",
                  records = directory .. "measured/gpu-cycles.csv " .. directory .. "measured/gpu.json"}
testing.on_page(files, metadata, function()
  local origins = require("weave.origins")
  local function place(key)
    local found = origins.of("03", key, "measured")
    return found and found.file:match("[^/]+$") .. ":" .. found.line
  end
  testing.equal("a number of a run is in the record, not in a table beside it", place("shared.4096.tflops"), "gpu.json:9")
  testing.equal("a number of a kernel", place("shared.registers"), "gpu.json:5")
  testing.equal("what leads nowhere", place("nothing.such"), nil)
end)

testing.finish()
