// The text of a finding: kernel, line, block and thread, the element, and the array nearest to an address out of
// bounds; and for a deadlock, which threads wait where for what, and what is missing.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <regex>

#include "common/sim/execute/execute.hpp"

namespace simt {

const char* name_of(Op op) {
  constexpr const char* names[] = {"load", "store", "atomic", "bulk load", "bulk store"};
  return names[std::size_t(op)];
}
const char* name_of(Space space) {
  constexpr const char* names[] = {"global", "shared", "distributed", "constant"};
  return names[std::size_t(space)];
}
std::string counted(std::uint64_t number, const char* what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

}  // namespace simt

namespace simt::execute {
namespace {

// A finding without the parts that differ between two threads, or two copies of an instruction, with the same mistake.
std::string without_who_and_where(const std::string& finding) {
  static const std::regex varying(R"(\(\d+,\d+,\d+\)|\[-?\d+\]|0x[0-9a-f]+|\bindex -?\d+| from its byte \d+ on)");
  return std::regex_replace(finding, varying, "");
}

// "thread (3,1,0)", or the copy that made an access.
std::string actor_name(const Worker& w, order::Stamp by) {
  const std::uint32_t number = order::thread_of(by), kind = order::actor_of(by) - number;
  if (kind == order::mbarrier_of) {
    for (const auto& [address, mbarrier] : w.block->mbarriers)
      if (mbarrier.number == number && order::block_of(by) == w.block->serial)
        return "a copy for " + name_of_mbarrier(w, address);
    return "a copy for an mbarrier";
  }
  const char* const copy = kind == order::copies_of ? "an asynchronous copy of "
                           : kind == order::bulk_of ? "a TMA copy of "
                                                    : "";
  return fmt::format("{}thread {}", copy, thread_name(w, number));
}

// "[1][3]", the element at a byte offset into an array. The first index may be below 0, or beyond its extent.
std::string indices(const hooks::Shape& shape, std::ptrdiff_t offset) {
  const auto divided = [](std::ptrdiff_t number, std::size_t by) {
    return (number < 0 ? number - std::ptrdiff_t(by) + 1 : number) / std::ptrdiff_t(by);
  };
  std::string text;
  std::ptrdiff_t index = divided(offset, shape.element);
  for (std::size_t i = shape.extents.size(); i-- > 1;) {
    const std::ptrdiff_t above = divided(index, shape.extents[i]);
    text.insert(0, fmt::format("[{}]", index - above * std::ptrdiff_t(shape.extents[i])));
    index = above;
  }
  return fmt::format("[{}]{}", index, text);
}

// "up to 4 bytes past the end of out: this is out[32], and it has 32 elements", or "... before the start of ...": for
// an access to `size` bytes, `offset` bytes after the start of an array.
std::string beside(const std::string& name, const hooks::Shape& shape, std::size_t bytes, std::ptrdiff_t offset,
                   std::size_t size) {
  const std::ptrdiff_t past = offset + std::ptrdiff_t(size) - std::ptrdiff_t(bytes);
  const std::string text = past > 0 ? fmt::format("up to {} bytes past the end of {}", past, name)
                                    : fmt::format("{} bytes before the start of {}", -offset, name);
  if (shape.element == 0) return text;
  // For an access that straddles the end: the first element after it.
  return fmt::format("{}: this is {}{}, and it {}", text, name,
                     indices(shape, past > 0 ? std::max(offset, std::ptrdiff_t(bytes)) : offset),
                     shape.extents.size() > 1 ? fmt::format("is [{}]", fmt::join(shape.extents, "]["))
                                              : fmt::format("has {} elements", bytes / shape.element));
}
std::string beside(const Region& region, Address address, std::size_t size) {
  const hooks::Shape matrix{region.element, {region.rows, region.ld}}, words{region.element, {}};
  const Address first = region.begin + region.first * region.element;
  return beside(region.name,
                region.rows != 0               ? matrix
                : region.declared.element != 0 ? region.declared
                                               : words,
                region.end - first, std::ptrdiff_t(address - first), size);
}

// An address in a variable of the program is described by an array within the first distance. An address farther than
// the second from every array is probably not a wrong index.
constexpr Address near_bytes = 4096, far_bytes = Address(16) << 20;

// The address described by the closest array of global memory within a distance, or "".
std::string beside_which(const Worker& w, Address address, std::size_t size, Address farthest) {
  const Region* closest = nullptr;
  for (const Region* region : w.launch->arrays) {
    const Address distance = address + size > region->end ? address + size - region->end : region->begin - address;
    if (distance < farthest) {
      closest = region;
      farthest = distance;
    }
    // An unsigned index that went below 0: the address is 2^32 elements too high.
    const std::size_t element = region->declared.element != 0 ? region->declared.element : region->element;
    if (region->begin + (Address(element) << 32) - address <= near_bytes)
      return fmt::format("an unsigned index went below 0: this is {}{}", region->name,
                         indices({element, {}}, std::ptrdiff_t(address - region->begin)));
  }
  return closest == nullptr ? "" : beside(*closest, address, size);
}

// The same for `size` bytes at `offset` in shared memory outside of all variables, by the last variable before them.
std::string beside_which_variable(const Worker& w, std::ptrdiff_t offset, std::size_t size) {
  const PlacedVariable* v = nullptr;
  for (const PlacedVariable& candidate : w.launch->variables)
    if ((candidate.size > 0 || candidate.is_dynamic) && (v == nullptr || std::ptrdiff_t(candidate.offset) <= offset))
      v = &candidate;
  const std::ptrdiff_t from_start = offset - std::ptrdiff_t(v->offset);
  const std::string where = from_start < 0 ? "outside every __shared__ array of this kernel, " : "";
  if (!v->is_dynamic) return where + beside(v->name, v->shape, v->size, from_start, size);
  if (v->size > 0)
    return fmt::format("{}{}, to which the launch gives {} bytes", where,
                       beside(v->name, {size, {}}, v->size, from_start, size), v->size);
  return fmt::format(
      "{}but the launch gives {} no bytes: the size of extern __shared__ memory is the third argument between <<< and "
      ">>>",
      where, v->name);
}

// Reports an access to shared memory outside every variable of a block.
[[noreturn]] void report_wild_shared_access(Worker& w, const Block& owner, std::size_t size, Touched t) {
  fail(w, "out of bounds", t.pc(),
       fmt::format("{} {} bytes of shared memory{} at address {:#x}, {}", verb_of(t.op), size,
                   &owner == w.block ? "" : of_block(owner), t.address,
                   beside_which_variable(w, std::ptrdiff_t(t.address - owner.shared_begin()), size)));
}

// Reports an access to the shared memory of a block that is not accessible.
[[noreturn]] void report_foreign_access(Worker& w, std::size_t size, Touched t, const Arena& arena) {
  const Block* const owner = owner_of(w, t.address);
  if (owner != nullptr && !owner->ended) report_wild_shared_access(w, *owner, size, t);
  const std::uint32_t number = arena.block;
  const auto [of, why] =
      owner != nullptr ? std::pair(of_block(*owner), ", which has ended: no cluster barrier makes it wait")
      : number == 0    ? std::pair(std::string(" of a block that has ended,"), "")
                       : std::pair(" of block " + coordinates(index_in(w.launch->counts.grid, number - 1)),
                                   ": only blocks of one cluster can access each other's shared memory");
  fail(w, "cluster", t.pc(), fmt::format("{} shared memory{} at address {:#x}{}", verb_of(t.op), of, t.address, why));
}

[[noreturn]] void report_wild_access(Worker& w, std::size_t size, Touched t) {
  const std::string variable = hooks::variable_at(t.address);
  std::string where = beside_which(w, t.address, size, variable.empty() ? far_bytes : near_bytes);
  const bool of_reader =
      variable.find("simt") == std::string::npos && !variable.starts_with("tile_") && variable != "a constant";
  if (!variable.empty() && (where.empty() || of_reader))  // in the user's source: the access may be intended
    fail(w, "unsupported", t.pc(),
         fmt::format("{} {}, a variable of the program that is neither __shared__ nor a __device__ one outside "
                     "functions and classes; the model has no virtual functions either",
                     verb_of(t.op), variable));
  if (where.empty()) where = "in no allocation: is it a host pointer, or from malloc() or new? use a tile::array";
  fail(w, "out of bounds", t.pc(),
       fmt::format("{} {} bytes of global memory at address {:#x}, {}", verb_of(t.op), size, t.address, where));
}

// How to fix a race of the running lane with another thread if __syncthreads is not the only way; otherwise "".
std::string cure(const Worker& w, Touched t, const order::Conflict& other) {
  if (t.may_poll || other.may_poll)
    return " (a volatile flag in shared memory must be written atomically, or after a __threadfence_block())";
  if (t.op == Op::load ? other.atomic : t.strong && !other.wrote)
    return " (a read that may come between atomic updates must be atomic or volatile as well)";
  // No barrier can come between two accesses on one line, as in an update.
  if (order::block_of(other.with) != w.block->serial || on_one_line(t.pc(), hooks::image_base() + other.pc) ||
      order::warp_of(other.with) != std::uint32_t(w.lane->linear) / 32)
    return "";
  return " (both are lanes of one warp: __syncwarp() would order these two, __syncthreads() all threads of the block)";
}

}  // namespace

void add_finding(Launch& launch, const MistakeKey& key, const Culprit& by, const std::function<std::string()>& what) {
  const std::scoped_lock lock(launch.mutex);
  if (!launch.seen.insert(key).second) return;
  std::string text =
      fmt::format("{}: {}, {}, block {}, thread {} {}", std::get<0>(key), launch.counts.kernel, line_of(by.pc),
                  coordinates(by.block.get().index), coordinates(by.lane.get().thread), what());
  if (launch.told.insert(without_who_and_where(text)).second) launch.findings.push_back(std::move(text));
}

void fail(Worker& worker, const char* kind, Address pc, const std::string& what) {
  report(worker, kind, culprit(worker, pc), 0, [&] { return what; });
  abandon_block(worker);
}

std::string coordinates(uint3 index) { return fmt::format("({},{},{})", index.x, index.y, index.z); }
std::string thread_name(const Worker& worker, std::size_t linear) {
  return coordinates(worker.block->lanes[linear].thread);
}
std::string of_block(const Block& block) { return " of block " + coordinates(block.index); }
std::string line_of(Address return_address) {
  const Place place = hooks::place_of(return_address);
  return fmt::format("{}:{}", place.file.substr(place.file.rfind('/') + 1), place.line);
}
bool on_one_line(Address a, Address b) { return a == b || hooks::place_of(a) == hooks::place_of(b); }
const char* verb_of(Op op) { return op == Op::load ? "reads" : op == Op::store ? "writes" : "updates"; }

std::string element_name(const Target& target, Address address) {
  const Region* const region = target.region;
  const std::string owner = target.of == nullptr ? "" : of_block(*target.of);
  const auto offset = std::ptrdiff_t(address - target.begin);
  if (target.shape != nullptr && target.shape->known()) return *target.array + indices(*target.shape, offset) + owner;
  const std::size_t index = std::size_t(offset) / target.element;
  if (region != nullptr && region->rows != 0 && index >= region->first) {
    const std::size_t at = index - region->first;
    return fmt::format("{}[{}][{}]", *target.array, at / region->ld, at % region->ld);
  }
  if (region == nullptr || region->declared.element == 0) return fmt::format("{}[{}]{}", *target.array, index, owner);
  const std::size_t byte = std::size_t(offset) % region->declared.element;
  return fmt::format("{}{}{}", *target.array, indices(region->declared, offset),
                     byte == 0 ? "" : fmt::format(" from its byte {} on", byte));
}

std::string shared_name(const Worker& w, Address address, std::size_t element) {
  const Block* const block = owner_of(w, address);
  const PlacedVariable* v = block == nullptr ? nullptr : variable_of(w, address, 1, block->shared_begin());
  if (v == nullptr) return "";
  const Block* const owner = block == w.block ? nullptr : block;
  return element_name({&v->name, element, block->shared_begin() + v->offset, owner, &v->shape}, address);
}

void report_race(Worker& w, Touched t, const Target& target, const order::Conflict& other) {
  const Address other_pc = hooks::image_base() + other.pc;
  report(w, other.unfenced ? "missing proxy fence" : "race", culprit(w, t.pc()), other_pc, [&] {
    const bool own_block = order::block_of(other.with) == w.block->serial;
    const bool of_copy = order::actor_of(other.with) >= order::copies_of;
    return fmt::format("{}{} {} (address {:#x}), which {}{} {} at {} with {}{}", t.by_copy ? "asynchronously " : "",
                       verb_of(t.op), element_name(target, t.address), t.address, actor_name(w, other.with),
                       own_block ? "" : fmt::format(" of block number {}", order::block_of(other.with) - 1),
                       other.wrote ? "wrote" : "read", line_of(other_pc),
                       other.unfenced ? "no fence.proxy.async between that orders the two"
                       : of_copy      ? "no wait between that orders the two"
                       : own_block    ? "no barrier between that orders the two"
                       : target.region == nullptr
                           ? "no cluster barrier between that orders the two"
                           : "nothing between that orders the two, as a fence and an atomic operation do",
                       of_copy || other.unfenced ? "" : cure(w, t, other));
  });
}

void report_out_of_bounds(Worker& w, std::size_t size, Touched t) {
  const Arena* const arena = arena_at(t.address);
  if (arena == w.block->arena) report_wild_shared_access(w, *w.block, size, t);
  if (arena != nullptr) report_foreign_access(w, size, t, *arena);
  report_wild_access(w, size, t);
}

void Worker::refuse(Address pc, const std::string& what) { fail(*this, "unsupported", pc, what); }

void Worker::refuse_index(Address pc, std::intptr_t index, const char* array_type) {
  constexpr std::intptr_t below = std::intptr_t(1) << 32;
  fail(*this, "out of bounds", pc,
       fmt::format("uses index {} of an array of type {}{}", index, array_type,
                   index < below && index >= below - below / 64 ? ": an unsigned index went below 0" : ""));
}

// --- Deadlock --------------------------------------------------------------------------------------------------------
namespace {

// "lanes 0xffff0000 of the mask 0xffffffff, which never arrive at it: thread (16,0,0) waits at chapter03.cu:57"
std::string missing_lanes(const Block& block, const Lane& lane) {
  unsigned missing = 0;
  std::string who;
  for (const Lane& other : lanes_of(block, std::size_t(lane.linear) / 32)) {
    const unsigned bit = lane.wait.mask & 1u << other.linear % 32;
    if (bit == 0 || other.state == LaneState::done || takes_part(other, lane.wait)) continue;
    missing |= bit;
    if (who.empty()) who = fmt::format(": thread {} waits at {}", coordinates(other.thread), line_of(other.wait.pc));
  }
  return fmt::format("lanes {:#010x} of the mask {:#010x}, which never arrive at it{}", missing, lane.wait.mask, who);
}

// What a lane waits for, and what is missing.
std::string described(const Worker& worker, const Lane& lane) {
  const Block& block = *worker.block;
  if (lane.state == LaneState::polling) return described_poll(worker, lane);
  switch (lane.wait.what) {
    case Wait::For::block_barrier:
      return "waits at __syncthreads";
    case Wait::For::collective:
      return "waits for " + missing_lanes(block, lane);
    case Wait::For::named_barrier:
      return fmt::format("waits at barrier {}: {} of {} threads have arrived", lane.wait.number,
                         block.barriers[std::size_t(lane.wait.number)].arrived,
                         block.barriers[std::size_t(lane.wait.number)].expected);
    case Wait::For::mbarrier:
      return described_mbarrier_wait(worker, lane);
    case Wait::For::cluster_barrier:
      return fmt::format("waits at the cluster barrier: {} of {} threads that have not returned have arrived",
                         block.cluster->arrived, block.cluster->threads);
    case Wait::For::registers:
      return described_register_wait(block, lane);
  }
  return "";
}

// Explains a barrier of the block that some threads can no longer reach, or reach at another line; or a warp operation
// that some lanes do not reach, though they do not wait.
bool explain_barrier(Worker& worker) {
  const Block& block = *worker.block;
  const auto& lanes = block.lanes;
  const auto is_there = [](const Lane& l) { return waits_for(l, Wait::For::block_barrier); };
  const auto there = std::ranges::count_if(lanes, is_there),
             missing = std::ranges::count(lanes, LaneState::done, &Lane::state);
  if (there > 0 && there + missing == std::ssize(lanes)) {
    const Lane& first = *std::ranges::find_if(lanes, is_there);
    report(worker, "barrier", {block, first, first.wait.pc}, 0, [&] {
      const Lane& other = *std::ranges::find_if(lanes, [&](const Lane& l) {
        return missing > 0 ? l.state == LaneState::done : !on_one_line(l.wait.pc, first.wait.pc);
      });
      return missing > 0 ? fmt::format(
                               "waits at __syncthreads, but {} of the block's {} threads returned without "
                               "reaching it, thread {} among them",
                               missing, lanes.size(), coordinates(other.thread))
                         : fmt::format("waits at __syncthreads while thread {} waits at the one of {}",
                                       coordinates(other.thread), line_of(other.wait.pc));
    });
    return true;
  }
  const auto stuck = std::ranges::find_if(lanes, [](const Lane& l) { return waits_for(l, Wait::For::collective); });
  if (stuck == lanes.end() ||
      std::ranges::any_of(lanes, [](const Lane& l) { return waits_for(l, Wait::For::mbarrier); }))
    return false;
  report(worker, "warp operation", {block, *stuck, stuck->wait.pc}, 0, [&] { return described(worker, *stuck); });
  return true;
}

// "; blocks: 132 resident, 2 ended, 1 not started: the GPU holds no more"
std::string blocks_of_launch(const Launch& launch) {
  const std::uint64_t begun = std::min<std::uint64_t>(launch.next_cluster, launch.cluster_count);
  const std::uint64_t resident = launch.resident, left = (launch.cluster_count - begun) * launch.cluster_blocks;
  return fmt::format("; blocks: {} resident, {} ended{}", resident,
                     std::max(begun * launch.cluster_blocks, resident) - resident,
                     left == 0 ? "" : fmt::format(", {} not started: the GPU holds no more", left));
}

}  // namespace

void explain_standstill(Worker& worker) {
  worker.block->abandoned = true;
  worker.launch->stop = true;
  const std::shared_ptr<Cluster> cluster = worker.block->cluster;
  for (Block* block : cluster->blocks) {
    worker.block = block;
    if (explain_barrier(worker)) return;
  }
  // Lanes that wait alike: grouped by rank of the block, line, and what they wait for, whichever element they poll.
  struct Group {
    Block* block;
    const Lane* first;
    int threads = 0;
  };
  std::map<std::tuple<std::uint32_t, Address, std::string>, Group> groups;
  int returned = 0;
  bool polls = false;
  const auto add = [&](Block& block, std::uint32_t rank) {
    worker.block = &block;
    for (const Lane& lane : block.lanes) {
      if (lane.state == LaneState::done) continue;
      const std::string what = lane.state == LaneState::polling ? "" : described(worker, lane);
      ++groups.try_emplace({rank, lane.wait.pc, what}, Group{&block, &lane}).first->second.threads;
    }
  };
  for (Block* block : cluster->blocks) {
    add(*block, block->rank);
    returned += int(std::ranges::count(block->lanes, LaneState::done, &Lane::state));
    polls = polls || has_lane_in(block->lanes, LaneState::polling);
  }
  // Lanes that poll may wait for another block, which may wait for others.
  for (const auto& block : worker.resident)
    if (polls && block->cluster != cluster && !block->ended) add(*block, std::uint32_t(cluster->blocks.size()));
  const auto& [key, first] = *groups.begin();
  report(worker, "deadlock", {*first.block, *first.first, std::get<Address>(key)}, 0, [&] {
    constexpr int most_told = 8;
    std::string text;
    int told = 0;
    for (const auto& [where, group] : groups) {
      if (++told > most_told) break;
      worker.block = group.block;
      const std::string more =
          group.threads > 1 ? fmt::format(", with {} more", counted(group.threads - 1, "thread")) : "";
      if (told == 1)
        text = described(worker, *group.first) + more;
      else
        text += fmt::format("; thread {}{}{} {} at {}", coordinates(group.first->thread),
                            group.block == first.block ? "" : of_block(*group.block), more.empty() ? "" : more + ",",
                            described(worker, *group.first), line_of(std::get<Address>(where)));
    }
    if (returned > 0)
      text += fmt::format("; {} {} returned", counted(returned, "thread"), returned == 1 ? "has" : "have");
    return polls && worker.launch->cluster_count > 1 ? text + blocks_of_launch(*worker.launch) : text;
  });
}

}  // namespace simt::execute
