#!/bin/sh
# `tile count` on ctest/count/words.cu: words of CUDA that readers bring compile and compute; what is printed has a verdict for each
# launch, fits 100 columns, goes on after a run that failed, and compares the runs. And what does not compile gets one line.
# Usage: count.sh TILE-COUNT MODEL-CC
tile_count=$1 model_cc=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
wrong=0
complain() { echo "$*"; wrong=$((wrong + 1)); }

# Compiled once, whatever is then printed of it.
"$model_cc" ctest/count/words.cu "$scratch/program" count || exit 1
printf '#!/bin/sh\ncp "%s" "$2"\n' "$scratch/program" >"$scratch/copy"
chmod +x "$scratch/copy"
"$tile_count" --compiler "$scratch/copy" ctest/count/words.cu >"$scratch/out" 2>"$scratch/err"
[ $? = 1 ] || complain "the exit code of a count with a run that failed is not 1"
[ "$(grep -vc '^count: race: race, words.cu:' "$scratch/err")" = 0 ] || complain "more than one run failed: $(cat "$scratch/err")"
grep -q '^count: race: race, words.cu:[0-9]*, block (0,0,0), thread .* tile\[[0-3]\]\[[0-9]*\] ' "$scratch/err" ||
  complain "the race is not told by the indices of the array: $(cat "$scratch/err")"

# said PATTERN WHAT: the output has such a line.
said() { grep -q -- "$1" "$scratch/out" || complain "$2 is missing: $1"; }
said '^== the run after it' "the run after a failed one"
said '^ *11  *load  *in (global)  *4 ' "the line of an included file"
said 'weights (constant)' "constant memory"
said 'first_counter (global)' "a counter that is declared with another"
said '^ *[0-9]*  *load  *in (global)  *4  *3 ' "a struct of three words as three accesses"
said '^sums\|^  sums ' "the sum of a table"
said 'at least .* us) on 1 of the 132 SMs' "the least time"
said '(binds)' "what binds"
said 'occupancy .* limited by ' "the occupancy"
said '^  hottest   .*: ' "the hottest line"
said 'at most .* TFLOP/s' "the ceiling of a run that says its operations"
said '^Side by side' "the comparison"
said '(8) words.cu: a race, which does not end the count (failed)' "a failed run in the comparison"
said '^Columns: ' "what the columns mean"
said 'Not modelled: registers, what spills from them, arrays of a' "what is not modelled"
[ "$(grep -c '^Columns: ' "$scratch/out")" = 1 ] || complain "the columns are not explained once"
wide=$(awk 'length > 100' "$scratch/out")
[ -z "$wide" ] || complain "wider than 100 columns: $wide"

"$tile_count" --compiler "$scratch/copy" --json --registers 40 ctest/count/words.cu >"$scratch/json" 2>"$scratch/err"
[ -s "$scratch/err" ] && complain "--json does not leave it at the document: $(cat "$scratch/err")"
grep -q '"registers": 40' "$scratch/json" || complain "--registers is not heard"
grep -q '"error": "race: ' "$scratch/json" || complain "the document leaves out the race"

# refused PATTERN LINE...: a file of these lines does not compile, and that is said in one line.
refused() {
  pattern=$1
  shift
  { echo '#include "common/report/count.hpp"'; printf '%s\n' "$@"; } >"$scratch/bad.cu"
  "$tile_count" --compiler "$model_cc" "$scratch/bad.cu" >"$scratch/out" 2>"$scratch/err" && complain "accepted: $*"
  [ "$(wc -l <"$scratch/err")" = 1 ] && grep -q "^count: bad.cu:[0-9]*: $pattern" "$scratch/err" ||
    complain "not '$pattern', but: $(cat "$scratch/err")"
}
refused 'a grid cannot wait for itself on the model: count the parts between its barriers as kernels' \
  '#include <cooperative_groups.h>' '__global__ void k() { cooperative_groups::this_grid().sync(); }' 'TILE_COUNT("r") { k<<<1, 1>>>(); }'
refused 'cooperative_groups/memcpy_async.h is not part of the model: write __pipeline_memcpy_async()' \
  '#include <cooperative_groups/memcpy_async.h>' 'TILE_COUNT("r") {}'
refused 'cudaMalloc is not part of the model: write auto a = tile::array' 'TILE_COUNT("r") { float* p; cudaMalloc(&p, 4); }'
refused 'main() is not run: describe each launch in a TILE_COUNT' 'TILE_COUNT("r") {}' 'int main() {}'
refused 'the launch has more arguments than the kernel takes, or fewer' '__global__ void k(float*, int) {}' \
  'TILE_COUNT("r") { auto a = tile::array<float>("a", 1); k<<<1, 1>>>(a.device()); }'
refused '.*name its template arguments' 'template <class T> __global__ void k(T*) {}' \
  'TILE_COUNT("r") { auto a = tile::array<float>("a", 1); k<<<1, 1>>>(a.device()); }'

# All that is known to be wrong with a file is told at once: behind a header that the model does not have, in a macro, and main().
cat >"$scratch/all.cu" <<'END'
#include "common/report/count.hpp"
#include <cub/cub.cuh>
#define CHECK(call) do { cudaError_t e = (call); if (e != cudaSuccess) return 1; } while (0)
__global__ void k(float* p) { p[threadIdx.x] = 1; }
int main() {
  float* p;
  CHECK(cudaMalloc(&p, 128));
  k<<<1, 32>>>(p);  // cudaMemset is in a comment
  CHECK(cudaFree(p));
}
END
"$tile_count" --compiler "$model_cc" "$scratch/all.cu" >"$scratch/out" 2>"$scratch/err" && complain "a program with main() is counted"
sed 's/ is not .*//' "$scratch/err" >"$scratch/told"
printf 'count: all.cu:%s\n' "2: cub/cub.cuh" "3: cudaError_t" "3: cudaSuccess" "7: cudaMalloc" "9: cudaFree" "5: main()" |
  diff - "$scratch/told" || complain "not all that is wrong, once each"

# What is no source is told in one line, and so is a command without a file.
not_counted() { # EXIT-CODE PATTERN ARGUMENT...
  code=$1 pattern=$2
  shift 2
  "$tile_count" --compiler "$model_cc" "$@" >"$scratch/out" 2>"$scratch/err"
  [ $? = "$code" ] && [ "$(cat "$scratch/out" "$scratch/err" | wc -l)" = 1 ] && grep -q "^count: $pattern" "$scratch/err" ||
    complain "not one line '$pattern' for '$*': $(cat "$scratch/out" "$scratch/err")"
}
echo text >"$scratch/notes.md"
not_counted 1 ".*notes.md is no CUDA source by its name: name a .cu file" "$scratch/notes.md"
not_counted 1 ".* is a directory: name the .cu files in it" "$scratch"
not_counted 1 "cannot read $scratch/none.cu" "$scratch/none.cu"
not_counted 2 "which file? For example: "
not_counted 2 "which file? For example: " --json

# Each line of what a run is refused for says of what it is.
cat >"$scratch/two.cu" <<'END'
#include "common/report/count.hpp"
__global__ void k(float* out) {
  __shared__ float tile[64];
  if (threadIdx.x < 32) tile[threadIdx.x] = 1;
  out[threadIdx.x] = tile[threadIdx.x ^ 32];
}
TILE_COUNT("a race, and what nobody wrote") {
  auto out = tile::array<float>("out", 64);
  k<<<1, 64>>>(out.device());
}
END
"$tile_count" --compiler "$model_cc" "$scratch/two.cu" >"$scratch/out" 2>"$scratch/err" && complain "a race passes"
for kind in race uninitialised; do grep -q "^count: $kind: k, two.cu:[45], " "$scratch/err" || complain "no $kind among: $(cat "$scratch/err")"; done
grep -qv '^count: ' "$scratch/err" && complain "a line without its prefix: $(cat "$scratch/err")"

# A race is told however many lines read what nobody wrote.
{
  echo '#include "common/report/count.hpp"
__global__ void k(float* out) {
  __shared__ float tile[64], none[64];
  tile[threadIdx.x] = 1;'
  for n in 1 2 3 4 5 6 7 8 9; do echo "  out[threadIdx.x] = none[$n];"; done
  echo '  out[threadIdx.x] = tile[threadIdx.x ^ 32];
}
TILE_COUNT("a race behind nine others") {
  auto out = tile::array<float>("out", 64);
  k<<<1, 64>>>(out.device());
}'
} >"$scratch/ten.cu"
"$tile_count" --compiler "$model_cc" "$scratch/ten.cu" >"$scratch/out" 2>"$scratch/err" && complain "a race behind nine others passes"
grep -q "^count: race: k, ten.cu:[0-9]*, .* ten.cu:14 with no barrier between" "$scratch/err" || complain "nine others hide the race: $(cat "$scratch/err")"
grep -q "^count: \.\.\. and 4 more findings" "$scratch/err" || complain "those left out are not counted: $(cat "$scratch/err")"

# A run that fails before it has counted anything has no table, and so no columns to explain and nothing to compare.
cat >"$scratch/traps.cu" <<'END'
#include "common/report/count.hpp"
__global__ void traps() { if (threadIdx.x == 5) __trap(); }
TILE_COUNT("a trap") { traps<<<1, 32>>>(); }
TILE_COUNT("another") { traps<<<1, 32>>>(); }
END
"$tile_count" --compiler "$model_cc" "$scratch/traps.cu" >"$scratch/out" 2>"$scratch/err" && complain "a trap passes"
[ "$(grep -c '^count: trap: traps, traps.cu:2, block (0,0,0), thread (5,0,0)[^ ]* executes __trap()' "$scratch/err")" = 2 ] || complain "the trap is not told: $(cat "$scratch/err")"
grep -q 'Columns\|Side by side' "$scratch/out" && complain "columns or a comparison without a table"
exit "$wrong"
