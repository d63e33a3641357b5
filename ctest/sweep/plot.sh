#!/bin/sh
# A sweep is drawn: a mark for each problem, wins, losses and ties in a colour of their own, and "not yet measured" where nothing is. Usage: plot.sh GNUPLOT SWEEP.GP SWEEP-TEST
set -eu
gnuplot=$1 script=$2 program=$3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
wrong=0
fail() { echo "$*"; wrong=1; }

# draw NAME OF HALF: from NAME.tsv to NAME-OF-HALF.svg; gnuplot must not complain.
draw() {
  "$gnuplot" -c "$script" "$scratch/$1.tsv" "$scratch/$1-$2-$3.svg" "$2" "$3" 2>"$scratch/err" || fail "$2 $3 of $1 are not drawn"
  [ ! -s "$scratch/err" ] || { fail "gnuplot complains of $2 $3 of $1:"; cat "$scratch/err"; }
}
draw_all() { for of in squares others; do for half in 1 2; do draw "$1" $of $half; done; done; }

# marks NAME COLOUR COUNT: so many points of a colour; gnuplot draws each as a use of a symbol.
marks() {
  found=$(grep '<use xlink:href=' "$scratch/$1.svg" | grep -c "rgb( *$2, *$2, *$2)" || :)
  [ "$found" = "$3" ] || fail "$1 has $found marks of colour $2, not $3"
}

row() { printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t50\t49\n' "$@"; }
{
  row 256 256 256 256 0.9 0.88 0.93
  row 1024 1024 1024 1024 1.05 1.04 1.06
  row 4096 4096 4096 4096 1.09 1.08 1.1
  row 8192 8192 8192 8192 1.01 0.99 1.03
  row "1 x 4096 x 4096" 1 4096 4096 0.5 0.4 0.6
  row "37 x 4099 x 1021" 37 4099 1021 1.4 1.3 1.5
  row "4096 x 11008 x 4096" 4096 11008 4096 0.98 0.97 0.99
} >"$scratch/both.tsv"
for of in squares others; do for half in 1 2; do draw both $of $half; done; done
marks both-squares-1 3 1  # one won, one lost
marks both-squares-1 4 1
marks both-squares-2 3 1  # one won, one tie
marks both-squares-2 1 1
marks both-others-1 3 1
marks both-others-1 4 1
marks both-others-2 4 1

# What a program without a record emits.
"$program" --on model --emit "$scratch/emit"
cp "$scratch/emit/sweep.tsv" "$scratch/pending.tsv"
draw pending squares 1
grep -q 'not yet measured' "$scratch/pending-squares-1.svg" || fail "nothing says that it is not yet measured"

[ "$wrong" = 0 ] && echo "a sweep is drawn as it should be"
exit "$wrong"
