// Lanes that poll a value in memory, and lanes that never end.
//
// A lane that repeats an access, or pauses (__nanosleep), is assumed to wait for another value, and sleeps until the
// value that it saw has changed. How often it would retry depends on time, which the model does not know: volatile or
// atomic accesses ("looks") that changed nothing are dropped from the log, and only the last one is counted. The same
// holds for a repeated sequence of looks with no other access in between.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "common/sim/execute/execute.hpp"

namespace simt::execute {
namespace {

// A loop that has made the same looks this often may wait for a value that another lane will write.
constexpr std::uint32_t retries_of_a_poll = 64;
// When no lane of the grid can proceed, all that poll retry, twice as often each time: some may only seem to wait, or
// give up after some iterations. After this many futile wake-ups (fewer if many blocks wait) it is a deadlock.
constexpr int most_futile_wakes = 11, least_futile_wakes = 4;
// How many different values a lane may poll at once.
constexpr std::size_t most_looks = 16;
// A lane that has looked this often, at changing values or with other accesses in between, lets others run.
constexpr std::uint32_t looks_of_a_yield = 1 << 16;

// --- Endless lanes ---------------------------------------------------------------------------------------------------
// Ends the running lane if it has done something more than `most` times.
void require_end(Worker& w, Address pc, std::uint64_t times, std::uint64_t most, const char* what,
                 std::uint64_t unit = 1) {
  if (times <= most) return;
  const hooks::ScopedIgnore ignore;
  fail(w, "endless", pc, fmt::format("{}, more than {} times, and has not ended", what, most * unit));
}

// --- Looks -----------------------------------------------------------------------------------------------------------
std::span<const Look> polled_by(const Lane& lane) {
  return std::span(lane.looks).first(lane.look_count).last(lane.polled);
}

bool sees_another_value(const Look& look) {
  return std::memcmp(reinterpret_cast<const void*>(look.address), look.seen.data(), look.size) != 0;
}

bool goes_on(const Lane& lane, bool all) {
  return lane.state == LaneState::polling && (all || std::ranges::any_of(polled_by(lane), sees_another_value));
}

// "flag[0]", or the address if no array is known.
std::string name_of(const Worker& w, const Look& look) {
  if (const std::string shared = shared_name(w, look.address, look.size); !shared.empty()) return shared;
  if (const Region* region = region_of(w, look.address, 1)) return element_name(target_of(*region), look.address);
  return fmt::format("address {:#x}", look.address);
}

// The value seen, as a decimal integer if it is small, otherwise as its bits in hexadecimal.
std::string value_seen(const Look& look) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, look.seen.data(), std::min(look.size, sizeof bits));
  constexpr std::uint64_t readable = 1 << 24;
  return bits < readable ? std::to_string(bits) : fmt::format("{:#x}", bits);
}

}  // namespace

void notice_polling(Worker& w, Address address, std::size_t size, Op op, Address pc, bool is_volatile) {
  Lane& lane = *w.lane;
  const bool repeated = lane.last_address == address && lane.last_pc == pc;
  if (lane.looks.empty()) lane.looks.resize(most_looks);
  const auto begin = lane.looks.begin(), end = begin + lane.look_count;
  const auto first = std::find_if(begin, end, [&](const Look& l) { return l.address == address && l.pc == pc; });
  // If the lane has made this look before, and since then only looks that changed nothing, all of them are dropped, as
  // if it made this one for the first time.
  const auto is_logged = [&](const Look& look) { return look.logged == first->logged + std::size_t(&look - &*first); };
  const bool taken_back = first != end && lane.changed_nothing &&
                          (!w.traced || (std::all_of(first, end, is_logged) &&
                                         lane.log.size() == first->logged + std::size_t(end - first)));
  if (taken_back && w.traced) {
    lane.log.resize(first->logged);
    lane.turns.reset();
    lane.turns.count = first->turns;
    for (const std::uint32_t block : first->blocks_of_turn) lane.turns.add(block);
  }
  if (taken_back || (repeated && first != end)) {
    lane.looks_elsewhere = 0;
    if (++lane.retries % retries_of_a_poll == 0 && std::none_of(first, end, sees_another_value))
      sleep_while_polling(w, pc, std::size_t(end - first));
    lane.look_count = std::uint8_t(first - begin);
  } else {
    if (first != end || !lane.changed_nothing || lane.look_count == most_looks) lane.look_count = 0;
    if (lane.look_count == 0) lane.retries = 0;
    if (++lane.looks_elsewhere % looks_of_a_yield == 0) {  // it looks endlessly without being seen to wait
      require_end(w, pc, ++lane.yields, 1 << 12, "polls memory that others may write, with other accesses in between",
                  looks_of_a_yield);
      if (w.traced) lane.turns.count = cost::unknown_turns;
      sleep_while_polling(w, pc, 0);
    }
  }
  lane.last_address = address;
  lane.last_pc = pc;
  lane.changed_nothing = is_volatile && op != Op::atomic;  // an atomic operation reports it itself
  Look& look = lane.looks[lane.look_count++];
  look.address = address;
  look.pc = pc;
  look.logged = lane.log.size();
  look.turns = lane.turns.count;
  if (w.traced && (is_volatile || op == Op::atomic))
    look.blocks_of_turn.assign(lane.turns.blocks.begin(), lane.turns.blocks.begin() + lane.turns.block_count);
  look.size = in_bounds(w, address, size) ? std::min(size, look.seen.size()) : 0;
  std::memcpy(look.seen.data(), reinterpret_cast<const void*>(address), look.size);
}

void sleep_while_polling(Worker& w, Address pc, std::size_t polled) {
  Lane& lane = *w.lane;
  if (lane.patience > 0) {
    --lane.patience;
    return;
  }
  if (lane.unsettled) settle(w);
  lane.polled = polled;
  lane.wait.pc = pc;
  const auto in_cluster = [&](const Look& look) { return owner_of(w, look.address) != nullptr; };
  note_signals(w, polled > 0 && std::ranges::all_of(polled_by(lane), in_cluster));
  for (const Look& look : polled_by(lane)) ++w.polled[look.address];
  suspend(w, LaneState::polling);
  for (const Look& look : polled_by(lane))
    if (--w.polled[look.address] == 0) w.polled.erase(look.address);
}

void let_pollers_look(Worker& w) {
  Block& writer = *w.block;
  while (std::exchange(w.changed, 0) != 0)
    for (const auto& block : w.resident)
      for (Lane& lane : block->lanes)
        if (!block->ended && !block->abandoned && goes_on(lane, false)) {
          block->has_news = lane.only_looks = true;
          lane.state = LaneState::ready;
          run_lane(w, *block, lane);
        }
  switch_to(w, writer);
}

void note_signals(Worker& w, bool in_cluster) {
  Launch& launch = *w.launch;
  launch.signals = true;
  if (in_cluster || launch.cluster_count == 1) return;
  launch.communicates = true;
  if (launch.schedule != Schedule::parallel) return;
  launch.stop = true;
  abandon_block(w);
}

std::string described_poll(const Worker& w, const Lane& lane) {
  std::string text;
  for (const Look& look : polled_by(lane))
    text += fmt::format("{}{}, which is {},", text.empty() ? "loads " : " and ", name_of(w, look), value_seen(look));
  return (text.empty() ? "pauses" : text) + " again and again";
}

bool may_go_on(const Block& block, bool all) {
  if (block.ended) return false;
  return block.has_news || std::ranges::any_of(block.lanes, [&](const Lane& lane) { return goes_on(lane, all); });
}

bool wake(Worker& w, std::uint32_t retries) {
  bool any = false;
  for (Lane& lane : w.block->lanes) {
    if (!goes_on(lane, retries > 0)) continue;
    lane.state = LaneState::ready;
    lane.patience = std::max(lane.patience, retries);
    any = true;
  }
  return any;
}

std::uint32_t next_retries(Worker& w) {
  const int most = std::max(most_futile_wakes - int(std::bit_width(w.resident.size() / 32)), least_futile_wakes);
  return w.futile_wakes >= most ? 0 : 1u << w.futile_wakes++;
}

void require_bounded_log(Worker& w, Address pc) {  // of 96 MB
  require_end(w, pc, w.lane->log.size() + 1, 1 << 22, "accesses memory without waiting for other threads of its block");
}

void count_wait(Worker& w, Address pc) { require_end(w, pc, ++w.lane->waits, 1 << 21, "waits for other threads"); }

void Worker::many_turns(Address pc) {
  constexpr std::uint32_t most_idle_turns = 1 << 26;
  if (++lane->idle_turns < most_idle_turns) return;
  const hooks::ScopedIgnore ignore;
  fail(*this, "deadlock", pc,
       fmt::format("executes a loop more than {} times without an access to memory: it has not ended by itself, and no "
                   "other thread can end it",
                   most_idle_turns));
}

}  // namespace simt::execute
