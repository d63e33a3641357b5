// CUDA C++ for the SIMT model: the types, qualifiers and device functions that kernels of this book use, in plain
// C++. What is not declared here does not compile for the model, on purpose: the model guesses at nothing.
#pragma once

#include <assert.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>

// --- Qualifiers -------------------------------------------------------------------------------------------------
// All calls are inlined into the kernel, even __noinline__ functions: otherwise g++ would not announce the read of an
// argument that is passed by value directly from memory.
// patchable_function_entry puts the kernel on a list (see shared_variables in common/sim/hooks).
#define __global__ __attribute__((flatten, patchable_function_entry(1)))
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(bytes) __attribute__((aligned(bytes)))
// Aligned like an allocation of its own, so that the sectors it touches depend on nothing else.
#define SIMT_DEVICE_VARIABLE __attribute__((aligned(256)))

// What the model rejects. rewrite.cpp has already removed __shared__ from the file, unless it is in a macro.
#define __shared__ \
  _Pragma(         \
      "GCC error \"the model does not see a __shared__ in a macro, or in a file that it does not rewrite: write the declaration out\"")
// g++ does not announce reads of tables that it knows to be constant.
#define SIMT_NO_TABLE \
  _Pragma("GCC error \"the model cannot count reads of constant tables: pass the table as an array\"")
// Without __grid_constant__, the address would be that of the thread's own copy of the parameter.
#define SIMT_NO_GRID_CONSTANT \
  _Pragma(                    \
      "GCC error \"a tensor map as a parameter must be const __grid_constant__ CUtensorMap: otherwise each thread has its own copy, which TMA copies cannot read\"")
#define __cluster_dims__(...) \
  _Pragma(                    \
      "GCC error \"the model takes a cluster's size from the launch: tile::launch_in_clusters in common/cuda/cluster.hpp\"")

#define SIMT_INLINE inline __attribute__((always_inline))
#define SIMT_UNTRACED __attribute__((no_sanitize("thread")))

// --- Types ------------------------------------------------------------------------------------------------------
// Vectors of three are aligned like one member: a GPU accesses the members one by one.
#define SIMT_VECTORS(T, name)                                             \
  struct alignas(2 * sizeof(T)) name##2 {                                 \
    T x, y;                                                               \
  };                                                                      \
  struct name##3 {                                                        \
    T x, y, z;                                                            \
  };                                                                      \
  struct alignas(sizeof(T) < 4 ? 4 * sizeof(T) : 16) name##4 {            \
    T x, y, z, w;                                                         \
  };                                                                      \
  SIMT_INLINE name##2 make_##name##2(T x, T y) { return {x, y}; }         \
  SIMT_INLINE name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; } \
  SIMT_INLINE name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
SIMT_VECTORS(signed char, char)
SIMT_VECTORS(unsigned char, uchar)
SIMT_VECTORS(short, short)
SIMT_VECTORS(unsigned short, ushort)
SIMT_VECTORS(int, int)
SIMT_VECTORS(unsigned, uint)
SIMT_VECTORS(long long, longlong)
SIMT_VECTORS(unsigned long long, ulonglong)
SIMT_VECTORS(float, float)
SIMT_VECTORS(double, double)
#undef SIMT_VECTORS
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

// --- What the model provides (common/sim/execute) ------------------------------------------------------------
namespace simt {

/// A kernel bound to its arguments. call() runs one thread with its own copies of them, as on the GPU; accesses are
/// counted from the call of begin() on.
struct BoundKernel {
  const void* address;
  virtual void call(void (*begin)()) const = 0;
  virtual ~BoundKernel() = default;
};

template <class... Parameters>
struct Bound final : BoundKernel {
  void (*kernel)(Parameters...);
  std::tuple<Parameters...> arguments;

  template <class... Arguments>
  explicit Bound(void (*kernel_)(Parameters...), Arguments&&... values)
      : kernel(kernel_), arguments(converted(std::forward<Arguments>(values)...)) {
    address = reinterpret_cast<const void*>(kernel_);
  }
  SIMT_UNTRACED void call(void (*begin)()) const override {
    expand(arguments, begin, std::index_sequence_for<Parameters...>{});
  }

 private:
  template <class... Arguments>
  static std::tuple<Parameters...> converted(Arguments&&... values) {
    constexpr bool as_many = sizeof...(Parameters) == sizeof...(Arguments);
    static_assert(as_many, "the launch has more arguments than the kernel takes, or fewer");
    if constexpr (as_many) {
      static_assert(
          (std::is_constructible_v<Parameters, Arguments> && ...),
          "an argument of the launch has another type than the kernel's parameter; for a tile::array pass .device()");
      return std::tuple<Parameters...>(std::forward<Arguments>(values)...);
    }
  }
  template <std::size_t... I>
  SIMT_UNTRACED void expand([[maybe_unused]] std::tuple<Parameters...> own, void (*begin)(),
                            std::index_sequence<I...>) const {
    begin();
    kernel(std::get<I>(own)...);
  }
};

/// The rewriter wraps an index that may be read from memory, or a ?: of structs, in this call. Constants stay constant.
template <class T>
requires std::is_scalar_v<T> SIMT_INLINE constexpr T once(T value) { return value; }
/// For a class: without a copy.
template <class T>
requires(!std::is_scalar_v<std::decay_t<T>>) SIMT_INLINE constexpr T&& once(T&& value) {
  return static_cast<T&&>(value);
}

/// Bytes of the smallest access to an element; for a struct a guess: a launch that makes a smaller one is restarted.
template <class Element>
constexpr std::size_t smallest_access() {
  constexpr bool is_value = std::is_scalar_v<Element> || requires { typename Element::simt_value; };  // narrow.hpp
  return is_value ? sizeof(Element) : alignof(Element) < 4 ? alignof(Element) : 4;
}

/// The element type of an array as declared, and its extents.
struct ElementType {
  static constexpr std::size_t most_extents = 8;
  std::size_t smallest_access, bytes, alignment;
  std::size_t extents[most_extents];  ///< those after the last are 0
};
/// The ElementType of `Element`, or of `Element[4][8]`.
template <class T>
constexpr ElementType element_type() {
  using Element = std::remove_all_extents_t<T>;
  ElementType type{smallest_access<Element>(), sizeof(Element), alignof(Element), {}};
  static_assert(std::rank_v<T> <= ElementType::most_extents,
                "on the model an array has at most most_extents dimensions");
  [&]<std::size_t... I>(std::index_sequence<I...>) { ((type.extents[I] = std::extent_v<T, I>), ...); }
  (std::make_index_sequence<ElementType::most_extents>{});
  return type;
}
/// Tells the model the element type of an allocation.
void declare_elements(void* memory, const ElementType& type);

/// Registers a __device__ or __constant__ variable as memory; the rewriter adds one after each declaration.
struct DeviceVariable {
  template <class T>
  DeviceVariable(const char* name, T& variable, bool is_constant = false)
      : DeviceVariable(name, const_cast<std::remove_cv_t<T>*>(&variable), sizeof(T), element_type<T>(), is_constant) {}

 private:
  DeviceVariable(const char* name, void* memory, std::size_t bytes, const ElementType& type, bool is_constant);
};

/// Runs every thread of a grid, in clusters of `cluster` blocks. Throws simt::Error.
void run(const BoundKernel& kernel, dim3 grid, dim3 block, std::size_t shared_bytes, dim3 cluster = {});

struct TensorMap;  // common/cuda/tensor_map.hpp

namespace device {
// Constant for the lifetime of a thread of the grid, hence [[gnu::const]]: like the special registers that they
// model, they are read without a memory access.
[[gnu::const]] uint3 thread_index();
[[gnu::const]] uint3 block_index();
[[gnu::const]] dim3 block_extent();
[[gnu::const]] dim3 grid_extent();

void block_barrier();

/// One lane's operands and result in a collective operation.
struct Slot {
  std::uint64_t value = 0;
  int operand = 0, width = 32;
  std::uint64_t result = 0;
  int missing_lane = -1;  ///< a source lane that does not take part: an error
};
/// Reads the slots of the lanes of a mask (the others are null), and writes their results.
using CollectiveFunction = void(unsigned mask, Slot* const* slots);
using Collective = CollectiveFunction*;
/// Waits until all lanes of the mask have called this with the same mask and function, then runs it once for all.
void collective(unsigned mask, Collective function, Slot& mine);
// operand: the source lane, delta, or lane mask. sync orders memory.
CollectiveFunction sync, shuffle, shuffle_up, shuffle_down, shuffle_xor, ballot, match_any, active_mask;
/// The lanes of the warp that have reached this call when no other lane of it can proceed.
unsigned active_lanes();
/// __syncthreads; returns how many threads of the block passed a true `predicate`.
int block_vote(bool predicate);

/// The block's dynamic shared memory, called `name` in counts and errors.
void* dynamic_shared(const char* name);
/// Orders the thread's memory accesses before and after it, for the threads of its block or for all threads.
void fence(bool block_only);
/// Lets other threads run.
void pause();
/// Ends the thread, and the run with it.
[[noreturn]] void trap();
/// Starts a copy to shared memory, the last bytes as `zeros`, which lands when the thread waits for its group.
void async_copy(void* to, const void* from, std::size_t bytes, std::size_t zeros = 0);
void commit_async_copies();
void wait_for_async_copies(int pending);

// Instructions that ptx*.hpp and cluster.hpp name and describe. An mbarrier is 8 bytes of shared memory.
void named_barrier(int number, int threads);
void arrive_at_named_barrier(int number, int threads);
void mbarrier_init(void* mbarrier, std::uint32_t count);
/// Expects `bytes` in the current phase, then arrives once; or once this thread's cp.async copies so far have landed.
void mbarrier_arrive(void* mbarrier, std::uint32_t bytes, bool after_copies = false);
bool mbarrier_try_wait(void* mbarrier, std::uint32_t parity);
void fence_mbarrier_init();
void fence_proxy_async(bool global_as_well);
/// To the blocks of a mask; 0: to this block alone.
void bulk_load(void* to, const TensorMap& map, std::int32_t x, std::int32_t y, void* mbarrier,
               std::uint32_t blocks = 0);
void bulk_store(const TensorMap& map, std::int32_t x, std::int32_t y, const void* from);
void commit_bulk_group();
void wait_for_bulk_groups(int pending, bool reads_only);
void set_registers(int registers, bool more);
[[gnu::const]] std::uint32_t cluster_rank();
[[gnu::const]] std::uint32_t cluster_blocks();
void* map_to_block(void* shared, std::uint32_t rank);
void arrive_at_cluster_barrier();
void wait_for_cluster_barrier();

/// Announces an atomic access of `size` bytes; the caller then performs it, and calls changed_nothing() if that is so.
void atomic_access(void* address, std::size_t size, bool exchanges);
void changed_nothing();

/// The unsigned integer of the same size.
template <class T>
using WordOf =
    std::conditional_t<sizeof(T) == 8, std::uint64_t, std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint16_t>>;

template <class Word, class Update>
SIMT_UNTRACED __attribute__((noinline)) Word atomic_update(Word* address, Update update) {
  Word old = __atomic_load_n(reinterpret_cast<volatile Word*>(address), __ATOMIC_ACQUIRE), desired;
  do desired = update(old);
  while (!__atomic_compare_exchange(address, &old, &desired, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
  if (desired == old) changed_nothing();
  return old;
}
SIMT_INLINE std::uint64_t together(unsigned mask, Collective f, std::uint64_t value, int operand = 0, int width = 32) {
  Slot mine{value, operand, width};
  collective(mask, f, mine);
  return mine.result;
}

/// A value smaller than an int is moved as an int: CUDA's shuffles have no overload for it.
template <class T>
SIMT_INLINE auto exchange(Collective function, unsigned mask, T value, int operand, int width) {
  using Moved = std::conditional_t<std::is_integral_v<T> && sizeof(T) < sizeof(int), int, T>;
  static_assert((sizeof(Moved) == 2 || sizeof(Moved) == 4 || sizeof(Moved) == 8) && std::is_trivially_copyable_v<T>,
                "shuffles move values of 2, 4 and 8 bytes");
  using Word = WordOf<Moved>;
  return std::bit_cast<Moved>(Word(together(mask, function, std::bit_cast<Word>(Moved(value)), operand, width)));
}
}  // namespace device
}  // namespace simt

// --- __shared__ variables ---------------------------------------------------------------------------------------
// `__shared__ float As[64];` becomes (common/sim/rewrite/rewrite.cpp)
//   struct simt_shared_As { float As[64]; }; auto& As = simt::shared<simt_shared_As, decltype(simt_shared_As::As), "As", 0>();
// a reference to the variable. The struct is never instantiated; it only holds the declaration as written.
namespace simt {

/// The declaration of a __shared__ variable, one per instantiation of its function; names.cpp finds it by its symbol.
struct SharedDeclaration {
  const char* name;
  const std::type_info* within;  ///< the struct around it, whose mangled name contains its function
  int place;                     ///< its position in the order of declaration
  std::size_t bytes, alignment;
  ElementType element;
  std::uint32_t number = 0;  ///< from 1 on, among those that the program uses; 0 until known
};

/// A name as a template argument.
template <std::size_t BYTES>
struct SharedName {
  char text[BYTES] = {};
  constexpr SharedName(const char (&name)[BYTES]) {
    for (std::size_t i = 0; i < BYTES; ++i) text[i] = name[i];
  }
};

template <class Within, class Type, SharedName NAME, int PLACE>
inline constinit SharedDeclaration shared_declaration{NAME.text,    &typeid(Within), PLACE,
                                                      sizeof(Type), alignof(Within), element_type<Type>()};

namespace device {
/// A variable's address in the running block's shared memory: constant while a thread runs, hence [[gnu::const]].
[[gnu::const]] void* shared(const SharedDeclaration& declaration) noexcept;
}  // namespace device

template <class Within, class Type, SharedName NAME, int PLACE>
SIMT_INLINE Type& shared() noexcept {
  return *static_cast<Type*>(device::shared(shared_declaration<Within, Type, NAME, PLACE>));
}

}  // namespace simt

#include "common/cuda/words/functions.hpp"
#include "common/cuda/words/narrow.hpp"
