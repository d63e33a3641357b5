#!/bin/sh
# tile-record merges what it is given, puts a record in its place, and refuses everything else with one line, leaving the record as
# it was. On copies of a record. Usage: tile-record.sh TILE-RECORD, at the top of the repository.
tool=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
wrong=0
fail() { echo "$*"; wrong=$((wrong + 1)); }

record=$scratch/record.json
cp chapters/02-coalescing/measured/nvidia-h200.json "$record"

# refuse CODE COMPLAINT OPTION...: exits with CODE, says COMPLAINT on one line, and does not touch the record.
refuse() {
  code=$1 complaint=$2
  shift 2
  cp "$record" "$scratch/before"
  "$tool" "$@" >"$scratch/out" 2>"$scratch/err"
  status=$?
  [ "$status" = "$code" ] && grep -q -- "$complaint" "$scratch/err" && [ "$(wc -l <"$scratch/err")" = 1 ] ||
    { fail "not as expected (exit $status): $*"; cat "$scratch/err"; }
  cmp -s "$record" "$scratch/before" || fail "the record was changed by: $*"
}

# has KEY VALUE: the record has that line.
has() { grep -q "\"$1\": $2" "$record" || fail "$1 is not $2"; }

function=$(sed -n 's/.*"function": "\(.*\)".*/\1/p' "$record")
printf '==PROF== x\n"ID","Kernel Name","a__b.sum"\n"","",""\n"0","%s","1,240"\n' "$function" >"$scratch/ncu.csv"
printf '\t\tFunction : %s\n /*0000*/  FFMA R1, R2, R3, R1 ;\n /*0010*/  EXIT ;\n' "$function" >"$scratch/sass.txt"
printf 'Function %s:\n REG:77 STACK:0\n' "$function" >"$scratch/usage.txt"
echo nothing >"$scratch/nothing"
head -c 300 "$record" >"$scratch/half.json"
sed 's/"schema": 1/"schema": 7/' "$record" >"$scratch/later.json"

refuse 2 "choose one of --show"
refuse 2 "choose one of --show" --show "$record" --steps x
refuse 2 "--bogus" --bogus
refuse 2 "something to merge" --merge "$record"
refuse 2 "go together" --merge "$record" --registers "$scratch/usage.txt"
refuse 2 "go together" --merge "$record" --sass "$scratch/sass.txt" --architecture 86
refuse 2 "--size and --pad say what --profile is of" --merge "$record" --counters "$scratch/ncu.csv" --size 4096
refuse 2 "--size" --merge "$record" --profile "$scratch/ncu.csv" --size many
refuse 2 "--metrics" --metrics nonsense
refuse 2 "--keep needs --in" --keep "$record"
refuse 1 "cannot read $scratch/missing" --show "$scratch/missing"
refuse 1 "is not a valid record" --show "$scratch/half.json"
refuse 1 "has schema 7, this program reads 1" --merge "$scratch/later.json" --counters "$scratch/ncu.csv"
refuse 1 "cannot read $scratch/missing" --merge "$record" --counters "$scratch/missing"
refuse 1 "holds no counters" --merge "$record" --counters "$scratch/nothing"
refuse 1 "has no $function" --merge "$record" --counters "$scratch/ncu.csv" --sass "$scratch/nothing"
refuse 1 "says nothing of $function" --merge "$record" --registers "$scratch/nothing" --architecture 86
refuse 1 "chapters/nowhere is no directory" --keep "$record" --in chapters/nowhere
refuse 1 "missing is no program: build it first" --check "$scratch/missing"
refuse 1 "cannot start README.md" --check README.md
refuse 1 "true: what it says of itself is no description" --steps /bin/true
refuse 1 "cannot read $scratch/missing" --metrics profile --known "$scratch/missing"

"$tool" --merge "$record" --counters "$scratch/ncu.csv" --sass "$scratch/sass.txt" \
  --registers "$scratch/usage.txt" --architecture 86 || fail "merging three files failed"
has a__b.sum 1240.0
has FFMA 1
has 86 77
"$tool" --merge "$record" --profile "$scratch/ncu.csv" --size 777 --pad 3 || fail "merging a profile failed"
has profile+3 "{"
has profiled_size 777

mkdir "$scratch/chapter"
cp chapters/02-coalescing/chapter02.cu "$scratch/chapter"
"$tool" --keep "$record" --in "$scratch/chapter" >"$scratch/out" || fail "the record was not kept"
cmp "$record" "$scratch/chapter/measured/nvidia-h200.json" || fail "another record was kept"
"$tool" --show "$record" | grep -q '^coalesced: .* runs (.*4096.*); counters, .*profile+3, registers_for, sass' || fail "--show says something else"

# A sweep has a place of its own.
sed 's/"schema": 1/"schema": 1, "sweep": {"seconds": 1}/' "$record" >"$scratch/sweep.json"
"$tool" --show "$scratch/sweep.json" | grep -q 'its place is sweep/nvidia-h200.json' || fail "--show takes a sweep for something else"
"$tool" --keep "$scratch/sweep.json" --in "$scratch/chapter" >"$scratch/out" || fail "the sweep was not kept"
[ -f "$scratch/chapter/sweep/nvidia-h200.json" ] || fail "the sweep was kept elsewhere"
cmp "$record" "$scratch/chapter/measured/nvidia-h200.json" || fail "the sweep took the record's place"

# What not every GPU has is asked for where ncu knows it.
"$tool" --metrics counters | grep -q '^l1tex__[^ ]*,launch__registers_per_thread$' || fail "the list of counters is another"
"$tool" --metrics profile | grep -q 'stalled_misc_per' || fail "a profile does not ask why warps wait"
"$tool" --metrics profile | grep -q lrc__ && fail "a GPU is asked what it may not know"
echo "lrc__lts2lrc_sectors_op_read  Counter" | "$tool" --metrics profile --known - >"$scratch/out"
grep -q "lrc__lts2lrc_sectors_op_read.sum" "$scratch/out" || fail "a GPU is not asked what it knows"
grep -q lts__d_sectors "$scratch/out" && fail "a GPU is asked what it does not know"

[ "$wrong" = 0 ] && echo "merged, kept and refused as it should be"
exit "$wrong"
