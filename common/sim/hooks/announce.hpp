// announce/: what the compiler tells of a kernel while it runs.
//
// What comes in: calls that g++ puts before each load and store (-fsanitize=thread), at the begin of each basic block
// (-fsanitize-coverage=trace-pc) and before each index into an array of known extent (-fsanitize=bounds), and the calls of
// memcpy and its kin that the linker sends here (--wrap). What goes out: the same as calls of a Listener, without what lies on
// the running lane's own stack: registers and local memory. names.hpp gives lines, kernels and variables for addresses;
// memory.hpp hands out global memory, so that it is known what an address belongs to. Nothing here knows what the listener
// makes of it, nor that there are warps.
//
// Most calls end in the first lines of hooks.cpp, or are not made, as hooks.s asks the same in their place: between two accesses to
// memory that lanes share, a kernel makes many to its own stack, and most basic blocks are run when nothing is counted.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "common/sim/cost/requests.hpp"
#include "common/sim/hooks/names.hpp"

extern "C" const char __executable_start, _end;  // provided by the linker

namespace simt::announce {

/// What something is aligned to: a power of two between these.
struct Alignment {
  std::size_t least, most;
};

/// Who hears of accesses. Each call may leave the running lane for good.
class Listener {
 public:
  /// An access of `size` bytes, at the instruction before `pc`; `is_volatile`: C++ must not leave it out. As this is called for each,
  /// the listener itself must see to it that nobody listens (Unheard) while it calls what may have been compiled for kernels.
  virtual void access(Address address, std::size_t size, Op op, Address pc, bool is_volatile) = 0;
  /// The same for what may be a struct that the program moves as a whole, aligned to as much as that.
  virtual void access_struct(Address address, std::size_t size, Op op, Address pc, Alignment alignment) = 0;
  /// The running lane goes round a loop once more, after more turns than are counted; at `pc`.
  virtual void many_turns(Address pc) = 0;
  /// Something whose cost the model does not know; `what` continues "unsupported: kernel k, file:line, block, thread ".
  virtual void refuse(Address pc, const std::string& what) = 0;
  /// An index that the extent of its array does not allow.
  virtual void refuse_index(Address pc, std::intptr_t index, const char* array_type) = 0;

 protected:
  ~Listener() = default;
};

/// How often a lane has gone round a loop since the count was reset: entered a basic block again that it had been in since
/// the turn before.
struct Turns {
  std::uint16_t count = 0;
  std::uint16_t block_count = 0;
  std::uint64_t marks = 0;                  // a bit for each of `blocks` behind the first; one may stand for several
  std::array<std::uint32_t, 256> blocks{};  // of this turn; the first is 0 before there is one

  void reset() {
    count = 0;
    begin_turn(0);
    block_count = 0;
  }
  /// Whether the block that begins at `pc` is one of this turn.
  bool has(std::uint32_t pc) const {
    if (blocks[0] == pc) return true;
    if ((marks & mark_of(pc)) == 0) return false;
    // Not std::find, which compares four at a time: there are few, mostly.
    for (std::uint32_t i = 1; i < block_count; ++i)
      if (blocks[i] == pc) return true;
    return false;
  }
  /// Notes one more block of this turn. Returns whether there is room for it.
  bool add(std::uint32_t pc) {
    if (block_count == blocks.size()) return false;
    blocks[block_count++] = pc;
    marks |= mark_of(pc);
    return true;
  }
  /// A turn that has this block alone.
  void begin_turn(std::uint32_t pc) {
    blocks[0] = pc;
    block_count = 1;
    marks = 0;
  }

 private:
  static std::uint64_t mark_of(std::uint32_t pc) { return std::uint64_t(1) << (pc >> 3) % 64; }
};

/// What the hooks need of the lane that is running. As it is by default nobody listens: all of memory is its own stack.
struct Attention {
  Address stack_low = 0, stack_bytes = ~Address(0);
  Turns* turns = nullptr;  ///< null where turns are not counted
  Listener* listener = nullptr;

  bool on_own_stack(Address address) const { return address - stack_low < stack_bytes; }
};

/// Of the lane that is running on this host thread; that of nobody in host code, and while the model itself works. No pointer to
/// one: of every two calls of hooks one ends when it has been asked.
extern constinit thread_local Attention attention;

/// While one of these lives, nobody listens: the model may call inline functions that were compiled for kernels.
class Unheard {
 public:
  Unheard() : lane_(attention) { attention = {}; }
  ~Unheard() { attention = lane_; }
  Unheard(const Unheard&) = delete;
  Unheard& operator=(const Unheard&) = delete;

 private:
  Attention lane_;
};

/// Where the program's image begins; return addresses are kept as 32-bit offsets from here.
inline Address image_base() { return reinterpret_cast<Address>(&__executable_start); }
inline Address image_end() { return reinterpret_cast<Address>(&_end); }
inline std::uint32_t offset_of(Address pc) { return std::uint32_t(pc - image_base()); }

}  // namespace simt::announce
