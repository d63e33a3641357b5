#!/bin/sh
# The README's results table is the one that the records give. With --write it is put there. Usage:
#   readme-results.sh FIGURES-PROGRAM [--write]
set -e
scratch=$(mktemp)
trap 'rm -f "$scratch"' EXIT
{
  sed '/<!-- results -->/q' README.md
  "$1" results chapters
  sed -n '/<!-- \/results -->/,$p' README.md
} >"$scratch"
[ "${2:-}" = --write ] && cp "$scratch" README.md
diff README.md "$scratch" || { echo "README.md is out of date: run sh ctest/readme-results.sh $1 --write"; exit 1; }
