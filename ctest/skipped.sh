#!/bin/sh
# A test that finds too little memory says so and exits with CTest's code for "skipped"; it does not pass.
# Usage: skipped.sh PROGRAM
test="an element may lie more than 2^31 elements from the first"
ulimit -v 8388608 || exit 1 # KiB; the test reserves more
output=$(SIMT_THREADS=1 "$1" --on model --test "$test")
status=$?
printf '%s\n' "$output"
[ "$status" = 77 ] || { echo "exit $status, not 77"; exit 1; }
printf '%s\n' "$output" | grep -q '^skipped: naive, 32 x 4 x 32, .*: this computer has no .* MiB to reserve for A$'
