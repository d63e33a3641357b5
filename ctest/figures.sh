#!/bin/sh
# Maps show what was traced; otherwise they are not drawn. Usage: figures.sh FIGURES-PROGRAM
set -e
figures=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
emit=$scratch/emit
mkdir -p "$emit/04"
out=$scratch/map.svg
fail() { echo "$*"; exit 1; }

# refused COMPLAINT ARGUMENT...: nothing is drawn, for this reason
refused() {
  complaint=$1
  shift
  rm -f "$out"
  ! "$figures" "$@" 2>"$scratch/error" && [ ! -e "$out" ] && grep -q "$complaint" "$scratch/error" || fail "$1: not refused with '$complaint'"
}

# banks TAG BYTES OP STRIDE SUMMARY ROWS CROWDED: lane l accesses word l / 2 * STRIDE; the picture has ROWS wavefronts, and CROWDED boxes
# at banks that must deliver more than one word
banks() {
  for lane in $(seq 0 31); do printf 'k\t%s\tshared\tAs\t%s\t%s\t%s\t%s\n' "$1" "$2" "$lane" $((lane / 2 * $4)) "$3"; done >"$emit/04/samples.tsv"
  "$figures" banks "$emit/04" "$out" k "$1"
  grep -q ">$3 of As, $2 bytes a lane: $5</text>" "$out" || fail "$1: not '$5'"
  [ "$(grep -v row-again "$out" | grep -c '>wavefront [0-9]*</text>')" = "$6" ] || fail "$1: not $6 wavefronts"
  crowded=$(grep -c 'fill:var(--second)' "$out") && crowded=$((crowded - 1)) || : # but for the legend
  [ "$crowded" = "$7" ] || fail "$1: $crowded boxes at crowded banks, not $7"
}
banks broadcast 4 load 0 '1 different word, 1 wavefront' 1 0
banks two-banks 4 load 16 '16 different words, 8 wavefronts' 8 16
banks neighbours 16 load 4 '64 different words, 2 wavefronts' 2 0
banks stored 16 store 4 '64 different words, 4 wavefronts' 4 0
refused 'no sample of k nothing' banks "$emit/04" "$out" k nothing

# Lane l copies 4 words from row l / 4 of A, whose rows have 16, and stores the first of them, swizzled.
for lane in $(seq 0 31); do
  row=$((lane % 4 * 4)) col=$((lane / 4))
  printf 's\tload-A\tglobal\tA\t16\t%s\t%s\tload\n' "$lane" $((col * 16 + row))
  printf 's\tstore-As\tshared\tAs\t4\t%s\t%s\tstore\n' "$lane" $((row * 128 + (col ^ (row >> 2 << 3))))
done | sort -t "$(printf '\t')" -k2,2 -k6,6n >"$emit/04/samples.tsv"
printf 's\t256\t128\t128\t16\t16\t128\t128\n' >"$emit/04/kernels.tsv"
swizzled() { printf 's.swizzle.down\tpredicted\t%s\t\t%s\ns.swizzle.up\tpredicted\t%s\t\t%s\n' "$1" "$1" "$2" "$2" >"$emit/04/facts.tsv"; }
swizzled 2 3
"$figures" swizzle "$emit/04" "$out" s
[ "$(grep -c "fill:var(--accent)" "$out")" = 32 ] || fail "swizzle: not the 32 words of a store"
swizzled 2 2
refused 's: lane 1 stores row 4, column 0 at word 520, not as this swizzle says' swizzle "$emit/04" "$out" s
