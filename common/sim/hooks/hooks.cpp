// The functions that instrumented code calls.
#include "common/sim/hooks/hooks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "common/cuda/words/vocabulary.hpp"

namespace simt::hooks {

constinit thread_local LaneHooks lane_hooks{};

// hooks.s relies on these offsets.
static_assert(offsetof(LaneHooks, stack_low) == 0 && offsetof(LaneHooks, stack_bytes) == 8 &&
              offsetof(LaneHooks, turns) == 16);

namespace {

[[gnu::always_inline]] inline void access(const volatile void* pointer, std::size_t size, Op op, void* return_address,
                                          bool is_volatile = false) {
  const auto address = reinterpret_cast<Address>(pointer);
  if (lane_hooks.on_own_stack(address)) [[likely]]
    return;
  lane_hooks.listener->access(address, size, op, reinterpret_cast<Address>(return_address), is_volatile);
}

// A separate function, which enter_block calls last, so that enter_block needs no stack frame.
[[gnu::noinline]] void tell_of_uncounted_turn(void* return_address) {
  lane_hooks.listener->many_turns(reinterpret_cast<Address>(return_address));
}

[[gnu::always_inline]] inline void enter_block(void* return_address) {
  if (lane_hooks.turns == nullptr) [[likely]]
    return;
  Turns& turns = *lane_hooks.turns;
  const std::uint32_t pc = offset_of(reinterpret_cast<Address>(return_address));
  if (turns.has(pc)) {
    turns.begin_turn(pc);
    if (turns.count == cost::unknown_turns) return tell_of_uncounted_turn(return_address);
    ++turns.count;
  } else if (!turns.add(pc)) {  // too many blocks to detect the next iteration: the count is a guess from here on
    turns.count = cost::unknown_turns;
    turns.begin_turn(pc);
  }
}

// Rejects an access of unknown cost outside the lane's own stack: a copy of `bytes`, or an atomic operation (0).
void refuse(const volatile void* pointer, std::size_t bytes, void* return_address) {
  Listener* const listener = lane_hooks.listener;
  if (listener == nullptr || lane_hooks.on_own_stack(reinterpret_cast<Address>(pointer))) return;
  const ScopedIgnore ignore;
  listener->refuse(reinterpret_cast<Address>(return_address),
                   bytes == 0
                       ? "uses a C++ atomic operation; the model supports only CUDA's: atomicAdd, atomicCAS, ..."
                       : fmt::format("copies {} bytes with memcpy or the like, and the model does not know into how "
                                     "many accesses nvcc splits that; assign elements or vectors instead",
                                     bytes));
}
// The value that memset stores is no address.
void refuse(int, std::size_t, void*) {}

// What -fsanitize=bounds passes: libubsan's structures, as far as they are read here.
struct ArrayType {
  std::uint16_t kind, info;
  char name[1];  // "'float [8]'", and longer than declared
};
struct IndexCheck {
  const char* file;
  std::uint32_t line, column;
  const ArrayType* array;
};

// An index outside the extent of its array. For an array in registers this is the only sign of the mistake; for any
// other, it comes before the access.
void refuse_index(const IndexCheck& check, std::uintptr_t index, void* return_address) {
  Listener* const listener = lane_hooks.listener;
  if (listener == nullptr) {
    fmt::print(stderr, "{}:{}: index {} of an array of type {}\n", check.file, check.line, std::intptr_t(index),
               check.array->name);
    std::abort();
  }
  const ScopedIgnore ignore;
  listener->refuse_index(reinterpret_cast<Address>(return_address), std::intptr_t(index), check.array->name);
}

void access_struct(const void* pointer, std::size_t size, Op op, void* return_address, Alignment alignment) {
  const auto address = reinterpret_cast<Address>(pointer);
  if (lane_hooks.on_own_stack(address)) [[likely]]
    return;
  lane_hooks.listener->access_struct(address, size, op, reinterpret_cast<Address>(return_address), alignment);
}

// An access that is too large, not a power of two in size, or less aligned than g++ requires for a plain access: to its
// size, or to 8 bytes for one of 16.
void access_range(const void* pointer, std::size_t size, Op op, void* return_address) {
  const bool is_power = (size & (size - 1)) == 0;
  const std::size_t most = !is_power || size > 16 ? 16 : std::min<std::size_t>(size, 8) / 2;
  access_struct(pointer, size, op, return_address, {1, most});
}

}  // namespace
}  // namespace simt::hooks

void simt::device::atomic_access(void* address, std::size_t size, bool exchanges) {
  hooks::access(address, size, Op::atomic, __builtin_return_address(0), exchanges);
}

// The entry points that g++ -fsanitize=thread calls. The names are fixed by the compiler.
#define SIMT_ACCESS_HOOKS(kind, bytes, is_volatile)                                           \
  void __tsan_##kind##read##bytes(void* a) {                                                  \
    simt::hooks::access(a, bytes, simt::Op::load, __builtin_return_address(0), is_volatile);  \
  }                                                                                           \
  void __tsan_##kind##write##bytes(void* a) {                                                 \
    simt::hooks::access(a, bytes, simt::Op::store, __builtin_return_address(0), is_volatile); \
  }
// Host code of a chapter is compiled with the same flags; its atomics (std::shared_ptr and the like) land here.
#define SIMT_ATOMIC_HOOK(T, bits, operation, parameters, call) \
  T __tsan_atomic##bits##_##operation parameters {             \
    simt::hooks::refuse(a, 0, __builtin_return_address(0));    \
    return call;                                               \
  }
#define SIMT_ATOMIC_UPDATE_HOOK(T, bits, operation)                        \
  SIMT_ATOMIC_HOOK(T, bits, fetch_##operation, (volatile T * a, T v, int), \
                   __atomic_fetch_##operation(a, v, __ATOMIC_SEQ_CST))
#define SIMT_ATOMIC_HOOKS(T, bits)                                                                             \
  SIMT_ATOMIC_HOOK(T, bits, load, (const volatile T* a, int), __atomic_load_n(a, __ATOMIC_SEQ_CST))            \
  SIMT_ATOMIC_HOOK(void, bits, store, (volatile T * a, T v, int), __atomic_store_n(a, v, __ATOMIC_SEQ_CST))    \
  SIMT_ATOMIC_HOOK(T, bits, exchange, (volatile T * a, T v, int), __atomic_exchange_n(a, v, __ATOMIC_SEQ_CST)) \
  SIMT_ATOMIC_UPDATE_HOOK(T, bits, add)                                                                        \
  SIMT_ATOMIC_UPDATE_HOOK(T, bits, sub)                                                                        \
  SIMT_ATOMIC_UPDATE_HOOK(T, bits, and)                                                                        \
  SIMT_ATOMIC_UPDATE_HOOK(T, bits, or)                                                                         \
  SIMT_ATOMIC_UPDATE_HOOK(T, bits, xor)                                                                        \
  SIMT_ATOMIC_HOOK(int, bits, compare_exchange_strong, (volatile T * a, T * c, T v, int, int),                 \
                   __atomic_compare_exchange_n(a, c, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))            \
  SIMT_ATOMIC_HOOK(int, bits, compare_exchange_weak, (volatile T * a, T * c, T v, int, int),                   \
                   __atomic_compare_exchange_n(a, c, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))

extern "C" {
SIMT_ACCESS_HOOKS(, 1, false)
SIMT_ACCESS_HOOKS(, 2, false)
SIMT_ACCESS_HOOKS(, 4, false)
SIMT_ACCESS_HOOKS(, 8, false)
SIMT_ACCESS_HOOKS(volatile_, 1, true)
SIMT_ACCESS_HOOKS(volatile_, 2, true)
SIMT_ACCESS_HOOKS(volatile_, 4, true)
SIMT_ACCESS_HOOKS(volatile_, 8, true)
SIMT_ACCESS_HOOKS(volatile_, 16, true)
SIMT_ACCESS_HOOKS(unaligned_, 2, false)
SIMT_ACCESS_HOOKS(unaligned_, 4, false)
SIMT_ACCESS_HOOKS(unaligned_, 8, false)
SIMT_ACCESS_HOOKS(unaligned_, 16, false)
void __tsan_read16(void* a) { simt::hooks::access_struct(a, 16, simt::Op::load, __builtin_return_address(0), {8, 16}); }
void __tsan_write16(void* a) {
  simt::hooks::access_struct(a, 16, simt::Op::store, __builtin_return_address(0), {8, 16});
}
SIMT_ATOMIC_HOOKS(std::uint8_t, 8)
SIMT_ATOMIC_HOOKS(std::uint16_t, 16)
SIMT_ATOMIC_HOOKS(std::uint32_t, 32)
SIMT_ATOMIC_HOOKS(std::uint64_t, 64)
void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
void __tsan_atomic_signal_fence(int) {}
void __tsan_read_range(void* a, std::size_t size) {
  simt::hooks::access_range(a, size, simt::Op::load, __builtin_return_address(0));
}
void __tsan_write_range(void* a, std::size_t size) {
  simt::hooks::access_range(a, size, simt::Op::store, __builtin_return_address(0));
}
void __ubsan_handle_out_of_bounds(const void* check, std::uintptr_t index) {
  simt::hooks::refuse_index(*static_cast<const simt::hooks::IndexCheck*>(check), index, __builtin_return_address(0));
}
void __sanitizer_cov_trace_pc() { simt::hooks::enter_block(__builtin_return_address(0)); }
void __tsan_init() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}

// memcpy and the like, called by a kernel or by other code (--wrap, see TILE_MODEL_LINK_FLAGS in ctest/model.cmake).
#define SIMT_BLOCK_HOOK(Result, name, First, Second)                   \
  Result __real_##name(First, Second, std::size_t);                    \
  Result __wrap_##name(First first, Second second, std::size_t size) { \
    simt::hooks::refuse(first, size, __builtin_return_address(0));     \
    simt::hooks::refuse(second, size, __builtin_return_address(0));    \
    return __real_##name(first, second, size);                         \
  }
SIMT_BLOCK_HOOK(void*, memcpy, void*, const void*)
SIMT_BLOCK_HOOK(void*, memmove, void*, const void*)
SIMT_BLOCK_HOOK(void*, mempcpy, void*, const void*)
SIMT_BLOCK_HOOK(void*, memset, void*, int)
SIMT_BLOCK_HOOK(int, memcmp, const void*, const void*)
}
