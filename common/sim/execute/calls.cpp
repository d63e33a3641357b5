// Device functions: those of common/cuda/words/vocabulary.hpp and ptx.hpp for waits, asynchronous copies and fences, and
// the collective operations of a warp.
#include <fmt/format.h>

#include "common/sim/execute/execute.hpp"

namespace simt::device {

using namespace execute;

uint3 thread_index() { return running->lane->thread; }
uint3 block_index() { return running->block->index; }
dim3 block_extent() { return running->launch->counts.block; }
dim3 grid_extent() { return running->launch->counts.grid; }

void* shared(const SharedDeclaration& declaration) noexcept {
  const Worker* const w = running;
  if (w == nullptr) return nullptr;  // host code calls a __device__ function, which must not use the result
  return reinterpret_cast<void*>(w->shared_begin + w->shared.offset_of[declaration.number]);
}

// --- Barriers of a block ---------------------------------------------------------------------------------------------
namespace {
// The running lane arrives at a barrier for `threads` threads, a number that must agree with earlier arrivals. The last
// lane of a block also counts for the missing lanes of its warp: a barrier counts whole warps.
[[gnu::always_inline]] inline NamedBarrier& come_to_barrier(const Call& call, int number, int threads) {
  const auto refuse = [&](const std::string& why) {
    fail(call.w, "barrier", call.pc, fmt::format("comes to barrier {} for {} threads{}", number, threads, why));
  };
  if (number < 0 || number > 15) refuse(": a block has barriers 0 to 15");
  if (threads <= 0 || threads % 32 != 0) refuse(": the number of threads must be a positive multiple of 32");
  NamedBarrier& barrier = call.block.barriers[std::size_t(number)];
  if (barrier.first_pc == 0) barrier = {.expected = threads, .first = call.lane.linear, .first_pc = call.pc};
  const int size = int(call.block.lanes.size());
  barrier.arrived += 1 + (call.lane.linear + 1 == size ? -size & 31 : 0);
  if (barrier.expected != threads || barrier.arrived > threads)
    refuse(fmt::format(", and thread {} came to it for {} at {}{}", thread_name(call.w, std::size_t(barrier.first)),
                       barrier.expected, line_of(barrier.first_pc),
                       barrier.arrived > threads ? ", which is complete: groups that may overlap need a barrier each"
                       : number == 0             ? "; __syncthreads is barrier 0, for all threads"
                                                 : ""));
  return barrier;
}

void wait_for_block(const void* return_address, int vote) {
  const Call call(return_address);
  come_to_barrier(call, 0, 32 * int(warps_of(call.block)));
  wait_for({.what = Wait::For::block_barrier, .pc = call.pc, .number = vote});
}
}  // namespace

void block_barrier() { wait_for_block(__builtin_return_address(0), 0); }

int block_vote(bool predicate) {
  wait_for_block(__builtin_return_address(0), predicate);
  return running->block->votes;
}

void named_barrier(int number, int threads) {
  const Call call(__builtin_return_address(0));
  come_to_barrier(call, number, threads);
  const bool of_all = number == 0 && threads == 32 * int(warps_of(call.block));
  wait_for({.what = of_all ? Wait::For::block_barrier : Wait::For::named_barrier, .pc = call.pc, .number = number});
}

void arrive_at_named_barrier(int number, int threads) {
  const Call call(__builtin_return_address(0));
  NamedBarrier& barrier = come_to_barrier(call, number, threads);
  if (call.w.traced) call.order.arrive(call.lane.linear, barrier.arrivals);
}

// --- Fences, pauses, asynchronous copies -----------------------------------------------------------------------------
void fence(bool block_only) {
  const Call call(__builtin_return_address(0));
  if (call.w.traced) call.order.fence(call.lane.linear, block_only);
}

void fence_mbarrier_init() {
  const Call call(__builtin_return_address(0));
  if (call.w.traced) call.order.fence_inits(call.lane.linear);
}

void fence_proxy_async(bool global_as_well) {
  const Call call(__builtin_return_address(0));
  if (call.w.traced) call.order.fence_proxy(call.lane.linear, global_as_well);
}

void pause() {
  const Call call(__builtin_return_address(0));
  const Lane& lane = call.lane;
  const Look* const last = lane.look_count > 0 ? &lane.looks[lane.look_count - 1u] : nullptr;
  const bool polls = last != nullptr && last->address == lane.last_address && last->pc == lane.last_pc;
  sleep_while_polling(call.w, call.pc, polls ? 1 : 0);
}

void trap() {
  const Call call(__builtin_return_address(0));
  fail(call.w, "trap", call.pc, "executes __trap()");
}

// Called by a failing assert(). On the host it ends the program, as the C library's own does.
extern "C" [[noreturn]] void __assert(const char* expression, const char* file, int line);
extern "C" void __assert_fail(const char* expression, const char* file, unsigned line, const char*) noexcept {
  if (hooks::lane_hooks.listener == nullptr) __assert(expression, file, int(line));
  const Call call(__builtin_return_address(0));
  fail(call.w, "assert", call.pc, fmt::format("fails assert({})", expression));
}

void changed_nothing() {
  running->lane->changed_nothing = true;
  running->lane->wrote = 0;
}

void commit_async_copies() {
  const Call call(__builtin_return_address(0));
  call.order.commit(call.lane.linear, order::copies_of);
}

void wait_for_async_copies(int pending) {
  const Call call(__builtin_return_address(0));
  call.order.wait_for_groups(call.lane.linear, order::copies_of, order::Epoch(pending));
  order::ThreadClock& clock = call.order.clock(call.lane.linear);
  const order::Epoch over = clock.over[order::kind_of(order::copies_of)];  // the first group that is not over
  deliver_copies(call.lane, over);
  const std::size_t in_flight = clock.group(order::copies_of) - std::max<order::Epoch>(over, 1);
  auto& waits = call.w.waits_for_copies;
  waits.resize(std::max(waits.size(), in_flight + 1));
  ++waits[in_flight];
}

// --- Collective operations: each function reads the slots of the lanes of a mask and writes their results ------------
void collective(unsigned mask, Collective function, Slot& mine) {
  const auto pc = Address(__builtin_return_address(0));
  wait_for({.what = Wait::For::collective, .pc = pc, .mask = mask, .function = function, .slot = &mine});
}

unsigned active_lanes() {
  Slot mine;
  const auto pc = Address(__builtin_return_address(0));
  wait_for({.what = Wait::For::collective, .pc = pc, .mask = 0, .function = active_mask, .slot = &mine});
  return unsigned(mine.result);
}

namespace {

// Calls f(lane, slot) for each lane of a mask.
template <class F>
void for_each(unsigned mask, Slot* const* slots, F f) {
  for (int lane = 0; lane < 32; ++lane)
    if (mask >> lane & 1u) f(lane, *slots[lane]);
}

// source(own, first of the segment, end of the segment, operand) returns the lane whose value is taken.
template <class Source>
void take_from(unsigned mask, Slot* const* slots, Source source) {
  for_each(mask, slots, [&](int own, Slot& slot) {
    const int first = own / slot.width * slot.width, from = source(own, first, first + slot.width, slot.operand);
    if (from < 32 && (mask >> from & 1u))
      slot.result = slots[from]->value;
    else
      slot.missing_lane = from;
  });
}

}  // namespace

void sync(unsigned, Slot* const*) {}

#define SIMT_SHUFFLE(name, expression)                                                                          \
  void name(unsigned mask, Slot* const* slots) {                                                                \
    take_from(mask, slots,                                                                                      \
              []([[maybe_unused]] int own, [[maybe_unused]] int first, [[maybe_unused]] int end, int operand) { \
                return expression;                                                                              \
              });                                                                                               \
  }
SIMT_SHUFFLE(shuffle, first + (operand & (end - first - 1)))
SIMT_SHUFFLE(shuffle_up, own - operand >= first ? own - operand : own)
SIMT_SHUFFLE(shuffle_down, own + operand < end ? own + operand : own)
SIMT_SHUFFLE(shuffle_xor, (own ^ operand) < end ? own ^ operand : own)

void ballot(unsigned mask, Slot* const* slots) {
  unsigned votes = 0;
  for_each(mask, slots, [&](int lane, const Slot& slot) { votes |= unsigned(slot.value != 0) << lane; });
  for_each(mask, slots, [&](int, Slot& slot) { slot.result = votes; });
}
void match_any(unsigned mask, Slot* const* slots) {
  for_each(mask, slots, [&](int, Slot& own) {
    for_each(mask, slots, [&](int lane, const Slot& other) {
      if (other.value == own.value) own.result |= 1u << lane;
    });
  });
}
void active_mask(unsigned mask, Slot* const* slots) {
  for_each(mask, slots, [&](int, Slot& slot) { slot.result = mask; });
}

}  // namespace simt::device
