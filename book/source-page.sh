#!/bin/sh
# A program as a page of its own, with an anchor on every line (#L-12). Usage: source-page.sh PANDOC FILE.cu OUT.html
set -e
book=$(dirname "$0")
name=$(basename "$2")
{
  printf '~~~~~~{#L .cuda .numberSource .lineAnchors}\n'
  cat "$2"
  printf '~~~~~~\n'
} | "$1" --from markdown --to html5 --template "$book/source.html" --syntax-definition "$book/cuda.xml" \
  -M "title=$name" -M "page=$(echo "$name" | sed 's/[^0-9]//g')" --output "$3"
