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
  { echo '#include "common/count/count.hpp"'; printf '%s\n' "$@"; } >"$scratch/bad.cu"
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
#include "common/count/count.hpp"
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
sed -e 's/ is not .*//' -e 's/, which may come of these.*//' "$scratch/err" >"$scratch/told"
printf 'count: all.cu:%s\n' "2: cub/cub.cuh" "5: main()" "7: cudaMalloc" "9: cudaFree" |
  diff - "$scratch/told" || complain "not all that is wrong, once each, in the order of the file"

# faults FILE.cu LINE...: the file does not compile, and these lines, of which each is a pattern, are what is said of it, in this order.
faults() {
  file=$1
  shift
  "$tile_count" --compiler "$model_cc" "$scratch/$file" >"$scratch/out" 2>"$scratch/err" && complain "$file compiles"
  printf '%s\n' "$@" >"$scratch/patterns"
  [ "$(wc -l <"$scratch/err")" = $# ] && paste -d '\n' "$scratch/patterns" "$scratch/err" | awk -v file="$file" '
    NR % 2 { pattern = "^count: " file ":" $0; next }
    $0 !~ pattern { wrong = 1 }
    END { exit wrong }' || complain "of $file is said: $(cat "$scratch/err")"
}

# All faults that the compiler finds, a line each: a syntax error hides no other. What may come of one is left out.
cat >"$scratch/three.cu" <<'END'
#include "common/count/count.hpp"
__global__ void k(float* p, int n) {
  float x = p[threadIdx.x]
  p[threadIdx.x] = x;
}
__global__ void g(float* p) {
  int i = "text";
  Unknown value = 1;
  p[i] = value + undefined;
  p[i + 1] = undefined + value;
}
TILE_COUNT("r") { auto a = tile::array<float>("a", 32); k<<<1, 32>>>(a.device()); }
END
faults three.cu '4: expected .* before .*p' '7: invalid conversion from .* to .*int[^a-z]*$' '8: .*Unknown.* was not declared' \
  '9: .*undefined.* was not declared' '12: the launch has more arguments' \
  ' and 1 more error of the compiler, which may come of these; --verbose shows all'
cat >"$scratch/brace.cu" <<'END'
#include "common/count/count.hpp"
__global__ void k(float* p) {
  if (p != nullptr) {
    p[threadIdx.x] = 1;
}
TILE_COUNT("r") { auto a = tile::array<float>("a", 32); k<<<1, 32>>>(a.device()); }
END
faults brace.cu '6: .*' ' and [0-9]* more errors? of the compiler'

# How many arguments a kernel takes, and which.
cat >"$scratch/arguments.cu" <<'END'
#include "common/count/count.hpp"
__global__ void k(float* p, int n) { p[threadIdx.x] = float(n); }
TILE_COUNT("many") { auto a = tile::array<float>("a", 32); k<<<1, 32>>>(a.device(), 1, 2); }
TILE_COUNT("few") { auto a = tile::array<float>("a", 32); k<<<1, 32>>>(a.device()); }
TILE_COUNT("others") { auto a = tile::array<int>("a", 32); k<<<1, 32>>>(a.device(), 1); }
END
faults arguments.cu '3: .* [(]it hands over 3: float[*], int, int; the kernel takes 2: float[*], int[)]$' \
  '4: .* [(]it hands over 1: float[*]; the kernel takes 2: float[*], int[)]$' \
  '5: .* another type .* [(]it hands over 2: int[*], int; the kernel takes 2: float[*], int[)]$'

# A program as nvcc takes it: what to do, in the order of the file.
cat >"$scratch/program.cu" <<'END'
#include <cstdio>
__global__ void k(float* p) { p[threadIdx.x] = 1; }
int main() {
  float* p;
  cudaMalloc(&p, 128);
  k<<<1, 32>>>(p);
}
END
faults program.cu '2, 6: __global__ and <<<>>> are not known here: write #include "common/count/count.hpp" as the first line$' \
  '3: main[(][)] is not run: describe each launch in a TILE_COUNT' '5: cudaMalloc is not part of the model' \
  ' and [0-9]* more errors? of the compiler'

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
not_counted 1 "cannot read $scratch/none.cu: No such file or directory$" "$scratch/none.cu"
not_counted 1 "a file without a name: name a .cu file$" ""
: >"$scratch/empty.cu"
not_counted 1 "$scratch/empty.cu is empty: the README has a template$" "$scratch/empty.cu"
echo >"$scratch/blank.cu"
not_counted 1 ".*blank.cu: the file describes no run: add a TILE_COUNT (see the README)$" "$scratch/blank.cu"
printf '#include "common/count/count.hpp"\n__global__ void k(float* p) { p[0] = 1; }\n' >"$scratch/without.cu"
not_counted 1 ".*without.cu: the file describes no run: add a TILE_COUNT (see the README)$" "$scratch/without.cu"
printf '#include "common/count/count.hpp"\n__global__ void k(float* p) { p[0] = 1 }\nTILE_COUNT("r") {}\n' >"$scratch/syntax.cu"
not_counted 1 "syntax.cu:2: expected .;. before .}. token$" "$scratch/syntax.cu"
printf '#include "common/count/count.hpp"\nTILE_COUNT("r") {}\n' >"$scratch/idle.cu"
"$tile_count" --compiler "$model_cc" "$scratch/idle.cu" >"$scratch/out" 2>"$scratch/err" && complain "a run that launches nothing passes"
grep -q '^count: idle.cu, "r": it launches nothing: call tile::launch in its TILE_COUNT$' "$scratch/err" || complain "of which run, is not said: $(cat "$scratch/err")"
not_counted 2 "which file? For example: "
not_counted 2 "which file? For example: " --json

# Each line of what a run is refused for says of what it is.
cat >"$scratch/two.cu" <<'END'
#include "common/count/count.hpp"
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
  echo '#include "common/count/count.hpp"
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
head -n 1 "$scratch/err" | grep -q "^count: race: k, ten.cu:[0-9]*, .* ten.cu:14 with no barrier between" || complain "the race behind nine others is not told first: $(cat "$scratch/err")"
grep -q "^count: \.\.\. and 4 more findings" "$scratch/err" || complain "those left out are not counted: $(cat "$scratch/err")"

# A shuffle orders no memory; that is said where nothing else stands between two lanes of a warp, and not of other races.
cat >"$scratch/shuffle.cu" <<'END'
#include "common/count/count.hpp"
__global__ void shuffled(float* out) {
  __shared__ float tile[64];
  tile[threadIdx.x] = 1;
  const float other = __shfl_xor_sync(~0u, 1.0f, 1);
  out[threadIdx.x] = other + tile[threadIdx.x ^ 1];
}
__global__ void across_warps(float* out) {
  __shared__ float tile[64];
  tile[threadIdx.x] = 1;
  const float other = __shfl_xor_sync(~0u, 1.0f, 1);
  out[threadIdx.x] = other + tile[threadIdx.x ^ 32];
}
__global__ void before_a_barrier(float* out) {
  __shared__ float tile[64];
  const float other = __shfl_xor_sync(~0u, 1.0f, 1);
  __syncwarp();
  tile[threadIdx.x] = other;
  out[threadIdx.x] = tile[threadIdx.x ^ 1];
}
TILE_COUNT("a") { auto out = tile::array<float>("out", 32); shuffled<<<1, 32>>>(out.device()); }
TILE_COUNT("b") { auto out = tile::array<float>("out", 64); across_warps<<<1, 64>>>(out.device()); }
TILE_COUNT("c") { auto out = tile::array<float>("out", 32); before_a_barrier<<<1, 32>>>(out.device()); }
END
"$tile_count" --compiler "$model_cc" "$scratch/shuffle.cu" >"$scratch/out" 2>"$scratch/err" && complain "a race behind a shuffle passes"
[ "$(grep -c '^count: race: .*no barrier between that orders the two$' "$scratch/err")" = 2 ] && [ "$(grep -c 'does not order memory' "$scratch/err")" = 1 ] &&
  grep -q '^count: race: shuffled, .*no barrier between that orders the two (the shuffle of shuffle.cu:5 does not order memory: __syncwarp() does)$' "$scratch/err" ||
  complain "what a shuffle does not do: $(cat "$scratch/err")"

# __shared__ variables of an included file, outside functions and in a macro's words.
cat >"$scratch/scratch.cuh" <<'END'
#pragma once
#define SCRATCH __shared__ __align__(16)
namespace scratch {
__shared__ float line[64];
inline __device__ void keep(float value) {
  const auto store = [=](int i) { line[i] = value; };
  store(threadIdx.x);
}
}
__shared__ int turns[2][2];
END
cat >"$scratch/scratch.cu" <<'END'
#include "common/count/count.hpp"
#include "scratch.cuh"
namespace scratch {
__global__ void reverse(float* out) {
  SCRATCH float line_of_kernel[64];
  keep(threadIdx.x);
  line_of_kernel[threadIdx.x] = 2;
  if (threadIdx.x < 4) turns[threadIdx.x / 2][threadIdx.x % 2] = 1;
  __syncthreads();
  out[threadIdx.x] = line[63 - threadIdx.x] * line_of_kernel[63 - threadIdx.x] + turns[1][threadIdx.x % 2];
}
__global__ void race(float* out) {
  turns[sizeof(decltype(::scratch::line)) / 256][1] = threadIdx.x;
  out[threadIdx.x] = turns[1][1];
}
}
TILE_COUNT("a") {
  auto out = tile::array<float>("out", 64);
  scratch::reverse<<<1, 64>>>(out.device());
  tile::expect(out.host()[3] == 121, "reversed");
}
TILE_COUNT("b") { auto out = tile::array<float>("out", 64); scratch::race<<<1, 64>>>(out.device()); }
END
"$tile_count" --compiler "$model_cc" "$scratch/scratch.cu" >"$scratch/out" 2>"$scratch/err"
grep -q '^  scratch.cuh:6  *store  *line (shared)  *4 ' "$scratch/out" && grep -q '^  scratch.cu:10  *load  *line_of_kernel (shared)  *4 ' "$scratch/out" &&
  grep -q '^count: race: scratch::race, scratch.cu:1[34], .* turns\[1\]\[1\]' "$scratch/err" && ! grep -q 'scratch::reverse\|reversed' "$scratch/err" ||
  complain "__shared__ of an included file: $(cat "$scratch/out" "$scratch/err")"
cat >"$scratch/macro.cu" <<'END'
#include "common/count/count.hpp"
#define TILE_OF(n) __shared__ float tile[n];
__global__ void k(float* out) {
  TILE_OF(64)
  out[threadIdx.x] = 1;
}
END
"$tile_count" --compiler "$model_cc" "$scratch/macro.cu" >"$scratch/out" 2>"$scratch/err" && complain "a __shared__ that a macro hides passes"
grep -q 'the model does not see a __shared__ that comes out of a macro with more in it' "$scratch/err" || complain "a __shared__ that a macro hides: $(cat "$scratch/err")"

# Elements of 12 bytes that neighbouring lanes load are neighbours: what it costs that they are moved in parts. So are two words on one
# line. Rows of which each lane takes a word are not.
cat >"$scratch/parts.cu" <<'END'
#include "common/count/count.hpp"
__global__ void structs(float* out, const float3* in) { float3 v = in[threadIdx.x]; out[threadIdx.x] = v.x + v.y + v.z; }
__global__ void pairs(float* out, const float* in) { out[threadIdx.x] = in[2 * threadIdx.x] + in[2 * threadIdx.x + 1]; }
__global__ void apart(float* out, const float* in) { out[threadIdx.x] = in[3 * threadIdx.x]; }
TILE_COUNT("a") { auto in = tile::array<float3>("in", 32); auto out = tile::array<float>("out", 32); structs<<<1, 32>>>(out.device(), in.device()); }
TILE_COUNT("b") { auto in = tile::array<float>("in", 64), out = tile::array<float>("out", 32); pairs<<<1, 32>>>(out.device(), in.device()); }
TILE_COUNT("c") { auto in = tile::array<float>("in", 96), out = tile::array<float>("out", 32); apart<<<1, 32>>>(out.device(), in.device()); }
END
"$tile_count" --compiler "$model_cc" --json "$scratch/parts.cu" >"$scratch/out" || complain "elements of 12 bytes are not counted"
said '"advice": "neighbouring lanes load neighbouring 12 bytes in 3 accesses, of which each touches the same 12 sectors; .* each would touch 4, with elements of 16 bytes (float4, int4) there would be one access, of 16 sectors"' \
  "what elements of 12 bytes cost"
said '"advice": "neighbouring lanes load neighbouring 8 bytes in 2 accesses, .* the same 8 sectors; .* elements of 8 bytes (float2, int2) there would be one access, of 8 sectors"' \
  "what two words of a lane cost"
said '"advice": "12 sectors, where 4 would do: neighbouring lanes are 12 bytes apart' "that words lie apart"

# A run that fails before it has counted anything has no table, and so no columns to explain and nothing to compare.
cat >"$scratch/traps.cu" <<'END'
#include "common/count/count.hpp"
__global__ void traps() { if (threadIdx.x == 5) __trap(); }
TILE_COUNT("a trap") { traps<<<1, 32>>>(); }
TILE_COUNT("another") { traps<<<1, 32>>>(); }
END
"$tile_count" --compiler "$model_cc" "$scratch/traps.cu" >"$scratch/out" 2>"$scratch/err" && complain "a trap passes"
[ "$(grep -c '^count: trap: traps, traps.cu:2, block (0,0,0), thread (5,0,0)[^ ]* executes __trap()' "$scratch/err")" = 2 ] || complain "the trap is not told: $(cat "$scratch/err")"
grep -q 'Columns\|Side by side' "$scratch/out" && complain "columns or a comparison without a table"

# A run that failed is named on stdout as well, where a pipe shows it, and is compared with those that did not. Threads that update one
# element are told how.
cat >"$scratch/good.cu" <<'END'
#include "common/count/count.hpp"
__global__ void copy(float* out, const float* in) { out[threadIdx.x] = in[threadIdx.x]; }
TILE_COUNT("a copy") { auto in = tile::array<float>("in", 32), out = tile::array<float>("out", 32); copy<<<1, 32>>>(out.device(), in.device()); }
END
cat >"$scratch/sum.cu" <<'END'
#include "common/count/count.hpp"
__global__ void sum(float* out, const float* in) {
  *out += in[threadIdx.x];
}
__global__ void ones(int* bins) {
  bins[threadIdx.x % 8]++;
}
__global__ void last(int* out) {
  *out = threadIdx.x;
}
TILE_COUNT("a sum") { auto in = tile::array<float>("in", 64), out = tile::array<float>("out", 1); sum<<<1, 64>>>(out.device(), in.device()); }
TILE_COUNT("bins") { auto bins = tile::array<int>("bins", 8); ones<<<1, 32>>>(bins.device()); }
TILE_COUNT("the last") { auto out = tile::array<int>("out", 1); last<<<1, 32>>>(out.device()); }
END
"$tile_count" --compiler "$model_cc" "$scratch/good.cu" "$scratch/sum.cu" "$scratch/three.cu" >"$scratch/out" 2>"$scratch/err" && complain "races and a file that is none pass"
[ "$(grep -c '^  failed: race; stderr has the findings$' "$scratch/out")" = 3 ] || complain "stdout does not name the runs that failed: $(cat "$scratch/out")"
said '^  requests  *2  *failed  *failed  *failed  *failed$' "columns of runs that failed"
said '^  (2) sum.cu: a sum (failed)$' "which run failed"
said '^  (5) three.cu: failed$' "which file is none"
for at in 3 6; do
  [ "$(grep -c "^count: race: .* at sum.cu:$at with no barrier between that orders the two; where many threads update one element, each does so by atomicAdd$" "$scratch/err")" = 1 ] || complain "how line $at is to update: $(cat "$scratch/err")"
done
grep 'last, sum.cu:9' "$scratch/err" | grep -q atomic && complain "an element that is only written is updated"
cat >"$scratch/halves.cu" <<'END'
#include "common/count/count.hpp"
__global__ void halves(float* out) {
  __shared__ float part[64];
  part[threadIdx.x] = 1;
  __syncthreads();
  for (int s = 32; s > 0; s /= 2)
    if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
  out[0] = part[0];
}
TILE_COUNT("halves") { auto out = tile::array<float>("out", 1); halves<<<1, 64>>>(out.device()); }
END
"$tile_count" --compiler "$model_cc" "$scratch/halves.cu" >"$scratch/out" 2>"$scratch/err" && complain "a sum without a barrier passes"
grep -q '^count: race: halves, halves.cu:7' "$scratch/err" && ! grep -q atomic "$scratch/err" ||
  complain "of a sum that lacks a barrier is said: $(cat "$scratch/err")"

# Shared memory without an extent, and a launch that gives it none, or too little.
cat >"$scratch/extern.cu" <<'END'
#include "common/count/count.hpp"
__global__ void k(float* out) {
  extern __shared__ float tile[];
  tile[threadIdx.x] = 1;
  out[threadIdx.x] = tile[threadIdx.x];
}
TILE_COUNT("none") { auto out = tile::array<float>("out", 32); k<<<1, 32>>>(out.device()); }
TILE_COUNT("half") { auto out = tile::array<float>("out", 32); k<<<1, 32, 64>>>(out.device()); }
END
"$tile_count" --compiler "$model_cc" "$scratch/extern.cu" >"$scratch/out" 2>"$scratch/err" && complain "shared memory that no launch gives passes"
[ "$(wc -l <"$scratch/err")" = 2 ] && grep -q 'but the launch gives tile no bytes: as extern __shared__ it has as many as the third argument between <<< and >>> says$' "$scratch/err" &&
  grep -q '4 bytes past the end of tile, to which the launch gives 64: in elements of 4 bytes this is tile\[16\], and it has 16$' "$scratch/err" || complain "what the launch does not give: $(cat "$scratch/err")"
# Launches as programs write them: behind a case, in a macro, of an expression.
cat >"$scratch/launches.cu" <<'END'
#include "common/count/count.hpp"
template <int n> __global__ void fill(float* out) { out[threadIdx.x] = n; }
#define FILL(n, threads, ...) \
  fill<n><<<1, threads, 0, \
            nullptr>>>(__VA_ARGS__)
TILE_COUNT("launches") {
  auto out = tile::array<float>("out", 32);
  switch (out.host().size()) {
    case 32: fill<1><<<1, 32>>>(out.device());
  }
  tile::expect(out.host()[5] == 1, "behind a case");
  FILL(2, 32, out.device());
  tile::expect(out.host()[5] == 2, "in a macro");
  void (*const pointer)(float*) = fill<3>;
  (*pointer)<<<1, {32, 1, 1}>>>(out.device());
  tile::expect(out.host()[5] == 3, "through a pointer");
  if (true) (fill<(4 > 3) ? 1 << 2 : 0>)<<<{1, 1, 1}, 32>>>(out.device());
  tile::expect(out.host()[5] == 4, "of an expression");
}
END
"$tile_count" --compiler "$model_cc" "$scratch/launches.cu" >"$scratch/out" 2>"$scratch/err" || complain "launches of programs: $(cat "$scratch/err")"
[ "$(grep -c '^ *hottest ' "$scratch/out")" = 4 ] || complain "not each launch has a table: $(cat "$scratch/out")"
# Headers of helpers as public projects have them, and assert() without its header.
cat >"$scratch/helpers.cuh" <<'END'
#pragma once
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#define CHECK(call) \
  do { \
    const cudaError_t status = (call); \
    if (status != cudaSuccess) { fprintf(stderr, "%s\n", cudaGetErrorString(status)); exit(1); } \
  } while (0)
inline void check(cudaError_t status, const char* what) { if (status != cudaSuccess) printf("%s: %s\n", what, cudaGetErrorName(status)); }
END
cat >"$scratch/helped.cu" <<'END'
#include "helpers.cuh"
#include "common/count/count.hpp"
__global__ void ones(float* out) {
  extern __shared__ float tile[];
  assert(threadIdx.x < 32);
  tile[threadIdx.x] = 1;
  out[threadIdx.x] = tile[threadIdx.x];
}
void launch_ones(float* out, cudaStream_t stream = 0) {
  CHECK(cudaFuncSetAttribute(ones, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536));
  ones<<<1, 32, 128, stream>>>(out);
  CHECK(cudaPeekAtLastError());
  CHECK(cudaStreamSynchronize(stream));
  check(cudaGetLastError(), "ones");
  check(cudaDeviceSynchronize(), "ones");
}
TILE_COUNT("helped") { auto out = tile::array<float>("out", 32); launch_ones(out.device()); }
END
"$tile_count" --compiler "$model_cc" "$scratch/helped.cu" >"$scratch/out" 2>"$scratch/err" || complain "a header of helpers: $(cat "$scratch/err")"
refused 'cudaMemcpyAsync is not part of the model: fill an array' 'TILE_COUNT("r") { cudaMemcpyAsync(nullptr, nullptr, 4); }'
refused 'the size of a __shared__ array is not a constant: write a constant, or extern __shared__' \
  '__global__ void k(float* p, int n) { __shared__ float s[n]; p[0] = s[0] = 1; }' 'TILE_COUNT("r") {}'
refused '__cvta_generic_to_shared is not part of the model: ' '__global__ void k(unsigned* p) { *p = __cvta_generic_to_shared(p); }' 'TILE_COUNT("r") {}'
refused '__vadd4 is not part of the model: ' '__global__ void k(unsigned* p) { *p = __vadd4(*p, 1u); }' 'TILE_COUNT("r") {}'

# What a launch before the one that fails counted is not lost.
cat >"$scratch/second.cu" <<'END'
#include "common/count/count.hpp"
__global__ void copy(float* out) { out[threadIdx.x] = 1; }
TILE_COUNT("the second fails") {
  auto out = tile::array<float>("out", 32);
  copy<<<1, 32>>>(out.device());
  copy<<<1, 64>>>(out.device());
}
TILE_COUNT("none fails") { auto out = tile::array<float>("out", 32); copy<<<1, 32>>>(out.device()); }
END
"$tile_count" --compiler "$model_cc" "$scratch/second.cu" >"$scratch/out" 2>"$scratch/err" && complain "a launch that fails passes"
[ "$(grep -c '^copy<<<(1,1,1), (32,1,1)>>>' "$scratch/out")" = 2 ] && grep -q '^  failed: ' "$scratch/out" &&
  grep -q '^  requests  *failed  *1$' "$scratch/out" || complain "what was counted before a failure: $(cat "$scratch/out" "$scratch/err")"

# A run that takes long says which it is, once.
cat >"$scratch/slow.cu" <<'END'
#include "common/count/count.hpp"
#include <chrono>
#include <thread>
__global__ void one(float* out) { *out = 1; }
TILE_COUNT("a slow one") {
  auto out = tile::array<float>("out", 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(5500));
  one<<<1, 1>>>(out.device());
}
TILE_COUNT("another") {
  auto out = tile::array<float>("out", 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(5500));
  one<<<1, 1>>>(out.device());
}
END
"$tile_count" --compiler "$model_cc" "$scratch/slow.cu" >"$scratch/out" 2>"$scratch/err" || complain "a slow run fails"
[ "$(wc -l <"$scratch/err")" = 1 ] && grep -q '^count: still counting "a slow one"; ' "$scratch/err" || complain "a slow run is silent: $(cat "$scratch/err")"
# What findings say of their reasons: a struct that is split, a pointer of the host, lanes of one warp, lanes that are missing.
cat >"$scratch/reasons.cu" <<'END'
#include "common/count/count.hpp"
#include <complex>
struct Four { float a, b, c, d; };
__global__ void split(Four* out) {
  __shared__ Four tile[32];
  tile[threadIdx.x] = out[threadIdx.x];
}
__global__ void pairs(std::complex<float>* out) {
  out[threadIdx.x] = out[threadIdx.x] * 2.0f;
}
__global__ void ones(float* out) { out[threadIdx.x] = 1; }
__global__ void volatile_sum(float* out) {
  __shared__ volatile float sums[64];
  sums[threadIdx.x] = 1;
  sums[threadIdx.x] = sums[threadIdx.x] + sums[threadIdx.x + 1];
  out[threadIdx.x] = sums[threadIdx.x];
}
__global__ void half_warp(float* out) {
  if (threadIdx.x < 16) out[threadIdx.x] = __shfl_down_sync(0xffffffff, 1.0f, 1);
}
__global__ void two_warps(float* out) {
  __shared__ float tile[64];
  tile[threadIdx.x] = 1;
  out[threadIdx.x] = tile[threadIdx.x ^ 1];
}
TILE_COUNT("f") { auto out = tile::array<float>("out", 64); two_warps<<<1, 64>>>(out.device()); }
TILE_COUNT("a") { auto out = tile::array<Four>("out", 32); split<<<1, 32>>>(out.device()); }
TILE_COUNT("b") { auto out = tile::array<std::complex<float>>("out", 32); pairs<<<1, 32>>>(out.device()); }
TILE_COUNT("c") { auto a = tile::array<float>("a", 32); std::vector<float> host(32); ones<<<1, 32>>>(host.data()); }
TILE_COUNT("d") { auto out = tile::array<float>("out", 32); volatile_sum<<<1, 32>>>(out.device()); }
TILE_COUNT("e") { auto out = tile::array<float>("out", 32); half_warp<<<1, 32>>>(out.device()); }
END
"$tile_count" --compiler "$model_cc" "$scratch/reasons.cu" >"$scratch/out" 2>"$scratch/err" && complain "what is wrong with six runs passes"
reason() { grep -q "^count: $1" "$scratch/err" || complain "$2 is not told: $(cat "$scratch/err")"; }
reason 'unsupported: split, reasons.cu:6, .* moves 16 bytes at once in shared memory: .*declare it alignas(16), which is one access' "the alignment of a struct"
grep -q 'pairs, ' "$scratch/err" && reason '[a-z]*: pairs, reasons.cu:8, .*aligned' "the line of what the library moves"
reason 'out of bounds: ones, .* in no allocation: is it a pointer of the host' "a pointer of the host"
reason 'race: volatile_sum, .* (both are lanes of one warp: __syncwarp() between the two is what is missing)' "a warp that no longer goes in step"
reason 'race: two_warps, .* (both are lanes of one warp: __syncwarp() would order these two, __syncthreads() all threads of the block)' "which barrier orders what"
reason 'warp operation: half_warp, .* waits for lanes 16 to 31 of the mask 0xffffffff, .* thread (16,0,0) has returned' "which lanes are missing"
# What advice must not leave out: that an atomic in shared memory may be what costs most, how many lanes an example has, and that
# nvcc may join a thread's neighbouring words.
cat >"$scratch/advised.cu" <<'END'
#include "common/count/count.hpp"
__global__ void histogram(int* out, const int* in) {
  __shared__ int bins[32];
  bins[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&bins[in[threadIdx.x] % 4], 1);
  __syncthreads();
  if (threadIdx.x < 4) out[threadIdx.x] = bins[threadIdx.x];
}
__global__ void few(float* out) { if (threadIdx.x < 4) out[threadIdx.x * 8] = 1; }
__global__ void eight(float* out, const float* in) {
  float sum = 0;
#pragma unroll
  for (int i = 0; i < 8; ++i) sum += in[threadIdx.x * 8 + i];
  out[threadIdx.x] = sum;
}
TILE_COUNT("a") { auto in = tile::array<int>("in", 32), out = tile::array<int>("out", 32); histogram<<<1, 32>>>(out.device(), in.device()); }
TILE_COUNT("b") { auto out = tile::array<float>("out", 32); few<<<1, 32>>>(out.device()); }
TILE_COUNT("c") { auto in = tile::array<float>("in", 256), out = tile::array<float>("out", 32); eight<<<1, 32>>>(out.device(), in.device()); }
END
"$tile_count" --compiler "$model_cc" "$scratch/advised.cu" >"$scratch/lines" 2>"$scratch/err" || complain "what is to be advised on: $(cat "$scratch/err")"
tr -s '\n ' ' ' <"$scratch/lines" >"$scratch/out"
said 'unknown advised.cu:6, atomic of bins: what it costs in shared memory is not known' "that an atomic's cost is not known"
said '(of the warp that was looked at, 4 lanes took part)' "how many lanes took part"
said "nvcc may join the neighbouring accesses of a thread into wider ones" "that nvcc may join words"
exit "$wrong"
