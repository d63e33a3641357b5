#!/bin/sh
# The book as one file: epubcheck finds no error in the EPUB, which cuts no line of a program; the PDF has an outline, no name of a place twice, and pages as pdf-pages.awk wants
# them, an author, and its text in the middle. Skipped where epubcheck is not installed, or pdftotext to read the pages with.
# Usage: one-file.sh BUILD-DIRECTORY CMAKE UNLESS-SAME.SH EPUBCHECK JAVA PDFTOTEXT CHROMIUM, of which the last four may be "": not installed
build=$1 cmake=$2 unless_same=$3 epubcheck=$4 java=$5 pdftotext=$6 chromium=$7
twice=$(grep -o ' id="[^"]*"' "$build/book/print.html" | sort | uniq -d | head -n 3)
[ -z "$twice" ] || { echo "the whole book has names of places twice:" $twice; exit 1; }
twice=$(tr '\n' ' ' <"$build/book/print.html" | grep -o '<strong>\(Figure\|Table\|Listing\) [0-9A-Z.]*</strong>' | sort | uniq -d | head -n 3)
[ -z "$twice" ] || { echo "the whole book has captions with the same number:" $twice; exit 1; }
[ -n "$epubcheck" ] && [ -n "$java" ] || { echo "skipped: epubcheck is not installed (sudo apt-get install epubcheck)"; exit 77; }
epub=$build/book/tile-by-tile.epub
# Java compiles in a hurry: it works for seconds.
sh "$unless_same" "$build/passed/epubcheck" "$epub" -- "$java" -XX:TieredStopAtLevel=1 -jar "$epubcheck" "$epub" || exit 1
[ -n "$chromium" ] || exit 0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
whole=$(realpath "$epub")
(cd "$scratch" && "$cmake" -E tar xf "$whole")
# Blanks at the beginning may fill a line.
cat >"$scratch/lines.html" <<END
<iframe width="420" height="600" src="EPUB/text/$(ls -S "$scratch/EPUB/text" | head -n 1)" onload="
  const lines = [...contentDocument.querySelectorAll('.program .line')];
  const beyond = lines.filter((line) => [...line.getClientRects()].slice(/^ {40}/.test(line.textContent) ? 1 : 0).some((box) => box.right > 421));
  const below = lines.filter((line) => line.getClientRects()[0].top > line.previousElementSibling.getBoundingClientRect().bottom);
  document.title = lines.length + ' lines, ' + beyond.length + ' cut, ' + below.length + ' below their number';"></iframe>
END
"$chromium" --headless --no-sandbox --allow-file-access-from-files --virtual-time-budget=20000 --dump-dom "file://$scratch/lines.html" 2>/dev/null |
  grep -o '<title>.*</title>' >"$scratch/lines"
grep -q '<title>[1-9][0-9]* lines, 0 cut, 0 below' "$scratch/lines" || { echo "programs of the EPUB on a narrow page: $(cat "$scratch/lines")"; exit 1; }
grep -aq '^<</Author (The Tile by Tile authors)' "$build/book/tile-by-tile.pdf" || { echo "the PDF does not say who wrote it"; exit 1; }
grep -aq '/Outlines' "$build/book/tile-by-tile.pdf" || { echo "the PDF has no outline"; exit 1; }
[ -n "$pdftotext" ] || { echo "skipped: pdftotext is not installed (sudo apt-get install poppler-utils)"; exit 77; }
tr '\n' ' ' <"$build/book/print.html" | grep -o '<h1 class="page"[^>]*>[^<]*</h1>' | sed 's/<[^>]*>//g' >"$scratch/titles"
"$pdftotext" -bbox "$build/book/tile-by-tile.pdf" "$scratch/words.html"
author=$("$(dirname "$pdftotext")/pdfinfo" "$build/book/tile-by-tile.pdf" 2>&1 | sed -n 's/^Author: *//p')
[ "$author" = "The Tile by Tile authors" ] || { echo "the author in the PDF's properties is '$author'"; exit 1; }
"$(dirname "$pdftotext")/pdfinfo" -dests "$build/book/tile-by-tile.pdf" | sed -n 's/^ *\([0-9]*\) \[.*"\(page-[^"]*\)"$/\2 \1/p' | sort >"$scratch/begin"
"$pdftotext" -f 2 -l 2 -layout "$build/book/tile-by-tile.pdf" - | tr '\f' '\n' | sed -n 's/^ *\([A-Z0-9].*[A-Za-z]\)  *\([0-9][0-9]*\)$/\2/p' >"$scratch/listed"
listed=$(tr '\n' ' ' <"$scratch/listed") begin=$(sed '/^page-index /d; s/.* //' "$scratch/begin" | sort -n | tr '\n' ' ')
[ -n "$listed" ] && [ "$listed" = "$begin" ] || { echo "the list of contents has the pages $listed, and the parts begin on $begin"; exit 1; }
awk -f "$(dirname "$0")/pdf-middle.awk" "$scratch/words.html" || exit 1
awk -f "$(dirname "$0")/pdf-pages.awk" "$scratch/titles" "$scratch/words.html"
