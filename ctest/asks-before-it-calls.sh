#!/bin/sh
# Kernels test inline whether a hook has anything to do before they call it, so common/sim/hooks/hooks.s is in effect.
# Usage: asks-before-it-calls.sh OBJDUMP PROGRAM, chapter 01's, compiled for the model on x86-64
"$1" -d --no-show-raw-insn "$2" | awk '
  /^[0-9a-f]+ <.*>:$/ { in_kernel = /sgemm/ }
  in_kernel && /call .*<__sanitizer_cov_trace_pc>/ { ++calls["blocks"]; if (before !~ /\tje / ) { print "called at once: " $0; wrong = 1 } }
  in_kernel && /call .*<__tsan_(read|write)[0-9]+>/ { ++calls["accesses"]; if (before !~ /\tjb / ) { print "called at once: " $0; wrong = 1 } }
  { before = $0 }
  END {
    if (!calls["blocks"] || !calls["accesses"]) { print "no kernel calls hooks"; wrong = 1 }
    exit wrong
  }'
