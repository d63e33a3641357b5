#!/bin/sh
# Digests of machine code: a rename, a comment and line tables do not change them, a changed operation does; `tile-record --check` names
# the kernel whose code has changed, and says if it could not compare. Host functions stand in for kernels. Usage: machine-code.sh
# CHAPTER02 TILE-RECORD C++-COMPILER.
set -e
chapter=$1 tool=$2 compiler=$3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
wrong=0
complain() { echo "$*"; wrong=1; }

# digests SOURCE OPTION...: the digests of its functions, in an order that does not depend on their names.
digests() {
  printf '%s\n' "$1" >"$scratch/source.cpp"
  shift
  "$compiler" -O1 -ffunction-sections "$@" -c -o "$scratch/object" "$scratch/source.cpp"
  "$tool" --digests "$scratch/object" | cut -d ' ' -f 1 | sort | paste -s -d ' '
}
before=$(digests 'float add(float* a) { return a[0] + a[1]; } float subtract(float* a) { return a[0] - a[1]; }')
[ "$(echo "$before" | wc -w)" = 2 ] || complain "not one digest a function: $before"
renamed='// why
namespace n { float sum(float* from) { return from[0] + from[1]; } float difference(float* a) { return a[0] - a[1]; } }'
[ "$(digests "$renamed" -g)" = "$before" ] || complain "names or line tables change a digest"
[ "$(digests 'float add(float* a) { return a[0] * a[1]; } float subtract(float* a) { return a[0] - a[1]; }')" != "$before" ] ||
  complain "another operation has the same digest"

# checked STATUS PATTERN NVCC OPTION...: the result of comparing chapter 02's record with a program of that nvcc.
"$chapter" --on model --describe counts >"$scratch/counts"
checked() {
  status=$1 pattern=$2
  sed "s/\"nvcc\": \".*\"/\"nvcc\": \"$3\"/" "$scratch/counts" >"$scratch/said.json"
  shift 3
  "$tool" --check "$scratch/said.json" "$@" >"$scratch/out" 2>&1 && ended=0 || ended=$?
  [ "$ended" = "$status" ] && grep -q "$pattern" "$scratch/out" ||
    complain "exit $ended, not $status and '$pattern': $(cat "$scratch/out")"
}
compiled="--compiled $scratch/object --architecture"
checked 77 "was not checked here: this build has no nvcc" ""
checked 77 "was not checked here: it was compiled by nvcc 13.0.88 for 90a, this program by 1.2 for 90a" 1.2 $compiled 90a
checked 77 "this program by 13.0.88 for 86" 13.0.88 $compiled 86
checked 1 "coalesced has different machine code from what was measured: run ./tile bench on an NVIDIA H200" 13.0.88 $compiled 90a
exit "$wrong"
