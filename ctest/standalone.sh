#!/bin/sh
# Configuration, maps, kernel and launcher of chapters 01 to 18 compile by themselves after standalone.hpp, from 14 on with what they
# include of common/cuda. Usage: standalone.sh NVCC
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
wrong=0
for program in chapters/0[1-9]-*/chapter*.cu chapters/1[0-8]-*/chapter*.cu; do
  run=$(sed -n 's/^  f("[a-z0-9_]*", \(.*\){});$/prepare<\1>(g)->run();/p' "$program")
  ! grep -q launch_default "$program" || run="launch_default(g);"
  {
    grep '^#include \(<\|"common/cuda/\)' "$program" || true
    printf '#include "ctest/standalone.hpp"\nnamespace {\n'
    grep '^namespace ptx = ' "$program" || true
    sed -n '/\[snippet /,/\[\/snippet launch\]/{p;/\[\/snippet launch\]/q}' "$program"
    printf '}\nvoid run(const tile::Gemm& g) { %s }\n' "$run"
  } >"$scratch/kernel.cu"
  "$1" -std=c++20 -arch=sm_90a -I. -c "$scratch/kernel.cu" -o "$scratch/kernel.o" || { echo "$program: see above"; wrong=1; }
done
exit $wrong
