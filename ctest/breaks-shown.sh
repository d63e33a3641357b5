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
"$breaks" emit --experiments "$directory/sample.json" --output "$RUNS/breaks.tsv" || complain "the experiments are not emitted"

# shown WHEN NAME...: of these experiments a page shows what was said.
shown() {
  when=$1
  shift
  "$pandoc" --from markdown --lua-filter "$script" /dev/null >"$scratch/page" 2>"$scratch/shown" || complain "the weaver fails"
  [ "$(paste -s -d ' ' "$scratch/shown")" = "$*" ] || complain "$when a page shows the runs of: $(paste -s -d ' ' "$scratch/shown")"
}
cp "$directory/sample.cu" "$RUNS/chapter03.cu"
shown "built with the one test that must fail," race check two-edits message
for name in race check two-edits; do
  rm "$RUNS/breaks/chapter03/$name.cu"
  printf '#!/bin/sh\n' >"$scratch/compiler" && chmod +x "$scratch/compiler"
  "$breaks" build --experiments "$directory/sample.json" --name "$name" --source "$directory/sample.cu" --compiler "$scratch/compiler" \
    --program "$scratch/whole/$name" --whole || complain "breaks build --whole fails"
  cp "$scratch/whole/$name.cu" "$RUNS/breaks/chapter03"
done
shown "built with all tests," race check two-edits message
echo '// changed' >>"$RUNS/chapter03.cu"
shown "of another source"
exit "$wrong"
