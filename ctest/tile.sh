#!/bin/sh
# The output and the calls of `tile`. A copy of it builds and tests nothing: cmake and ctest are replaced by scripts.
# Usage: tile.sh, at the top of the repository
command -v dpkg-query >/dev/null || { echo "skipped: ./tile needs Debian or Ubuntu"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
wrong=0
complain() { echo "$*"; cat "$scratch/out" "$scratch/err"; wrong=$((wrong + 1)); }

bin=$scratch/copy/build/model/bin
mkdir -p "$bin" "$scratch/tools" "$scratch/elsewhere"
cp tile "$scratch/copy"
play() { (echo '#!/bin/sh'; echo "$2") >"$1" && chmod +x "$1"; }
play "$scratch/tools/dpkg-query" 'echo "install ok installed"'
play "$scratch/tools/cmake" 'exit "${FAILS-0}"'
play "$scratch/tools/nvidia-smi" 'exit 1'
play "$scratch/tools/ctest" 'case "$*" in
  *-N*none*) echo "Total Tests: 0" ;;
  *-N*) printf "  Test #1: chapter01.counts\n  Test #2: chapter01.gpu.runs\nTotal Tests: 2\n" ;;
  *) echo "asked: $*"; exit "${TESTS_FAIL-0}" ;;
esac'
play "$bin/tile-count" '[ -r kernel.cu ] && echo "counts, with $*"'
play "$bin/mutants" 'echo "of mutants, with $*"'

# tile ARGUMENTS...: the copy, with the replaced tools, from another directory.
tile() { (cd "$scratch/elsewhere" && TILE_PRESET=model PATH="$scratch/tools:$PATH" ../copy/tile "$@") >"$scratch/out" 2>"$scratch/err"; }
# says STATUS WORDS ARGUMENTS...: with these arguments it exits with this status, and prints these words on one line.
says() {
  status=$1 words=$2
  shift 2
  tile "$@"
  [ $? = "$status" ] && cat "$scratch/out" "$scratch/err" | grep -qF -e "$words" || complain "not status $status and '$words' for '$*':"
}
mkdir "$scratch/copy/build/model/tests"
echo 'add_test([=[chapter01.gpu.waits]=] "x")' >"$scratch/copy/build/model/tests/model.cmake"
says 0 "asked: --preset model --no-label-summary" test
[ -e /dev/nvidiactl ] || [ -e /dev/dxg ] || says 0 "tests left out for lack of a GPU: 1" test
says 0 "asked: --preset model --no-label-summary -L quick -R chapter01" test --quick chapter01
TESTS_FAIL=8 says 8 "asked: " test
says 2 "tile: no test has a name that matches 'none', a regular expression; 'ctest --preset model -N' lists all names" test none
says 2 "tile: test takes --quick and a regular expression, not '--slow'" test --slow
for command in read pdf epub doctor; do says 2 "tile: $command takes no arguments: remove '--bogus'" $command --bogus; done
FAILS=1 says 1 "tile: configuring failed" read
says 0 "/build/model/book/index.html" read
says 1 "tile: bench compiles for the GPU, but TILE_PRESET=model is set: unset it" bench
says 2 "tile: count which file? For example: " count
says 2 "tile: run which chapter? For example: ./tile run 01" run
says 2 "tile: mutants of which chapter? Give its two digits: ./tile mutants 04" mutants
says 2 "tile: mutants of which chapter? Give its two digits first: ./tile mutants 04 --count 3" mutants --count 3
says 2 "tile: a chapter is named by two digits, such as 04, not 'four'" mutants four
says 0 "of mutants, with --help" mutants --help
says 0 "preset:    model, by TILE_PRESET" doctor
says 2 "tile: unknown command 'bogus'" bogus
echo >"$scratch/elsewhere/kernel.cu"
says 0 "/copy/build/model/model-cc --verbose kernel.cu" count --verbose kernel.cu
[ ! -s "$scratch/err" ] || complain "count says more than its own:"

# The container has what `tile` would install.
for package in $(eval "$(sed -n '/^packages=/,/"$/p' tile)" && echo "$packages"); do
  grep -q -w -e "$package" .devcontainer/Dockerfile || complain ".devcontainer/Dockerfile lacks $package"
done
exit "$wrong"
