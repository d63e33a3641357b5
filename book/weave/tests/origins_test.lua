-- Tests of weave/origins.lua.
local testing = dofile(pandoc.path.directory(PANDOC_SCRIPT_FILE) .. "/testing.lua")
local directory = "chapters/03-shared/"
local record = directory .. "measured/gpu"
local files = {
  [directory .. "chapter03.cu"] = "int a;\n",
  [directory .. "measured/gpu-cycles.csv"] = "tflops,registers\n1,2\n",
  [record .. "/environment.json"] = ('{|  "fingerprint": {|    "kernels": {|      "shared": "0123"|    }|  },|  "gpu": "g",|  "kernels": [|' ..
    '    {|      "blocks_per_sm": 1,|      "name": "other",|      "registers": 1|    },|' ..
    '    {|      "blocks_per_sm": 2,|      "name": "shared",|      "registers": 40|    }|  ]|}|'):gsub("|", "\n"),
  [record .. "/runs.csv"] = 'kernel,problem,samples_ms\nshared,512,1 2\nshared,"4096.bf16,bf16,f32",3 4\n',
  [record .. "/cublas.csv"] = 'kernel,problem,samples_ms\nshared,512,1 2\nshared,"4096.bf16,bf16,f32",3 4\n',
  [record .. "/metrics.csv"] = "kernel,set,metric,value\n,rates,l2,1\nshared,counters,lines,7\nshared,counters,sectors,8\n",
  [record .. "/sweep-runs.csv"] = "kernel,problem,samples_ms\nbest,4096,1 2\n",
}
local metadata = {source = directory .. "chapter03.cu", sources = directory .. "chapter03.cu",
                  records = directory .. "measured/gpu-cycles.csv " .. record}
testing.on_page(files, metadata, function()
  local origins = require("weave.origins")
  local function place(key)
    local found = origins.of("03", key, "measured")
    return found and found.file:match("[^/]+$") .. ":" .. found.line
  end
  testing.equal("a number of a run is in the record, not in a table beside it", place("shared.4096.tflops"), "runs.csv:3")
  testing.equal("cuBLAS's times are in a table of their own", place("shared.512.cublas_tflops"), "cublas.csv:2")
  testing.equal("a number of a kernel", place("shared.registers"), "environment.json:17")
  testing.equal("a number before the kernel's name", place("shared.blocks_per_sm"), "environment.json:15")
  testing.equal("what is made of a kernel's numbers", place("shared.waves"), "environment.json:16")
  testing.equal("a counter", place("shared.ncu.sectors.low"), "metrics.csv:4")
  testing.equal("what is made of several metrics", place("shared.ncu.ratio"), "metrics.csv:3")
  testing.equal("a rate", place("rates.l2"), "metrics.csv:2")
  testing.equal("a number of the sweep", place("sweep.4096.ratio"), "sweep-runs.csv:2")
  testing.equal("which GPU it was", place("gpu"), "environment.json:7")
  testing.equal("what leads nowhere", place("nothing.such"), nil)
  testing.equal("a record is one page", origins.address(record .. "/runs.csv", 3), "source/chapters-03-shared-measured-gpu.html#runs.csv-3")
end)

testing.finish()
