// What kernels call: the functions that common/cuda/vocabulary.hpp and ptx.hpp declare, as far as they are waits, copies or fences.
#include <fmt/format.h>

#include <algorithm>

#include "common/sim/execute/arrays.hpp"
#include "common/sim/execute/execute.hpp"
#include "common/sim/execute/touch.hpp"

namespace simt::device {

using execute::running;

uint3 thread_index() { return running->lane->thread; }
uint3 block_index() { return running->block->index; }
dim3 block_extent() { return running->launch->block; }
dim3 grid_extent() { return running->launch->grid; }

void* shared(const SharedDeclaration& declaration) noexcept {
  const execute::Worker* const w = running;
  if (w == nullptr) return nullptr;  // a function of the device that the host calls: it may not use it
  return reinterpret_cast<void*>(w->shared_begin + w->shared.offset_of[declaration.number]);
}

void* dynamic_shared(const char* name) {
  execute::name_dynamic_shared(*running, name);
  return execute::dynamic_shared(*running);
}

void block_barrier() { execute::wait_for_block(execute::Address(__builtin_return_address(0))); }

void collective(unsigned mask, Collective function, Slot& mine) {
  execute::wait_for({.what = execute::Wait::For::collective,
                     .pc = execute::Address(__builtin_return_address(0)),
                     .mask = mask,
                     .function = function,
                     .slot = &mine});
}

unsigned active_lanes() {
  Slot mine;
  execute::wait_for({.what = execute::Wait::For::collective,
                     .pc = execute::Address(__builtin_return_address(0)),
                     .mask = 0,
                     .function = meet_active,
                     .slot = &mine});
  return unsigned(mine.result);
}

int block_vote(bool predicate) {
  execute::Block& block = *running->block;
  execute::Block::Votes& votes = block.votes[block.interval % 2];
  if (votes.interval != block.interval) votes = {block.interval, 0};
  votes.count += predicate;
  execute::wait_for_block(execute::Address(__builtin_return_address(0)));
  return votes.count;
}

void named_barrier(int number, int threads) {
  const announce::Unheard unheard;
  const auto pc = execute::Address(__builtin_return_address(0));
  execute::come_to_barrier(*running, number, threads, pc);
  execute::wait_for({.what = execute::Wait::For::named_barrier, .pc = pc, .barrier = number, .expected = threads});
}

void arrive_at_named_barrier(int number, int threads) {
  const announce::Unheard unheard;
  execute::settle(*running);
  const auto pc = execute::Address(__builtin_return_address(0));
  execute::NamedBarrier& barrier = execute::come_to_barrier(*running, number, threads, pc);
  ++barrier.arrived;
  if (running->traced) running->block->order.arrive(running->lane->linear, barrier.arrivals);
}

void fence(bool block_only) {
  const announce::Unheard unheard;
  execute::settle(*running);
  if (running->traced) running->block->order.fence(running->lane->linear, block_only);
}

void pause() {
  const announce::Unheard unheard;
  execute::settle(*running);
  execute::let_others_run(*running, execute::Address(__builtin_return_address(0)));
}

void trap() {
  const announce::Unheard unheard;
  execute::Worker& w = *running;
  execute::settle(w);
  const auto pc = execute::Address(__builtin_return_address(0));
  execute::report(w, execute::Mistake::trap, pc, 0,
                  [&] { return fmt::format("trap: {} executes __trap()", execute::where(w, pc)); });
  execute::abandon_block(w);
}

void changed_nothing() { running->lane->in_vain = true; }

void async_copy(void* to, const void* from, std::size_t bytes) {
  const announce::Unheard unheard;
  execute::start_copy(*running, to, from, bytes, execute::Address(__builtin_return_address(0)));
}

void commit_async_copies() {
  const announce::Unheard unheard;
  running->block->order.commit_copies(running->lane->linear);
}

void wait_for_async_copies(int pending) {
  const announce::Unheard unheard;
  execute::settle(*running);
  order::BlockOrder& order = running->block->order;
  order.wait_for_copies(running->lane->linear, order::Epoch(pending));
  const order::ThreadClock& clock = order.clock(running->lane->linear);
  const order::Epoch over = clock.over[order::kind_of(order::copies_of)];  // the first group that is not
  execute::deliver_copies(*running->lane, over);
  const std::size_t under_way = clock.copies_group - std::max<order::Epoch>(over, 1);
  auto& waits = running->block->waits_for_copies;
  waits.resize(std::max(waits.size(), under_way + 1));
  ++waits[under_way];
}

}  // namespace simt::device
