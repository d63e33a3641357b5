#!/bin/sh
# What `tile count` tells of structs that are moved as a whole, of mistakes, of ties, and of kernels as people write them.
# Usage: count-told.sh TILE-COUNT MODEL-CC
tile_count=$1 model_cc=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
wrong=0
complain() { echo "$*"; wrong=$((wrong + 1)); }
# counted NAME [OPTION]: ctest/count/NAME.cu, by word: each word of what is printed behind one blank.
counted() {
  "$tile_count" --compiler "$model_cc" "ctest/count/$1.cu" >"$scratch/lines" 2>"$scratch/err"
  tr -s '\n ' ' ' <"$scratch/lines" >"$scratch/out"
}
said() { grep -q -- "$1" "$scratch/out" || complain "$2 is not said: $1"; }
told() { grep -q -- "^count: $1" "$scratch/err" || complain "$2 is not told: $1"; }
not_told() { grep -- "$1" "$scratch/err" && complain "$2 is told"; }

# Structs in global memory: by their alignment, as nvcc moves them. `row TITLE BYTES REQUESTS`: of the load and of the store of a warp.
counted structs
row() {
  sed -n "/^== $1\$/,/^  sums/p" "$scratch/lines" | grep -c "^ *[0-9]*  *\(load  *in\|store  *out\) (global)  *$2  *$3  " | grep -q '^2$' ||
    complain "$1: not $3 accesses of $2 bytes: $(sed -n "/^== $1\$/,/^  sums/p" "$scratch/lines")"
}
row "16 bytes, aligned to 4" 4 4
row "20 bytes, aligned to 4" 4 5
row "24 bytes, aligned to 4" 4 6
row "32 bytes, aligned to 4" 4 8
row "16 bytes, aligned to 8" 8 2
row "24 bytes, aligned to 8" 8 3
row "24 bytes, floats aligned to 8" 8 3
row "32 bytes, aligned to 16" 16 2
row "5 bytes, aligned to 1" 1 5
row "12 bytes, aligned to 2" 2 6
row "16 bytes, aligned to 16" 16 1
row "a member of 24 bytes" 4 6
row "20 bytes in an array of floats" 4 5
row "a __device__ array" 8 3
said 'neighbouring lanes load neighbouring structs of 20 bytes in 5 accesses, of which each touches the same 20 sectors; with an array for each member (a struct of arrays) each would touch 4, and declared alignas(16) the struct takes 2 accesses' \
  "what a struct costs"
grep -q 'structs of [^=]*may join' "$scratch/out" && complain "nvcc is said to join what it does not"
told 'unsupported: to_shared, structs.cu:[0-9]*, .* moves 24 bytes at once in shared memory: ' "a struct in shared memory"
told 'unsupported: cast<A4of24>, structs.cu:[0-9]*, .* moves 24 bytes at once, and nvcc as many as the struct is aligned to: out is no array of such structs' \
  "a struct of unknown alignment"
told 'out of bounds: copy<A4of24>, .* reads 24 bytes of global memory at address 0x[0-9a-f]*, up to 24 bytes past the end of in: this is in\[31\], and it has 31 elements$' \
  "which element a struct would have been"

# Where an access falls that is out of bounds; who waits at which barrier; a race once.
counted mistakes
told 'out of bounds: past, .* 4 bytes past the end of out: this is out\[32\], and it has 32 elements$' "the element past the end"
told 'out of bounds: before, .* 4 bytes before the start of out: this is out\[-1\], and it has 32 elements$' "the element before the start"
told 'out of bounds: wrapped, .* an index without a sign went below 0: this is out\[4294967295\], and it has 32 elements$' "a wrapped index"
told 'out of bounds: past_table, .* 8 bytes past the end of table: this is table\[4\]\[1\], and it is \[4\]\[8\]$' "the indices of a __device__ array"
told 'out of bounds: past_tile, .* 4 bytes past the end of tile: this is tile\[4\]\[0\], and it is \[4\]\[8\]$' "the indices of a __shared__ array"
told 'out of bounds: before_tile, .* 4 bytes before the start of tile: this is tile\[-1\]\[7\], and it is \[4\]\[8\]$' "what lies before a __shared__ array"
told 'out of bounds: past_dynamic, .* past the end of words, to which the launch gives 64: in elements of 4 bytes this is words\[16\], and it has 16$' \
  "the element of extern __shared__"
told "out of bounds: past_extent, .* uses index 8 of an array of type 'float \[8\]'" "an index that an extent does not allow"
told 'barrier: some_return, mistakes.cu:[0-9]*, .* waits at __syncthreads, but 32 of the block.s 64 threads returned without reaching it, thread (32,0,0) among them$' \
  "who does not come to a barrier"
told 'barrier: two_lines, mistakes.cu:[0-9]*, .* waits at __syncthreads while thread (32,0,0) waits at the one of mistakes.cu:[0-9]*$' "two barriers"
not_told '^count: barrier: .*0x' "an address of code"
told 'out of bounds: straddles, .* 8 bytes past the end of out: this is out\[30\], and it has 30 elements$' "the first element behind an array"
told 'out of bounds: straddles_tile, .* 8 bytes past the end of tile: this is tile\[30\], and it has 30 elements$' "the first element behind a __shared__ array"
told 'out of bounds: past_constant, .* past the end of weights: this is weights\[8\], and it has 8 elements' "what lies behind __constant__"
not_told 'tile_registered\|simt_' "a name of the model's own"
told "out of bounds: wrapped_tile, .* uses index 4294967229 of an array of type 'float \[8\]': an index without a sign went below 0$" "a wrapped index in shared memory"
[ "$(grep -c '^count: race: chosen_vector' "$scratch/err")" = 1 ] || complain "not one race of a vector: $(grep chosen_vector "$scratch/err")"
told 'misaligned: misaligned_constants, .* writes 16 bytes' "a vector of constants that lies askew"
[ "$(grep -c '^count: race: inlined_twice, .* reads ' "$scratch/err")" = 1 ] || complain "not one race: $(grep inlined_twice "$scratch/err")"
told 'race: of_vectors, .* vectors\[3\] from its byte 8 on (address' "the element of a vector"
told 'race: of_table, .* table\[1\]\[3\] (address' "the element of a __device__ array in a race"

# Ties are called so, of resources and of lines.
counted ties
said 'L1 32 and banks 32 (a tie: both bind), ' "a tie of resources"
said '(1) ties.cu: a tie; what binds: L1 and banks, a tie (2) ' "a tie of resources in the comparison"
said 'banks 64 (binds), L1 32' "what binds alone"
said 'hottest ties.cu:[0-9]*, load of in, 50%, a tie with ties.cu:[0-9]*, store of out: ' "a tie of lines"

# Kernels as people write them: no index is loaded twice, and advice is about what is there.
counted kernels
for array in data head order; do
  grep -q "^ *[0-9]*  *load  *$array ([a-z]*)  *[14]  *1  " "$scratch/lines" || complain "$array is not loaded once: $(grep " $array " "$scratch/lines")"
done
said 'unknown kernels.cu:[0-9]*, [0-9]*, atomic of bins: what it costs' "all atomics of an array at once"
said '2 different words lie in bank [0-9]*; the warp takes 2 rows, which meet in the banks; with 32 threads along x it takes one' "two rows of a warp"
said 'pad each row of 16 words by one word (2 elements)' "how to pad rows of halves"
said 'no bank conflict the first time, but 1.50 wavefronts on average, where 1 would do' "conflicts of the second time"

# Forms that are valid CUDA: they compile, no access is refused, and none is counted twice.
counted forms
once() { # TITLE OP ARRAY BYTES REQUESTS SECTORS: the only such line of a run
  [ "$(sed -n "/^== $1\$/,/^  sums/p" "$scratch/lines" | grep "^ *[0-9]*  *$2  *$3 (" | tr -s ' ' | cut -d ' ' -f 6-8)" = "$4 $5 $6" ] ||
    complain "$1: not one $2 of $3 of $4 bytes, $5 requests and $6 sectors: $(sed -n "/^== $1\$/,/^  sums/p" "$scratch/lines")"
}
once references load order 4 1 4
once references load queues 4 1 12
once constants store out 16 1 16
once choices store out 16 2 16
once "small constants" store a 16 1 16
once "small constants" store b 8 1 8
once "small constants" store c 4 1 4
said 'store tile (shared) 16 2 ' "a struct in shared memory that is aligned to 16 bytes"
not_told unsupported "a form that is none of a mistake"
told 'forms.cu, "throws": what it throws is no std::exception$' "what is thrown"
[ "$(wc -l <"$scratch/err")" = 1 ] || complain "more than one line: $(cat "$scratch/err")"
said "stores\? neighbouring 16 bytes in 4 accesses, [^;]*; the array's elements have as many: moved as a whole, by way of a variable, they take one access, of 16 sectors" \
  "that a vector is assigned in parts"
said 'neighbouring 16 bytes in 16 accesses, [^;]*; where neighbouring lanes take neighbouring elements, each would touch 1, ' "bytes in a row"
said 'the warp takes 2 rows, which meet in the banks; let its lanes take one, of 32 words' "two rows of 32 threads along x"
said 'neighbouring lanes load 4 bytes each of neighbouring structs of 24 bytes; with an array for each member (a struct of arrays)' "one member of a struct"
said 'one lane of the warp stores, 4 bytes of a sector of 32, while the others wait' "one lane of a warp"
exit "$wrong"
