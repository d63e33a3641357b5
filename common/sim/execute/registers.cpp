// setmaxnreg: warps release registers to their block, and take those that others released. How many a thread has at
// launch is the compiler's choice, which the model does not know, but an SM limits the total. A warp that waits for
// more than that waits forever. The four warps of a warpgroup execute the same instructions in the same order.
#include <fmt/format.h>

#include "common/sim/execute/execute.hpp"

namespace simt::execute {
namespace {

constexpr int registers_of_sm = 64 * 1024, most_of_a_thread = 256, step = 8, warps_of_group = 4;

// The most registers that a thread can have when the kernel starts.
int most_at_launch(const Block& block) {
  return std::min(most_of_a_thread, registers_of_sm / (32 * int(warps_of(block))) / step * step);
}

// The registers that no warp of the block has.
int free_of(const Block& block) {
  int free = 0;
  for (const int held : block.registers) free += 32 * (most_at_launch(block) - held);
  return free;
}

// How many registers the lane's warp lacks for the change at which the lane waits.
int lacking(const Block& block, const Lane& lane) {
  const RegisterChange& change = lane.wait.registers;
  return change.more ? 32 * (change.registers - block.registers[std::size_t(lane.linear) / 32]) : 0;
}

bool whole_warp_asks(const Block& block, std::size_t warp) {
  return std::ranges::all_of(lanes_of(block, warp), [](const Lane& l) { return waits_for(l, Wait::For::registers); });
}

std::string described(const RegisterChange& change) {
  return fmt::format("setmaxnreg.{} {}", change.more ? "inc" : "dec", change.registers);
}

}  // namespace

bool end_register_waits(Worker& w) {
  Block& block = *w.block;
  bool ended = false;
  for (std::size_t warp = 0; warp < block.registers.size(); ++warp) {
    const std::span<Lane> lanes = lanes_of(block, warp);
    if (!whole_warp_asks(block, warp) || lacking(block, lanes.front()) > free_of(block)) continue;
    block.registers[warp] = lanes.front().wait.registers.registers;
    ++block.events;
    std::ranges::for_each(lanes, resume);
    ended = true;
  }
  return ended;
}

std::string described_register_wait(const Block& block, const Lane& lane) {
  const std::string what = described(lane.wait.registers);
  if (!whole_warp_asks(block, std::size_t(lane.linear) / 32))
    return fmt::format("waits at {} for the other lanes of its warp", what);
  return fmt::format("waits at {}: its warp needs {} more registers, and {} of at most {} of its block are free", what,
                     lacking(block, lane), free_of(block), 32 * int(warps_of(block)) * most_at_launch(block));
}

void require_equal_register_changes(Worker& w) {
  const Block& block = *w.block;
  for (const Lane& lane : block.lanes) {
    if (block.register_changes.empty()) return;
    const auto& changes = block.register_changes[std::size_t(lane.linear) / 32 / warps_of_group];
    if (lane.register_changes == changes.size()) continue;
    const RegisterChange& change = changes[lane.register_changes];
    return report(w, "registers", {block, block.lanes[std::size_t(change.thread)], change.pc}, 1, [&] {
      return fmt::format("executes {} in warp {}, but warp {} of the same warpgroup has ended without it",
                         described(change), change.thread / 32, lane.linear / 32);
    });
  }
}

}  // namespace simt::execute

void simt::device::set_registers(int registers, bool more) {
  using namespace execute;
  const Call call(__builtin_return_address(0));
  Block& block = call.block;
  Lane& lane = call.lane;
  const auto warp = std::size_t(lane.linear) / 32, group = warp / warps_of_group, warps = warps_of(block);
  const RegisterChange change{more, registers, lane.linear, call.pc};
  const auto refuse = [&](const std::string& why) {
    fail(call.w, "registers", call.pc, fmt::format("executes {}{}", described(change), why));
  };
  if ((group + 1) * warps_of_group > warps)
    refuse(fmt::format(" in warp {}, but a whole warpgroup of four warps must: the block has {}", warp, warps));
  block.registers.resize(warps, most_at_launch(block));
  block.register_changes.resize((warps + warps_of_group - 1) / warps_of_group);
  auto& changes = block.register_changes[group];
  if (lane.register_changes == changes.size()) changes.push_back(change);
  // The compiler may have duplicated an instruction of the source, so lines are compared.
  const RegisterChange& others = changes[lane.register_changes++];
  if (others.more != more || others.registers != registers || !on_one_line(others.pc, call.pc))
    refuse(fmt::format(", and thread {} {} at {}: the warps of a warpgroup must execute the same instruction",
                       thread_name(call.w, std::size_t(others.thread)), described(others), line_of(others.pc)));
  // How many a warp has before its first change is not known, only the maximum.
  const bool first = lane.register_changes == 1;
  const int held = block.registers[warp];
  if (more ? !first && registers < held : registers > held)
    refuse(fmt::format(" with {} registers{}: {} would be {} of them", held,
                       first ? fmt::format(" at most, as each of {} threads has at launch", block.lanes.size()) : "",
                       registers, more ? "fewer" : "more"));
  wait_for({.what = Wait::For::registers, .pc = call.pc, .registers = change});
}
