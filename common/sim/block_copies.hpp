// Comes before everything else in a file that is compiled for the model (-include). Directives only, no declarations, so that a
// precompiled header can still follow.
//
// A block copy that the source asks for must become a call that common/sim/hooks/hooks.cpp answers. g++ turns a built-in copy of a
// known size into moves that nobody announces, even with -fno-builtin-memcpy. Behind an empty asm the size is unknown, and the copy a
// call of libc, which the linker sends to the model (--wrap).
#define SIMT_UNKNOWN_SIZE(bytes)                  \
  __extension__({                                 \
    __SIZE_TYPE__ simt_bytes = (bytes);           \
    __asm__("" : "+r"(simt_bytes)); /* no code */ \
    simt_bytes;                                   \
  })
#define __builtin_memcpy(to, from, bytes) __builtin_memcpy(to, from, SIMT_UNKNOWN_SIZE(bytes))
#define __builtin_memmove(to, from, bytes) __builtin_memmove(to, from, SIMT_UNKNOWN_SIZE(bytes))
#define __builtin_mempcpy(to, from, bytes) __builtin_mempcpy(to, from, SIMT_UNKNOWN_SIZE(bytes))
#define __builtin_memset(to, value, bytes) __builtin_memset(to, value, SIMT_UNKNOWN_SIZE(bytes))
#define __builtin_memcmp(one, other, bytes) __builtin_memcmp(one, other, SIMT_UNKNOWN_SIZE(bytes))
