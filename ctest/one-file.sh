#!/bin/sh
# The book as one file: anchors and caption numbers are unique, the EPUB has no errors, the PDF has an outline, and the page numbers in
# the list of contents are correct. If a tool for this is missing, it is named, and the test is skipped.
# Usage: one-file.sh BOOK-DIRECTORY
book=$1
missing=
has() { command -v "$1" >/dev/null || { missing="$missing $2"; false; }; }
refuse() { echo "$*"; exit 1; }

print=$(tr '\n' ' ' <"$book/print.html")
for repeated in ' id="[^"]*"' '<strong>\(Figure\|Table\|Listing\) [0-9A-Z.]*</strong>'; do
  twice=$(printf '%s' "$print" | grep -o "$repeated" | sort | uniq -d | head -n 3)
  [ -z "$twice" ] || refuse "the whole book has these twice: $twice"
done
if has epubcheck epubcheck; then java -jar "$(command -v epubcheck)" "$book/tile-by-tile.epub" || exit 1; fi
if has chromium chromium && has pdfinfo poppler-utils; then
  pdf=$book/tile-by-tile.pdf
  grep -aq '/Outlines' "$pdf" || refuse "the PDF has no outline"
  begin=$(pdfinfo -dests "$pdf" | sed -n 's/^ *\([0-9]*\) \[.*"\(page-[^"]*\)"$/\1 \2/p' | grep -v ' page-index$' | cut -d' ' -f1 | sort -n | tr '\n' ' ')
  listed=$(pdftotext -f 2 -l 3 -layout "$pdf" - | tr '\f' '\n' | sed -n 's/^ *[A-Z0-9].*[A-Za-z?]  *\([0-9][0-9]*\)$/\1/p' | tr '\n' ' ')
  [ -n "$listed" ] && [ "$listed" = "$begin" ] || refuse "the list of contents has the pages $listed, and the parts begin on $begin"
fi
[ -z "$missing" ] || { echo "skipped: apt-get install$missing"; exit 77; }
