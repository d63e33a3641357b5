#!/bin/sh
# Configuration, maps, kernel and launcher of chapters 01 to 13 compile by themselves after standalone.hpp. Usage: standalone.sh NVCC
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
wrong=0
for program in chapters/0[1-9]-*/chapter*.cu chapters/1[0-3]-*/chapter*.cu; do
  {
    printf '#include "ctest/standalone.hpp"\nnamespace {\n'
    sed -n '/\[snippet /,/\[\/snippet launch\]/{p;/\[\/snippet launch\]/q}' "$program"
    printf '}\nvoid run(const tile::Gemm& g) { launch_default(g); }\n'
  } >"$scratch/kernel.cu"
  "$1" -std=c++20 -arch=sm_90a -I. -c "$scratch/kernel.cu" -o "$scratch/kernel.o" || { echo "$program: see above"; wrong=1; }
done
exit $wrong
