#!/bin/sh
# The last page of a part takes one kernel of each chapter, and marks those that no GPU has timed. On made-up chapters. Usage:
# part.sh FIGURES-PROGRAM
set -eu
figures=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
refuse() { echo "$*"; exit 1; }
chapter() { # NN TITLE KERNEL-OF-THE-LADDER, or none
  mkdir -p "$scratch/chapters/$1-x" "$scratch/emit/$1"
  printf -- '---\n%stitle: %s\nsubtitle: x\n---\n' "${3:+kernel: $3
}" "$2" >"$scratch/chapters/$1-x/chapter$1.md"
  : >"$scratch/emit/$1/facts.tsv" >"$scratch/emit/$1/kernels.tsv"
}
fact() { printf '%s\tmeasured\t%s\t%s\t%s\n' "$2" "$3" "${5-}" "${4-$3}" >>"$scratch/emit/$1/facts.tsv"; } # NN KEY VALUE TEXT UNIT
kernel() { # NN KERNEL [TFLOPS RATIO [LOW HIGH]]
  printf '%s\t1\t0\t0\t0\t1\t1\t1\n' "$2" >>"$scratch/emit/$1/kernels.tsv"
  [ $# -gt 2 ] || return 0
  fact "$1" "$2.4096.tflops" "$3" "$3" TFLOP/s
  fact "$1" "$2.4096.ratio" "$4"
  fact "$1" "$2.4096.ceiling.tightest" 50 50 TFLOP/s
  fact "$1" "$2.4096.ceiling.resource" "" banks
  [ $# -eq 4 ] || spread "$1" "$2" ratio "$5" "$6"
}
spread() { fact "$1" "$2.4096.$3_low" "$4"; fact "$1" "$2.4096.$3_high" "$5"; } # NN KERNEL RATIO LOW HIGH
part() { "$figures" part "$scratch/chapters" "$scratch/emit" 05 "$scratch/plot.tsv" "$scratch/emit/part-1"; }
has() { grep -q "$(printf "$1")" "$scratch/emit/part-1/facts.tsv" || refuse "no fact $1"; }

chapter 00 "No rung" ""
kernel 00 none
chapter 01 "First step" ""
kernel 01 slow 1 0.02
kernel 01 fast 10 0.2
chapter 02 "A tie" named
kernel 02 named 19.97 0.4 0.39 0.406
kernel 02 other 19.98 0.4 0.39 0.406
kernel 02 fastest 20 0.41 0.405 0.415
chapter 03 "A step back" slower
kernel 03 only 15 0.3 0.299 0.301
kernel 03 slower 14.98 0.298 0.297 0.2985
chapter 04 "To come" ""
kernel 04 only
fact 04 only.4096.tflops "" "not yet measured"
chapter 05 "Ahead again" ""
kernel 05 only 29.955 0.6
part
tr '\t' '|' <"$scratch/emit/part-1/table-ladder.tsv" | tail -n +3 >"$scratch/rows"
diff - "$scratch/rows" <<'END' || refuse "not the table of these chapters"
01|First step|fast|50|banks|-|-|10|-|0.200
02|A tie|named|50|banks|-|-|20.0|2.00|0.400
03|A step back|only|50|banks|-|-|15|0.75|0.300
04|To come|-|-|-|-|-|not yet measured|not yet measured|not yet measured
05|Ahead again|only|50|banks|-|-|30.0|1.50|0.600
END
has '^ladder.02.kernel\tmeasured\t\t\tnamed$'
has '^ladder.01.percent_as_written\tmeasured\t20\t'
tr '\t' '|' <"$scratch/plot.tsv" >"$scratch/rows"
diff - "$scratch/rows" <<'END' || refuse "not the plot of these chapters"
"01 fast"|10|50|0
"02 named"|19.97|50|0
"03 only"|15|50|0
"04 not yet measured"|0|0|0
"05 only"|29.955|50|0
END
grep -q '^cublas=50$' "$scratch/plot.tsv.cublas" || refuse "another rate of cuBLAS: $(cat "$scratch/plot.tsv.cublas")"

# If there are spreads of the ratio to the stronger baseline, they decide. It is a column if two rungs have it.
spread 02 named stronger_ratio 0.39 0.4
spread 02 fastest stronger_ratio 0.405 0.415
fact 03 only.4096.stronger_ratio 0.29
part
has '^ladder.02.kernel\tmeasured\t\t\tfastest$'
! grep -q 'the stronger' "$scratch/emit/part-1/table-ladder.tsv" || refuse "a column for one rung"
fact 05 only.4096.stronger_ratio 0.58
part
column=$(tail -n +2 "$scratch/emit/part-1/table-ladder.tsv" | cut -f11 | tr '\n' '|')
[ "$column" = 'x the stronger cuBLAS|-|-|0.290|not yet measured|0.580|' ] || refuse "not the column of the stronger cuBLAS: $column"
