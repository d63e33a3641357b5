#!/bin/sh
# What `tile` makes of the output of the tools that it starts. They are played by scripts: a copy of `tile` builds nothing here.
# Usage: tile.sh, at the top of the repository
command -v dpkg-query >/dev/null || { echo "skipped: ./tile needs Debian or Ubuntu"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
wrong=0
complain() { echo "$*"; wrong=$((wrong + 1)); }

mkdir -p "$scratch/copy/build/model/bin" "$scratch/tools" "$scratch/few" "$scratch/elsewhere"
cp tile "$scratch/copy"
# play NAME: a tool does what stdin says.
play() { (echo '#!/bin/sh'; cat) >"$scratch/tools/$1" && chmod +x "$scratch/tools/$1"; }
play dpkg-query <<'END_OF_TOOL'
echo "install ok installed"
END_OF_TOOL
play cmake <<'END_OF_TOOL'
echo "$*" >>"$TMPDIR/built"
case "$*" in
  *" -n") echo "[0/2] Re-checking globbed directories..."; echo "[1/2] Re-running CMake..." ;;  # all that a dry run finds out
  *--build*) echo "[0/2] Re-checking globbed directories..."; echo "${SAYS-ninja: no work to do.}"; exit "${FAILS-0}" ;;
esac
END_OF_TOOL
play ctest <<'END_OF_TOOL'
echo "$*" >"$TMPDIR/asked"
case "$*" in
  *"-N "*"-R ["*) printf 'RegularExpression::compile(): Unmatched [].\nRegularExpression::compile(): Error in compile.\n\nTotal Tests: 0\n'; exit ;;
  *"-N "*"-R none"*) printf '\nTotal Tests: 0\n'; exit ;;
  *"-N "*) printf '  Test #1: chapter01.counts\n\nTotal Tests: 1\n'; exit ;;
esac
printf '      Start 1: chapter01.counts\n1/4 Test #1: chapter01.counts .....   Passed    0.01 sec\n'
printf '      Start 2: chapter01.gpu.runs\n2/4 Test #2: chapter01.gpu.runs .....***Skipped   0.01 sec\n'
printf '      Start 3: chapter02.gpu.runs\n3/4 Test #3: chapter02.gpu.runs .....***Skipped   0.01 sec\n'
printf '      Start 4: book.browser\n4/4 Test #4: book.browser .....***Skipped   0.01 sec\n\n'
printf '100%% tests passed, 0 tests failed out of 4\n\nTotal Test time (real) =   0.04 sec\n\n'
printf 'The following tests did not run:\n\t  2 - chapter01.gpu.runs (Skipped)\n\t  3 - chapter02.gpu.runs (Skipped)\n\t  4 - book.browser (Skipped)\n'
exit "${TESTS_FAIL-0}"
END_OF_TOOL
cat >"$scratch/copy/build/model/bin/tile-count" <<'END_OF_TOOL'
#!/bin/sh
[ -r kernel.cu ] && echo "counts, with $*"
END_OF_TOOL
chmod +x "$scratch/copy/build/model/bin/tile-count"

# tile ARGUMENTS...: the copy, with the tools played, from another directory.
tile() { (cd "$scratch/elsewhere" && TILE_PRESET=model TMPDIR="$scratch" PATH="$scratch/tools:$PATH" ../copy/tile "$@") >"$scratch/out" 2>"$scratch/err"; }

mkdir -p "$scratch/copy/build/model/tests"
echo 'add_test([=[chapter01.gpu.waits]=] "x")' >"$scratch/copy/build/model/tests/model.cmake"
tile test || complain "tests that pass: exit code $?"
grep -q 'gpu' "$scratch/out" && complain "skipped tests are listed: $(grep gpu "$scratch/out")"
grep -q '^  skipped: 2 tests that need a GPU$' "$scratch/out" || complain "skipped tests are not summed up"
[ -e /dev/nvidiactl ] || [ -e /dev/dxg ] || grep -q '^  left out: 1 test that needs a GPU$' "$scratch/out" || complain "tests for a GPU are left out in silence"
grep -q '^  skipped: book.browser' "$scratch/out" || complain "another skipped test is not named"
grep -q 'chapter01.counts .* Passed' "$scratch/out" || complain "a test that ran is not shown"
[ "$(grep . "$scratch/out" | tail -n 2 | head -n 1)" = "100% tests passed, 0 tests failed out of 4" ] || complain "the verdict does not come last"
grep -q 'globbed\|no work to do' "$scratch/out" "$scratch/err" && complain "ninja's noise is shown"
TESTS_FAIL=8 tile test
[ $? = 8 ] || complain "tests that fail: another exit code"

# One line says what is wrong with a name, and what to do.
told() { # PATTERN ARGUMENTS...
  pattern=$1
  shift
  tile "$@"
  [ $? = 2 ] && [ "$(cat "$scratch/out" "$scratch/err" | wc -l)" = 1 ] && grep -q "^tile: $pattern" "$scratch/err" ||
    complain "not one line '$pattern' for '$*': $(cat "$scratch/out" "$scratch/err")"
}
told "'\[' is no regular expression (Unmatched \[\]): put \\\\ before a sign that stands for itself, as in '\\\\\['" test '['
for command in read pdf epub doctor; do told "$command takes nothing behind it, and not '--bogus'" $command --bogus; done
tile bench
[ $? = 1 ] && grep -qx "tile: bench compiles for the GPU, and TILE_PRESET=model says not to: leave that out" "$scratch/err" ||
  complain "why bench does not run: $(cat "$scratch/err")"
told "no test has a name that matches 'none'; 'ctest --preset model -N' lists all names" test none
told "no quick test has a name that matches 'none'" test --quick none
# Where tests have been built, nothing is built for that; a test case may be new.
mkdir -p "$scratch/copy/build/model/tests" "$scratch/copy/chapters/01-naive"
touch "$scratch/copy/build/model/tests/chapter01.cmake"
rm "$scratch/built"
told "no test has a name that matches 'none'" test none
[ ! -e "$scratch/built" ] || complain "before a name is refused, this is built: $(cat "$scratch/built")"
echo 'TEST_CASE("none like it" * doctest::test_suite("model")) {}' >"$scratch/copy/chapters/01-naive/chapter01.cu"
told "no test has a name that matches 'none'" test none
[ -e "$scratch/built" ] || complain "a new test case is refused"
rm "$scratch/copy/chapters/01-naive/chapter01.cu" "$scratch/copy/build/model/tests/chapter01.cmake"
told "count which file? For example: " count
told "mutants of which chapter? Write its two digits: ./tile mutants 04; --help lists what may stand behind them$" mutants
told "mutants of which chapter? Its two digits come first: ./tile mutants 04 --count 3$" mutants --count 3
told "a chapter is named by two digits, such as 04, not 'four'$" mutants four
cat >"$scratch/copy/build/model/bin/mutants" <<'END_OF_TOOL'
#!/bin/sh
echo "of mutants, with $*"
END_OF_TOOL
chmod +x "$scratch/copy/build/model/bin/mutants"
tile mutants --help
[ "$(cat "$scratch/out" "$scratch/err")" = "of mutants, with --help" ] || complain "mutants --help: $(cat "$scratch/out" "$scratch/err")"

# Tests of a chapter that passed are left out until its program, an experiment or a record changes.
built=$scratch/copy/build/model
mkdir -p "$built/tests" "$built/breaks/chapter01" "$built/Testing/Temporary" "$scratch/copy/chapters/01-naive/measured"
for file in "$built/tests/chapter01.cmake" "$built/tests/chapter02.cmake" "$built/breaks/chapter01/edit.log" "$built/bin/breaks" \
  "$scratch/copy/chapters/01-naive/measured/gpu.json" "$scratch/copy/chapters/01-naive/messages.tsv"; do
  echo >"$file" && touch -d '2001-01-01' "$file"
done
# asks WHAT WHEN ARGUMENTS...: so does the test of the copy ask ctest, of all chapters.
asks() {
  what=$1 when=$2
  shift 2
  tile "$@"
  asked=$(sed 's/--preset model --no-label-summary *//' "$scratch/asked")
  [ "$asked" = "$what" ] || complain "$when: ctest is asked for '$asked', not '$what'"
}
echo '2:chapter02.counts' >"$built/Testing/Temporary/LastTestsFailed.log"
TESTS_FAIL=9 asks "" "a run was broken off" test
TESTS_FAIL=8 asks "" "nothing has passed" test
asks "-LE ^of-(chapter01)$" "one has failed" test
grep -q 'without the tests of chapter01: ' "$scratch/out" || complain "what is left out is not said"
asks "-LE ^of-(chapter01|chapter02)$" "both have passed" test
asks "-L quick -LE ^of-(chapter01|chapter02)$" "all have passed, and so the quick ones" test --quick
asks "-R chapter0" "named" test chapter0
asks "-L quick -R chapter0" "named, the quick ones" test --quick chapter0
touch "$built/breaks/chapter01/edit.out"
asks "-LE ^of-(chapter02)$" "an experiment has been tried" test
touch "$built/tests/chapter02.cmake"
asks "-L quick -LE ^of-(chapter01)$" "a program was built" test --quick
asks "-L quick -LE ^of-(chapter01|chapter02)$" "the quick ones have passed" test --quick
asks "-LE ^of-(chapter01)$" "only the quick ones have passed" test
touch "$built/breaks/chapter01/edit.log"
asks "-LE ^of-(chapter02)$" "an experiment was built" test
touch "$built/bin/breaks"
asks "" "what runs experiments was built" test
touch "$scratch/copy/chapters/01-naive/measured/gpu.json"
asks "" "a record has changed" test
touch "$scratch/copy/chapters/01-naive/messages.tsv"
asks "" "a message that is kept has changed" test

SAYS="FAILED: chapter01" FAILS=1 tile read && complain "a build that fails passes"
grep -q 'FAILED: chapter01' "$scratch/out" || complain "what a build says is not shown"
grep -q 'globbed' "$scratch/out" "$scratch/err" && complain "ninja's noise is shown when it builds"

echo >"$scratch/elsewhere/kernel.cu"
tile count --json kernel.cu
grep -q 'counts, with --compiler /.*/model-cc --json kernel.cu$' "$scratch/out" || complain "count from another directory: $(cat "$scratch/out" "$scratch/err")"
[ -s "$scratch/err" ] && complain "count says more than its own: $(cat "$scratch/err")"

ln -s "$(command -v dirname)" "$scratch/few/dirname"
PATH="$scratch/few" TILE_PRESET=model /bin/sh tile pdf >"$scratch/out" 2>"$scratch/err" && complain "a PDF without Chromium"
grep -q 'Chromium makes the PDF, and it is not installed: sudo apt-get install chromium' "$scratch/err" || complain "no advice about Chromium: $(cat "$scratch/err")"

# The container has what `tile` would install.
(eval "$(sed -n '/^packages=/,/"$/p' tile)" && printf '%s\n' $packages) >"$scratch/packages"
[ "$(wc -l <"$scratch/packages")" -gt 5 ] || complain "no list of packages in tile"
while read -r package; do
  grep -q -w -e "$package" .devcontainer/Dockerfile || complain ".devcontainer/Dockerfile lacks $package"
done <"$scratch/packages"
exit "$wrong"
