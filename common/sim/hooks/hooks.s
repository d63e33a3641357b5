# Makes a kernel's calls of hooks.cpp conditional: the check that hooks.cpp begins with comes before the call. g++ reads
# this before what it has compiled (ctest/model.cmake). It changes no more than a call may: flags and %rax.

# Where the members of LaneHooks are (hooks.hpp).
.set lane_hooks_stack_low, 0
.set lane_hooks_stack_bytes, 8
.set lane_hooks_turns, 16

.macro call target:vararg
  .ifc "\target","__sanitizer_cov_trace_pc@PLT"
    cmpq $0, %fs:_ZN4simt5hooks10lane_hooksE@tpoff + lane_hooks_turns
    je .Lignored\@
    callq \target
.Lignored\@:
    .exitm
  .endif
  .irp hook, read1, read2, read4, read8, read16, write1, write2, write4, write8, write16
    .ifc "\target","__tsan_\hook@PLT"
      movq %rdi, %rax
      subq %fs:_ZN4simt5hooks10lane_hooksE@tpoff + lane_hooks_stack_low, %rax
      cmpq %fs:_ZN4simt5hooks10lane_hooksE@tpoff + lane_hooks_stack_bytes, %rax
      jb .Lignored\@
    .endif
  .endr
  callq \target
.Lignored\@:
.endm
