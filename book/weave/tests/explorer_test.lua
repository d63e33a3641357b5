-- Tests of weave/explorer.lua.
local testing = dofile(pandoc.path.directory(PANDOC_SCRIPT_FILE) .. "/testing.lua")
local samples = {}
for _, shift in ipairs({0, 1000}) do  -- the second turn of an unrolled loop
  for lane = 0, 3 do
    samples[#samples + 1] = string.format("shared\tstore-As\tshared\tAs\t4\t%d\t%d\tstore", lane, 128 * lane + shift)
  end
end
samples[#samples + 1] = "shared\tload-A\tglobal\tA\t4\t0\t0\tload"
local text = table.concat(samples, "\n") .. "\n"
testing.on_page(testing.with_labels({["emit/03/samples.tsv"] = text, ["emit/01/samples.tsv"] = text, ["figures/a.svg"] = "<svg/>"}), {},
  function()
    local explorer = require("weave.explorer")
    local function data(traces)
      local div = testing.div('::: {.explorer label="Figure 3.1" src=a.svg alt=x traces="' .. traces .. '"}\nx\n:::')
      return testing.html(explorer.resolve(div)):match('<script type="application/json">(.-)</script>')
    end
    local nobody = string.rep(", null", 28)
    testing.equal("an access", data("shared/store-As:128"), '[{"title": "chapter 03, shared: store-As", "bytes": 4, "op": "store", ' ..
      '"row": 128, "pad": 0, "swizzle": null, "words": [0, 128, 256, 384' .. nobody .. "]}]")
    testing.equal("its script is needed", explorer.used, true)
    testing.contains("of another chapter, padded", data("01/shared/store-As:124+4"), '"title": "chapter 01, shared: store-As", "bytes": 4' ..
      ', "op": "store", "row": 124, "pad": 4')
    testing.contains("swizzled", data("shared/store-As:128^2,3"), '"swizzle": {"down": 2, "up": 3}')
    testing.refused("another row", "lane 1 is in the padding, so the row is another", data, "shared/store-As:120+20")
    testing.refused("half a swizzle", "an explorer's trace is KERNEL/SITE:ROW[+PAD][^DOWN,UP], not shared/store-As:128^2", data,
      "shared/store-As:128^2")
    testing.refused("global memory", "load-A of shared is not in shared memory", data, "shared/load-A:128")
    testing.refused("unknown access", "chapter 03 has no trace of shared store-Cs", data, "shared/store-Cs:128")
  end)

testing.finish()
