#!/bin/sh
# A test that has passed runs again when what it is about has changed, and one that has failed or was skipped always does.
# Usage: unless-same-test.sh UNLESS-SAME.SH
script=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
wrong=0
complain() { echo "$*"; wrong=1; }

mkdir -p "$scratch/pages/below"
echo epub >"$scratch/tile-by-tile.epub"
echo one >"$scratch/pages/below/page"
printf '#!/bin/sh\necho x >>"%s/runs"\necho "says $1"\nexit "$(cat "%s/status")"\n' "$scratch" "$scratch" >"$scratch/test"
chmod +x "$scratch/test"
# runs STATUS RUNS WHAT [WORD]: the test, which would exit with STATUS, does so, and has run so many times in all.
runs() {
  echo "$1" >"$scratch/status"
  said=$(sh "$script" "$scratch/passed/it" "$scratch/pages" "$scratch/tile-by-tile.epub" -- "$scratch/test" "${4-word}")
  [ $? = "$1" ] || complain "$3: another exit status"
  [ "$(grep -c x "$scratch/runs")" = "$2" ] || complain "$3: run $(grep -c x "$scratch/runs") times, not $2"
  printf '%s' "$said" | grep -q "says ${4-word}" || complain "$3: does not say what the test said"
}
runs 1 1 "at first"
runs 1 2 "failed before"
runs 77 3 "failed before, skipped now"
runs 0 4 "skipped before"
runs 0 4 "passed before"
echo pdf >"$scratch/pages/tile-by-tile.pdf"
runs 0 4 "the book as one file was made"
echo two >"$scratch/pages/below/page"
runs 0 5 "a page has changed"
echo one >"$scratch/pages/another"
runs 0 6 "there is another page"
echo more >>"$scratch/tile-by-tile.epub"
runs 0 7 "a file that is an input has changed"
runs 0 8 "another argument" other
touch -d '2001-01-01' "$scratch/test"
runs 0 9 "another program" other
exit "$wrong"
