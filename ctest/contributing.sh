#!/bin/sh
# The steps of .github/CONTRIBUTING.md lead to a chapter: a copy of the repository, after the commands of step 2 and configured as in
# step 3, has the targets and tests that the steps name. Nothing is compiled. The files that the steps name exist, and so do those to
# which it and the README link. Usage: contributing.sh, at the top of the repository
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
wrong=0
complain() { echo "$*"; wrong=$((wrong + 1)); }
tar -c --exclude=./build --exclude=./.git . | tar -x -C "$scratch" || exit 1
cd "$scratch" || exit 1

# The code in the steps, one line each, preceded by the step's number.
awk '/^[0-9]+[.] / { number = $1; step = 1 } /^[^ 0-9]/ { step = 0 } step { printf "%s%s", (/^[0-9]+[.] / ? "\n" number " " : " "), $0 }' \
  .github/CONTRIBUTING.md | tr -s ' ' >steps
texts() { grep "^$1[.] " steps | grep -o '`[^`]*`' | tr -d '`'; }
sh -c "$(texts 2 | head -n 1)" && [ -f chapters/27-name/chapter27.cu ] || complain "step 2 makes no chapter"
sed -i 's/[.]number = [0-9]*/.number = 27/' chapters/27-name/chapter27.cu
touch chapters/27-name/chapter27.md  # the page, of step 8
sh -c "$(texts 3 | head -n 1 | sed 's/ && .*//')" >log 2>&1 || { complain "not configured:"; cat log; }
ninja -C build/model -t targets all | sed 's/:.*//' >targets
for target in $(texts '[0-9]*' | grep -o -e '--target [a-z0-9]*' | cut -d' ' -f2); do
  grep -qx "$target" targets || complain "there is no target $target"
done
texts '[0-9]*' | grep -o 'ctest --preset.*' >commands
while read -r command; do
  sh -c "$command -N" 2>&1 | grep -q ': chapter27[.]' || complain "no test of the chapter is listed by: $command"
done <commands
[ "$(wc -l <commands)" -ge 3 ] || complain "the steps run no tests"
for file in $(texts '[0-9]*' | tr ' ' '\n' | grep -E '^(book|chapters|ctest|common)/[a-z0-9./-]*$' | grep -v 27); do
  [ -e "$file" ] || complain "there is no $file"
done
for text in README.md .github/CONTRIBUTING.md; do
  for link in $(sed 's/`[^`]*`//g' "$text" | grep -o '\]([^)#]*' | sed 's/^..//' | grep -v -e '^http' -e '^[.][.]/[.][.]/'); do
    [ -e "$(dirname "$text")/$link" ] || complain "$text: a link to $link leads nowhere"
  done
done
exit "$wrong"
