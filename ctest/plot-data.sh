#!/bin/sh
# What a plot takes from a chapter's facts is the value, not the text "1,365". Usage: plot-data.sh FIGURES-PROGRAM
set -e
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch/emit/01"
printf 'naive.4096.intensity.sm\tcounted\t1365.25\tFLOP/B\t1,365\n' >"$scratch/emit/01/facts.tsv"
"$1" roofline chapters "$scratch/emit" 01 "$scratch/roofline.tsv"
grep -q "$(printf '^"naive"\tsm\t1365.25\t')" "$scratch/roofline.tsv" || {
  echo "not the value of the fact:"
  cat "$scratch/roofline.tsv"
  exit 1
}
echo "the roofline is drawn from values"

# Kernels that agree share a point. Chapter 00's are left out, and so are variations of a kernel and later chapters.
mkdir -p "$scratch/emit/00" "$scratch/emit/02" "$scratch/emit/03"
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
"$1" dispatch chapters "$scratch/emit" 02 "$scratch/dispatch.tsv"
printf '%s\n' '"01 a, 01 b, 02 c" 1.2 0.5' '"02 left" 1.298 0.7' '"02 right" 1.3 0.6995' '"02 unlike" 1.35 0.1' >"$scratch/expected"
tr '\t' ' ' <"$scratch/dispatch.tsv" | diff "$scratch/expected" - || exit 1
grep -qx 'correlation="rank correlation -0.40"' "$scratch/dispatch.tsv.correlation" || {
  echo "not the rank correlation of the points:"
  cat "$scratch/dispatch.tsv.correlation"
  exit 1
}
echo "the plot of dispatch has a point for each of its kernels"

# A ladder has every kernel, or of earlier chapters the fastest alone; cuBLAS comes last.
record() { # NN KERNEL:MS...: four rounds of each kernel and of cuBLAS, whose times are in $cublas
  measured=$scratch/chapters/$1-x/measured/nvidia-h200
  mkdir -p "$measured"
  shift
  echo '{"gpu": "made up", "date": "", "driver": "", "cuda": "", "fingerprint": {}, "sms": 1, "clock_hz": 1}' >"$measured/environment.json"
  echo name >"$measured/kernels.csv"
  echo kernel,problem,freivalds_deviation,clock_samples,samples_ms >"$measured/runs.csv"
  echo kernel,problem,samples_ms >"$measured/cublas.csv"
  for of in "$@"; do
    ms=${of#*:}
    echo "${of%:*}" >>"$measured/kernels.csv"
    echo "${of%:*},4096,0,0,$ms $ms $ms $ms" >>"$measured/runs.csv"
    echo "${of%:*},4096,$cublas" >>"$measured/cublas.csv"
  done
}
cublas="1 1 1 1"
record 01 slow:9 fast:5 middling:7
record 02 only:4
cublas="1.008 1 1.008 1"
record 03 one:2 other:3
cublas="1.02 1 1.02 1"
record 04 next:2
rungs() { # the kernels of the ladder of chapter 03 with these options
  "$figures" ladder "$scratch/chapters" "$scratch/emit" 03 "$scratch/ladder.tsv" "$@"
  cut -f1 "$scratch/ladder.tsv" | tr -d '"' | tr '\n' ' '
}
figures=$1
[ "$(rungs)" = "01 slow 01 fast 01 middling 02 only 03 one 03 other cuBLAS " ] || { echo "not every kernel: $(rungs)"; exit 1; }
[ "$(rungs --fastest)" = "01 fast 02 only 03 one 03 other cuBLAS " ] || { echo "not the fastest ones: $(rungs --fastest)"; exit 1; }
[ "$(cut -f4 "$scratch/ladder.tsv" | tr -d '\n')" = "$(cut -c2-3 "$scratch/ladder.tsv" | sed 's/^03$/1/; s/^[^1].*$/0/' | tr -d '\n')" ] || {
  echo "the chapter's own kernels are not marked"
  cat "$scratch/ladder.tsv"
  exit 1
}
# Where cuBLAS takes over a percent longer right behind the kernel, the share is of the calls that begin a round: 1 / 2; else of all pairs.
"$figures" ladder "$scratch/chapters" "$scratch/emit" 04 "$scratch/ladder.tsv"
[ "$(sed -n 's/^"0[34] \([a-z]*\)".*\t\([0-9.]*%\)\t.*/\1 \2/p' "$scratch/ladder.tsv" | tr '\n' ' ')" = "one 50.2% other 33.5% next 50.0% " ] || {
  echo "not the share of calls that begin a round:"
  cat "$scratch/ladder.tsv"
  exit 1
}
echo "a ladder has every kernel, or of earlier chapters the fastest"
