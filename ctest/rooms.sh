#!/bin/sh
# The folders of common/ depend one way: a file includes headers of its own folder and of those below it, and none outside common/.
# The same holds for the folders of common/sim, of which cost/, order/ and rewrite/ can be used without the others.
# Usage: rooms.sh, at the top of the repository.
set -eu
grep -rn '^ *#include "\(common\|ctest\|book\|chapters\|figures\)/' common | awk '
  BEGIN {
    rooms = "cuda sim check bench report count"
    split(rooms, order, " "); for (i in order) rank[order[i]] = i
    split("cost hooks order execute rewrite", inner, " "); for (i in inner) depth[inner[i]] = i
    alone["cost"] = alone["order"] = alone["rewrite"] = 1
  }
  function room(path, at, parts) { return split(path, parts, "/") > at ? parts[at] : "" }
  function complain(what) { print where ": " what; wrong = 1 }
  {
    split($0, part, "\""); split($0, at, ":"); where = at[1] ":" at[2]
    from = room(at[1], 2); to = room(part[2], 2); own = other = ""
    if (from == "sim") own = room(at[1], 3)
    if (to == "sim") other = room(part[2], 3)
    if (part[2] !~ /^common\//) complain("common/ includes " part[2])
    else if (!(from in rank) || !(to in rank)) complain("no room of common/, which are " rooms)
    else if (rank[to] > rank[from]) complain(from " includes " part[2] ", of a room above it")
    else if (own != "" && !(own in depth)) complain("common/sim/" own " is no room")
    else if ((own in alone) && other != "" && other != own) complain("sim/" own " includes " part[2] ", and must stand alone")
    else if (own != "" && other != "" && depth[other] > depth[own]) complain("sim/" own " includes " part[2] ", of a room above it")
  }
  END { if (!wrong) print "every #include of common/ goes one way"; exit wrong }'
