// The threads of a grid while it runs (lanes), and what each of them waits for. Plain data.
#pragma once

#include <boost/context/detail/fcontext.hpp>
#include <functional>
#include <string>
#include <vector>

#include "common/cuda/asynchronous.hpp"
#include "common/sim/cost/tally.hpp"
#include "common/sim/hooks/announce.hpp"
#include "common/sim/model.hpp"
#include "common/sim/order/cells.hpp"

namespace simt::execute {

using announce::Address;

struct Block;
struct Launch;
struct Worker;

constexpr int max_threads = 1024;  ///< of a block

enum class LaneState : std::uint8_t { ready, waiting, polling, done };

/// How a warp changes the registers of its threads: to how many, and whether to more. Where in the program.
struct RegisterChange {
  bool more = false;
  int registers = 0;
  Address pc = 0;
};

/// What a lane waits for.
struct Wait {
  enum class For : std::uint8_t {
    block_barrier,
    named_barrier,
    collective,
    mbarrier,
    cluster_barrier,
    registers
  } what{};
  Address pc = 0;  ///< return address of the call that waits
  // a named barrier: its number, and how many threads it takes
  int barrier = 0, expected = 0;
  // a collective operation: who takes part, what they do, and this lane's part
  unsigned mask = 0;
  device::Collective function = nullptr;
  device::Slot* slot = nullptr;
  // an mbarrier: where it lies, the parity of the phase, and whether that was over when the wait ended
  Address mbarrier = 0;
  std::uint32_t parity = 0;
  bool over = false;
  // a cluster's barrier: whether the thread did nothing since it arrived
  bool at_once = false;
  // registers: what its warp asks for
  RegisterChange registers{};
};

/// An asynchronous copy on its way: it arrives when its thread waits for it, at the latest moment that the rules allow.
struct PendingCopy {
  void* to = nullptr;
  const void* from = nullptr;
  std::size_t bytes = 0;
  order::Epoch group = 0;
};

/// A box of a matrix in global memory, and where it lies in shared memory. Bytes in a row are one as well.
struct Box {
  TensorMap map;
  std::int64_t x = 0, y = 0;
  Address shared = 0;
};
/// A copy in bulk on its way to shared memory: it arrives when nothing else can go on.
struct BulkLoad {
  Box box;
  const Block* by = nullptr;  ///< the block that started it
  Address mbarrier = 0;
  std::uint64_t phase = 0;  ///< that of the mbarrier when the copy was started
  int thread = 0;
  Address pc = 0;
};
/// A copy in bulk out of shared memory: it is made when its thread waits for its group.
struct BulkStore {
  Box box;
  order::Epoch group = 0;
  Address pc = 0;
};

/// A store where another lane of the warp stored by the same instruction: no race if the value is the same, which is known
/// once the store has been made.
struct SameValue {
  Address address = 0;
  std::array<std::byte, 16> before{};
  std::size_t bytes = 0;
  std::function<void()> report;
};

/// The last shuffle, vote or reduction in which a lane took part, with which others of its warp, and when by its own count.
struct Exchange {
  unsigned mask = 0;
  bool is_shuffle = false;
  Address pc = 0;
  order::Epoch epoch = 0;
};

/// What a lane saw where it loaded or updated a value, and how far it had come when it first looked there.
struct Look {
  Address address = 0, pc = 0;
  std::size_t size = 0;
  std::array<std::byte, 16> seen{};
  std::uint16_t turns = 0;  ///< of loops before the first of such accesses, and the basic blocks of the last of them
  std::vector<std::uint32_t> blocks_of_turn;
  std::size_t logged = 0;  ///< accesses in the lane's log before it
};
/// The look that a lane makes again and again where it waits for another value.
struct Awaited : Look {
  bool strong = false;         ///< it is atomic or volatile; else the loop may just read the same element often
  std::uint32_t patience = 0;  ///< so often does the lane go on all the same
};

/// A thread of the grid. What each access needs comes first, in two lines of the host's cache.
struct alignas(64) Lane {
  announce::Attention attention{};
  account::Log log;
  int linear = 0;
  LaneState state = LaneState::done;
  // A lane that makes the same access again and again waits for a value (polls.cpp).
  Address last_pc = 0, last_address = 0;
  std::uint32_t repeats = 0;
  bool in_vain = false;  ///< the last one was volatile or atomic, and changed nothing
  std::uint8_t look_count = 0;
  // What is to be looked at once the access that is being made has been made.
  bool unsettled = false;  ///< whether there is any of it
  Address learn_from =
      0;  ///< an element that was updated atomically or read through volatile: who wrote it may have released
  std::vector<SameValue> same_values;
  boost::context::detail::fcontext_t context = nullptr;
  uint3 thread{};
  Wait wait{};
  std::vector<PendingCopy> copies;
  std::vector<BulkStore> bulk_stores;
  std::uint64_t tried_at = 0;  ///< Block::happenings when it last tried an mbarrier in vain
  Awaited awaited;
  std::uint64_t cluster_arrivals = 0, cluster_waits = 0;  ///< barriers of the cluster at which it arrived, and waited
  std::size_t done_at_arrival = 0;                        ///< of its accesses, see done_so_far
  announce::Turns turns{};
  std::uint32_t idle_turns = 0;        ///< of a long loop, since its last access
  Exchange exchanged;                  ///< of a traced run
  std::size_t done_at_idle_turns = 0;  ///< of its accesses, see done_so_far
  // A lane that makes several looks again and again waits for a value, too (polls.cpp).
  std::vector<Look> looks;            ///< the last ones in vain, of which no two are the same: `look_count` of them
  std::vector<Look> round;            ///< while it polls so: those for which it does
  std::uint32_t rounds = 0;           ///< that were in vain,
  std::uint32_t looks_elsewhere = 0;  ///< and looks since the last such round or wait
  // What a lane without end makes too many of (endless.cpp).
  std::uint64_t waits = 0;             ///< for others, other than for a value in memory,
  std::uint64_t yields = 0;            ///< how often it let others run though it was not seen to wait,
  std::uint64_t watched_accesses = 0;  ///< and what it did since the watch found it
};

inline bool waits_for(const Lane& lane, Wait::For what) {
  return lane.state == LaneState::waiting && lane.wait.what == what;
}

}  // namespace simt::execute
