#!/bin/sh
# What a small book has too much, and what its program emits that is not as listed, is named; what it should have is not.
# Usage: book-checks.sh PANDOC, in the repository
set -e
repository=$(pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch/chapters/03-x" "$scratch/work/emit/03"
cat >"$scratch/chapters/03-x/chapter03.cu" <<'END'
// [snippet config]
// [/snippet config]
// [snippet shown]
// [/snippet shown]
// [snippet hidden]
// [/snippet hidden]
// [snippet launch]
// [/snippet launch]
TILE_CHAPTER()
  CHECK(facts.value("a.tested") == 1);
END
cat >"$scratch/chapters/03-x/chapter03.md" <<'END'
::: {.listing region=shown}
:::
::: {.figure src=drawn.svg alt=x}
:::
::: {.table name=loads}
:::
[]{.predicted key=a.named1} [x]{.claim holds="b.claimed > 1"}
END
fact() { printf '%s\t%s\t%s\t\t%s\n' "$1" "$2" "$3" "$4" >>"$scratch/work/emit/03/facts.tsv"; }
for word in a.tested a.named1 x.named2 b.claimed k.loads.global a.forgotten b.forgotten; do fact "$word" predicted 1 1; done
fact a.unnamed counted 1365.25 1,365

# expect SAYS NAME=VALUE...: runs the filter `filter`, whose complaints must be the lines of SAYS.
expect() {
  says=$1
  shift
  status=0
  "$pandoc" --from markdown --lua-filter "$repository/book/$filter.lua" "$@" /dev/null >"$scratch/out" 2>"$scratch/said" || status=$?
  printf "$says" | diff - "$scratch/said" || exit 1
  [ "$status" = "$([ -z "$says" ] && echo 0 || echo 1)" ] || { echo "$filter ends with status $status"; exit 1; }
}
pandoc=$1

filter=unused
unused() { expect "$1" -M pages="03=$scratch/chapters/03-x/chapter03.md" -M figures="$2" -M work="$scratch/work" -M root="$scratch"; }
unused 'chapters/03-x/chapter03.cu:5: no listing shows region hidden: show it, or remove its markers
chapter 03: nobody uses the prediction a.forgotten, nor any that ends in .forgotten: name it on a page, or remove it from predict
no page shows figure stale: show it, or remove it from figures.cmake\n' "drawn stale 03/table-loads"
sed -i '/hidden/d' "$scratch/chapters/03-x/chapter03.cu"
sed -i '/forgotten/d' "$scratch/work/emit/03/facts.tsv"
unused '' drawn

filter=check_emitted
emitted() { expect "$1" -M schema="$repository/common/report/emitted.tsv" -M work="$scratch/work" -M chapters=03; }
emitted ''
fact a.named1 counted 2 2
printf 'k\t12\t1,365\tsector\t1,365 sectors\n' >"$scratch/work/emit/03/lines.tsv"
printf 'A caption\na\tb\n1\t2\n1\n' >"$scratch/work/emit/03/table-x.tsv"
touch "$scratch/work/emit/03/others.tsv"
wrong='is not as common/report/emitted.tsv says:'
emitted "emit/03/facts.tsv $wrong line 7: a.named1 is there twice
emit/03/lines.tsv $wrong line 1: value is '1,365', not number
emit/03/others.tsv $wrong is not listed there: say what its columns are
emit/03/table-x.tsv $wrong line 4 has 1 cells, not 2\n"
echo "what nobody uses and what is not as listed is named"
