#!/bin/sh
# A file as a page of its own, with an anchor on every line (#L-12): programs in colours, tables as they are, records with what is long
# folded (record-page.awk).
# Usage: source-page.sh PANDOC FILE OUT.html
set -e
book=$(dirname "$0")
case $2 in
  */chapters/*) chapter=$(echo "$2" | sed 's|.*/chapters/\([0-9]*\)-[^/]*/.*|\1|') ;;
  *) chapter= ;;
esac
{
  case $2 in
    *.json)
      printf '~~~~~~{=html}\n<p>Long lists, and objects in lists, are folded: the file has them.</p>\n<ol class="record">\n'
      awk -f "$book/record-page.awk" "$2"
      printf '</ol>\n'
      ;;
    *.csv)
      printf '~~~~~~{=html}\n<div class="sourceCode"><pre class="sourceCode numberSource"><code class="sourceCode">'
      sed 's/&/\&amp;/g; s/</\&lt;/g' "$2" | awk '{ printf "<span id=\"L-%d\"><a href=\"#L-%d\"></a>%s</span>\n", NR, NR, $0 }'
      printf '</code></pre></div>\n'
      ;;
    *)
      printf '~~~~~~{#L .cuda .numberSource .lineAnchors}\n'
      cat "$2"
      ;;
  esac
  printf '~~~~~~\n'
} | "$1" --from markdown --preserve-tabs --to html5 --template "$book/source.html" --syntax-definition "$book/cuda.xml" \
  -M "title=${2#"$(dirname "$book")/"}" ${chapter:+-M "page=$chapter"} --output "$3"
