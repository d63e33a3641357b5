#!/bin/sh
# Prints the book with Chromium, which has no place for the numbers of pages in the list of contents. With pdfinfo (poppler-utils) the book
# is printed twice, the second time with the pages that the first, which goes without tags to be quicker, has.
# Usage: pdf.sh CHROMIUM PROFILE PRINT.HTML FILE.pdf PDFINFO, of which the last may be "": not installed
set -eu
chromium=$1 profile=$2 page=$3 pdf=$4 pdfinfo=$5
# Chromium complains of services that a page does not need: what it says is shown only if it fails.
print() {
  said=$("$chromium" --headless --no-sandbox --disable-gpu --no-pdf-header-footer "$2" --user-data-dir="$profile" \
    --print-to-pdf="$pdf" "$1" 2>&1) || { status=$?; printf '%s\n' "$said" >&2; exit "$status"; }
}
outline=--generate-pdf-document-outline
if [ -z "$pdfinfo" ]; then
  print "$page" $outline
else
  print "$page" --disable-pdf-tagging
  numbered=$page.numbered.html
  trap 'rm -f "$numbered"' EXIT
  rules=$("$pdfinfo" -dests "$pdf" | sed -n 's/^ *\([0-9]*\) \[.*\] "\(page-[^"]*\)"$/.contents a[href="#\2"]::after { content: "\1"; }/p' | tr '\n' ' ')
  [ -n "$rules" ] || { echo "pdf: pdfinfo finds no part of the book in $pdf" >&2; exit 1; }
  awk -v rules="$rules" '{ sub(/<\/head>/, "<style>" rules "</style></head>"); print }' "$page" >"$numbered"
  print "$numbered" $outline
fi
