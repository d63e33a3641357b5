#!/bin/sh
# A sweep is drawn: a mark for each problem, losses in a colour of their own, all of it on a telephone, and "not yet measured" where nothing is. Usage:
#   plot.sh GNUPLOT SWEEP.GP SWEEP-TEST
set -eu
gnuplot=$1 script=$2 program=$3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
wrong=0
fail() { echo "$*"; wrong=1; }

# draw NAME: from NAME.tsv; gnuplot must not complain.
draw() {
  "$gnuplot" -c "$script" "$scratch/$1.tsv" "$scratch/$1.svg" 2>"$scratch/$1.err" || fail "$1 is not drawn"
  [ ! -s "$scratch/$1.err" ] || { fail "gnuplot complains of $1:"; cat "$scratch/$1.err"; }
}

# marks NAME COLOUR COUNT: so many points of a colour; gnuplot draws each as a use of a symbol.
marks() {
  found=$(grep '<use xlink:href=' "$scratch/$1.svg" | grep -c "rgb( *$2, *$2, *$2)" || :)
  [ "$found" = "$3" ] || fail "$1 has $found marks of colour $2, not $3"
}

row() { printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t50\t49\n' "$@"; }
cubes() {
  row 256 256 256 256 0.9 0.88 0.93
  row 1024 1024 1024 1024 1.05 1.04 1.06
  row 4096 4096 4096 4096 1.09 1.08 1.1
}
others() {
  row "1 x 4096 x 4096" 1 4096 4096 0.5 0.4 0.6
  row "37 x 4099 x 1021" 37 4099 1021 1.4 1.3 1.5
  row "4096 x 11008 x 4096" 4096 11008 4096 0.98 0.97 0.99
}
{ cubes; others; } >"$scratch/both.tsv"
cubes >"$scratch/cubes.tsv"
others >"$scratch/others.tsv"
for data in both cubes others; do draw "$data"; done
marks both 3 3
marks both 4 3
marks cubes 3 2
marks cubes 4 1
marks others 3 1
marks others 4 2
grep -q '37 x 4099 x 1021' "$scratch/both.svg" || fail "a problem has no name"
grep -q 'not yet measured' "$scratch/both.svg" && fail "a sweep that was measured is not shown as one"

# Over the squares and over the others there is a heading, where there are any. The line goes through the squares of multiples of 64, and
# past one between them.
heading() { [ "$(grep -c ">$2<" "$scratch/$1.svg" || :)" = "$3" ] || fail "$1 has not $3 headings '$2'"; }
for data in both cubes; do heading "$data" Squares 1; done
heading others Squares 0
for data in both others; do heading "$data" "Other shapes" 1; done
heading cubes "Other shapes" 0
{ cubes; row 1025 1025 1025 1025 0.9 0.88 0.92; others; } >"$scratch/between.tsv"
draw between
marks between 4 4
line() { sed -n "s/.*rgb(  2,   2,   2)'  d='\(M[0-9.,]*\( L[0-9.,]*\)*\) *'.*/\1/p" "$scratch/$1.svg"; }
[ "$(line between)" = "$(line both)" ] && [ "$(line between | wc -w)" = 3 ] ||
  fail "the line through 256, 1024 and 4096 goes to: $(line between) or $(line both)"

# On a telephone 400 pixels wide, 63 of them margins and a scroll bar, all of it is seen, with labels of 12 pixels; and nothing is white in the dark.
width=$(sed -n 's/.*viewBox="0 0 \([0-9]*\) .*/\1/p' "$scratch/both.svg")
font=$(sed -n 's/.*font-size="\([0-9]*\)[.0-9]*".*/\1/p' "$scratch/both.svg" | sort -n | head -n 1)
[ $((width * 12)) -le $((337 * font)) ] || fail "a telephone shows a part: $width wide, labels of $font"
grep '<use.*white' "$scratch/both.svg" | grep -qv 'scale(0[.]0' && fail "marks have rings"

# What a program without a record emits.
"$program" --on model --emit "$scratch/emit"
cp "$scratch/emit/sweep.tsv" "$scratch/pending.tsv"
draw pending
marks pending 3 0
marks pending 4 0
grep -q 'not yet measured' "$scratch/pending.svg" || fail "nothing says that it is not yet measured"

[ "$wrong" = 0 ] && echo "a sweep is drawn as it should be"
exit "$wrong"
