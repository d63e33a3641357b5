#!/bin/sh
# A file as a page of its own, with an anchor on every line (#L-12): programs in colours, tables as they are. A record, which is a
# directory, is a page of all its tables (#runs.csv-12).
# Usage: source-page.sh PANDOC FILE OUT.html
set -e
book=$(dirname "$0")
case $2 in
  */chapters/*) chapter=$(echo "$2" | sed 's|.*/chapters/\([0-9]*\)-[^/]*/.*|\1|') ;;
  *) chapter= ;;
esac
lines() { # FILE ANCHOR: the lines of a file as they are
  printf '<div class="sourceCode"><pre class="sourceCode numberSource"><code class="sourceCode">'
  sed 's/&/\&amp;/g; s/</\&lt;/g' "$1" | awk -v anchor="$2" '{ printf "<span id=\"%s-%d\"><a href=\"#%s-%d\"></a>%s</span>\n", anchor, NR, anchor, NR, $0 }'
  printf '</code></pre></div>\n'
}
{
  if [ -d "$2" ]; then
    printf '~~~~~~{=html}\n'
    for file in "$2"/*; do
      printf '<h2>%s</h2>\n' "${file##*/}"
      lines "$file" "${file##*/}"
    done
  elif [ "${2%.csv}" != "$2" ]; then
    printf '~~~~~~{=html}\n'
    lines "$2" L
  else
    printf '~~~~~~{#L .cuda .numberSource .lineAnchors}\n'
    cat "$2"
  fi
  printf '~~~~~~\n'
} | "$1" --from markdown --preserve-tabs --to html5 --template "$book/source.html" --syntax-definition "$book/cuda.xml" \
  -M "title=${2#"$(dirname "$book")/"}" ${chapter:+-M "page=$chapter"} --output "$3"
