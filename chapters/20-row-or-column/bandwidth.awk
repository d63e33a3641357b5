# In: facts.tsv of chapter 00, then of this one, with values in the third column. Out: label, TB/s, ratio, and whether it is a kernel's.
BEGIN { FS = "\t" }
$1 == "rates.dram_copy_gbs" { printf "copy\t%f\t\t0\n", $3 / 1000 }
split($1, key, ".") != 3 || $3 == "" { next }  # KERNEL.PROBLEM.gbs, KERNEL.PROBLEM.stronger_ratio
key[3] == "gbs" {
  if (!(key[2] in most)) order[++problems] = key[2]
  if ($3 > most[key[2]] + 0) { most[key[2]] = $3; kernel[key[2]] = key[1] }
}
key[3] == "stronger_ratio" { ratio[key[1], key[2]] = $3 }
END {
  for (i = 1; i <= problems; ++i) {
    p = order[i]
    printf "%s %s\t%f\t(%.2f)\t1\n", p, kernel[p], most[p] / 1000, ratio[kernel[p], p]
  }
  if (problems == 0) print "not yet measured\t0.001\t-\t0"
}
