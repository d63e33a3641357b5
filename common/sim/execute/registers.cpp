// setmaxnreg: warps give registers back to their block, and take what others gave. How many a thread has at launch is the compiler's
// choice, which the model does not know; but an SM has no more than so many. Who waits for more than these waits for ever.
#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "common/sim/execute/execute.hpp"

namespace simt::execute {
namespace {

constexpr int registers_of_sm = 64 * 1024, most_of_a_thread = 256, step = 8, warps_of_group = 4;

int warps_of(const Block& block) { return (int(block.lanes.size()) + 31) / 32; }

std::span<const Lane> lanes_of(const Block& block, int warp) {
  const std::size_t first = 32 * std::size_t(warp);
  return std::span(block.lanes).subspan(first, std::min<std::size_t>(32, block.lanes.size() - first));
}

const std::vector<RegisterChange>& changes_of(const Block& block, int warp) {
  return block.register_changes[std::size_t(warp)];
}

// Of a thread when the kernel begins, at most.
int most_at_launch(const Block& block) {
  return std::min(most_of_a_thread, registers_of_sm / (32 * warps_of(block)) / step * step);
}

int held_by(const Block& block, int warp) {
  const auto& changes = changes_of(block, warp);
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

// Whether two changes are by one instruction, as all warps of a group must make them. The compiler may have made several of one in
// the source, so it is the line that tells.
bool alike(const RegisterChange& a, const RegisterChange& b) {
  return a.more == b.more && a.registers == b.registers && on_one_line(a.pc, b.pc);
}

// Whether all lanes of a warp are at the same instruction.
bool whole_warp_asks(const Block& block, int warp, const RegisterChange& change) {
  const auto lanes = lanes_of(block, warp);
  return std::all_of(lanes.begin(), lanes.end(), [&](const Lane& lane) {
    return waits_for(lane, Wait::For::registers) && alike(lane.wait.registers, change);
  });
}

// The nth change of a warp, which it has made or, with all its lanes, asks for; nullptr: neither.
const RegisterChange* nth_change(const Block& block, int warp, std::size_t nth) {
  const auto& made = changes_of(block, warp);
  if (nth < made.size()) return &made[nth];
  const RegisterChange& asked = lanes_of(block, warp).front().wait.registers;
  return nth == made.size() && whole_warp_asks(block, warp, asked) ? &asked : nullptr;
}

// Whether lanes of one warp, or warps of one group in their nth change, ask for different ones; reports it.
bool differs(Worker& w, int warp) {
  Block& block = *w.block;
  const Lane& first = lanes_of(block, warp).front();
  const RegisterChange& change = first.wait.registers;
  const auto refuse = [&](const std::string& other, const RegisterChange& others) {
    report(w, "registers", {block, first, change.pc}, others.pc, [&] {
      return fmt::format("executes {}, and {} {} at {}: four warps execute one instruction", described(change), other,
                         described(others), line_of(others.pc));
    });
    block.abandoned = true;
    return true;
  };
  if (!waits_for(first, Wait::For::registers)) return false;
  for (const Lane& lane : lanes_of(block, warp))
    if (waits_for(lane, Wait::For::registers) && !alike(lane.wait.registers, change))
      return refuse("thread " + thread_name(lane), lane.wait.registers);
  if (!whole_warp_asks(block, warp, change)) return false;
  const int group = warp / warps_of_group * warps_of_group;
  for (int other = group; other < group + warps_of_group; ++other) {
    const RegisterChange* const others = nth_change(block, other, changes_of(block, warp).size());
    if (others != nullptr && !alike(*others, change)) return refuse(fmt::format("warp {}", other), *others);
  }
  return false;
}

}  // namespace

bool end_register_waits(Worker& w) {
  Block& block = *w.block;
  bool ended = false;
  for (int warp = 0; warp < int(block.register_changes.size()); ++warp) {
    const RegisterChange change = lanes_of(block, warp).front().wait.registers;
    if (differs(w, warp)) return false;
    if (!whole_warp_asks(block, warp, change) || lacking(block, warp, change) > free_of(block)) continue;
    block.register_changes[std::size_t(warp)].push_back(change);
    ++block.happenings;
    for (const Lane& lane : lanes_of(block, warp)) resume(block.lanes[std::size_t(lane.linear)]);
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
    const auto& changes = changes_of(block, warp);
    const int group = warp / warps_of_group * warps_of_group;
    for (int other = group; other < std::min(group + warps_of_group, warps_of(block)); ++other) {
      const std::size_t nth = changes_of(block, other).size();
      if (nth >= changes.size()) continue;
      report(w, "registers", {block, lanes_of(block, warp).front(), changes[nth].pc}, 1, [&] {
        return fmt::format("executes {} in warp {}, and warp {} of the same four has ended without",
                           described(changes[nth]), warp, other);
      });
      return;
    }
  }
}

}  // namespace simt::execute

void simt::device::set_registers(int registers, bool more) {
  using namespace execute;
  const Call call(__builtin_return_address(0));
  Block& block = call.block;
  const RegisterChange change{more, registers, call.pc};
  block.register_changes.resize(std::size_t(warps_of(block)));
  const int warp = call.lane.linear / 32, warps = warps_of(block);
  if ((warp / warps_of_group + 1) * warps_of_group > warps)
    fail(call.w, "registers", call.pc,
         fmt::format("executes {} in warp {}, and four warps must, from a multiple of four on: the block has {}",
                     described(change), warp, warps));
  // How many a warp has before its first change is not known, only how many at most.
  const bool first = changes_of(block, warp).empty();
  const int held = held_by(block, warp);
  if (more ? !first && registers < held : registers > held)
    fail(call.w, "registers", call.pc,
         fmt::format("executes {} with {} registers{}: {} would be {} of them", described(change), held,
                     first ? fmt::format(" at most, as each of {} threads has at launch", block.lanes.size()) : "",
                     registers, more ? "fewer" : "more"));
  wait_for({.what = Wait::For::registers, .pc = call.pc, .registers = change});
}
