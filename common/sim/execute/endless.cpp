// Lanes that go on and on: each has made more accesses, or waited more often, than is to be expected of a kernel that ends.
//
// A loop that waits, or does nothing, is told as a deadlock (polls.cpp). One that does something in each turn may end after any number
// of them, so that it is a matter of patience; and in a traced run of memory, since what a lane does between two waits is kept until
// the others of its warp have done the same.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "common/sim/execute/execute.hpp"

namespace simt::execute {
namespace {

constexpr std::uint64_t most_logged_accesses = 1 << 22;  // 96 MB
constexpr std::uint64_t most_watched_accesses = 1 << 28;
constexpr std::uint64_t most_waits = 1 << 21;
constexpr std::uint64_t most_yields = 1 << 12;

void tell(Worker& w, const Lane& lane, Address pc, std::uint64_t times, const char* what) {
  report(w, Mistake::endless, pc, 0, [&] {
    return fmt::format(
        "endless: {} {}, more than {} times, and has not ended; if it is to go on for longer, SIMT_PATIENCE={} in the "
        "environment lets it do so twice as often",
        where(w, lane, pc), what, times, 2 * w.launch->bounds.patience);
  });
}

}  // namespace

Bounds bounds_of_launch() {
  const char* wanted = std::getenv("SIMT_PATIENCE");
  const auto patience = std::uint64_t(std::clamp(wanted == nullptr ? 1 : std::atoi(wanted), 1, 1 << 20));
  return {.patience = patience,
          .logged_accesses = patience * most_logged_accesses,
          .watched_accesses = patience * most_watched_accesses,
          .waits = patience * most_waits,
          .yields = patience * most_yields};
}

void require_bounded_log(Worker& w, Address pc) {
  const std::uint64_t most = w.launch->bounds.logged_accesses;
  if (w.lane->log.size() < most) return;
  tell(w, *w.lane, pc, most, "touches memory without a wait for others of its block");
  abandon_block(w);
}

void count_watched_access(Worker& w, Address pc) {
  const std::uint64_t most = w.launch->bounds.watched_accesses;
  if (++w.lane->watched_accesses <= most) return;
  const announce::Unheard unheard;
  tell(w, *w.lane, pc, most, "touches memory without a wait for others");
  abandon_block(w);
}

void yield_to_others(Worker& w, Address pc) {
  Lane& lane = *w.lane;
  const std::uint64_t most = w.launch->bounds.yields;
  if (++lane.yields > most) {
    tell(w, lane, pc, most * looks_of_a_yield, "looks at what others may write, and does something else in between");
    abandon_block(w);
  }
  if (w.traced) lane.turns.count = account::unknown_turns;
  lane.awaited.size = 0;
  let_others_run(w, pc);
}

void leave_endless_waits(Worker& w, Address pc) {
  tell(w, *w.lane, pc, w.launch->bounds.waits, "waits for others");
  abandon_block(w);
}

}  // namespace simt::execute
