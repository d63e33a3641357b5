#!/bin/sh
# Runs a command, and shows what it says only if it fails: Chromium complains of services that a page does not need.
# Usage: quietly.sh COMMAND...
said=$("$@" 2>&1) || { status=$?; printf '%s\n' "$said" >&2; exit "$status"; }
