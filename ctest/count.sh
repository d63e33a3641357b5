#!/bin/sh
# `tile count` on files of ctest/count: each //! in a file is followed by a line that stderr must have, and no others; each //= by words
# that stdout must have, one space apart. @ is the comment's location. Then the README's worked example, and files that are no source.
# Usage: count.sh TILE-COUNT MODEL-CC
tile_count=$1 model_cc=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
wrong=0
complain() { echo "$*"; wrong=$((wrong + 1)); }

# counted EXIT-CODE FILE...: the output, also with words one space apart.
counted() {
  code=$1
  shift
  "$tile_count" --compiler "$model_cc" "$@" >"$scratch/out" 2>"$scratch/err"
  [ $? = "$code" ] || complain "the exit code of a count of $* is not $code: $(cat "$scratch/err")"
  tr -s '\n ' ' ' <"$scratch/out" >"$scratch/words"
}
# expected FILE MARK: the patterns after //MARK.
expected() {
  awk -v mark="$2" '
    FNR == 1 { file = FILENAME; sub(/.*\//, "", file) }
    at = index($0, "//" mark " ") { text = substr($0, at + 4); gsub(/@/, file ":" FNR, text); print text }' "$1"
}

for name in words forms advice mistakes refused program plain; do
  file=ctest/count/$name.cu
  expected "$file" ! >"$scratch/told"
  code=0
  [ -s "$scratch/told" ] && code=1
  counted "$code" "$file"
  while IFS= read -r pattern; do
    grep -q -- "^count: $pattern" "$scratch/err" || complain "$name.cu: not told: $pattern"
  done <"$scratch/told"
  [ "$(wc -l <"$scratch/told")" = "$(wc -l <"$scratch/err")" ] ||
    complain "$name.cu: more or less is told: $(cat "$scratch/err")"
  { expected "$file" =; [ "$name" != forms ] || expected ctest/count/included.cuh =; } >"$scratch/said"
  while IFS= read -r words; do
    grep -qF -- "$words" "$scratch/words" || complain "$name.cu: not said: $words"
  done <"$scratch/said"
  wide=$(awk 'length > 100' "$scratch/out")
  [ -z "$wide" ] || [ "$name" = forms ] || complain "$name.cu: wider than 100 columns: $wide"
done

# The worked example, together with a file that does not compile: the unpadded column read has 32 wavefronts, the padded one 1.
counted 1 --registers 40 ctest/count/plain.cu ctest/transpose.cu
for words in "24 load tile (shared) 4 32 - - - 32 - 91%" "24 load tile (shared) 4 32 - - - 1 - 25%" \
  "1 block of 1024 threads on an SM (50%), limited by registers; 40 registers per thread" \
  "91%: 32 wavefronts, where 1 would do: 32 different words lie in one bank; pad each row of 32 words by one word " \
  "Side by side (resources in cycles) requests bytes sectors waves issue L1 banks L2 DRAM at least (1) - - - - - - - - - - (2) 64 8,192 " "(1) plain.cu: failed (2) transpose.cu: naive; what binds: " \
  "Columns: bytes, of one lane;"; do
  grep -qF -- "$words" "$scratch/words" || complain "transpose.cu: not said: $words"
done

# In a narrow terminal.
export COLUMNS=80
counted 0 ctest/transpose.cu
[ -z "$(awk 'length > 80' "$scratch/out")" ] || complain "wider than 80 columns: $(awk 'length > 80' "$scratch/out")"
grep -q '^  sums  *100%$' "$scratch/out" || complain "columns that do not fit have no lines of their own"

# Files that are no source, or have no run, are reported in one line.
told() { # EXIT-CODE PATTERN ARGUMENT...
  code=$1 pattern=$2
  shift 2
  counted "$code" "$@"
  [ "$(cat "$scratch/out" "$scratch/err" | wc -l)" = 1 ] && grep -q "^count: $pattern" "$scratch/err" ||
    complain "not one line '$pattern' for '$*': $(cat "$scratch/out" "$scratch/err")"
}
source_of() { printf '#include "common/count/count.hpp"\n%s\n' "$2" >"$scratch/$1.cu"; }
told 1 ".*README.md is not a .cu file" README.md
told 1 "cannot read $scratch/none.cu: No such file or directory$" "$scratch/none.cu"
source_of without '__global__ void k() {}'
told 1 ".*without.cu: the file describes no run: add a TILE_COUNT (see the README)$" "$scratch/without.cu"
source_of arch '__global__ void k(int* out) { *out = __CUDA_ARCH__; }
TILE_COUNT("r") { auto out = tile::array<int>("out", 1); k<<<1, 1>>>(out.device()); tile::expect(out.host()[0] == 800, ""); }'
counted 0 --arch 800 "$scratch/arch.cu"
source_of cub '#include <cub/cub.cuh>
TILE_COUNT("never read") {}'
told 1 "cub.cu:2: cub/cub.cuh is not part of the model: leave it out" "$scratch/cub.cu"
source_of main 'TILE_COUNT("r") {} int main() {}'
told 1 "main.cu: main() is not run: describe each launch in a TILE_COUNT" "$scratch/main.cu"
source_of ptx '__global__ void k() { asm("mov.u32 %r1, %r2;"); } TILE_COUNT("r") {}'
told 1 "ptx.cu:2: inline PTX is not part of the model" "$scratch/ptx.cu"
exit "$wrong"
