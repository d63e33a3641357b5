#!/bin/sh
# The ten steps of .github/CONTRIBUTING.md lead to a chapter: in a copy of the repository the commands of step 2 are carried out, the copy is
# configured as step 3 says, and then has the targets and tests that the later steps name. Nothing is compiled. Every file that a step names is there, and
# what links of it and of the README name.
# Usage: contributing.sh, at the top of the repository
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
wrong=0
complain() { echo "$*"; wrong=$((wrong + 1)); }
tar -c --exclude=./build --exclude=./.git . | tar -x -C "$scratch" || exit 1
cd "$scratch" || exit 1

# Each step in a line, and the program texts of step N, a line each.
awk '/^[0-9]+[.] / { if (step) print step; step = $0; next }
  step && /^   / { sub(/^ +/, ""); step = step " " $0; next }
  step { print step; step = "" }
  END { if (step) print step }' .github/CONTRIBUTING.md >steps
texts() { grep "^$1[.] " steps | grep -o '`[^`]*`' | tr -d '`'; }
[ "$(wc -l <steps)" = 10 ] || complain "there are $(wc -l <steps) steps, not ten"

# configure: as step 3 says, without building.
configure() { sh -c "$(texts 3 | head -n 1 | sed 's/ && .*//')" >log 2>&1 || { complain "not configured:"; cat log; }; }
copying=$(texts 2 | head -n 1)
case $copying in
  "mkdir chapters/16-"*" && cp "*) sh -c "$copying" || complain "step 2 fails: $copying" ;;
  *) complain "step 2 does not begin with making a chapter: $copying" ;;
esac
sed -i 's/[.]number = [0-9]*/.number = 16/' chapters/16-*/chapter16.cu
touch chapters/16-name/chapter16.md  # the page, of step 8
configure
(cd build/model && ninja -t targets all 2>/dev/null || make help) | sed 's/:.*//; s/^[. ]*//' >targets
for step in 3 5 6 8 9; do
  for target in $(texts "$step" | grep -o -e '--target [a-z0-9]*' | cut -d' ' -f2); do
    grep -qx "$target" targets || complain "step $step: there is no target $target"
  done
  texts "$step" | grep -o 'ctest --preset.*' >commands || continue
  while read -r command; do
    sh -c "$command -N" >listed 2>&1
    grep -q ': chapter16[.]' listed || complain "step $step: no test of the chapter is listed by: $command"
  done <commands
done
for file in $(grep -o '`[^`]*`' steps | tr -d '`' | tr ' ' '\n' | grep -E '^(book|chapters|ctest|common)/[a-z0-9./-]*$' | grep -v 16); do
  [ -e "$file" ] || complain "there is no $file"
done
# How pages are written stands there, not in the README; and links lead to files and headings.
grep -q '^## Write a page$' .github/CONTRIBUTING.md || complain "CONTRIBUTING does not say how pages are written"
grep -q '^## Write a page$' README.md && complain "the README says how pages are written"
for text in README.md .github/CONTRIBUTING.md; do
  sed 's/`[^`]*`//g' "$text" | grep -o '\](\([^)]*\))' | sed 's/^..//; s/)$//' | grep -v '^http' | while read -r link; do
    case $link in
      '#'*) sed -n 's/^##* //p' "$text" | tr 'A-Z ' 'a-z-' | grep -qx "${link#?}" || echo "$text: no heading $link" ;;
      *) [ -e "$(dirname "$text")/$link" ] || echo "$text: no file $link" ;;
    esac
  done
done >links
[ ! -s links ] || complain "$(cat links)"
[ "$wrong" = 0 ] && echo "the steps make a chapter"
exit "$wrong"
