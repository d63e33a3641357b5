#!/bin/sh
# The tables of results in README.md, with the fastest kernel of each chapter, and in .github/RESULTS.md agree with the records. With
# --write they are updated. Usage: readme-results.sh FIGURES-PROGRAM [--write]
set -e
figures=$1 write=$2
scratch=$(mktemp)
trap 'rm -f "$scratch"' EXIT

# compare FILE [--fastest]: the table between the marks of FILE equals the program's.
compare() {
  file=$1
  shift
  {
    sed '/<!-- results -->/q' "$file"
    "$figures" results chapters "$@"
    sed -n '/<!-- \/results -->/,$p' "$file"
  } >"$scratch"
  [ "$write" = --write ] && cp "$scratch" "$file"
  diff "$file" "$scratch" || { echo "$file is out of date: run sh ctest/readme-results.sh $figures --write"; exit 1; }
}
compare README.md --fastest
compare .github/RESULTS.md
