#!/bin/sh
# The ladder in README.md and the table of all kernels in .github/RESULTS.md agree with the records. With --write they are updated.
# Usage: readme-results.sh FIGURES-PROGRAM EMITTED-DIRECTORY [--write]
set -e
figures=$1 emitted=$2 write=$3
scratch=$(mktemp)
trap 'rm -f "$scratch"' EXIT

# The whole ladder of part I: for each chapter a bar, what it reached, and what it gained over the best before it.
ladder() {
  echo '| | | TFLOP/s | |'
  echo '|---|---|--:|---|'
  tail -n +3 "$emitted/part-1/table-ladder.tsv" | while IFS="$(printf '\t')" read -r number title _ _ _ _ _ tflops gain _; do
    step=$(sed -n 's/^step: "\(.*\)"$/\1/p' chapters/"$number"-*/chapter"$number".md)
    bar=$(awk "BEGIN { for (i = 0; i < $tflops / 2; ++i) printf \"█\" }")
    printf '| %s | %s | %s | `%s` %s%s |\n' "$number" "$title" "$tflops" "$bar" "$([ "$gain" = - ] || echo "$gain× ")" "$step"
  done
  tail -n 1 "$emitted/part-1/table-ladder.tsv" | awk -F '\t' '{ printf "\nTFLOP/s of each chapter at M = N = K = 4096 on one NVIDIA H200, and what its step gains over " \
    "the best kernel before it. Chapter %s reaches %s times the rate of the faster of `cublasGemmEx` and cuBLASLt.\n", $1, $11 }'
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
