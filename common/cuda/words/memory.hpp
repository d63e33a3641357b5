// Words for memory: atomic functions, loads and stores with a cache operator, asynchronous copies, and what the host asks the runtime.
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

#define SIMT_ATOMIC_OF(Kind, name, expression)                                                     \
  template <simt::device::Kind T>                                                                  \
  SIMT_INLINE T name(T* address, std::type_identity_t<T> value) {                                  \
    return simt::device::atomic_update_value(address, [value](T old) -> T { return expression; }); \
  }
// Of what scope an operation is, costs the model nothing.
#define SIMT_ATOMIC(Kind, name, expression)      \
  SIMT_ATOMIC_OF(Kind, name, expression)         \
  SIMT_ATOMIC_OF(Kind, name##_block, expression) \
  SIMT_ATOMIC_OF(Kind, name##_system, expression)
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
#undef SIMT_ATOMIC_OF
template <simt::device::Integer T>
SIMT_INLINE T atomicCAS(T* address, std::type_identity_t<T> expected, std::type_identity_t<T> value) {
  return simt::device::atomic_update_value(address, [=](T old) -> T { return old == expected ? value : old; });
}

// --- Loads and stores with a cache operator: the plain access, for the model has no caches. And copies, of cuda_pipeline.h. ------
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
SIMT_LOAD(__ldca)
SIMT_LOAD(__ldcg)
SIMT_LOAD(__ldcs)
SIMT_STORE(__stcg)
SIMT_STORE(__stcs)
#undef SIMT_LOAD
#undef SIMT_STORE

SIMT_INLINE void __pipeline_memcpy_async(void* shared, const void* global, std::size_t bytes) {
  simt::device::async_copy(shared, global, bytes);
}
SIMT_INLINE void __pipeline_commit() { simt::device::commit_async_copies(); }
SIMT_INLINE void __pipeline_wait_prior(int pending) { simt::device::wait_for_async_copies(pending); }

// --- What the host asks the runtime. A launch throws its errors, launches run one after the other, and no call is asynchronous. ----
using cudaError_t = int;
using cudaStream_t = struct CUstream_st*;
constexpr cudaError_t cudaSuccess = 0;
inline const char* cudaGetErrorString(cudaError_t) { return "no error"; }
inline cudaError_t cudaGetLastError() { return cudaSuccess; }
inline cudaError_t cudaPeekAtLastError() { return cudaSuccess; }
inline cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }

enum cudaFuncAttribute {
  cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
  cudaFuncAttributePreferredSharedMemoryCarveout = 9
};
/// The model gives a block the shared memory that its launch asks for.
template <class Kernel>
cudaError_t cudaFuncSetAttribute(Kernel*, cudaFuncAttribute, int) {
  return cudaSuccess;
}

enum SimtCopyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2 };
template <class T>
cudaError_t cudaMemcpyToSymbol(T& symbol, const void* from, std::size_t bytes, std::size_t offset = 0,
                               SimtCopyKind = cudaMemcpyHostToDevice) {
  std::memcpy(reinterpret_cast<char*>(&symbol) + offset, from, bytes);
  return cudaSuccess;
}
template <class T>
cudaError_t cudaMemcpyFromSymbol(void* to, const T& symbol, std::size_t bytes, std::size_t offset = 0,
                                 SimtCopyKind = cudaMemcpyDeviceToHost) {
  std::memcpy(to, reinterpret_cast<const char*>(&symbol) + offset, bytes);
  return cudaSuccess;
}
