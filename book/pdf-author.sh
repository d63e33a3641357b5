#!/bin/sh
# Writes the author into the properties of a PDF, where Chromium has no place for it: the object with the properties is appended once
# more, and what a PDF calls an incremental update says that it holds now. Usage: pdf-author.sh FILE.pdf AUTHOR
set -eu
export LC_ALL=C
pdf=$1 author=$2
end=$(tail -c 400 "$pdf" | tr -d '\0')
field() { printf '%s\n' "$end" | sed -n "s,.*/$1 \([0-9]*\).*,\1,p"; }
size=$(field Size) root=$(field Root) info=$(field Info)
before=$(printf '%s\n' "$end" | sed -n '/^startxref$/{n;p;}')
[ -n "$size" ] && [ -n "$root" ] && [ -n "$info" ] && [ -n "$before" ] || { echo "pdf-author: $pdf has another end than expected" >&2; exit 1; }
properties=$(sed -n "/^$info 0 obj\$/,/^endobj\$/p" "$pdf" | sed "s,^<<,<</Author ($author)\n,")
case $properties in
  *"/Author ($author)"*) ;;
  *) echo "pdf-author: $pdf has no object $info with properties" >&2; exit 1 ;;
esac
at=$(($(wc -c <"$pdf") + 1))
printf '\n%s\n' "$properties" >>"$pdf"
table=$(wc -c <"$pdf")
printf 'xref\n%d 1\n%010d 00000 n \ntrailer\n<</Size %d /Root %d 0 R /Info %d 0 R /Prev %d>>\nstartxref\n%d\n%%%%EOF\n' \
  "$info" "$at" "$size" "$root" "$info" "$before" "$table" >>"$pdf"
