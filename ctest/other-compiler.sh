#!/bin/sh
# Programs count the same, compiled with the compiler of the build and with the other one (clang++ or g++): the tests among them pass, the
# chapters print the same tables. Exits with 77, and says why, where there is no such compiler.
# Usage: other-compiler.sh COMPILER [SOURCE.cu PROGRAM OTHER-PROGRAM]...
set -eu
compiler=$1
shift
case $compiler in
  '' | *-NOTFOUND)
    echo "skipped: there is no second compiler to compare counts with (g++ and clang++)"
    exit 77
    ;;
esac
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
tables() { "$1" --on model --size 64 --lines | grep -v '^model: '; }  # without the times that it took

while [ $# -gt 0 ]; do
  source=$1 program=$2 other=$3
  shift 3
  case $source in
    */chapter*)
      tables "$program" >"$scratch/expected"
      grep -q wavefronts "$scratch/expected"
      tables "$other" >"$scratch/counted"
      diff "$scratch/expected" "$scratch/counted" || { echo "$source: counts differ with $compiler"; exit 1; }
      ;;
    *) "$other" --all-tests ;;
  esac
done
