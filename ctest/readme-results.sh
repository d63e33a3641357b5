#!/bin/sh
# The README's results table is the one that the records give, and who says "past cuBLAS" says at which sizes: those that the cover's claim
# is about. With --write the table is put there. Usage:
#   readme-results.sh FIGURES-PROGRAM [--write]
set -e
unlimited=$(grep -n 'past cuBLAS' README.md book/index.md book/preface.md | grep -v 'past cuBLAS at 2048, 4096 and 8192' || :)
[ -z "$unlimited" ] || { echo "past cuBLAS, but not at every size:"; printf "%s\n" "$unlimited"; exit 1; }
scratch=$(mktemp)
trap 'rm -f "$scratch"' EXIT
{
  sed '/<!-- results -->/q' README.md
  "$1" results chapters
  sed -n '/<!-- \/results -->/,$p' README.md
} >"$scratch"
[ "${2:-}" = --write ] && cp "$scratch" README.md
diff README.md "$scratch" || { echo "README.md is out of date: run sh ctest/readme-results.sh $1 --write"; exit 1; }
