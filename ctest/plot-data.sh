#!/bin/sh
# What a plot takes from a chapter's facts is the value, not the text "1,365". Usage: plot-data.sh FIGURES-PROGRAM
set -e
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch/emit/01"
printf 'naive.4096.intensity.sm\tcounted\t1,365\t1365.25\n' >"$scratch/emit/01/facts.tsv"
"$1" roofline chapters "$scratch/emit" 01 "$scratch/roofline.tsv"
grep -q "$(printf '^naive\tsm\t1365.25\t')" "$scratch/roofline.tsv" || {
  echo "not the value of the fact:"
  cat "$scratch/roofline.tsv"
  exit 1
}
echo "the roofline is drawn from values"
