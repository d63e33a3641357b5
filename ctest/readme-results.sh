#!/bin/sh
# The ladder in README.md and the table of all kernels in .github/RESULTS.md agree with the records. With --write they are updated.
# Usage: readme-results.sh FIGURES-PROGRAM EMITTED-DIRECTORY [--write]
set -e
figures=$1 emitted=$2 write=$3
scratch=$(mktemp)
trap 'rm -f "$scratch" "$scratch.last"' EXIT

# The ladder of part I: for each chapter what it reached, a bar, and what it gained over the best before it.
ladder() {
  echo 'TFLOP/s at M = N = K = 4096 on one NVIDIA H200, and what each step gains over the best kernel before it:'
  echo
  echo '| | | TFLOP/s | | |'
  echo '|---|---|--:|---|---|'
  tail -n +3 "$emitted/part-1/table-ladder.tsv" | while IFS="$(printf '\t')" read -r number title _ _ _ _ _ tflops gain _ stronger; do
    page=$(echo chapters/"$number"-*/chapter"$number".md)
    step=$(sed -n 's/^step: "\(.*\)"$/\1/p' "$page")
    bar=$(awk "BEGIN { for (i = 0; i < $tflops / 2; ++i) printf \"█\" }")
    echo "| $number | [$title]($page) | $tflops | \`$bar\` | $(echo "$gain× " | sed 's/^-.*//')$step |"
    printf '\n%s\n' "The last one is $stronger times as fast as the faster of \`cublasGemmEx\` and cuBLASLt." >"$scratch.last"
  done
  cat "$scratch.last"
}

# compare FILE COMMAND...: between the marks of FILE stands what the command prints.
compare() {
  file=$1
  shift
  {
    sed '/<!-- results -->/q' "$file"
    "$@"
    sed -n '/<!-- \/results -->/,$p' "$file"
  } >"$scratch"
  [ "$write" = --write ] && cp "$scratch" "$file"
  diff "$file" "$scratch" || { echo "$file is out of date: run sh ctest/readme-results.sh $figures $emitted --write"; exit 1; }
}
compare README.md ladder
compare .github/RESULTS.md "$figures" results chapters
