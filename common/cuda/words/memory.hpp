// Words for memory: atomic functions, loads and stores that say where they are to be kept, and how the host reaches variables of
// the device.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

// --- Atomic functions ------------------------------------------------------------------------------------------------------
// Each announces its access and then performs it. The value is converted to the type of what is updated, as CUDA's overloads do:
// atomicAdd(&counter, 1) takes an unsigned counter. Of a pair of halves each is updated atomically; here both are at once.

namespace simt::device {

template <class T>
concept Integer = std::is_integral_v<T> && sizeof(T) >= 4;
template <class T>
concept Number = Integer<T> || std::is_floating_point_v<T>;
template <class T>
concept Summand = Number<T> || requires {
  typename T::simt_value;
} || requires(T pair) {
  typename decltype(pair.x)::simt_value;
};

/// The host's atomic operations know integers.
template <class T, class Update>
SIMT_INLINE T atomic_update_value(T* address, Update update) {
  using Word = WordOf<T>;
  atomic_access(address, sizeof(T));
  return std::bit_cast<T>(atomic_update(reinterpret_cast<Word*>(address), [update](Word old) {
    return std::bit_cast<Word>(update(std::bit_cast<T>(old)));
  }));
}

}  // namespace simt::device

#define SIMT_ATOMIC(Kind, name, expression)                                                        \
  template <simt::device::Kind T>                                                                  \
  SIMT_INLINE T name(T* address, std::type_identity_t<T> value) {                                  \
    return simt::device::atomic_update_value(address, [value](T old) -> T { return expression; }); \
  }
SIMT_ATOMIC(Summand, atomicAdd, old + value)
SIMT_ATOMIC(Integer, atomicSub, old - value)
SIMT_ATOMIC(Number, atomicExch, ((void)old, value))
SIMT_ATOMIC(Integer, atomicMin, value < old ? value : old)
SIMT_ATOMIC(Integer, atomicMax, value > old ? value : old)
SIMT_ATOMIC(Integer, atomicAnd, old& value)
SIMT_ATOMIC(Integer, atomicOr, old | value)
SIMT_ATOMIC(Integer, atomicXor, old ^ value)
SIMT_ATOMIC(Integer, atomicInc, old >= value ? 0 : old + 1)
SIMT_ATOMIC(Integer, atomicDec, old == 0 || old > value ? value : old - 1)
#undef SIMT_ATOMIC
template <simt::device::Integer T>
SIMT_INLINE T atomicCAS(T* address, std::type_identity_t<T> expected, std::type_identity_t<T> value) {
  return simt::device::atomic_update_value(address, [=](T old) -> T { return old == expected ? value : old; });
}

// --- Loads and stores. The model has no caches: each is the plain access. --------------------------------------------------
#define SIMT_LOAD(name)                  \
  template <class T>                     \
  SIMT_INLINE T name(const T* address) { \
    return *address;                     \
  }
#define SIMT_STORE(name)                                             \
  template <class T>                                                 \
  SIMT_INLINE void name(T* address, std::type_identity_t<T> value) { \
    *address = value;                                                \
  }
SIMT_LOAD(__ldg)
SIMT_LOAD(__ldcg)
SIMT_LOAD(__ldcs)
SIMT_STORE(__stcg)
SIMT_STORE(__stcs)
#undef SIMT_LOAD
#undef SIMT_STORE

// --- __device__ and __constant__ variables ---------------------------------------------------------------------------------
template <class T>
int cudaMemcpyToSymbol(T& symbol, const void* from, std::size_t bytes, std::size_t offset = 0) {
  std::memcpy(reinterpret_cast<char*>(&symbol) + offset, from, bytes);
  return 0;
}
