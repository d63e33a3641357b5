#!/bin/sh
# The rooms of common/ depend one way: a file includes headers of its own room and of those before it, and nobody but a chapter
# goes through measure/, the names that chapters were recorded with. So do the rooms of common/model, of which account/ and order/
# stand alone: they can be used without the rest. Usage: rooms.sh, at the top of the repository.
set -eu
rooms="cuda model check predict records timing report"
inner="account order announce execute"

# wrong_in DIRECTORY: one line for each #include of its common/ that goes the wrong way.
wrong_in() {
  (cd "$1" && grep -rn '^ *#include "common/' common) | awk -v rooms="$rooms" -v inner="$inner" '
    BEGIN {
      count = split(rooms, name, " "); for (i = 1; i <= count; ++i) rank[name[i]] = i
      count = split(inner, name, " "); for (i = 1; i <= count; ++i) depth[name[i]] = i
    }
    # The room of common/model that a path lies in, or "".
    function inner_room(path, parts) {
      return split(path, parts, "/") > 3 && parts[2] == "model" ? parts[3] : ""
    }
    {
      split($0, part, "\""); split(part[2], to, "/"); split($0, from, "/"); split($0, path, ":")
      own = inner_room(path[1]); other = inner_room(part[2])
      place = $0; sub(/:[^:]*$/, "", place)
      if (from[2] == "measure" && to[2] in rank) next
      if (!(from[2] in rank)) print place ": common/" from[2] " is no room; there are " rooms
      else if (!(to[2] in rank)) print place ": includes common/" to[2] ", which is no room"
      else if (rank[to[2]] > rank[from[2]]) print place ": " from[2] " includes " part[2] ", of a room above it"
      else if (own != "" && !(own in depth)) print place ": common/sim/" own " is no room; there are " inner
      else if ((own == "account" || own == "order") && other != own)
        print place ": model/" own " includes " part[2] ", and must stand alone"
      else if (own != "" && depth[other] > depth[own])
        print place ": model/" own " includes " part[2] ", of a room above it"
    }'
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
wrong=0

# must_say COMPLAINT FILE INCLUDE: a tree whose FILE has that #include is not accepted.
must_say() {
  rm -rf "$scratch/common"
  mkdir -p "$scratch/$(dirname "$2")"
  printf '#include <vector>\n#include "%s"\n' "$3" >"$scratch/$2"
  wrong_in "$scratch" | grep -q "^$2:2: $1" || { echo "$2 may include $3"; wrong=1; }
}
must_say "model includes common/check/gemm.hpp, of a room above it" common/sim/order/cells.hpp common/check/gemm.hpp
must_say "cuda includes common/report/table.hpp, of a room above it" common/cuda/cuda.hpp common/report/table.hpp
must_say "includes common/measure, which is no room" common/report/main.cpp common/bench/record.hpp
must_say "model/announce includes common/sim/execute/execute.hpp, of a room above it" common/sim/hooks/hooks.cpp \
  common/sim/execute/execute.hpp
must_say "model/order includes common/sim/model.hpp, and must stand alone" common/sim/order/cells.hpp common/sim/model.hpp
must_say "model/account includes common/sim/order/cells.hpp, and must stand alone" common/sim/cost/rules.hpp \
  common/sim/order/cells.hpp
must_say "common/sim/misc is no room" common/sim/misc/misc.hpp common/cuda/cuda.hpp
must_say "common/misc is no room" common/misc/misc.hpp common/cuda/cuda.hpp

wrong_in . >"$scratch/wrong"
cat "$scratch/wrong"
[ ! -s "$scratch/wrong" ] && [ "$wrong" = 0 ] || exit 1
echo "every #include of common/ goes one way"
