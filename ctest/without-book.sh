#!/bin/sh
# Without pandoc and gnuplot the project configures as long as the book is not asked for, and says what is missing when it is.
# With a chapter it is also built and tested so. Usage: without-book.sh SOURCE GENERATOR [NN]
set -e
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# A PATH with all programs but those that weave.
mkdir "$scratch/bin"
echo "$PATH" | tr : '\n' | while read -r directory; do
  for program in "$directory"/*; do
    case ${program##*/} in pandoc | gnuplot*) ;; *) [ -e "$scratch/bin/${program##*/}" ] || ln -s "$program" "$scratch/bin/" ;; esac
  done
done
PATH=$scratch/bin

fail() {
  echo "$1"
  cat "$scratch/log"
  exit 1
}
# CMake looks into directories of the system even if PATH does not name them.
configure() {
  cmake -S "$1" -B "$scratch/build" -G "$2" -DCMAKE_CXX_COMPILER=g++ -DCMAKE_C_COMPILER=gcc \
    -DCMAKE_IGNORE_PATH="/bin;/usr/bin;/usr/local/bin;/opt/bin" -DTILE_BOOK="$3" >"$scratch/log" 2>&1
}

! configure "$1" "$2" ON || fail "configured a book that cannot be woven"
grep -q 'needs pandoc' "$scratch/log" && grep -q 'DTILE_BOOK=OFF' "$scratch/log" || fail "does not say what is missing"
configure "$1" "$2" OFF || fail "does not configure without the book"
! cmake --build "$scratch/build" --target book >"$scratch/log" 2>&1 || fail "builds a book"
grep -q 'goes without the book' "$scratch/log" || fail "does not say why there is no book"
[ $# -lt 3 ] || cmake --build "$scratch/build" --target "chapter$3" figures tile-record >"$scratch/log" 2>&1 || fail "chapter $3 does not build"

# Programs that are not built have not said which test cases they have.
mkdir -p "$scratch/build/tests"
for name in $(sed -n 's|^include(".*/tests/\(.*\)[.]cmake")$|\1|p' "$scratch/build/CTestTestfile.cmake"); do
  [ -e "$scratch/build/tests/$name.cmake" ] || : >"$scratch/build/tests/$name.cmake"
done
ctest --test-dir "$scratch/build" -N >"$scratch/log"
grep -q 'chapter01[.]records' "$scratch/log" && grep -q 'chapter01[.]breaks' "$scratch/log" || fail "the chapters have no tests"
! grep -q 'book[.]\|[.]page\|[.]words' "$scratch/log" || fail "there are tests of a book that is not there"
[ $# -lt 3 ] || ctest --test-dir "$scratch/build" -R "^chapter$3[.]" -E '[.]breaks$' --output-on-failure >"$scratch/log" || fail "the tests of chapter $3 fail"
echo "chapters do without the book"
