#!/bin/sh
# What the program `breaks` writes of an experiment that ran, the book shows; and no longer once the source has changed.
# Usage: breaks-shown.sh BREAKS PANDOC SCRIPT DIRECTORY BUILT, where DIRECTORY holds sample.json and sample.cu, BUILT is where they
# were built, and SCRIPT says of which experiments a page shows the run (book/weave/tests/shown_runs.lua).
breaks=$1 pandoc=$2 script=$3 directory=$4 built=$5
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
wrong=0
complain() { echo "$*"; wrong=1; }

RUNS=$scratch/runs
export RUNS
mkdir -p "$RUNS/breaks"
cp -rs "$(cd "$built" && pwd)" "$RUNS/breaks/chapter03" && rm -f "$RUNS/breaks/chapter03/captured.tsv"
"$breaks" capture --experiments "$directory/sample.json" --built "$RUNS/breaks/chapter03" || complain "what was said is not captured"

# shown WHEN NAME...: of these experiments a page shows what was said.
shown() {
  when=$1
  shift
  "$breaks" emit --experiments "$directory/sample.json" --source "$RUNS/chapter03.cu" --output "$RUNS/breaks.tsv" ||
    complain "the experiments are not emitted"
  "$pandoc" --from markdown --lua-filter "$script" /dev/null >"$scratch/page" 2>"$scratch/shown" || complain "the weaver fails"
  [ "$(paste -s -d ' ' "$scratch/shown")" = "$*" ] || complain "$when a page shows the runs of: $(paste -s -d ' ' "$scratch/shown")"
}
cp "$directory/sample.cu" "$RUNS/chapter03.cu"
shown "after a run," race check two-edits message
echo '// changed' >>"$RUNS/chapter03.cu"
shown "of another source"

# compared WORDS STATUS: what is said of kept messages.
compared() {
  "$breaks" compare --kept "$RUNS/messages.tsv" --built "$RUNS/breaks/chapter03" >"$scratch/out" 2>&1
  [ $? = "$2" ] && [ "$(wc -l <"$scratch/out")" = $((2 * $2)) ] || { complain "of $1 messages is not said what should be"; cat "$scratch/out"; }
}
compared missing 1
cp "$RUNS/breaks/chapter03/captured.tsv" "$RUNS/messages.tsv"
compared equal 0
sed -i '1s/$/ and more/' "$RUNS/messages.tsv"
compared other 1
sh -c "$(tail -n 1 "$scratch/out")" && compared renewed 0
exit "$wrong"
