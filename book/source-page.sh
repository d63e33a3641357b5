#!/bin/sh
# A program, or what programs share, as a page of its own, with an anchor on every line (#L-12). Usage: source-page.sh PANDOC FILE OUT.html
set -e
book=$(dirname "$0")
name=$(basename "$2")
chapter=$(echo "$name" | sed -n 's/^chapter\([0-9]*\)[.]cu$/\1/p')
{
  printf '~~~~~~{#L .cuda .numberSource .lineAnchors}\n'
  cat "$2"
  printf '~~~~~~\n'
} | "$1" --from markdown --to html5 --template "$book/source.html" --syntax-definition "$book/cuda.xml" \
  -M "title=$name" ${chapter:+-M "page=$chapter"} --output "$3"
