// Lanes that wait for a value in memory: how they are noticed, which of them go on, and when none ever will; and lanes that go on
// without end.
//
// A lane that makes the same access again and again, or pauses (__nanosleep), is taken to wait for another value. It sleeps until
// the value that it saw has changed. How often it would look in the meantime is a matter of time, of which the model knows nothing:
// futile looks, volatile or atomic, are taken back, and the last one is counted. The same holds of several looks that it makes one
// after the other, with no other access in between, and then the first of them again: a *round*.
//
// A loop that does something in each turn may end after any number of them, so that it is a matter of patience; and in a traced run of
// memory, since what a lane does between two waits is kept until the others of its warp have done the same.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "common/sim/execute/execute.hpp"

namespace simt::execute {
namespace {

// A loop that makes the same access by the same instruction so often may wait for a value that another lane will write.
constexpr std::uint32_t repeats_of_a_poll = 64;
// How many plain loads of one element are kept, such that a long wait takes no more memory than a short one.
constexpr std::uint32_t most_logged_repeats = 1 << 16;
// When no lane of the grid can go on, all that poll do so, twice as long each time: some may only have seemed to wait, or give up
// after so many turns. After so many rounds in which none gets anywhere, none ever will.
constexpr int most_futile_rounds = 11;
// What a lane may look at in one round while it waits.
constexpr std::size_t most_looks = 16;
// A lane that looks so often, at what changes or with other accesses in between, lets others run.
constexpr std::uint32_t looks_of_a_yield = 1 << 16;

// --- Lanes without end -------------------------------------------------------------------------------------------------------
[[noreturn]] void give_up_on(Worker& w, Address pc, std::uint64_t times, const char* what) {
  fail(w, "endless", pc,
       fmt::format("{}, more than {} times, and has not ended; if it is to go on for longer, SIMT_PATIENCE={} in the "
                   "environment lets it do so twice as often",
                   what, times, 2 * w.launch->bounds.patience));
}

// Lets others run, as the running lane makes looks without end and is not seen to wait; ends it if that comes too often.
void yield_to_others(Worker& w, Address pc) {
  Lane& lane = *w.lane;
  const std::uint64_t most = w.launch->bounds.yields;
  if (++lane.yields > most)
    give_up_on(w, pc, most * looks_of_a_yield, "looks at what others may write, and does something else in between");
  if (w.traced) lane.turns.count = cost::unknown_turns;
  lane.awaited.size = 0;
  let_others_run(w, pc);
}

// --- Looks -------------------------------------------------------------------------------------------------------------------
bool knows_its_value(const Lane& lane) {
  if (!lane.round.empty()) return true;
  return lane.awaited.size > 0 && lane.awaited.address == lane.last_address && lane.awaited.pc == lane.last_pc;
}

bool sees_another_value(const Look& look) {
  return std::memcmp(reinterpret_cast<const void*>(look.address), look.seen.data(), look.size) != 0;
}

bool has_changed(const Lane& lane) {
  if (!lane.round.empty()) return std::any_of(lane.round.begin(), lane.round.end(), sees_another_value);
  return knows_its_value(lane) && sees_another_value(lane.awaited);
}

bool goes_on(const Lane& lane, Wake::Who who) {
  if (lane.state != LaneState::polling) return false;
  if (who == Wake::Who::all || has_changed(lane)) return true;
  return who == Wake::Who::vague && !(knows_its_value(lane) && lane.awaited.strong);
}

bool any_may_go_on(const Worker& w, Wake::Who who) {
  return std::any_of(w.resident.begin(), w.resident.end(), [&](const auto& b) { return may_go_on(*b, who); });
}

// As if the lane had not made a look yet.
void restore_turns(Lane& lane, const Look& look) {
  lane.turns.reset();
  lane.turns.count = look.turns;
  for (const std::uint32_t block : look.blocks_of_turn) lane.turns.add(block);
}

// The last access was futile, and is about to be made again: as if for the first time.
void take_back(Lane& lane, Address address, Address pc) {
  if (lane.log.empty() || lane.log.back().address != address || lane.log.back().pc != hooks::offset_of(pc)) return;
  lane.log.pop_back();
  restore_turns(lane, lane.awaited);
}

// Notes the look that is about to be made, at what awaited says.
void keep_look(Lane& lane) {
  if (lane.looks.empty()) lane.looks.resize(most_looks);
  if (lane.look_count == most_looks) lane.look_count = 0;
  Look& look = lane.looks[lane.look_count++];
  look = lane.awaited;
  look.logged = lane.log.size();
}

// The lane is about to make another look than its last one. If it has made it before, and since then nothing but futile looks, they
// are taken back: as if it made this one for the first time.
void notice_round(Worker& w, Address address, Address pc) {
  Lane& lane = *w.lane;
  const auto begin = lane.looks.begin(), end = begin + (lane.futile ? lane.look_count : 0);
  const auto first =
      std::find_if(begin, end, [&](const Look& look) { return look.address == address && look.pc == pc; });
  const auto is_logged = [&](const Look& look) { return look.logged == first->logged + std::size_t(&look - &*first); };
  const bool is_round = first != end && (!w.traced || (std::all_of(first, end, is_logged) &&
                                                       lane.log.size() == first->logged + std::size_t(end - first)));
  if (!is_round) {
    if (first != end || !lane.futile) lane.look_count = 0;
    if (lane.look_count == 0) lane.rounds = 0;
    if (++lane.looks_elsewhere % looks_of_a_yield == 0) yield_to_others(w, pc);
    return;
  }
  lane.looks_elsewhere = 0;
  if (w.traced) {
    lane.log.resize(first->logged);
    restore_turns(lane, *first);
  }
  lane.look_count = std::uint8_t(first - begin);
  if (++lane.rounds % repeats_of_a_poll != 0 || std::any_of(first, end, sees_another_value)) return;
  lane.round.assign(first, end);
  let_others_run(w, pc);
  lane.round.clear();
}

// "flag[0]", or the address where no array is known.
std::string name_of(const Worker& w, const Look& look) {
  if (const std::string shared = shared_name(w, look.address, look.size); !shared.empty()) return shared;
  if (const Region* region = region_of(w, look.address, 1))
    return element_name({&region->name, region->element, region->begin}, region, look.address);
  return "address " + format_address(look.address);
}

// As a whole number; what has no such form is left to the reader of its bits.
std::string value_seen(const Look& look) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, look.seen.data(), std::min(look.size, sizeof bits));
  constexpr std::uint64_t readable = 1 << 24;
  return bits < readable ? std::to_string(bits) : fmt::format("{:#x}", bits);
}

}  // namespace

void notice_polling(Worker& w, Address address, std::size_t size, Address pc, Polling how) {
  Lane& lane = *w.lane;
  Awaited& awaited = lane.awaited;
  const bool repeated = lane.last_address == address && lane.last_pc == pc;
  if (!repeated) {
    if (how != Polling::plainly) notice_round(w, address, pc);
    lane.last_address = address;
    lane.last_pc = pc;
    lane.repeats = 0;
    if (w.traced) {
      awaited.turns = lane.turns.count;
      awaited.blocks_of_turn.assign(lane.turns.blocks.begin(), lane.turns.blocks.begin() + lane.turns.block_count);
    }
  } else {
    lane.looks_elsewhere = 0;
    if (lane.futile) take_back(lane, address, pc);
    if (++lane.repeats % repeats_of_a_poll == 0 && !has_changed(lane)) let_others_run(w, pc);
    if (lane.repeats > most_logged_repeats && !lane.log.empty()) {  // the count becomes a guess
      lane.log.pop_back();
      if (!lane.log.empty()) lane.log.back().turns = cost::unknown_turns;
    }
  }
  awaited.address = address;
  awaited.pc = pc;
  awaited.strong = how != Polling::plainly;
  lane.futile = how == Polling::strongly;  // an atomic operation says so itself
  if (in_bounds(w, address, size)) {
    awaited.size = std::min(size, awaited.seen.size());
    std::memcpy(awaited.seen.data(), reinterpret_cast<const void*>(address), awaited.size);
  }
  if (!awaited.strong) return;
  if (!repeated)
    keep_look(lane);
  else if (lane.look_count > 0)
    lane.looks[lane.look_count - 1u].seen = awaited.seen;
}

void let_others_run(Worker& w, Address pc) {
  Awaited& awaited = w.lane->awaited;
  if (awaited.patience > 0) {
    --awaited.patience;
    return;
  }
  w.lane->wait.pc = pc;
  suspend(w, LaneState::polling);
}

std::string described_poll(const Worker& w, const Lane& lane) {
  if (!knows_its_value(lane)) return "pauses again and again";
  std::string text;
  const auto tell = [&](const Look& look) {
    text += fmt::format("{}{}, which is {},", text.empty() ? "loads " : " and ", name_of(w, look), value_seen(look));
  };
  if (lane.round.empty()) tell(lane.awaited);
  std::for_each(lane.round.begin(), lane.round.end(), tell);
  return text + " again and again";
}

bool may_go_on(const Block& block, Wake::Who who) {
  if (block.ended) return false;
  return block.has_news ||
         std::any_of(block.lanes.begin(), block.lanes.end(), [&](const Lane& lane) { return goes_on(lane, who); });
}

bool wake(Worker& w, const Wake& who) {
  bool any = false;
  for (Lane& lane : w.block->lanes) {
    if (!goes_on(lane, who.who)) continue;
    lane.state = LaneState::ready;
    lane.awaited.patience = std::max(lane.awaited.patience, who.patience);
    any = true;
  }
  return any;
}

Wake wait_for_change(Worker& worker) {
  Launch& launch = *worker.launch;
  std::unique_lock lock(launch.idle_mutex);
  ++launch.idle_workers;
  const auto leave = [&](Wake who) {
    --launch.idle_workers;
    return who;
  };
  for (;; lock.unlock(), std::this_thread::yield(), lock.lock()) {
    const bool clusters_left = launch.next_cluster < launch.cluster_count;
    if (launch.stop || any_may_go_on(worker, Wake::Who::changed) || (worker.resident.empty() && !clusters_left) ||
        (clusters_left && launch.resident + launch.cluster_blocks <= launch.most_resident))
      return leave({});
    if (worker.round != launch.round) {
      worker.round = launch.round;
      return leave({Wake::Who::all, 1u << std::clamp(launch.futile_rounds - 1, 0, most_futile_rounds)});
    }
    const auto& workers = launch.live_workers;
    if (launch.idle_workers < workers.size()) {
      if (any_may_go_on(worker, Wake::Who::vague)) return leave({Wake::Who::vague});
      continue;
    }
    // All workers are here, so that their blocks may be looked at.
    const bool standstill = std::all_of(workers.begin(), workers.end(), [&](const Worker* w) {
      return w->round == launch.round && !any_may_go_on(*w, Wake::Who::changed);
    });
    if (!standstill) continue;
    if (launch.futile_rounds < most_futile_rounds) {
      ++launch.futile_rounds;
      ++launch.round;
    } else if (!worker.resident.empty()) {
      return leave({Wake::Who::nobody});
    }
  }
}

void begin_work(Worker& worker) {
  const std::scoped_lock lock(worker.launch->idle_mutex);
  worker.thread_hooks = &hooks::lane_hooks;
}

void end_work(Worker& worker) {
  const std::scoped_lock lock(worker.launch->idle_mutex);
  worker.thread_hooks = nullptr;
  std::erase(worker.launch->live_workers, &worker);
  worker.launch->workers_done.notify_one();
}

Bounds bounds_of_launch() {
  const char* wanted = std::getenv("SIMT_PATIENCE");
  const auto patience = std::uint64_t(std::clamp(wanted == nullptr ? 1 : std::atoi(wanted), 1, 1 << 20));
  return {.patience = patience,
          .logged_accesses = patience << 22,  // 96 MB
          .watched_accesses = patience << 28,
          .waits = patience << 21,
          .yields = patience << 12};
}

void require_bounded_log(Worker& w, Address pc) {
  const std::uint64_t most = w.launch->bounds.logged_accesses;
  if (w.lane->log.size() >= most) give_up_on(w, pc, most, "touches memory without a wait for others of its block");
}

void count_watched_access(Worker& w, Address pc) {
  w.lane->idle_turns = 0;
  const std::uint64_t most = w.launch->bounds.watched_accesses;
  if (++w.lane->watched_accesses <= most) return;
  const hooks::ScopedIgnore ignore;
  give_up_on(w, pc, most, "touches memory without a wait for others");
}

void leave_endless_waits(Worker& w, Address pc) { give_up_on(w, pc, w.launch->bounds.waits, "waits for others"); }

// --- The watchdog over untraced runs -----------------------------------------------------------------------------------------
// The turns of loops are counted in traced runs, from the start. That takes time, so in an untraced one it begins when a quarter of a
// second has passed in which a worker went from no lane to another. From then on that lane's accesses are counted, too.

void Worker::many_turns(Address pc) {
  constexpr std::uint32_t most_idle_turns = 1 << 26;
  if (!traced && !lane->watched) {
    lane->watched = looks_closely = true;
    return;
  }
  if (const std::size_t done = done_so_far(*this); done != lane->done_at_idle_turns) {
    lane->done_at_idle_turns = done;
    lane->idle_turns = 0;
  }
  if (++lane->idle_turns < most_idle_turns) return;
  const hooks::ScopedIgnore ignore;
  fail(*this, "deadlock", pc,
       fmt::format("goes round a loop, more than {} times, and touches no memory: it has not ended by itself, and no "
                   "other thread can end it",
                   most_idle_turns));
}

void watch_until_done(Launch& launch, std::vector<Worker>& workers) {
  std::vector<std::uint64_t> slices(workers.size(), 0);
  std::unique_lock lock(launch.idle_mutex);
  while (!launch.workers_done.wait_for(lock, std::chrono::milliseconds(250),
                                       [&] { return launch.live_workers.empty(); })) {
    for (std::size_t i = 0; i < workers.size(); ++i) {
      Worker& worker = workers[i];
      const std::uint64_t now = worker.slices.load(std::memory_order_relaxed);
      // If the worker goes on to another lane right now, that one's turns are counted, or none are; then the next look will tell.
      if (now == std::exchange(slices[i], now) && worker.thread_hooks != nullptr)
        std::atomic_ref(worker.thread_hooks->turns).store(&worker.watched_turns, std::memory_order_relaxed);
    }
  }
}

}  // namespace simt::execute
