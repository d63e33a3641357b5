-- Tests of weave/schema.lua, on common/report/emitted.tsv itself.
local testing = dofile(pandoc.path.directory(PANDOC_SCRIPT_FILE) .. "/testing.lua")
local schema = require("weave.schema")
local text = require("weave.text")

local found = schema.read(pandoc.path.join({pandoc.path.directory(PANDOC_SCRIPT_FILE), "..", "..", "..", "common", "report", "emitted.tsv"}))

-- "fits", or what does not.
local function verdict(file, line)
  local row, why = schema.row(found, schema.columns(found, file), text.split(line))
  return row and "fits" or why
end
local function expect(file, line, wanted) testing.equal(file .. ": " .. line, verdict(file, line), wanted) end

expect("facts.tsv", "a.b\tcounted\t1365.25\t\t1,365", "fits")
expect("facts.tsv", "a.b\tcounted\t1e-05\tms\t0.000", "fits")
expect("facts.tsv", "a.b\tmeasured\t-1365.25\tTFLOP/s\t-1,365.3", "fits")
expect("facts.tsv", "a.b\tmeasured\t\t\tnot yet measured", "fits")
expect("facts.tsv", "a.b\tcounted\t1365.25\t\t1,366", "text is '1,366', not shown")
expect("facts.tsv", "a.b\tcounted\t1365.25\t\tmany", "text is 'many', not shown")
expect("facts.tsv", "a.b\tcounted\t1,365\t\t1,365", "value is '1,365', not number?")
expect("facts.tsv", "a.b\tcounted\tinf\t\tinf", "value is 'inf', not number?")
expect("facts.tsv", "a.b\tguessed\t1\t\t1", "kind is 'guessed', not predicted|counted|measured")
expect("facts.tsv", "a b\tcounted\t1\t\t1", "key is 'a b', not key")
expect("facts.tsv", "a\tcounted\t1\tcycles/fma\t1", "fits")
expect("facts.tsv", "a\tcounted\t1\tparsecs\t1", "unit is 'parsecs', not unit?")
expect("facts.tsv", "a\tcounted\t1\tparsecs/s\t1", "unit is 'parsecs/s', not unit?")
expect("facts.tsv", "a\tcounted\t1\t", "has 4 fields, not 5")
expect("facts.tsv", "a\tcounted\t1\t\t", "text is '', not shown")
expect("lines.tsv", "shared\t12\t1.5\tsector\t1.50 sectors", "fits")
expect("lines.tsv", "shared\t12\t1.5\tsector\t1.5x sectors", "text is '1.5x sectors', not shown")
expect("lines.tsv", "shared\t-1\t1.5\tsector\t1.5 sectors", "line is '-1', not whole")
expect("breaks.tsv", "x\ttest\t\t\ta test\t", "fits")
testing.equal("a table", schema.columns(found, "table-loads.tsv")[1].type, "cells")
testing.equal("no such file", schema.columns(found, "others.tsv"), nil)

testing.finish()
