#!/bin/sh
# Every axis that a plot names has its name in the drawing: gnuplot leaves one out for which the margin has no room. Usage: axes.sh SCRIPTS DRAWINGS
set -eu
scripts=$1 drawings=$2
plots=0 wrong=0
for script in "$scripts"/*.gp; do
  name=$(basename "$script" .gp)
  case $name in
    sweep) pattern='^\(squares\|others\)-[0-9-]*\.svg$' ;;
    *) pattern="^$name\(-[0-9]*\)\{0,1\}\.svg\$" ;;
  esac
  for drawing in $(ls "$drawings" | grep "$pattern"); do
    plots=$((plots + 1))
    titles=$(sed -n 's/.*set [xy]label "\([^"]*\)".*/\1/p' "$script" | sort -u)
    while IFS= read -r title; do
      [ -z "$title" ] || grep -qF "$title" "$drawings/$drawing" || {
        echo "$drawing does not say \"$title\""
        wrong=1
      }
    done <<END
$titles
END
  done
done
[ "$plots" -ge 8 ] || { echo "there are only $plots plots in $drawings"; wrong=1; }
[ "$wrong" = 0 ] && echo "$plots plots name their axes"
exit "$wrong"
