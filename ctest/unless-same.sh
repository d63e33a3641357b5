#!/bin/sh
# Runs a long test, unless it has passed with these inputs before. What it said then is said again.
# Usage: unless-same.sh PASSED INPUT... -- COMMAND...
# PASSED is the file that remembers. An INPUT is a file or a directory: what they hold counts, but for the book as one file, which
# is made from the rest. Of the files among the words of COMMAND, size and time count.
set -eu
passed=$1
shift
digest=$(
  inputs=yes
  for word; do
    if [ "$word" = -- ]; then inputs=; fi
    printf '%s\n' "$word"
    if [ -n "$inputs" ]; then
      find "$word" -type f '(' -path "$word" -o ! -name 'tile-by-tile.*' ')' -exec sha256sum {} + | sort
    elif [ -f "$word" ]; then
      ls -lL --time-style=full-iso "$word"
    fi
  done | sha256sum
)
while [ "$1" != -- ]; do shift; done
shift
if [ -f "$passed" ] && [ "$(head -n 1 "$passed")" = "$digest" ]; then
  echo "passed before, with the same inputs; to run it again, remove $passed"
  tail -n +2 "$passed"
  exit
fi
rm -f "$passed"
mkdir -p "$(dirname "$passed")"
output=$(mktemp)
trap 'rm -f "$output"' EXIT
status=0
"$@" >"$output" 2>&1 || status=$?
cat "$output"
if [ "$status" = 0 ]; then { echo "$digest"; cat "$output"; } >"$passed"; fi
exit "$status"
