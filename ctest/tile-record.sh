#!/bin/sh
# tile-record merges files into a record, moves a record to its place, compares it with its program, and rejects everything else with one
# line, without changing the record. On copies of a record. Usage: tile-record.sh TILE-RECORD CHAPTER02, at the top of the repository.
tool=$1 chapter=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
wrong=0
fail() { echo "$*"; wrong=$((wrong + 1)); }

recorded=chapters/02-coalescing/measured/nvidia-h200
record=$scratch/record
cp -R "$recorded" "$record"

# refuse CODE COMPLAINT OPTION...: it exits with CODE, prints COMPLAINT on one line, and does not change the record.
refuse() {
  code=$1 complaint=$2
  shift 2
  "$tool" "$@" >"$scratch/out" 2>"$scratch/err"
  status=$?
  [ "$status" = "$code" ] && grep -q -- "$complaint" "$scratch/err" && [ "$(wc -l <"$scratch/err")" = 1 ] ||
    fail "not as expected (exit $status): $*: $(cat "$scratch/err")"
  diff -r "$record" "$recorded" || fail "the record was changed by: $*"
}

function=$(sed -n 's/.*"function": "\(.*\)",/\1/p' "$record/environment.json")
printf '==PROF== x\n"ID","Kernel Name","lts__t_sectors_op_read.sum"\n"","",""\n"0","%s","1,240"\n' "$function" >"$scratch/ncu.csv"
printf '\t\tFunction : %s\n /*0000*/  FFMA R1, R2, R3, R1 ;\n /*0010*/  EXIT ;\n' "$function" >"$scratch/sass.txt"
echo nothing >"$scratch/nothing"

refuse 2 "Exactly 1 option from .--merge"
refuse 2 "--bogus" --merge "$record" --bogus
refuse 2 "--size requires --profile" --merge "$record" --counters "$scratch/ncu.csv" --size 4096
refuse 2 "chapters/nowhere" --keep "$record" --in chapters/nowhere
refuse 1 "cannot read $scratch/missing" --merge "$scratch/missing"
refuse 1 "holds no counters" --merge "$record" --counters "$scratch/nothing"
refuse 1 "has no $function" --merge "$record" --counters "$scratch/ncu.csv" --sass "$scratch/nothing"
refuse 1 "missing is not a program: build it first" --check "$scratch/missing"
refuse 1 "parse error" --steps /bin/true

# A record that is read is written back unchanged, byte for byte.
mkdir "$scratch/chapter"
cp chapters/02-coalescing/chapter02.cu "$scratch/chapter"
"$tool" --keep "$record" --in "$scratch/chapter" >"$scratch/out" || fail "the record was not kept"
diff -r "$record" "$scratch/chapter/measured/nvidia-h200" || fail "another record was kept"

# What chapter 02's description says of the counters is passed on.
"$chapter" --on model --describe counts >"$scratch/counts.json"
"$tool" --check "$scratch/counts.json" || [ $? = 77 ] || fail "the record as it is does not pass"  # 77: its machine code was not checked
sed -i 's/"unexplained": \[\]/"unexplained": ["99,999 measured"]/' "$scratch/counts.json"
"$tool" --check "$scratch/counts.json" 2>"$scratch/err" && fail "a counter that differs is not noticed"
grep -q "nvidia-h200: 99,999 measured" "$scratch/err" || fail "$(cat "$scratch/err")"

"$tool" --merge "$record" --counters "$scratch/ncu.csv" --sass "$scratch/sass.txt" ||
  fail "merging two files failed"
"$tool" --merge "$record" --profile "$scratch/ncu.csv" --size 777 --pad 3 || fail "merging a profile failed"
for row in counters,l2_sectors,1240,, sass,FFMA,1,, profile+3,l2_sectors,1240,,; do
  grep -qx "coalesced,$row" "$record/metrics.csv" || fail "metrics.csv has no $row"
done
grep -q '"profiled_size": 777' "$record/environment.json" || fail "the size of the profile is not recorded"

# Metrics that not every GPU has are requested if ncu knows them.
"$tool" --metrics counters | grep -q '^l1tex__[^ ]*,launch__registers_per_thread$' || fail "the list of counters is another"
"$tool" --metrics profile | grep -q lrc__ && fail "a GPU is asked what it may not know"
echo "lrc__lts2lrc_sectors_op_read  Counter" | "$tool" --metrics profile --known /dev/stdin >"$scratch/out"
grep -q "lrc__request_sectors_op_read_coalescable.sum" "$scratch/out" || fail "a GPU is not asked what it knows"

exit "$wrong"
