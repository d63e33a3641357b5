#!/bin/sh
# The README's worked example for `tile count`: the padded transpose has no bank conflict, the unpadded one 32. Besides, a
# row whose numbers are a guess says so at each of them.
# Usage: worked-example.sh TILE-COUNT MODEL-CC
set -e
tile_count=$1 model_cc=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
count() { "$tile_count" --compiler "$model_cc" "$@" >"$scratch/out"; }
count ctest/transpose.cu
column() { awk -v kernel="$1" -v op="$2" -v array="$3" '$0 ~ kernel { on = 1 } on && $2 == op && $3 == array { print $(NF - 2); exit }' "$scratch/out"; }
check() { [ "$2" = "$3" ] || { echo "$1: $2, expected $3"; cat "$scratch/out"; exit 1; }; }
check "wavefronts of the column read, unpadded" "$(column 'transpose_shared<32>' load tile)" 32
check "wavefronts of the column read, padded" "$(column 'transpose_shared<33>' load tile)" 1
tr -s '\n ' ' ' <"$scratch/out" |
  grep -q 'load of tile, 91%: 32 wavefronts, where 1 would do: [^;]* bank 0; pad each row of 32 words by one word ' ||
  { echo "the advice to pad is missing:"; cat "$scratch/out"; exit 1; }

cat >"$scratch/guess.cu" <<'END'
#include "common/count/count.hpp"
// Lanes come to the load after different numbers of turns; to the store, together.
__global__ void ragged(float* out, const float* in) {
  float sum = 0;
  for (int i = 0; i < 4; ++i)
    if ((int(threadIdx.x) + i) % 3 == 0) sum += in[i * 32 + threadIdx.x];
  out[threadIdx.x] = sum;
}
TILE_COUNT("ragged") {
  auto in = tile::array<float>("in", 128), out = tile::array<float>("out", 32);
  tile::launch(ragged, dim3(1), dim3(32), 0, out.device(), in.device());
}
END
count "$scratch/guess.cu"
row() { grep "^ *[0-9][0-9]* *$1 " "$scratch/out" | tr -s ' ' | cut -d' ' -f7-12; }
case $(row load) in
  "~"*" ~"*" ~"*" ~"*" ~"*" ~"*) ;;
  *) echo "a guess is not marked:"; cat "$scratch/out"; exit 1 ;;
esac
check "the row that is no guess" "$(row store)" "1 4 1 1 1 100%"
echo "the worked example counts what the README says"
