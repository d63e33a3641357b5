#!/bin/sh
# A signal to `./tile`, while it configures or builds, and while `./tile count` compiles or its kernel runs, ends it and all that it started, and
# leaves no file behind. The environment's TILE_PRESET says in which build.
command -v dpkg-query >/dev/null || { echo "skipped: ./tile needs Debian or Ubuntu"; exit 77; }
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
wrong=0
complain() { echo "$*"; wrong=$((wrong + 1)); }

# compiles.cu keeps the compiler waiting for the text of a pipe, runs.cu the program for the one of another.
mkfifo "$place/pipe.hpp" "$place/pipe"
echo '#include "pipe.hpp"' >"$place/compiles.cu"
cat >"$place/runs.cu" <<END
#include "common/count/count.hpp"
#include <fstream>
TILE_COUNT("a run that does not end") { std::ifstream("$place/pipe").get(); }
END

# A copy of `tile` whose build tools keep waiting: what $place/waits says is to wait, for the text of a pipe that its child reads.
mkdir -p "$place/copy" "$place/tools"
cp tile "$place/copy"
cat >"$place/tools/cmake" <<END
#!/bin/sh
case "\$*" in
  --build*) step=build ;;
  *) step=configure ;;
esac
[ \$step != "\$(cat "$place/waits")" ] || sh -c 'cat "$place/pipe"; :'
END
chmod +x "$place/tools/cmake"

# watch PROCESS PIPE: neither the wait for a reader nor the one for the end lasts for ever.
watch() {
  trap 'kill "$nap"; exit' TERM
  sleep 200 &
  nap=$!
  wait "$nap"
  kill -KILL "$1"
  timeout 1 cat "$2"
}

# interrupt SIGNAL STATUS PIPE WHAT COMMAND...: starts the command, waits until PIPE has a reader, sends the signal to the command alone, and
# looks at what is left.
interrupt() {
  signal=$1 expected=$2 pipe=$3 what=$4
  shift 4
  mkdir "$place/tmp"
  # What a script starts in the background ignores SIGINT unless told otherwise.
  TMPDIR="$place/tmp" env --default-signal=INT "$@" >"$place/log" 2>&1 &
  tile=$!
  watch "$tile" "$pipe" >/dev/null 2>&1 &
  watchdog=$!
  exec 3>"$pipe"
  [ "${what#tile read}" != "$what" ] || [ -n "$(ls "$place/tmp")" ] || { complain "$what: not interrupted amid its work"; cat "$place/log"; }
  kill -"$signal" "$tile"
  wait "$tile" 2>/dev/null
  status=$?
  [ "$status" = "$expected" ] || complain "$what: exit status $status after SIG$signal, expected $expected"
  [ -z "$(ls "$place/tmp")" ] || complain "$what: SIG$signal leaves behind: $(ls "$place/tmp")"
  sleep 0.2
  (echo >&3) 2>/dev/null && complain "$what: after SIG$signal something is still there to read its pipe"
  exec 3>&-
  kill "$watchdog"
  rm -r "$place/tmp"
}

for ending in "INT 130" "TERM 143"; do
  for step in configure build; do
    echo "$step" >"$place/waits"
    interrupt $ending "$place/pipe" "tile read, $step" env TILE_PRESET=model PATH="$place/tools:$PATH" "$place/copy/tile" read
  done
  interrupt $ending "$place/pipe.hpp" compiles ./tile count "$place/compiles.cu"
  interrupt $ending "$place/pipe" runs ./tile count "$place/runs.cu"
done
[ "$wrong" = 0 ] && echo "nothing is left behind"
exit "$wrong"
