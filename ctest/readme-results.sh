#!/bin/sh
# The tables of results in README.md, of each chapter the fastest kernel, and in .github/RESULTS.md are those that the records give; the README says
# what one needs and how to begin before it shows any; and who says "past cuBLAS" says at which sizes: those that the cover's claim is about. CITATION.cff has the cover's title.
# With --write the tables are put there. Usage:
#   readme-results.sh FIGURES-PROGRAM [--write]
set -e
unlimited=$(grep -n 'past cuBLAS' README.md book/index.md book/preface.md | grep -v 'past cuBLAS at 2048, 4096 and 8192' || :)
[ -z "$unlimited" ] || { echo "past cuBLAS, but not at every size:"; printf "%s\n" "$unlimited"; exit 1; }
[ "$(grep -e '^## What you need' -e '^    ./tile read ' -e 'minutes on two cores' -e '<!-- results -->' README.md | wc -l)" = 4 ] &&
  [ "$(sed -n '/^## What you need/,$p' README.md | sed -n '/^    .\/tile read /,$p' | sed -n '/minutes on two cores/,$p' | grep -c '<!-- results -->')" = 1 ] ||
  { echo "the README does not say what one needs, two commands and how long they take before it shows results"; exit 1; }
title=$(sed -n 's/^title: //p' book/index.md) subtitle=$(sed -n 's/.*<p class="subtitle">\(.*\)<\/p>.*/\1/p' book/index.md)
grep -qix "title: \"$title: $subtitle\"" CITATION.cff || { echo "CITATION.cff does not have the title of the cover, $title: $subtitle"; exit 1; }
figures=$1 write=$2
scratch=$(mktemp)
trap 'rm -f "$scratch"' EXIT

# compare FILE [--fastest]: the table between the marks of FILE is the one of the program.
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
