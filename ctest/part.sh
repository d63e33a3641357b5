#!/bin/sh
# The last page of a part takes one kernel of each chapter, and shows what no GPU has timed as such. On made-up chapters. Usage:
# part.sh FIGURES-PROGRAM
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
chapter() { # NN TITLE KERNEL...
  mkdir -p "$scratch/chapters/$1-x" "$scratch/emit/$1"
  printf -- '---\ntitle: %s\nsubtitle: x\n---\n' "$2" >"$scratch/chapters/$1-x/chapter$1.md"
  number=$1
  shift 2
  : >"$scratch/emit/$number/facts.tsv"
  for kernel in "$@"; do printf '%s\t1\t0\t0\t0\t1\t1\t1\n' "$kernel"; done >"$scratch/emit/$number/kernels.tsv"
}
fact() { printf '%s\t%s\t%s\t%s\t%s\n' "$2" "$3" "$4" "$5" "$6" >>"$scratch/emit/$1/facts.tsv"; }
measured() { # NN KERNEL TFLOPS RATIO
  fact "$1" "$2.4096.tflops" measured "$3" TFLOP/s "$3"
  fact "$1" "$2.4096.ratio" measured "$4" '' "$4"
  fact "$1" "$2.4096.ceiling.tightest" counted 50 TFLOP/s 50
  fact "$1" "$2.4096.ceiling.resource" counted '' '' banks
}
spread() { # NN KERNEL RATIO LOW HIGH
  fact "$1" "$2.4096.$3_low" measured "$4" '' "$4"
  fact "$1" "$2.4096.$3_high" measured "$5" '' "$5"
}
own() { sed -i "2s/^/kernel: $2\n/" "$scratch/chapters/$1-x/chapter$1.md"; } # NN KERNEL
chapter 00 "No rung" none
chapter 01 "First step" slow fast
measured 01 slow 1 0.02
measured 01 fast 10 0.2
chapter 02 "A tie" named other fastest
measured 02 named 19.97 0.4
spread 02 named ratio 0.39 0.406
measured 02 other 19.98 0.4
spread 02 other ratio 0.39 0.406
measured 02 fastest 20 0.41
spread 02 fastest ratio 0.405 0.415
own 02 named
chapter 03 "A step back" only slower
measured 03 only 15 0.3
spread 03 only ratio 0.299 0.301
measured 03 slower 14.98 0.298
spread 03 slower ratio 0.297 0.2985
own 03 slower
chapter 04 "To come" only
fact 04 only.4096.tflops measured '' '' "not yet measured"
chapter 05 "Ahead again" only
measured 05 only 29.955 0.6
"$1" part "$scratch/chapters" "$scratch/emit" 05 "$scratch/plot.tsv" "$scratch/emit/part-1"
tr '\t' '|' <"$scratch/emit/part-1/table-ladder.tsv" | tail -n +3 >"$scratch/rows"
cat >"$scratch/expected" <<'END'
01|First step|fast|50|banks|-|-|10|-|0.200
02|A tie|named|50|banks|-|-|20.0|2.00|0.400
03|A step back|only|50|banks|-|-|15|0.75|0.300
04|To come|-|-|-|-|-|not yet measured|not yet measured|not yet measured
05|Ahead again|only|50|banks|-|-|30.0|1.50|0.600
END
diff "$scratch/expected" "$scratch/rows" || { echo "not the table of these chapters"; exit 1; }
has() { grep -q "$(printf "$1")" "$scratch/emit/part-1/facts.tsv" || { echo "no fact $1"; exit 1; }; }
has '^ladder.02.kernel\tmeasured\t\t\tnamed$'
grep -q '^ladder.01.gain' "$scratch/emit/part-1/facts.tsv" && { echo "the first rung gains over nothing"; exit 1; }
has '^ladder.03.gain\tmeasured\t0.75'
has '^ladder.01.percent_as_written\tmeasured\t20\t'
has '^ladder.04.tflops\tmeasured\t\t\tnot yet measured$'
printf '%s\n' '"01 fast"|10|50|0' '"02 named"|19.97|50|0' '"03 only"|15|50|0' '"04 not yet measured"|0|0|0' \
  '"05 only"|29.955|50|0' >"$scratch/expected"
tr '\t' '|' <"$scratch/plot.tsv" | diff "$scratch/expected" - || { echo "not the plot of these chapters"; exit 1; }
grep -q '^cublas=50$' "$scratch/plot.tsv.cublas" || { echo "another rate of cuBLAS:"; cat "$scratch/plot.tsv.cublas"; exit 1; }

# Spreads of the ratio to the stronger baseline decide where there are some.
spread 02 named stronger_ratio 0.39 0.4
spread 02 fastest stronger_ratio 0.405 0.415
"$1" part "$scratch/chapters" "$scratch/emit" 05 "$scratch/plot.tsv" "$scratch/emit/part-1"
has '^ladder.02.kernel\tmeasured\t\t\tfastest$'

# With two kernels that were timed against the stronger baseline, the table says so; of one, it would be a column of dashes.
fact 03 only.4096.stronger_ratio measured 0.29 '' 0.29
"$1" part "$scratch/chapters" "$scratch/emit" 05 "$scratch/plot.tsv" "$scratch/emit/part-1"
grep -q 'the stronger' "$scratch/emit/part-1/table-ladder.tsv" && { echo "a column for one rung"; exit 1; }
fact 05 only.4096.stronger_ratio measured 0.58 '' 0.58
"$1" part "$scratch/chapters" "$scratch/emit" 05 "$scratch/plot.tsv" "$scratch/emit/part-1"
tail -n +2 "$scratch/emit/part-1/table-ladder.tsv" | cut -f11 | tr '\n' '|' | grep -qx 'x the stronger cuBLAS|-|-|0.290|not yet measured|0.580|' ||
  { echo "not the column of the stronger cuBLAS:"; cat "$scratch/emit/part-1/table-ladder.tsv"; exit 1; }
echo "the ladder of a part is that of its chapters"
