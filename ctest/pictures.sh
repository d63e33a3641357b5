#!/bin/sh
# Pictures that compare draw what was traced and recorded, or nothing. Usage: pictures.sh FIGURES-PROGRAM
set -e
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
emit=$scratch/emit
mkdir -p "$emit/04"
out=$scratch/picture.svg

# drawn WORDS COMMAND...: the picture has these words
drawn() {
  words=$1
  shift
  "$@" && grep -q ">$words</text>" "$out" || {
    echo "$2: no '$words'"
    exit 1
  }
  rm "$out"
}

# refused COMPLAINT COMMAND...: there is no picture, and that is why
refused() {
  complaint=$1
  shift
  if "$@" 2>"$scratch/error" || [ -e "$out" ] || ! grep -q "$complaint" "$scratch/error"; then
    echo "$2: expected the complaint '$complaint', not:"
    cat "$scratch/error"
    exit 1
  fi
}

# A thread that reads a row of As, 8 words, and a column of Bs, for one result; its warp computes a row of C.
printf 'k\t32\t1\t32\t8\t8\t32\t32\n' >"$emit/04/kernels.tsv"
{
  for i in 0 1 2 3 4 5 6 7; do printf 'k\t0\t1\tload\tAs\t%s\nk\t0\t1\tload\tBs\t%s\n' $i $((i * 32)); done
  printf 'k\t0\t0\tload\tA\t0\nk\t0\t0\tload\tB\t0\nk\t0\t0\tstore\tAs\t0\nk\t0\t0\tstore\tBs\t0\nk\t0\t2\tstore\tC\t0\n'
} >"$emit/04/thread.tsv"
sass() { printf 'k.sass_loop.LDS.128\tmeasured\t%s\t\t%s\nk.sass_loop.LDS\tmeasured\t8\t\t8\nk.sass_loop.FFMA\tmeasured\t8\t\t8\n' "$1" "$1" >"$emit/04/facts.tsv"; }
sass 2
drawn '2 LDS.128 + 8 LDS for 8 FFMA' "$1" compiled "$emit/04" "$out" k
drawn '2 loads, 1 multiply-add' "$1" reuse "$emit" "$out" 04/k
# What can stand by itself is a part of its own.
"$1" compiled "$emit/04" "$out" k
[ "$(grep -c "^<g class='panel' data-box='" "$out")" = 2 ] && [ "$(grep -c '^</g>' "$out")" = 2 ] || { echo "compiled: not two parts"; exit 1; }
rm "$out"
sass 3
refused 'k: 8 and 8 words are not read by 3 LDS.128 and 8 LDS' "$1" compiled "$emit/04" "$out" k

# The lines of A and B belong to the warp's elements of C.
for lane in $(seq 0 31); do
  printf 'k\t%s\t0\t%s\n' "$lane" "$lane" >>"$emit/04/owners.tsv"
  printf 'k\tload-A\tglobal\tA\t4\t%s\t0\tload\nk\tload-B\tglobal\tB\t4\t%s\t%s\tload\n' "$lane" "$lane" "$lane" >>"$emit/04/samples.tsv"
done
drawn 'B: 1 line, 4 sectors' "$1" lanes "$emit" "$out" 04/k
drawn 'warp 1 x 32' "$1" nested "$emit" "$out" 5 04/k
sed -i 's/\(load-A.*\)\t0\tload$/\1\t8\tload/' "$emit/04/samples.tsv"
refused '04 k: the first warp loads for others' "$1" lanes "$emit" "$out" 04/k
refused '04 k has no thread 32\|no thread 32' "$1" nested "$emit" "$out" 32 04/k

# Barriers are shown between phases that alternate.
phases() {
  interval=0
  for op in "$@"; do
    printf 'k\t%s\t%s\tAs\t32\t0\n' "$interval" "$op"
    interval=$((interval + 1))
  done >"$emit/04/intervals.tsv"
}
phases store load store load
drawn 'multiply 1' "$1" races "$emit/04" "$out" k
phases store store load load
refused 'k does not copy and multiply by turns' "$1" races "$emit/04" "$out" k
phases store load store load
printf 'k\t1\tstore\tAs\t32\t0\n' >>"$emit/04/intervals.tsv"
refused 'k stores and loads As at once' "$1" races "$emit/04" "$out" k

# What is no wait comes first, of the others the longest; a part that is full stands beside one that is pale.
for pair in latency=4 selected=1 not_selected=0.5 long_scoreboard=0.4 barrier=2; do
  printf 'k.profile.%s\tmeasured\t%s\t\t%s\n' "${pair%=*}" "${pair#*=}" "${pair#*=}"
done >"$emit/04/facts.tsv"
"$1" stalls "$emit" "$out" 04/k
legend=$(grep -o '>\(issued\|ready,.*\|barrier\|data of L1.*\|everything else\)</text>' "$out" | tr -d '\n')
[ "$legend" = '>issued</text>>ready, but another warp was chosen</text>>barrier</text>>data of L1, L2 or DRAM</text>>everything else</text>' ] || {
  echo "stalls: not in this order: $legend"
  exit 1
}
[ "$(grep -o "class='segment'.*fill-opacity='[01]" "$out" | grep -o '.$' | head -8 | tr -d '\n')" = 10101010 ] || { echo 'stalls: neighbours are alike'; exit 1; }
drawn '2.00' "$1" stalls "$emit" "$out" 04/k

# A funnel adds up.
space() {
  for pair in all=100 valid=60 by_registers=10 by_occupancy=10 by_bound=20 "left=$1"; do
    printf 'space.%s\tpredicted\t%s\t\t%s\n' "${pair%=*}" "${pair#*=}" "${pair#*=}"
  done >"$emit/04/facts.tsv"
}
space 20
drawn 'are valid: 40 break a constraint' "$1" funnel "$emit/04" "$out"
space 21
refused 'the pruned do not add up' "$1" funnel "$emit/04" "$out"
echo "pictures are as traced and recorded"
