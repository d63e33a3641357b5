// setmaxnreg: warps give registers back to their block, and take what others gave. How many a thread has at launch is the compiler's
// choice, which the model does not know; but an SM has no more than so many. Who waits for more than these waits for ever.
#include <fmt/format.h>

#include <algorithm>

#include "common/sim/execute/execute.hpp"
#include "common/sim/execute/touch.hpp"

namespace simt::execute {
namespace {

constexpr int registers_of_sm = 64 * 1024, most_of_a_thread = 256, step = 8, warps_of_group = 4;

int warps_of(const Block& block) { return (int(block.lanes.size()) + 31) / 32; }

// Of a thread when the kernel begins, at most.
int most_at_launch(const Block& block) {
  return std::min(most_of_a_thread, registers_of_sm / (32 * warps_of(block)) / step * step);
}

int held_by(const Block& block, int warp) {
  const auto& changes = block.register_changes[std::size_t(warp)];
  return changes.empty() ? most_at_launch(block) : changes.back().registers;
}

// Registers that no warp of the block has.
int free_of(const Block& block) {
  int free = 0;
  for (int warp = 0; warp < warps_of(block); ++warp) free += 32 * (most_at_launch(block) - held_by(block, warp));
  return free;
}

int lacking(const Block& block, int warp, const RegisterChange& change) {
  return change.more ? 32 * (change.registers - held_by(block, warp)) : 0;
}

std::string described(const RegisterChange& change) {
  return fmt::format("setmaxnreg.{} {}", change.more ? "inc" : "dec", change.registers);
}

bool in_one_line(Address a, Address b) {
  const Place here = announce::place_of(a), there = announce::place_of(b);
  return here.file == there.file && here.line == there.line;
}

// Whether two changes are by one instruction, as all warps of a group must make them. The compiler may have made several of one in
// the source, so it is the line that tells.
bool alike(const RegisterChange& a, const RegisterChange& b) {
  return a.more == b.more && a.registers == b.registers && (a.pc == b.pc || in_one_line(a.pc, b.pc));
}

bool waits_for_registers(const Lane& lane) {
  return lane.state == LaneState::waiting && lane.wait.what == Wait::For::registers;
}

// Whether all lanes of a warp are at the same instruction.
bool whole_warp_asks(const Block& block, int warp, const RegisterChange& change) {
  const auto begin = block.lanes.begin() + 32 * warp,
             end = block.lanes.begin() + std::min(32 * (warp + 1), int(block.lanes.size()));
  return std::all_of(begin, end,
                     [&](const Lane& lane) { return waits_for_registers(lane) && alike(lane.wait.registers, change); });
}

[[noreturn]] void refuse_use(Worker& w, Address pc, const std::string& why) {
  report(w, Mistake::registers, pc, 0, [&] { return fmt::format("registers: {} {}", where(w, pc), why); });
  abandon_block(w);
}

// The change of a warp with that number, which it has made or, with all its lanes, asks for; nullptr: neither.
const RegisterChange* nth_change(const Block& block, int warp, std::size_t nth) {
  const auto& made = block.register_changes[std::size_t(warp)];
  if (nth < made.size()) return &made[nth];
  const RegisterChange& asked = block.lanes[std::size_t(32 * warp)].wait.registers;
  return nth == made.size() && whole_warp_asks(block, warp, asked) ? &asked : nullptr;
}

// Tells of two changes that ought to be one.
void report_unlike(Worker& w, const Lane& one, const RegisterChange& change, const std::string& other,
                   const RegisterChange& others) {
  report(w, Mistake::registers, change.pc, others.pc, [&] {
    return fmt::format("registers: {} executes {}, and {} {} at {}: four warps execute one instruction",
                       where(w, one, change.pc), described(change), other, described(others), line_of(others.pc));
  });
  w.block->abandoned = true;
}

// Whether another warp of the group makes a different change as its one of this number; tells of it.
bool differs(Worker& w, int warp, const RegisterChange& change) {
  const Block& block = *w.block;
  const int first = warp / warps_of_group * warps_of_group;
  for (int other = first; other < first + warps_of_group; ++other) {
    const auto* const others = nth_change(block, other, block.register_changes[std::size_t(warp)].size());
    if (others == nullptr || alike(*others, change)) continue;
    report_unlike(w, block.lanes[std::size_t(32 * warp)], change, fmt::format("warp {}", other), *others);
    return true;
  }
  return false;
}

// Whether lanes of one warp ask for different changes; tells of it.
bool lanes_differ(Worker& w, int warp) {
  const auto& lanes = w.block->lanes;
  const Lane& first = lanes[std::size_t(32 * warp)];
  if (!waits_for_registers(first)) return false;
  const auto begin = lanes.begin() + 32 * warp, end = lanes.begin() + std::min(32 * (warp + 1), int(lanes.size()));
  const auto other = std::find_if(begin, end, [&](const Lane& lane) {
    return waits_for_registers(lane) && !alike(lane.wait.registers, first.wait.registers);
  });
  if (other == end) return false;
  report_unlike(w, first, first.wait.registers, fmt::format("thread {}", thread_name(w, std::uint64_t(other->linear))),
                other->wait.registers);
  return true;
}

}  // namespace

bool end_register_waits(Worker& w) {
  Block& block = *w.block;
  bool ended = false;
  for (int warp = 0; warp < int(block.register_changes.size()); ++warp) {
    Lane* const lanes = &block.lanes[std::size_t(32 * warp)];
    const RegisterChange change = lanes->wait.registers;
    if (lanes_differ(w, warp)) return false;
    if (!whole_warp_asks(block, warp, change)) continue;
    if (differs(w, warp, change)) return false;
    if (lacking(block, warp, change) > free_of(block)) continue;
    block.register_changes[std::size_t(warp)].push_back(change);
    ++block.happenings;
    for (int lane = 0; lane < std::min(32, int(block.lanes.size()) - 32 * warp); ++lane) {
      lanes[lane].state = LaneState::ready;
      lanes[lane].turns.reset();
    }
    ended = true;
  }
  return ended;
}

std::string described_register_wait(const Worker& w, const Lane& lane) {
  const Block& block = *w.block;
  const RegisterChange& change = lane.wait.registers;
  const int warp = lane.linear / 32;
  if (!whole_warp_asks(block, warp, change))
    return fmt::format("waits at {} for the other lanes of its warp", described(change));
  return fmt::format(
      "waits at {}: its warp wants {} registers more, and {} of the {} that its block has at most are free",
      described(change), lacking(block, warp, change), free_of(block), 32 * warps_of(block) * most_at_launch(block));
}

void require_changed_alike(Worker& w) {
  const Block& block = *w.block;
  for (int warp = 0; warp < int(block.register_changes.size()); ++warp) {
    const auto& changes = block.register_changes[std::size_t(warp)];
    const int first = warp / warps_of_group * warps_of_group;
    for (int other = first; other < std::min(first + warps_of_group, warps_of(block)); ++other) {
      const std::size_t nth = block.register_changes[std::size_t(other)].size();
      if (nth >= changes.size()) continue;
      const RegisterChange& change = changes[nth];
      report(w, Mistake::registers, change.pc, 1, [&] {
        return fmt::format("registers: {} executes {} in warp {}, and warp {} of the same four has ended without",
                           where(w, block, block.lanes[std::size_t(32 * warp)], change.pc), described(change), warp,
                           other);
      });
      return;
    }
  }
}

}  // namespace simt::execute

// --- What kernels call -----------------------------------------------------------------------------------------------------
namespace simt::device {

void set_registers(int registers, bool more) {
  const announce::Unheard unheard;
  execute::Worker& w = *execute::running;
  execute::Block& block = *w.block;
  const execute::RegisterChange change{more, registers, execute::Address(__builtin_return_address(0))};
  execute::settle(w);
  block.register_changes.resize(std::size_t(execute::warps_of(block)));
  const int warp = w.lane->linear / 32;
  if (const int warps = execute::warps_of(block);
      (warp / execute::warps_of_group + 1) * execute::warps_of_group > warps)
    execute::refuse_use(
        w, change.pc,
        fmt::format("executes {} in warp {}, and four warps must, from a multiple of four on: the block has {}",
                    execute::described(change), warp, warps));
  // How many a warp has before its first change is not known, only how many at most.
  const bool first = block.register_changes[std::size_t(warp)].empty();
  const int held = execute::held_by(block, warp);
  if (more ? !first && registers < held : registers > held)
    execute::refuse_use(
        w, change.pc,
        fmt::format("executes {} with {} registers{}: {} would be {} of them", execute::described(change), held,
                    first ? fmt::format(" at most, as each of {} threads has at launch", block.lanes.size()) : "",
                    registers, more ? "fewer" : "more"));
  execute::wait_for({.what = execute::Wait::For::registers, .pc = change.pc, .registers = change});
}

}  // namespace simt::device
