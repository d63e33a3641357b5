#!/bin/sh
# The data of plots, from made-up chapters' facts and records. Usage: plot-data.sh FIGURES-PROGRAM
set -e
figures=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
refuse() { echo "$1"; cat "$2"; exit 1; }

# A roofline is drawn from the value of a fact, not from its text, "1,365".
mkdir -p "$scratch/emit/01"
printf 'naive.4096.intensity.sm\tcounted\t1365.25\tFLOP/B\t1,365\n' >"$scratch/emit/01/facts.tsv"
"$figures" roofline chapters "$scratch/emit" 01 "$scratch/roofline.tsv"
grep -q "$(printf '^"naive"\tsm\t1365.25\t')" "$scratch/roofline.tsv" || refuse "not the value of the fact:" "$scratch/roofline.tsv"

# A ladder has every kernel of its chapter, and the fastest of the three before; cuBLAS comes last.
record() { # NN CUBLAS-MS KERNEL:MS...: four iterations of each kernel and of cuBLAS
  measured=$scratch/chapters/$1-x/measured/nvidia-h200 cublas=$2 kernels=
  mkdir -p "$measured"
  shift 2
  echo kernel,problem,freivalds_deviation,clock_samples,samples_ms >"$measured/runs.csv"
  echo kernel,problem,samples_ms >"$measured/cublas.csv"
  for of in "$@"; do
    kernel=${of%:*} ms=${of#*:}
    kernels="$kernels${kernels:+, }{\"name\": \"$kernel\"}"
    echo "$kernel,4096,0,0,$ms $ms $ms $ms" >>"$measured/runs.csv"
    echo "$kernel,4096,$cublas" >>"$measured/cublas.csv"
  done
  echo '{"gpu": "made up", "date": "", "driver": "", "cuda": "", "fingerprint": {}, "sms": 1, "clock_hz": 1,' \
    "\"kernels\": [$kernels]}" >"$measured/environment.json"
}
record 01 "1 1 1 1" slow:9 fast:5 middling:7
record 02 "1 1 1 1" only:4
record 03 "1.008 1 1.008 1" one:2 other:3
record 04 "1.02 1 1.02 1" next:2
record 05 "1 1 1 1" last:2
ladder() { # NN COLUMNS: these columns of a chapter's ladder
  "$figures" ladder "$scratch/chapters" "$scratch/emit" "$1" "$scratch/ladder.tsv"
  cut -f"$2" "$scratch/ladder.tsv" | tr -d '"' | tr '\t\n' ' ;'
}
expect() { [ "$1" = "$2" ] || refuse "not '$1':" "$scratch/ladder.tsv"; }
expect "01 fast 0;02 only 0;03 one 1;03 other 1;cuBLAS 0;" "$(ladder 03 1,4)"  # 1: the chapter's own
expect "02 only;03 one;04 next;05 last;cuBLAS;" "$(ladder 05 1)"
# The share is the median ratio of pairs.
expect "02 only 25.0%;03 one 50.2%;04 next 50.5%;05 last 50.0%;cuBLAS 100%;" "$(ladder 05 1,3)"
