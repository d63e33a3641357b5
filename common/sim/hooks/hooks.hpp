// hooks/: the compiler's instrumentation of a running kernel.
//
// In: calls that g++ inserts before each load and store (-fsanitize=thread), at the start of each basic block
// (-fsanitize-coverage=trace-pc) and before each index into an array of known extent (-fsanitize=bounds), and the calls
// of memcpy and the like that the linker redirects here (--wrap). Out: calls of a Listener, except for accesses to the
// running lane's own stack (registers and local memory). Most accesses are to that stack, so hooks.s tests for it
// before it calls. names.cpp names addresses, machine_model.cpp allocates global memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "common/sim/cost/requests.hpp"

extern "C" const char __executable_start, _end;  // provided by the linker

namespace simt {
struct ElementType;
}
namespace simt::order {
class GlobalCells;
}

namespace simt::hooks {

using Address = std::uintptr_t;

/// Bounds of a known alignment, which is a power of two between them.
struct Alignment {
  std::size_t least, most;
};

/// Receives what the hooks announce. A call may end the running lane, and then does not return.
class Listener {
 public:
  /// An access of `size` bytes, at the instruction before `pc`; of an atomic one, `is_volatile` says that it exchanges.
  /// The listener must ignore the hooks (ScopedIgnore) while it calls functions that may themselves be instrumented.
  virtual void access(Address address, std::size_t size, Op op, Address pc, bool is_volatile) = 0;
  /// The same for an access that may be a struct moved as a whole.
  virtual void access_struct(Address address, std::size_t size, Op op, Address pc, Alignment alignment) = 0;
  /// The running lane begins another loop iteration, at `pc`, and has exceeded the count.
  virtual void many_turns(Address pc) = 0;
  /// An access of unknown cost; `what` continues "unsupported: kernel k, file:line, block, thread ".
  virtual void refuse(Address pc, const std::string& what) = 0;
  /// An index outside the extent of its array.
  virtual void refuse_index(Address pc, std::intptr_t index, const char* array_type) = 0;

 protected:
  ~Listener() = default;
};

/// Counts a lane's loop iterations: a new one begins when a basic block of the current one is executed again.
struct Turns {
  std::uint16_t count = 0;
  std::uint16_t block_count = 0;
  std::uint64_t marks = 0;                  // a hashed bit for each of `blocks` after the first
  std::array<std::uint32_t, 256> blocks{};  // of this iteration; the first is 0 at the start

  void reset() {
    count = 0;
    begin_turn(0);
    block_count = 0;
  }
  /// Whether the block that begins at `pc` belongs to this iteration.
  bool has(std::uint32_t pc) const {
    if (blocks[0] == pc) return true;
    if ((marks & mark_of(pc)) == 0) return false;
    for (std::uint32_t i = 1; i < block_count; ++i)  // usually few: std::find would be slower
      if (blocks[i] == pc) return true;
    return false;
  }
  /// Adds a block to this iteration. Returns whether there is room for it.
  bool add(std::uint32_t pc) {
    if (block_count == blocks.size()) return false;
    blocks[block_count++] = pc;
    marks |= mark_of(pc);
    return true;
  }
  /// Begins an iteration with this block.
  void begin_turn(std::uint32_t pc) {
    blocks[0] = pc;
    block_count = 1;
    marks = 0;
  }

 private:
  static std::uint64_t mark_of(std::uint32_t pc) { return std::uint64_t(1) << (pc >> 3) % 64; }
};

/// What the hooks need to know about the running lane. By default there is no listener: all of memory is its own stack.
struct LaneHooks {
  Address stack_low = 0, stack_bytes = ~Address(0);
  Turns* turns = nullptr;  ///< null if iterations are not counted
  Listener* listener = nullptr;

  bool on_own_stack(Address address) const { return address - stack_low < stack_bytes; }
};

/// Those of the lane that runs on this host thread; the default in host code, and while the model itself runs.
extern constinit thread_local LaneHooks lane_hooks;

/// Turns the hooks off while it lives, so that the model may call inline functions that were compiled for kernels.
class ScopedIgnore {
 public:
  ScopedIgnore() : lane_(lane_hooks) { lane_hooks = {}; }
  ~ScopedIgnore() { lane_hooks = lane_; }
  ScopedIgnore(const ScopedIgnore&) = delete;
  ScopedIgnore& operator=(const ScopedIgnore&) = delete;

 private:
  LaneHooks lane_;
};

/// The start of the program's image; return addresses are kept as 32-bit offsets from here.
inline Address image_base() { return reinterpret_cast<Address>(&__executable_start); }
inline Address image_end() { return reinterpret_cast<Address>(&_end); }
inline std::uint32_t offset_of(Address pc) { return std::uint32_t(pc - image_base()); }

// --- Names for addresses (names.cpp), from the program's own debug information and symbol table ----------------------
struct Place {
  std::string file;
  int line = 0;
  bool operator==(const Place&) const = default;
};
/// `float tile[32][33]` has elements of 4 bytes and extents {32, 33}.
struct Shape {
  std::size_t element = 0;
  std::vector<std::size_t> extents;

  bool known() const { return element != 0 && !extents.empty(); }
  /// Bytes of the innermost row; 0 for an array of one dimension.
  std::size_t row_bytes() const { return extents.size() > 1 ? element * extents.back() : 0; }
};
Shape shape_of(const ElementType& type);
/// A __shared__ variable as declared.
struct SharedVariable {
  std::string name;
  std::size_t size = 0, alignment = 1;
  bool in_kernel = false;             ///< declared in the kernel itself
  Shape shape{};                      ///< if it is an array
  std::uint32_t number = 0;           ///< SharedDeclaration::number
  std::size_t element_alignment = 1;  ///< of its type, or of its element type
};
/// The source line to which a call returns; inlined helpers of common/ are attributed to their caller.
Place place_of(Address return_address);
std::string function_name(const void* function);
/// The __shared__ variables that a kernel may touch, in the order of declaration: its own, then those of functions.
const std::vector<SharedVariable>& shared_variables(const void* kernel);
/// How many __shared__ variables the program uses, which is also the highest number of one.
std::uint32_t shared_variable_count();
/// The variable of the program that holds the address, or "" if the address is outside the program's image.
std::string variable_at(Address address);

// --- Global memory (machine_model.cpp) -------------------------------------------------------------------------------
/// An allocation of global memory, or a __device__ variable.
struct Region {
  std::string name;
  Address begin = 0, end = 0;
  std::size_t element = 4, next_element = ~std::size_t(0);  ///< bytes; in the next launch, if smaller
  Shape declared{};                                         ///< in the program
  std::size_t alignment = 0;                                ///< of the declared element type; 0: not known
  bool is_constant = false;                                 ///< __constant__: kernels may read it
  std::size_t first = 0, rows = 0, cols = 0, ld = 0;        ///< the declared matrix; rows == 0: all of it
  std::shared_ptr<order::GlobalCells> cells{};              ///< one per element, from the last traced launch
  std::unique_ptr<std::byte, std::function<void(std::byte*)>> storage{};

  std::size_t elements() const { return (end - begin) / element; }
  bool holds(Address address, std::size_t size) const { return address >= begin && address + size <= end; }
  /// Whether element i is part of the declared matrix.
  bool inside(std::size_t i) const {
    if (rows == 0) return true;
    const std::size_t at = i - first;
    return i >= first && at / ld < rows && at % ld < cols;
  }
};
struct Regions {
  std::mutex mutex;
  std::map<Address, Region> by_begin;
};
Regions& regions();
/// The allocation that begins at `memory`. Throws std::logic_error for any other address.
Region& region_at(const void* memory);

}  // namespace simt::hooks
