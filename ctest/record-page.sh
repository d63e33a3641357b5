#!/bin/sh
# Pages of records: what is folded, and that no page of the book's sources is so large that a browser is slow to show it.
# Usage: record-page.sh RECORD-PAGE.AWK SOURCE-PAGES
set -eu
script=$1 pages=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
wrong=0
cat >"$scratch/record.json" <<'END'
{
  "gpu": "a < b",
  "kernels": [
    {
      "name": "k",
      "runs": [
        {
          "M": 4,
          "clocks": {
            "mhz": [1, 2, 3],
            "throttled": []
          },
          "samples_ms": [1.5, 2.5, -3e-05, 4, 5],
          "search": {
            "asked": 2,
            "tried": [
              {
                "id": 1
              },
              {
                "id": 2
              }
            ]
          },
          "tflops": 7
        }
      ]
    }
  ],
  "limits": {
    "threads": 2048
  },
  "problems": [
    {
      "sizes": [1, 2]
    }
  ]
}
END
cat >"$scratch/expected" <<'END'
<li id=L-1>{
<li id=L-2>  "gpu": "a &lt; b",
<li id=L-3>  "kernels": [
<li id=L-4>    {
<li id=L-5>      "name": "k",
<li id=L-6>      "runs": [
<li id=L-7>        {
<li id=L-8>	"M": 4,
<li id=L-9>	"clocks": {2 values},
<li id=L-13 value=13>	"samples_ms": [5 numbers],
<li id=L-14>	"search": {2 values},
<li id=L-25 value=25>	"tflops": 7}]}],
<li id=L-30 value=30>  "limits": {
<li id=L-31>    "threads": 2048},
<li id=L-33 value=33>  "problems": [1 object]}
END
awk -f "$script" "$scratch/record.json" | diff "$scratch/expected" - || { echo "another page of a record than expected"; wrong=1; }
grep -q "^<li id=L-[0-9]*>$(printf '\t')\"median_ms\"" "$pages"/chapters-01-*.json.html || { echo "what indents lines is lost on its way to the page"; wrong=1; }
large=$(find "$pages" -name '*.html' -size +1572864c)
[ -n "$(ls "$pages")" ] && [ -z "$large" ] || { echo "larger than a megabyte and a half, or none: $large"; wrong=1; }
exit "$wrong"
