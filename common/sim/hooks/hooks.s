# What the assembler makes of the calls of hooks.cpp in a kernel: first what hooks.cpp asks, whether anybody is to hear of it, and the call
# only if so. g++ reads this before what it has compiled (ctest/model.cmake). It changes no more than a call may: flags and %rax.

# Where the members of Attention are (announce.hpp).
.set attention_stack_low, 0
.set attention_stack_bytes, 8
.set attention_turns, 16

.macro call target:vararg
  .ifc "\target","__sanitizer_cov_trace_pc@PLT"
    cmpq $0, %fs:_ZN4simt8announce9attentionE@tpoff + attention_turns
    je .Lunheard\@
    callq \target
.Lunheard\@:
    .exitm
  .endif
  .irp hook, read1, read2, read4, read8, read16, write1, write2, write4, write8, write16
    .ifc "\target","__tsan_\hook@PLT"
      movq %rdi, %rax
      subq %fs:_ZN4simt8announce9attentionE@tpoff + attention_stack_low, %rax
      cmpq %fs:_ZN4simt8announce9attentionE@tpoff + attention_stack_bytes, %rax
      jb .Lunheard\@
    .endif
  .endr
  callq \target
.Lunheard\@:
.endm
