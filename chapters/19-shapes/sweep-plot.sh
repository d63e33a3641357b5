#!/bin/sh
# A sweep is drawn: a mark for each problem, wins, losses and ties in a colour of their own, and "not yet measured" where nothing is. Usage: sweep-plot.sh GNUPLOT SWEEP.GP SWEEP-TEST
set -eu
gnuplot=$1 script=$2 program=$3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
wrong=0
fail() { echo "$*"; wrong=1; }

# draw NAME OF HALF: from NAME.tsv to NAME-OF-HALF.svg; gnuplot must not complain.
draw() {
  "$gnuplot" -c "$script" "$scratch/$1.tsv" "$scratch/$1-$2-$3.svg" "$2" "$3" 2>"$scratch/err" && [ ! -s "$scratch/err" ] ||
    fail "$2 $3 of $1 are not drawn: $(cat "$scratch/err")"
}
# marks OF HALF COLOUR COUNT: so many points of a colour; gnuplot draws each as a use of a symbol.
marks() {
  found=$(grep '<use xlink:href=' "$scratch/both-$1-$2.svg" | grep -c "rgb( *$3, *$3, *$3)" || :)
  [ "$found" = "$4" ] || fail "$2 of $1 has $found marks of colour $3, not $4"
}

tr ' ' '\t' <<'END' | sed 's/$/\t50\t49/; s/_/ /g' >"$scratch/both.tsv"
256 256 256 256 0.9 0.88 0.93
1024 1024 1024 1024 1.05 1.04 1.06
4096 4096 4096 4096 1.09 1.08 1.1
8192 8192 8192 8192 1.01 0.99 1.03
1_x_4096_x_4096 1 4096 4096 0.5 0.4 0.6
37_x_4099_x_1021 37 4099 1021 1.4 1.3 1.5
4096_x_11008_x_4096 4096 11008 4096 0.98 0.97 0.99
END
for of in squares others; do for half in 1 2; do draw both $of $half; done; done
marks squares 1 3 1  # one won, one lost
marks squares 1 4 1
marks squares 2 3 1  # one won, one tie
marks squares 2 1 1
marks others 1 3 1
marks others 1 4 1
marks others 2 4 1

# What a program without a record emits.
"$program" --on model --emit "$scratch/emit"
cp "$scratch/emit/sweep.tsv" "$scratch/pending.tsv"
draw pending squares 1
grep -q 'not yet measured' "$scratch/pending-squares-1.svg" || fail "nothing says that it is not yet measured"
exit "$wrong"
