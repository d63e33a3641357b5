#!/bin/sh
# What the program `mutants` makes of a small source: which mutants there are, which survive, and what the reviewed list does.
# Usage: mutants.sh MUTANTS DIRECTORY, where DIRECTORY holds sample.cu and sample.txt, the mutants it must make
mutants=$1 directory=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
wrong=0
complain() { echo "$*"; wrong=1; }

"$mutants" --source "$directory/sample.cu" --list --count 0 >"$scratch/list" || complain "--list fails"
diff "$directory/sample.txt" "$scratch/list" || complain "other mutants than in sample.txt"

# This compiler takes only what says whose copy it is.
cat >"$scratch/compiler" <<'END'
#!/bin/sh
head -n 1 "$1" | grep -q '^#line 1 "/.*/mutants/sample.cu"$' || exit 1
exec g++ -x c++ "$1" -o "$2"
END
chmod +x "$scratch/compiler"
# judge CODE LIST PATTERN...: with this reviewed list the program must exit with CODE and print lines that match.
judge() {
  code=$1 list=$2
  shift 2
  printf '%s' "$list" >"$scratch/accepted.json"
  "$mutants" --source "$directory/sample.cu" --count 0 --accepted "$scratch/accepted.json" --compiler "$scratch/compiler" \
    --work "$scratch/work" >"$scratch/out" 2>"$scratch/err"
  status=$?
  [ "$status" = "$code" ] || complain "exit $status, not $code, with the list $list"
  for pattern in "$@"; do
    cat "$scratch/out" "$scratch/err" | grep -q -- "$pattern" || { complain "does not say: $pattern"; cat "$scratch/out" "$scratch/err"; }
  done
}
larger='{"from": "constexpr int SIZE = 4;", "to": "constexpr int SIZE = 5;", "reason": "the sixth element is 0"}'
longer='{"from": "for (int row = 0; row < rows && row < SIZE; ++row) total += A[row];",
  "to": "for (int row = 0; row < rows && row <= SIZE; ++row) total += A[row];", "reason": "the fifth element is 0"}'
stale='{"from": "constexpr int SIZE = 4;", "to": "constexpr int SIZE = 6;", "reason": "once there was such a mutant"}'
judge 1 "[$larger]" "+ for (int row = 0; row < rows && row <= SIZE; ++row)" "2 survived (1 of them with a reason)"
judge 0 "[$larger, $longer]" "killed by: sums" "2 survived (2 of them with a reason)" "^score: \([0-9]*\) of \1 mistakes seen"
judge 1 "[$larger, $longer, $stale]" "names an edit that no mutant makes"
judge 1 "[{]" "^mutants: .*accepted.json"
# An option that is wrong is told in one line, with what to do.
for option in "--count x" "--number 3"; do
  "$mutants" --source "$directory/sample.cu" $option >"$scratch/out" 2>"$scratch/err"
  [ $? = 2 ] && [ "$(cat "$scratch/out" "$scratch/err" | wc -l)" = 1 ] && grep -q '^mutants: .*; ./tile mutants NN --help lists the options$' "$scratch/err" ||
    complain "not one line for $option: $(cat "$scratch/out" "$scratch/err")"
done
exit "$wrong"
