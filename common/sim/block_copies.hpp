// Included before everything else in a file that is compiled for the model (-include). It has directives only and no declarations,
// so that a precompiled header can still follow.
//
// A memcpy in the source must become a call that common/sim/hooks/hooks.cpp intercepts. g++ expands a built-in copy of a known size
// into moves without hooks, even with -fno-builtin-memcpy. An empty asm hides the size, so the copy stays a call of libc, which
// the linker redirects to the model (--wrap).
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
