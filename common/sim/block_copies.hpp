// Comes before everything else in a file that is compiled for the model (-include).
//
// A block copy that the source asks for must become a call that common/sim/hooks/hooks.cpp answers. The standard
// library's algorithms copy by these names, too.
#if defined(__clang__)
// clang++ calls memcpy for the copy of a struct as well. What the source calls so gets a name of its own.
extern "C" {
void* memcpy(void*, const void*, __SIZE_TYPE__) noexcept __asm__("simt_memcpy");
void* memmove(void*, const void*, __SIZE_TYPE__) noexcept __asm__("simt_memmove");
void* mempcpy(void*, const void*, __SIZE_TYPE__) noexcept __asm__("simt_mempcpy");
void* memset(void*, int, __SIZE_TYPE__) noexcept __asm__("simt_memset");
int memcmp(const void*, const void*, __SIZE_TYPE__) noexcept __asm__("simt_memcmp");
}
#define __builtin_memcpy(to, from, bytes) ::memcpy(to, from, bytes)
#define __builtin_memmove(to, from, bytes) ::memmove(to, from, bytes)
#define __builtin_mempcpy(to, from, bytes) ::mempcpy(to, from, bytes)
#define __builtin_memset(to, value, bytes) ::memset(to, value, bytes)
#define __builtin_memcmp(one, other, bytes) ::memcmp(one, other, bytes)
#define __builtin___memcpy_chk(to, from, bytes, room) ::memcpy(to, from, bytes)
#define __builtin___memmove_chk(to, from, bytes, room) ::memmove(to, from, bytes)
#define __builtin___memset_chk(to, value, bytes, room) ::memset(to, value, bytes)
#else
// Directives only, no declarations, so that a precompiled header can still follow. g++ turns a built-in copy of a known size
// into moves that nobody announces, even where memcpy itself is a plain call (-fno-builtin-memcpy). Behind an empty asm the
// size is unknown and the copy a call of libc, which the linker sends to the model (--wrap).
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
// What -D_FORTIFY_SOURCE makes of them.
#define __builtin___memcpy_chk(to, from, bytes, room) __builtin___memcpy_chk(to, from, SIMT_UNKNOWN_SIZE(bytes), room)
#define __builtin___memmove_chk(to, from, bytes, room) __builtin___memmove_chk(to, from, SIMT_UNKNOWN_SIZE(bytes), room)
#define __builtin___memset_chk(to, value, bytes, room) __builtin___memset_chk(to, value, SIMT_UNKNOWN_SIZE(bytes), room)
#endif
