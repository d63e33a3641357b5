#!/bin/sh
# The README's worked example for `tile count`: the padded transpose has no bank conflict, the unpadded one 32.
# Usage: worked-example.sh MODEL-CC
set -e
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$1" ctest/transpose.cu "$scratch/program" count
"$scratch/program" >"$scratch/out"
column() { awk -v kernel="$1" -v op="$2" -v array="$3" '$0 ~ kernel { on = 1 } on && $2 == op && $3 == array { print $(NF - 1); exit }' "$scratch/out"; }
check() { [ "$2" = "$3" ] || { echo "$1: $2, expected $3"; cat "$scratch/out"; exit 1; }; }
check "wavefronts of the column read, unpadded" "$(column 'transpose_shared<32>' load tile)" 32
check "wavefronts of the column read, padded" "$(column 'transpose_shared<33>' load tile)" 1
echo "the worked example counts what the README says"
