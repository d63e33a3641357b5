#!/bin/sh
# What plots take from made-up chapters' facts and records. Usage: plot-data.sh FIGURES-PROGRAM
set -e
figures=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
refuse() { echo "$1"; cat "$2"; exit 1; }

# A roofline is drawn from the value of a fact, not from its text, "1,365".
mkdir -p "$scratch/emit/00" "$scratch/emit/01" "$scratch/emit/02" "$scratch/emit/03"
printf 'naive.4096.intensity.sm\tcounted\t1365.25\tFLOP/B\t1,365\n' >"$scratch/emit/01/facts.tsv"
"$figures" roofline chapters "$scratch/emit" 01 "$scratch/roofline.tsv"
grep -q "$(printf '^"naive"\tsm\t1365.25\t')" "$scratch/roofline.tsv" || refuse "not the value of the fact:" "$scratch/roofline.tsv"

# Kernels that agree share a point. Chapter 00's are left out, and so are variations of a kernel and later chapters.
kernel() { # NN KERNEL CYCLES WAITING
  printf '%s.sass_loop.bank_cycles_per_instruction\tmeasured\t%s\tcycles/instruction\t%s\n' "$2" "$3" "$3" >>"$scratch/emit/$1/facts.tsv"
  printf '%s.profile.dispatch_stall\tmeasured\t%s\t\t%s\n' "$2" "$4" "$4" >>"$scratch/emit/$1/facts.tsv"
}
kernel 00 reads3 1.6 3
kernel 01 a 1.2 0.5
kernel 01 b 1.2 0.5
kernel 02 c 1.2 0.5
kernel 02 left 1.298 0.7
kernel 02 right 1.3 0.6995
kernel 02 unlike 1.35 0.1
kernel 02 write.dram.all 1.25 0.9
kernel 03 later 1.25 0.8
"$figures" dispatch chapters "$scratch/emit" 02 "$scratch/dispatch.tsv"
printf '%s\n' '"01 a, 01 b, 02 c" 1.2 0.5' '"02 left" 1.298 0.7' '"02 right" 1.3 0.6995' '"02 unlike" 1.35 0.1' >"$scratch/expected"
tr '\t' ' ' <"$scratch/dispatch.tsv" | diff "$scratch/expected" - || exit 1
grep -qx 'correlation="rank correlation -0.40"' "$scratch/dispatch.tsv.correlation" ||
  refuse "not the rank correlation of the points:" "$scratch/dispatch.tsv.correlation"

# A ladder has every kernel, or of earlier chapters the fastest alone; cuBLAS comes last.
record() { # NN CUBLAS-MS KERNEL:MS...: four iterations of each kernel and of cuBLAS
  measured=$scratch/chapters/$1-x/measured/nvidia-h200 cublas=$2
  mkdir -p "$measured"
  shift 2
  echo '{"gpu": "made up", "date": "", "driver": "", "cuda": "", "fingerprint": {}, "sms": 1, "clock_hz": 1}' >"$measured/environment.json"
  echo name >"$measured/kernels.csv"
  echo kernel,problem,freivalds_deviation,clock_samples,samples_ms >"$measured/runs.csv"
  echo kernel,problem,samples_ms >"$measured/cublas.csv"
  for of in "$@"; do
    kernel=${of%:*} ms=${of#*:}
    echo "$kernel" >>"$measured/kernels.csv"
    echo "$kernel,4096,0,0,$ms $ms $ms $ms" >>"$measured/runs.csv"
    echo "$kernel,4096,$cublas" >>"$measured/cublas.csv"
  done
}
record 01 "1 1 1 1" slow:9 fast:5 middling:7
record 02 "1 1 1 1" only:4
record 03 "1.008 1 1.008 1" one:2 other:3
record 04 "1.02 1 1.02 1" next:2
ladder() { # NN COLUMNS OPTION...: these columns of a chapter's ladder
  number=$1 columns=$2
  shift 2
  "$figures" ladder "$scratch/chapters" "$scratch/emit" "$number" "$scratch/ladder.tsv" "$@"
  cut -f"$columns" "$scratch/ladder.tsv" | tr -d '"' | tr '\t\n' ' ;'
}
expect() { [ "$1" = "$2" ] || refuse "not '$1':" "$scratch/ladder.tsv"; }
expect "01 slow 0;01 fast 0;01 middling 0;02 only 0;03 one 1;03 other 1;cuBLAS 0;" "$(ladder 03 1,4)"  # 1: the chapter's own
expect "01 fast;02 only;03 one;03 other;cuBLAS;" "$(ladder 03 1 --fastest)"
# Where cuBLAS takes over a percent longer right after the kernel, the share is over calls at the start of an iteration: 1 / 2; else of all pairs.
ladder 04 1 >"$scratch/kernels"
expect "one 50.2% other 33.5% next 50.0% " "$(sed -n 's/^"0[34] \([a-z]*\)".*\t\([0-9.]*%\)\t.*/\1 \2/p' "$scratch/ladder.tsv" | tr '\n' ' ')"
