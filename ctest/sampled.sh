#!/bin/sh
# What is printed of counts by a few blocks says that they are that, and which of them are a sample.
# Usage: sampled.sh PROGRAM, chapter 01's, compiled for the model
set -eu
program=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() {
  echo "$1"
  cat "$scratch/out"
  exit 1
}

note='^counted: a few blocks stand for all: at full depth A, B and C hold zeros, whatever --data says, so that work that depends on data is '
looks='^counted: naive: 2 of 131,072 blocks; found to do the same: 1,[0-9]* at K = 65 (A and B random; .*), 59 at K = 257; what less than 5\.0 % '
"$program" --on model --m 4096 --n 4096 --k 257 --pad 3 --data integers >"$scratch/out"
grep -q "$note" "$scratch/out" || fail "nothing says that A, B and C are zeros"
grep -q "$looks" "$scratch/out" || fail "nothing says at which blocks was looked"
grep -q 'per access site (2 of 131,072 blocks)$' "$scratch/out" || fail "nothing says of how many blocks the counts are"
grep -q '^ *load-A .* 32  *32  *~[0-9.]*  *[0-9.]*$' "$scratch/out" || fail "passes of load-A, and they alone, are a sample"
grep -q '^ *load-B .* 1  *1  *1  *1$' "$scratch/out" || fail "nothing of load-B is a sample"
grep -q '^ *naive  .*~[0-9.]*  *L1 ' "$scratch/out" || fail "a ceiling that follows from samples is not marked"

! "$program" --on model --m 4096 --n 4096 --k 256 --emit "$scratch/emitted" >"$scratch/out" 2>&1 &&
  grep -q 'is too large for the SIMT model to run all of it; ' "$scratch/out" || fail "facts are made of samples"

"$program" --on model --size 64 >"$scratch/out"
! grep -q 'counted: \|~' "$scratch/out" || fail "what all blocks did is called a sample"
