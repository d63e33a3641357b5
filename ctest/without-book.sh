#!/bin/sh
# Without pandoc and gnuplot the project configures as long as the book is not asked for, and says what is missing when it is. Nothing is
# built. Usage: without-book.sh SOURCE GENERATOR
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() { echo "$1"; cat "$scratch/log"; exit 1; }

# A PATH with all programs but those that weave. CMake looks into directories of the system even if PATH does not name them.
mkdir "$scratch/bin"
echo "$PATH" | tr : '\n' | while read -r directory; do
  find "$directory/" -maxdepth 1 ! -name pandoc ! -name 'gnuplot*' ! -type d -exec ln -s -t "$scratch/bin" {} + 2>/dev/null
done
configure() {
  PATH=$scratch/bin cmake -S "$1" -B "$scratch/build" -G "$2" -DCMAKE_CXX_COMPILER=g++ -DCMAKE_C_COMPILER=gcc \
    -DCMAKE_IGNORE_PATH="/bin;/usr/bin;/usr/local/bin;/opt/bin" -DTILE_BOOK="$3" >"$scratch/log" 2>&1
}
! configure "$1" "$2" ON || fail "configured a book that cannot be woven"
grep -q 'needs pandoc' "$scratch/log" && grep -q 'DTILE_BOOK=OFF' "$scratch/log" || fail "does not say what is missing"
configure "$1" "$2" OFF || fail "does not configure without the book"
! cmake --build "$scratch/build" --target book >"$scratch/log" 2>&1 && grep -q 'goes without the book' "$scratch/log" ||
  fail "does not say why there is no book"
