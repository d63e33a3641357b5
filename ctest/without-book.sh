#!/bin/sh
# Without pandoc and gnuplot, or with a pandoc that is too old, the project configures as long as the book is not requested; if it is, the
# missing tools are named. Nothing is built. Usage: without-book.sh SOURCE GENERATOR
source=$1 generator=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() { echo "$1"; cat "$scratch/log"; exit 1; }

# A PATH with all programs except those that weave. CMake searches system directories even if PATH does not name them.
mkdir "$scratch/bin"
echo "$PATH" | tr : '\n' | while read -r directory; do
  find "$directory/" -maxdepth 1 ! -name pandoc ! -name 'gnuplot*' ! -type d -exec ln -s -t "$scratch/bin" {} + 2>/dev/null
done
configure() { # OPTION...
  PATH=$scratch/bin cmake -S "$source" -B "$scratch/build" -G "$generator" -DCMAKE_CXX_COMPILER=g++ -DCMAKE_C_COMPILER=gcc \
    -DCMAKE_IGNORE_PATH="/bin;/usr/bin;/usr/local/bin;/opt/bin" "$@" >"$scratch/log" 2>&1
}
printf '#!/bin/sh\necho pandoc 2.9\n' >"$scratch/pandoc"
chmod +x "$scratch/pandoc"
for pandoc in "$scratch/pandoc" ""; do
  ! configure -DTILE_BOOK=ON -DPANDOC="$pandoc" || fail "configured a book that cannot be woven"
  tr -s '\n ' ' ' <"$scratch/log" | grep -q 'Weaving the book needs pandoc (2.17 or newer).*DTILE_BOOK=OFF' || fail "does not say what is missing"
done
configure -DTILE_BOOK=OFF || fail "does not configure without the book"
! cmake --build "$scratch/build" --target book >"$scratch/log" 2>&1 && grep -q 'goes without the book' "$scratch/log" ||
  fail "does not say why there is no book"
