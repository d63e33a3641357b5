#!/bin/sh
# In the ladder of a part no mark of one ceiling hides that of another, also where both are at one place. Usage: ladder-of-part.sh GNUPLOT PART.GP
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for row in 1 2 3 4 5 6 7 8 9; do printf '"0%s k"\t20\t3%s\t30\n' $row $row; done >"$scratch/part"
echo 'cublas = 51' >"$scratch/part.cublas"
"$1" -c "$2" "$scratch/part" "$scratch/part.svg"
# Marks are uses of symbols: their places, and as how large they are drawn.
sed -n "s/.*<use xlink:href='#gpPt\([0-9]*\)' transform='translate(\([0-9.]*\),\([0-9.]*\)) scale(\([0-9.]*\))'.*/\1 \2 \3 \4/p" "$scratch/part.svg" >"$scratch/marks"
# A square, symbol 4, reaches as far as its scale to each side; a triangle, 8, 4/3 of that to the sides and up, and 2/3 down.
awk '
  function side(i) { return size[i] * (symbol[i] == 4 ? 1 : 4 / 3) }
  function up(i) { return size[i] * (symbol[i] == 4 ? 1 : 4 / 3) }
  function down(i) { return size[i] * (symbol[i] == 4 ? 1 : 2 / 3) }
  { symbol[NR] = $1; x[NR] = $2; y[NR] = $3; size[NR] = $4; ++of[$1] }
  END {
    if (of[4] != 19 || of[8] != 19) { print of[4] + 0, "squares and", of[8] + 0, "triangles, not 19 each"; wrong = 1 }
    for (i = 1; i <= NR; ++i)
      for (j = 1; j <= NR; ++j) {
        if (symbol[i] != 4 || symbol[j] != 8) continue
        if (x[i] - x[j] > side(i) + side(j) || x[j] - x[i] > side(i) + side(j)) continue
        if (y[i] + down(i) < y[j] - up(j) || y[j] + down(j) < y[i] - up(i)) continue
        print "the square at", x[i], y[i], "and the triangle at", x[j], y[j], "hide each other"; wrong = 1
      }
    exit wrong
  }' "$scratch/marks"
