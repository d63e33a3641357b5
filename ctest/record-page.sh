#!/bin/sh
# Pages of records have an anchor for each row, and none is too large for a browser to show quickly. Usage: record-page.sh SOURCE-PAGES
set -eu
pages=$1
grep -q '<span id="runs.csv-2"><a href="#runs.csv-2"></a>naive,' "$pages/chapters-01-naive-measured-nvidia-h200.html" || {
  echo "chapter 01's runs have no anchors"
  exit 1
}
large=$(find "$pages" -name '*.html' -size +1572864c)
[ -z "$large" ] || { echo "larger than a megabyte and a half: $large"; exit 1; }
