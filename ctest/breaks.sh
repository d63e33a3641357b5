#!/bin/sh
# What the program `breaks` makes of experiments that do not go as they say, and what ninja builds again.
# Usage: breaks.sh BREAKS DIRECTORY BUILT BUILD-COMMAND..., where DIRECTORY holds sample.json and sample.txt, what it must
# say of them; BUILT is where they were built, and BUILD-COMMAND does so.
breaks=$1 directory=$2 built=$3
shift 3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
wrong=0
complain() { echo "$*"; wrong=1; }

"$breaks" judge --experiments "$directory/sample.json" --built "$built" >"$scratch/out" 2>&1 && complain "wrong experiments pass"
grep -E '^([a-z-]+: |[0-9]+ experiments)' "$scratch/out" >"$scratch/verdicts"
diff "$directory/sample.txt" "$scratch/verdicts" || { complain "other verdicts than in sample.txt"; cat "$scratch/out"; }

# captured NAME PATTERN: what the book shows of this experiment's run. Addresses and lines are left out, and places are of the source.
captured() {
  grep -q "^$1	$2" "$built/captured.tsv" || { complain "captured.tsv does not say '$2' of $1"; cat "$built/captured.tsv"; }
}
captured race 'race: reverse, sample.cu, block'
captured check 'CHECK( result.back() == 0 ) is NOT correct!.n  values: CHECK( '
captured message 'error: a block must consist of whole warps$'
grep -q 'address 0x' "$built/captured.tsv" && complain "captured.tsv has addresses, which differ from run to run"
grep -q '^still-passes' "$built/captured.tsv" && complain "captured.tsv has an experiment that did not break"

# refuse PATTERN FIELDS: a file whose only experiment has these fields is refused with one line.
refuse() {
  printf '%s' "$2" >"$scratch/experiments.json"
  "$breaks" judge --experiments "$scratch/experiments.json" --built "$built" >"$scratch/out" 2>&1 && complain "accepted: $2"
  [ "$(wc -l <"$scratch/out")" = 1 ] && grep -q -- "$1" "$scratch/out" || { complain "does not say '$1' of $2"; cat "$scratch/out"; }
}
edit='"name": "race", "find": "a", "replace": "b"'
refuse "experiment race needs says" "[{$edit, \"test\": \"no race\"}]"
refuse "says 'race', which names no kernel" "[{$edit, \"test\": \"no race\", \"says\": \"race\"}]"
refuse "needs either test or message" "[{$edit}]"
refuse "needs either test or message" "[{$edit, \"test\": \"no race\", \"says\": \"race: reverse\", \"message\": \"no\"}]"
refuse "needs as many texts" '[{"name": "race", "find": ["a", "b"], "replace": "c", "message": "no"}]'
refuse "'find' not found" '[{"name": "race", "replace": "b", "message": "no"}]'
refuse "experiments.json" '[{'
refuse "0 experiments" '[]'

# How many experiments are built and tried when the build command runs now.
rebuilt() { "$@" >"$scratch/built"; grep -c Breaking "$scratch/built"; }
[ "$(rebuilt "$@")" = 0 ] || complain "experiments are built again though nothing changed"
touch "$built/race.edit"
[ "$(rebuilt "$@")" = 1 ] || complain "an edit of one experiment does not build and try just that one"
exit "$wrong"
