#!/bin/sh
# The patches of a chapter, which make of its program the variants that it tells of, fit the program. Skipped where patch is not installed.
# Usage: variants.sh ROOT DIRECTORY
command -v patch >/dev/null || { echo "skipped: patch is not installed (sudo apt-get install patch)"; exit 77; }
status=1  # no patch, no pass
for variant in "$2"/*.patch; do
  patch --dry-run --silent --fuzz=0 --reject-file=- --directory="$1" --strip=1 <"$variant" || { echo "$variant does not fit: make it anew"; exit 1; }
  status=0
done
exit $status
