#!/bin/sh
# Names what is there for the book and is not in it: regions of a chapter's program that no listing of its page shows, nor one of what
# changed since, but for the two that bound where ctest/mutants.cpp makes mistakes, the first and `launch` or else the last; and figures and
# tables that no page shows.
# Usage: unused.sh "FIGURE;NN/table-NAME;..." TEXT.md...
figures=$1
shift
wrong=0
complain() { echo "$1: show it, or remove it from $2"; wrong=1; }
for text in "$@"; do
  program=${text%.md}.cu
  [ -e "$program" ] || continue
  markers=$(sed '/^TILE_CHAPTER/,$d' "$program" | sed -n 's|^ *// \[\(/*\)snippet \(.*\)\] *$|\1\2|p')
  last=$(echo "$markers" | grep '^/' | tail -n 1)
  case $markers in */launch*) last=/launch ;; esac
  number=${program##*/chapter} number=${number%.cu}
  for region in $(echo "$markers" | grep -v '^/' | sed 1d); do
    [ "/$region" = "$last" ] || grep -qE "(region|was)=$region( |\})" "$text" ||
      grep -qE "(region=$region since=$number|since=$number was=$region)( |\})" "$@" || complain "no listing shows region $region" "$program"
  done
done
for figure in $(echo "$figures" | tr ';' ' '); do
  case $figure in
    */table-*) shown="name=${figure#*/table-}( |\})" ;;
    *) shown="[= \"]$figure[.]svg" ;;
  esac
  grep -qE "$shown" "$@" || complain "no page shows $figure" chapters/figures.cmake
done
exit "$wrong"
