#!/bin/sh
# Bad input gets one line that says what is wrong, the right exit code, and leaves nothing behind.
# Usage: bad-input.sh BIN-DIRECTORY MODEL-CC
bin=$1 model_cc=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
wrong=0

# refuse CODE PATTERN COMMAND...: the command must exit with CODE and print one line on stderr that matches.
refuse() {
  code=$1 pattern=$2
  shift 2
  "$@" >"$scratch/out" 2>"$scratch/err"
  status=$?
  lines=$(wc -l <"$scratch/err")
  if [ "$status" != "$code" ] || ! grep -q -- "$pattern" "$scratch/err" || [ "$lines" != 1 ]; then
    echo "not as expected (exit $status, $lines lines): $*"
    sed 's/^/  /' "$scratch/err"
    wrong=$((wrong + 1))
  fi
}

chapter="$bin/chapter02"
refuse 2 "--size takes a whole number from 1 to 65536, not '0'" "$chapter" --size 0
refuse 2 "not 'abc'" "$chapter" --size abc
refuse 2 "not '100000000'" "$chapter" --size 100000000
refuse 2 "not '-5'" "$chapter" --size=-5
refuse 2 "--bogus" "$chapter" --bogus
refuse 2 "it has coalesced" "$chapter" --on model --kernel nonsense
refuse 2 "gpu or model, not 'tpu'" "$chapter" --on tpu
refuse 2 "too large for the SIMT model" "$chapter" --on model --size 65536
refuse 2 "--alpha takes a number" "$chapter" --alpha x
refuse 2 "needs --out FILE" "$chapter" --bench
refuse 2 "no test case is called" "$chapter" --on model --test "no such test"
refuse 1 "cannot write\|cannot create\|not permitted\|denied\|Not a directory\|No such" "$chapter" --on model --emit /proc/nowhere
refuse 1 "--tune times kernels and needs a GPU" "$bin/chapter07" --on model --tune
refuse 2 "--tune" "$chapter" --tune
command -v nvidia-smi >/dev/null || refuse 1 "use --on model" "$chapter" --on gpu

# A broken record, in a copy of the chapter.
mkdir -p "$scratch/measured"
cp chapters/02-coalescing/chapter02.cu "$scratch/chapter02.cu"
echo '{"schema": 1' >"$scratch/measured/nvidia-h200.json"
"$model_cc" "$scratch/chapter02.cu" "$scratch/program" chapter || exit 1
refuse 1 "not a valid record" "$scratch/program" --on model
[ -s "$scratch/out" ] && grep -q Measured "$scratch/out" && { echo "tables were printed from a broken record"; wrong=$((wrong + 1)); }

mkdir "$scratch/a;b"
cp tile "$scratch/a;b"
refuse 1 "move the repository" "$scratch/a;b/tile" read
refuse 2 "there is no such chapter" ./tile run 99
refuse 2 "two digits" ./tile run one
refuse 2 "cannot read" ./tile count /nonexistent.cu

# Tests put their files where no other user's stand in the way, and take them away again.
mkdir "$scratch/tmp"
TMPDIR="$scratch/tmp" "$bin/harness_test" --on model --test "broken records are refused with advice" >"$scratch/out" || wrong=$((wrong + 1))
[ -z "$(ls "$scratch/tmp")" ] || { echo "a test leaves behind: $(ls "$scratch/tmp")"; wrong=$((wrong + 1)); }

# A pandoc that is too old, and one that is missing.
printf '#!/bin/sh\necho pandoc 2.9\n' >"$scratch/pandoc"
chmod +x "$scratch/pandoc"
configure_without() {
  pandoc=$1 pattern=$2
  if cmake -S . -B "$scratch/build" -G Ninja -DPANDOC="$pandoc" >"$scratch/out" 2>&1 || ! tr -s '\n ' ' ' <"$scratch/out" | grep -q "$pattern"; then
    echo "configuring with pandoc '$pandoc' does not say: $pattern"
    wrong=$((wrong + 1))
  fi
}
configure_without "$scratch/pandoc" "pandoc 2.9 is too old: the book needs 2.17 or newer"
configure_without "" "Weaving the book needs pandoc"
[ "$wrong" = 0 ] && echo "all refused as they should be"
exit "$wrong"
