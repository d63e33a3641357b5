// mbarriers: when a phase is over, what a thread that waits for one has learnt then, and every way to use them wrongly.
#include <fmt/format.h>

#include "common/sim/execute/execute.hpp"

namespace simt::execute {
namespace {

constexpr std::uint32_t most_arrivals = (1u << 20) - 1;
constexpr std::int64_t most_bytes = (1 << 20) - 1;
constexpr std::size_t size_of_mbarrier = 8;
// So often may the lanes of a block give up waiting, with no event in between, before they wait for ever.
constexpr int most_give_ups = 64;

// "mbarrier full[1] (address A)"
std::string described_mbarrier(const Worker& w, Address mbarrier) {
  return fmt::format("{} (address {:#x})", name_of_mbarrier(w, mbarrier), mbarrier);
}

[[noreturn]] void refuse_use(Worker& w, Address mbarrier, Address pc, std::string_view verb, const std::string& why) {
  fail(w, "mbarrier", pc, fmt::format("{} {}{}", verb, described_mbarrier(w, mbarrier), why));
}

// Whether an mbarrier may be there, in the shared memory of `owner`.
void require_place(Worker& w, const Block& owner, Address mbarrier, Address pc, const char* verb) {
  const auto refuse = [&](const char* why) { refuse_use(w, mbarrier, pc, verb, why); };
  if (owner_of(w, mbarrier) != &owner) refuse(", which is not in shared memory");
  if (mbarrier % size_of_mbarrier != 0) refuse(", which is not a multiple of 8");
  if (owner.ended) refuse(", which has ended: no cluster barrier keeps it");
  require_in_bounds(w, mbarrier, size_of_mbarrier, Op::store, pc);
}

// Ends the current phase if nothing is missing.
void end_phase(const Worker& w, Block& owner, Mbarrier& m) {
  if (m.missing > 0 || m.bytes != 0) return;
  ++m.phase;
  m.missing = m.count;
  if (w.traced) {
    m.over = order::joined(m.over, m.arrived);
    m.over = order::joined(m.over, owner.order.phase_over(m.number, m.epoch));
    m.arrived = {};
  }
  ++m.epoch;
}

std::string too_many_bytes(const Mbarrier& m) {
  return fmt::format(": {} bytes more have come in phase {} than were announced", -m.bytes, m.phase);
}

}  // namespace

std::string name_of_mbarrier(const Worker& w, Address mbarrier) {
  const std::string name = shared_name(w, mbarrier, size_of_mbarrier);
  return name.empty() ? "an mbarrier" : "mbarrier " + name;
}

Mbarrier& mbarrier_at(Worker& w, Block& owner, Address mbarrier, Address pc, const char* verb) {
  require_place(w, owner, mbarrier, pc, verb);
  const auto found = owner.mbarriers.find(mbarrier);
  if (found == owner.mbarriers.end()) refuse_use(w, mbarrier, pc, verb, ", which nobody has initialised");
  Mbarrier& m = found->second;
  if (w.traced && !w.block->order.ordered(m.initialised, w.lane->linear))
    report(w, "race", culprit(w, pc), m.init_pc, [&] {
      return fmt::format("{} {}, which thread {} initialised at {} with no barrier between that orders the two", verb,
                         described_mbarrier(w, mbarrier), thread_name(w, order::thread_of(m.initialised)),
                         line_of(m.init_pc));
    });
  return m;
}

void refuse_mbarrier(Worker& w, const Block& owner, std::size_t size, Touched t) {
  auto m = owner.mbarriers.upper_bound(t.address - size_of_mbarrier);
  for (; m != owner.mbarriers.end() && m->first < t.address + size; ++m)
    refuse_use(w, m->first, t.pc(), (t.by_copy ? "asynchronously " : "") + std::string(verb_of(t.op)),
               " as ordinary memory");
}

void complete_bytes(Worker& w, const BulkLoad& load) {
  Mbarrier& m = w.block->mbarriers.at(load.mbarrier);
  const auto refuse = [&](const std::string& why) {
    report(w, "bulk copy", load.by, 0, [&] {
      return fmt::format("copies {} bytes for {}{}", load.box.map.bytes_of_box(), described_mbarrier(w, load.mbarrier),
                         why);
    });
    w.block->abandoned = true;
  };
  if (load.phase != m.phase)
    return refuse(fmt::format(" in phase {}, which was over before they came: fewer bytes were announced than copied",
                              load.phase));
  ++w.block->events;
  m.bytes -= std::int64_t(load.box.map.bytes_of_box());
  if (m.bytes < -most_bytes || (m.missing == 0 && m.bytes < 0)) return refuse(too_many_bytes(m));
  end_phase(w, *w.block, m);
}

bool end_mbarrier_waits(Worker& w, std::span<Lane> lanes) {
  Block& block = *w.block;
  bool ended = false;
  for (Lane& lane : lanes) {
    if (!waits_for(lane, Wait::For::mbarrier)) continue;
    const Mbarrier& m = block.mbarriers.at(lane.wait.mbarrier);
    lane.wait.over = m.phase % 2 != std::uint64_t(lane.wait.number);
    // The instruction may give up. A try whose phase is not over does if something has happened since the last one, so
    // that a kernel which does not retry is found out.
    if (!lane.wait.over && std::exchange(lane.tried_at, block.events) == block.events) continue;
    ended = true;
    lane.state = LaneState::ready;
    if (!lane.wait.over) continue;
    lane.turns.reset();
    if (w.traced) block.order.learn(lane.linear, m.over);
  }
  return ended;
}

bool give_up_mbarrier_waits(Worker& w) {
  Block& block = *w.block;
  if (block.abandoned) return false;
  if (block.gave_up_at != block.events) block.gave_up = 0;
  block.gave_up_at = block.events;
  if (++block.gave_up > most_give_ups) return false;
  bool any = false;
  for (Lane& lane : block.lanes)
    if (waits_for(lane, Wait::For::mbarrier)) {
      lane.state = LaneState::ready;
      any = true;
    }
  return any;
}

std::string described_mbarrier_wait(const Worker& w, const Lane& lane) {
  const Mbarrier& m = w.block->mbarriers.at(lane.wait.mbarrier);
  const std::string ended = m.phase == 0   ? "no phase has ended"
                            : m.phase == 1 ? "phase 0 has ended"
                                           : fmt::format("phases 0 to {} have ended", m.phase - 1);
  return fmt::format("waits for phase {} (parity {}) of {}, of which {}: {} of {} arrivals and {} bytes are missing",
                     m.phase, lane.wait.number, described_mbarrier(w, lane.wait.mbarrier), ended, m.missing, m.count,
                     m.bytes);
}

}  // namespace simt::execute

// --- What kernels call -----------------------------------------------------------------------------------------------
namespace simt::device {

using namespace execute;

void mbarrier_init(void* mbarrier, std::uint32_t count) {
  const Call call(__builtin_return_address(0));
  const auto address = reinterpret_cast<Address>(mbarrier);
  const auto refuse = [&](const std::string& why) { refuse_use(call.w, address, call.pc, "initialises", why); };
  require_place(call.w, call.block, address, call.pc, "initialises");
  if (count == 0 || count > most_arrivals)
    refuse(fmt::format(" for {} arrivals; 1 to {} are possible", count, most_arrivals));
  auto& mbarriers = call.block.mbarriers;
  if (mbarriers.contains(address)) refuse(", which it is already");
  if (mbarriers.size() >= order::actors_of_a_kind)
    refuse(fmt::format(", and the model knows {} of a block at most", order::actors_of_a_kind));
  if (call.w.traced) touch_in_bulk(call.w, address, size_of_mbarrier, Op::store, call.pc);
  Mbarrier& m = mbarriers[address];
  m.number = std::uint32_t(mbarriers.size() - 1);
  m.count = m.missing = count;
  m.initialised = call.order.stamp_of(call.lane.linear);
  m.init_pc = call.pc;
}

void mbarrier_arrive(void* mbarrier, std::uint32_t bytes) {
  const Call call(__builtin_return_address(0));
  const auto address = reinterpret_cast<Address>(mbarrier);
  Worker& w = call.w;
  constexpr auto verb = "arrives at";
  Block* const other = owner_of(w, address);
  Block& owner = other == nullptr ? call.block : *other;
  const bool remote = &owner != &call.block;
  if (remote && w.traced) note_visit(w, owner, Op::atomic, call.pc);
  Mbarrier& m = mbarrier_at(w, owner, address, call.pc, verb);
  const auto refuse = [&](const std::string& why) { refuse_use(w, address, call.pc, verb, why); };
  ++owner.events;
  owner.has_news = owner.has_news || remote;
  m.bytes += bytes;
  if (m.bytes > most_bytes)
    refuse(fmt::format(": {} bytes are announced, and a phase takes {} at most", m.bytes, most_bytes));
  if (m.missing == 0)
    refuse(fmt::format(": all {} arrivals of phase {} were there, which lacks {} bytes", m.count, m.phase, m.bytes));
  if (w.traced) m.arrived = order::joined(m.arrived, call.order.arriving(call.lane.linear, !remote));
  --m.missing;
  if (m.missing == 0 && m.bytes < 0) refuse(too_many_bytes(m));
  end_phase(w, owner, m);
}

bool mbarrier_try_wait(void* mbarrier, std::uint32_t parity) {
  const Call call(__builtin_return_address(0));
  const auto address = reinterpret_cast<Address>(mbarrier);
  mbarrier_at(call.w, call.block, address, call.pc, "waits for");
  if (parity > 1)
    refuse_use(call.w, address, call.pc, "waits for", fmt::format(" with parity {}, which is 0 or 1", parity));
  wait_for({.what = Wait::For::mbarrier, .pc = call.pc, .number = int(parity), .mbarrier = address});
  return call.lane.wait.over;
}

}  // namespace simt::device
