#!/bin/sh
# A signal to `./tile count`, while it compiles and while the kernel runs, ends it and all that it started, and leaves no
# file behind. The environment's TILE_PRESET says in which build.
command -v dpkg-query >/dev/null || { echo "skipped: ./tile needs Debian or Ubuntu"; exit 77; }
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
wrong=0
complain() { echo "$*"; wrong=$((wrong + 1)); }

# compiles.cu keeps the compiler waiting for the text of a pipe, runs.cu the program for the one of another.
mkfifo "$place/pipe.hpp" "$place/pipe"
echo '#include "pipe.hpp"' >"$place/compiles.cu"
cat >"$place/runs.cu" <<END
#include "common/report/count.hpp"
#include <fstream>
TILE_COUNT("a run that does not end") { std::ifstream("$place/pipe").get(); }
END

# watch PROCESS PIPE: neither the wait for a reader nor the one for the end lasts for ever.
watch() {
  trap 'kill "$nap"; exit' TERM
  sleep 200 &
  nap=$!
  wait "$nap"
  kill -KILL "$1"
  timeout 1 cat "$2"
}

# interrupt SIGNAL STATUS FILE.cu PIPE: counts FILE.cu, waits until PIPE has a reader, sends the signal to ./tile alone, and
# looks at what is left.
interrupt() {
  mkdir "$place/tmp"
  # What a script starts in the background ignores SIGINT unless told otherwise.
  TMPDIR="$place/tmp" env --default-signal=INT ./tile count "$place/$3" >"$place/log" 2>&1 &
  tile=$!
  watch "$tile" "$4" >/dev/null 2>&1 &
  watchdog=$!
  exec 3>"$4"
  [ -n "$(ls "$place/tmp")" ] || { complain "$3: not interrupted amid its work"; cat "$place/log"; }
  kill -"$1" "$tile"
  wait "$tile" 2>/dev/null
  status=$?
  [ "$status" = "$2" ] || complain "$3: exit status $status after SIG$1, expected $2"
  [ -z "$(ls "$place/tmp")" ] || complain "$3: SIG$1 leaves behind: $(ls "$place/tmp")"
  sleep 0.2
  (echo >&3) 2>/dev/null && complain "$3: after SIG$1 something is still there to read its pipe"
  exec 3>&-
  kill "$watchdog"
  rm -r "$place/tmp"
}

for signal in "INT 130" "TERM 143"; do
  interrupt $signal compiles.cu "$place/pipe.hpp"
  interrupt $signal runs.cu "$place/pipe"
done
[ "$wrong" = 0 ] && echo "nothing is left behind"
exit "$wrong"
