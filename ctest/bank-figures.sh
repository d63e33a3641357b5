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

# expect FIGURES-PROGRAM TAG SUMMARY ROWS
expect() {
  "$1" banks "$scratch/samples.tsv" k "$2" "$scratch/$2.svg"
  grep -q ">$3</text>" "$scratch/$2.svg" || {
    echo "$2: expected '$3'; the picture says:"
    grep -o '>[a-z]* of As.*</text>' "$scratch/$2.svg"
    exit 1
  }
  rows=$(grep -c '>wavefront [0-9]*</text>' "$scratch/$2.svg")
  [ "$rows" = "$4" ] || {
    echo "$2: expected $4 rows, drew $rows"
    exit 1
  }
}

trace broadcast 4 load 0
trace four-banks 4 load 8
trace two-banks 4 load 16
trace neighbours 16 load 4
trace stored 16 store 4
expect "$1" broadcast 'load of As, 4 bytes a lane: 1 different word, 1 wavefront' 1
expect "$1" four-banks 'load of As, 4 bytes a lane: 16 different words, 4 wavefronts' 4
expect "$1" two-banks 'load of As, 4 bytes a lane: 16 different words, 8 wavefronts' 8
expect "$1" neighbours 'load of As, 16 bytes a lane: 64 different words, 2 wavefronts' 2
expect "$1" stored 'store of As, 16 bytes a lane: 64 different words, 4 wavefronts' 4

if "$1" banks "$scratch/samples.tsv" k nothing "$scratch/nothing.svg" 2>"$scratch/error"; then
  echo "a site that is not in the trace was drawn"
  exit 1
fi
grep -q 'no sample of k nothing' "$scratch/error" && [ ! -e "$scratch/nothing.svg" ]
echo "rows are wavefronts"
