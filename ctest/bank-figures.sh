#!/bin/sh
# The picture of the banks has as many rows as the access has wavefronts. Usage: bank-figures.sh FIGURES-PROGRAM
set -e
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# trace TAG WIDTH OP STRIDE: lane l accesses word l / 2 * STRIDE
trace() {
  lane=0
  while [ $lane -lt 32 ]; do
    printf 'k\t%s\tshared\tAs\t%s\t%s\t%s\t%s\n' "$1" "$2" $lane $((lane / 2 * $4)) "$3"
    lane=$((lane + 1))
  done >>"$scratch/samples.tsv"
}

# expect FIGURES-PROGRAM TAG SUMMARY ROWS CROWDED: so many of its boxes are at a bank that must give more than one word
expect() {
  "$1" banks "$scratch" "$scratch/$2.svg" k "$2"
  grep -q ">$3</text>" "$scratch/$2.svg" || {
    echo "$2: expected '$3'; the picture says:"
    grep -o '>[a-z]* of As.*</text>' "$scratch/$2.svg"
    exit 1
  }
  rows=$(grep -v row-again "$scratch/$2.svg" | grep -c '>wavefront [0-9]*</text>')
  [ "$rows" = "$4" ] || {
    echo "$2: expected $4 rows, drew $rows"
    exit 1
  }
  crowded=$(grep -c 'fill:var(--second)' "$scratch/$2.svg") && crowded=$((crowded - 1)) || :  # but for the legend
  [ "$crowded" = "$5" ] || {
    echo "$2: expected $5 boxes at crowded banks, drew $crowded"
    exit 1
  }
}

trace broadcast 4 load 0
trace four-banks 4 load 8
trace two-banks 4 load 16
trace neighbours 16 load 4
trace stored 16 store 4
expect "$1" broadcast 'load of As, 4 bytes a lane: 1 different word, 1 wavefront' 1 0
expect "$1" four-banks 'load of As, 4 bytes a lane: 16 different words, 4 wavefronts' 4 16
expect "$1" two-banks 'load of As, 4 bytes a lane: 16 different words, 8 wavefronts' 8 16
expect "$1" neighbours 'load of As, 16 bytes a lane: 64 different words, 2 wavefronts' 2 0
expect "$1" stored 'store of As, 16 bytes a lane: 64 different words, 4 wavefronts' 4 0

if "$1" banks "$scratch" "$scratch/nothing.svg" k nothing 2>"$scratch/error"; then
  echo "a site that is not in the trace was drawn"
  exit 1
fi
grep -q 'no sample of k nothing' "$scratch/error" && [ ! -e "$scratch/nothing.svg" ]

# A swizzled tile is drawn as the trace has it, or not at all: lane l copies 4 words from row l / 4 of A, whose rows have 16, and
# stores the first of them.
for lane in $(seq 0 31); do
  row=$((lane % 4 * 4)) col=$((lane / 4))
  printf 's\tload-A\tglobal\tA\t16\t%s\t%s\tload\n' "$lane" $((col * 16 + row))
  printf 's\tstore-As\tshared\tAs\t4\t%s\t%s\tstore\n' "$lane" $((row * 128 + (col ^ (row >> 2 << 3))))
done | sort -t "$(printf '\t')" -k2,2 -k6,6n >"$scratch/samples.tsv"
printf 's\t256\t128\t128\t16\t16\t128\t128\n' >"$scratch/kernels.tsv"
swizzled() { printf 's.swizzle.down\tpredicted\t%s\t\t%s\ns.swizzle.up\tpredicted\t%s\t\t%s\n' "$1" "$1" "$2" "$2" >"$scratch/facts.tsv"; }
swizzled 2 3
"$1" swizzle "$scratch" "$scratch/tile.svg" s
[ "$(grep -c "fill:var(--accent)" "$scratch/tile.svg")" = 32 ]
swizzled 2 2
if "$1" swizzle "$scratch" "$scratch/wrong.svg" s 2>"$scratch/error"; then
  echo "a tile was drawn that the trace does not have"
  exit 1
fi
grep -q 's: lane 1 stores row 4, column 0 at word 520, not as this swizzle says' "$scratch/error" && [ ! -e "$scratch/wrong.svg" ]
echo "rows are wavefronts, and tiles are as traced"
