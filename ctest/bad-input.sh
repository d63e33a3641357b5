#!/bin/sh
# Bad input yields one line that says what is wrong and the right exit code, and leaves no files.
# Usage: bad-input.sh BIN-DIRECTORY MODEL-CC
bin=$1 model_cc=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
wrong=0

# refuse CODE PATTERN COMMAND...: the command must exit with CODE and print one line on stderr that matches.
complain() { echo "$1"; cat "$scratch/out" "$scratch/err"; wrong=$((wrong + 1)); }
refuse() {
  code=$1 pattern=$2
  shift 2
  "$@" >"$scratch/out" 2>"$scratch/err"
  status=$?
  [ "$status" = "$code" ] && grep -q -- "$pattern" "$scratch/err" && [ "$(wc -l <"$scratch/err")" = 1 ] ||
    complain "not as expected (exit $status): $*"
}

chapter="$bin/chapter02"
refuse 2 "--size: Value 0 not in range .*1.*65536" "$chapter" --size 0
refuse 2 "--size: Value -5 not in range" "$chapter" --size=-5
refuse 2 "--bogus" "$chapter" --bogus
refuse 2 "it has coalesced" "$chapter" --on model --kernel nonsense
refuse 2 "--on: tpu not in {gpu,model}" "$chapter" --on tpu
refuse 2 "4096 x 4096 x 4096 is too large for the SIMT model.*leave --size out for " "$chapter" --on model --size 4096
refuse 1 "--once needs a GPU" "$chapter" --on model --once
refuse 2 "--alpha: Failed parsing x as a FLOAT" "$chapter" --alpha x
refuse 2 "--bench requires --out" "$chapter" --bench
refuse 2 "--data: ones not in {integers,random,zeros}" "$chapter" --data ones
refuse 2 "--sweep" "$chapter" --sweep
refuse 2 "--bench excludes --sweep" "$bin/sweep_test" --sweep --bench --out "$scratch/x"
refuse 1 "--sweep needs a GPU" "$bin/sweep_test" --on model --sweep --out "$scratch/x"
refuse 2 "too large for the SIMT model" "$bin/chapter19" --on model --kernel sgemm --size 65536
grep -q "^sgemm chooses: large$" "$scratch/out" || complain "chapter 19's sgemm does not say what it chooses"
COLUMNS=80 "$chapter" --on model >"$scratch/out" 2>&1 && sed -n 3p "$scratch/out" | grep -q "^[a-z0-9_]*: .* TFLOP/s at 4096" &&
  ! grep -q '.\{81\}' "$scratch/out" || complain "a chapter's output has no summary, or lines of more than 80 columns:"
"$bin/chapter19" --on model --kernel sgemm --m 40 --n 64 --k 64 >"$scratch/out" 2>&1 && grep -q "^The model's counts of kernel sgemm" "$scratch/out" ||
  complain "chapter 19's sgemm is not counted as it should be"
refuse 2 "--warm excludes --bench" "$chapter" --warm --bench --out "$scratch/x"
refuse 1 "--warm needs a GPU" "$chapter" --on model --warm
refuse 2 "no test case is called" "$chapter" --on model --test "no such test"
refuse 2 "--emit: 1 required TEXT missing" "$chapter" --emit=
refuse 2 "argument was not expected" "$chapter" ""
refuse 1 "cannot write\|cannot create\|not permitted\|denied\|Not a directory\|No such" "$chapter" --on model --emit /proc/nowhere
refuse 1 "--tune needs a GPU" "$bin/chapter07" --on model --tune
refuse 2 "--tune" "$chapter" --tune
refuse 2 "--describe" "$chapter" --on model --describe nonsense
command -v nvidia-smi >/dev/null || refuse 1 "use --on model" "$chapter" --on gpu

# Records and tunings that are invalid, or of different code, for a chapter whose only candidate multiplies 1 x 1 matrices.
gpu=$scratch/measured/nvidia-h200
mkdir -p "$gpu"
cat >"$scratch/tuner.cu" <<'END'
#include "chapters/07-autotuning/tuning.hpp"
namespace {
__global__ void multiply(const float* a, const float* b, float* c) { *c = *a * *b; }
void launch(const tile::Gemm& g) { tile::launch(multiply, dim3(1), dim3(1), 0, g.A, g.B, g.C); }
const std::vector<tile::Candidate> candidates{{{"only", launch, reinterpret_cast<const void*>(multiply), 1}, {}, 1, 1, 1, ""}};
}  // namespace
TILE_CHAPTER(.number = 77, .title = "a tuner", .kernels = {tile::tuned_kernel(candidates)}, .counted = {1, 1, 1}, .sizes = {},
             .extension = tile::extension_of(candidates))
END
"$model_cc" "$scratch/tuner.cu" "$scratch/tuner" chapter || exit 1
echo '{"gpu"' >"$gpu/environment.json"
refuse 1 "nvidia-h200/environment.json is not part of a valid record" "$scratch/tuner" --on model
grep -q Measured "$scratch/out" && complain "tables were printed from a broken record"
mv "$gpu/environment.json" "$gpu/tuned-environment.json"
refuse 1 "tuned-environment.json is not part of a valid record" "$scratch/tuner" --on model
environment='{"gpu": "NVIDIA H200", "date": "d", "driver": "d", "cuda": "c", "fingerprint": {"tuner.cu": "0"}, "sms": 1, "clock_hz": 1'
echo "$environment, \"size\": 1}" >"$gpu/tuned-environment.json"
printf 'name,pruned,median_ms\nonly,,1\n' >"$gpu/tuned.csv"
refuse 1 "measured/nvidia-h200: .*does not say which machine code it measured" "$bin/tile-record" --check "$scratch/tuner"
rm "$gpu/tuned-environment.json"
echo "$environment}" >"$gpu/sweep-environment.json"
refuse 1 "sweep-environment.json is not part of a valid record" "$bin/tile-record" --check "$scratch/tuner"

refuse 2 "there is no such chapter" ./tile run 99
refuse 2 "two digits" ./tile run one
refuse 2 "not '--slow'" ./tile test --slow
refuse 2 "one regular expression" ./tile test --quick a b
tile_count() { "$bin/tile-count" --compiler "$model_cc" "$@"; }
refuse 2 "FILE.cu is required; ./tile count --help lists the options" tile_count
refuse 2 "--registers" tile_count --registers 999 x.cu
refuse 2 "--bogus.*; ./tile count --help lists the options" tile_count --bogus x.cu
refuse 1 "ctest/count is not a .cu file" tile_count ctest/count

exit "$wrong"
