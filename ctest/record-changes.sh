#!/bin/sh
# A record in which one number was changed is noticed, and the complaint names the file, the kernel and both values. On a
# copy of chapter 02's record, beside a program that repeats what chapter 02 says of itself, but that it lies here.
# Usage: record-changes.sh CHAPTER02 TILE-RECORD
set -e
chapter=$1 tool=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/measured"
cp chapters/02-coalescing/measured/nvidia-h200.json "$scratch/record.json"
for what in program counts; do
  "$chapter" --on model --describe "$what" | sed "s|\"source\": \"[^\"]*\"|\"source\": \"$scratch/chapter02.cu\"|" >"$scratch/$what"
done
printf '#!/bin/sh\ncat "%s/$4"\n' "$scratch" >"$scratch/says"  # $4: program --on model --describe WHAT
chmod +x "$scratch/says"
wrong=0

# change KEY VALUE COMPLAINT: with the first KEY of the record set to VALUE, the check must fail with the complaint.
change() {
  sed "0,/\"$1\": [-+.0-9e]*/s//\"$1\": $2/" "$scratch/record.json" >"$scratch/measured/nvidia-h200.json"
  if "$tool" --check "$scratch/says" 2>"$scratch/err" || ! grep -q "nvidia-h200.json: coalesced.*$3" "$scratch/err"; then
    echo "$1 = $2 does not say: $3"
    cat "$scratch/err"
    wrong=1
  fi
}

cp "$scratch/record.json" "$scratch/measured/nvidia-h200.json"
"$tool" --check "$scratch/says" >"$scratch/out" || [ $? = 77 ] || { echo "the record as it is does not pass"; exit 1; }
change registers 99 "registers is 99, but launch__registers_per_thread of its counters is"
change blocks_per_sm 99 "blocks_per_sm is 99, but"
change median_ms 99 "median_ms is 99, but its samples give"
change tflops 99 "tflops is 99, but its samples give"
change cublas_tflops 99 "cublas_tflops is 99, but its samples give"
change ratio 99 "ratio is 99, but its samples give"
change l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum 99999 "global load sectors: 2,621,440 counted, 99,999 measured"
change l1tex__t_set_accesses.sum 99999 "cache lines looked up: .* counted, 99,999 measured"
change smsp__sass_thread_inst_executed_op_ffma_pred_on.sum 99999 "is 99999, not from"
change block_threads 512 "block_threads is 512, the program says 1024"
[ "$wrong" = 0 ] && echo "every change was noticed"
exit "$wrong"
