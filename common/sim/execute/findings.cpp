// What is said of a mistake: which kernel, line, block and thread, which element, and what lies beside an address out of bounds.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
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

}  // namespace simt

namespace simt::execute {
namespace {

// A finding without what differs between two threads that make one mistake: threads, elements, addresses. Two instructions of a line may
// make it, of an unrolled loop for example, which no reader can tell apart.
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
                           : kind == order::bulk_of ? "a copy in bulk of "
                                                    : "";
  return fmt::format("{}thread {}", copy, thread_name(w, number));
}

// "[1][3]", of the element at a byte offset into an array. The first index may be below 0, or beyond its extent.
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

// ": this is out[32], and it has 32 elements", of a byte offset into an array of so many bytes.
std::string beyond(const std::string& name, const hooks::Shape& shape, std::ptrdiff_t offset, std::size_t bytes) {
  if (shape.element == 0) return "";
  const std::string extent = shape.extents.size() > 1 ? fmt::format("is [{}]", fmt::join(shape.extents, "]["))
                                                      : fmt::format("has {} elements", bytes / shape.element);
  return fmt::format(": this is {}{}, and it {}", name, indices(shape, offset), extent);
}
std::string beyond(const PlacedVariable& v, std::ptrdiff_t offset) {
  return v.shape.known() ? beyond(v.name, v.shape, offset - std::ptrdiff_t(v.offset), v.size) : "";
}
std::string beyond(const Region& region, Address address) {
  const auto offset = std::ptrdiff_t(address - region.begin);
  if (region.rows == 0)
    return beyond(region.name, region.declared.element != 0 ? region.declared : hooks::Shape{region.element, {}},
                  offset, region.end - region.begin);
  const hooks::Shape rows{region.element, {region.rows, region.ld}};
  return fmt::format(": this is {}{}, and it is {} x {} with leading dimension {}", region.name,
                     indices(rows, offset - std::ptrdiff_t(region.first * region.element)), region.rows, region.cols,
                     region.ld);
}

// "up to 4 bytes past the end of table: this is table[8], and it has 8 elements" of the closest array within a distance, or "".
std::string beside_which(const Worker& w, Address address, std::size_t size, Address farthest) {
  std::string text;
  for (const Region* region : w.launch->arrays) {
    const bool after = address + size > region->end;
    const Address distance = after ? address + size - region->end : region->begin - address;
    if (distance >= farthest) continue;
    farthest = distance;
    text = fmt::format("{}{} bytes {} {}{}", after ? "up to " : "", distance,
                       after ? "past the end of" : "before the start of", region->name,
                       beyond(*region, after ? std::max(address, region->end) : address));
  }
  return text;
}

// A variable of the program is told to lie beside an array that is no farther away; what is farther than the second from every array may
// be no mistaken index.
constexpr Address near_bytes = 4096, far_bytes = Address(16) << 20;

// "4 bytes before the start of out" where an unsigned index went below 0, so that the address is 2^32 elements after what was meant;
// or "".
std::string before_which(const Worker& w, Address address) {
  for (const Region* region : w.launch->arrays) {
    const std::size_t element = region->declared.element != 0 ? region->declared.element : region->element;
    const Address meant = address - (Address(element) << 32);
    if (region->begin - meant <= near_bytes)
      return fmt::format(
          "{} bytes before the start of {} but for 2^32 elements: an index without a sign went below 0{}",
          region->begin - meant, region->name, beyond(*region, address));
  }
  return "";
}

// Of which variable shared memory that belongs to nobody lies past the end, or else before: `size` bytes at `offset`.
std::string beside_which_variable(const Worker& w, std::ptrdiff_t offset, std::size_t size) {
  const PlacedVariable *before = nullptr, *after = nullptr;
  for (const PlacedVariable& v : w.launch->variables) {
    if (v.size == 0 && !v.is_dynamic) continue;
    if (std::ptrdiff_t(v.offset) <= offset)
      before = &v;
    else if (after == nullptr)
      after = &v;
  }
  if (before == nullptr)
    return "outside every __shared__ array of this kernel" +
           (after == nullptr || after->size == 0
                ? ""
                : fmt::format(", {} bytes before the start of {}{}", std::ptrdiff_t(after->offset) - offset,
                              after->name, beyond(*after, offset)));
  const std::ptrdiff_t from_start = offset - std::ptrdiff_t(before->offset);
  if (before->is_dynamic && before->size == 0)
    return fmt::format(
        "but the launch gives {} no bytes: as extern __shared__ it has as many as the third argument "
        "between <<< and >>> says",
        before->name);
  const std::string past = fmt::format("up to {} bytes past the end of {}",
                                       from_start + std::ptrdiff_t(size) - std::ptrdiff_t(before->size), before->name);
  // Of an access that straddles the end: the first element after it.
  if (!before->is_dynamic)
    return past + beyond(*before, std::max(offset, std::ptrdiff_t(before->offset + before->size)));
  return fmt::format("{}, to which the launch gives {}: in elements of {} bytes this is {}[{}], and it has {}", past,
                     before->size, size, before->name, from_start / std::ptrdiff_t(size), before->size / size);
}

// Outside every variable of a block.
[[noreturn]] void report_wild_shared_access(Worker& w, const Block& owner, std::size_t size, Touched t) {
  fail(w, "out of bounds", t.pc(),
       fmt::format("{} {} bytes of shared memory{} at address {}, {}", verb_of(t.op), size,
                   &owner == w.block ? "" : of_block(owner), format_address(t.address),
                   beside_which_variable(w, std::ptrdiff_t(t.address - owner.shared_begin()), size)));
}

// An address in the shared memory of another block.
[[noreturn]] void report_foreign_access(Worker& w, std::size_t size, Touched t, const Arena& arena) {
  const Block* const owner = owner_of(w, t.address);
  if (owner != nullptr && !owner->ended) report_wild_shared_access(w, *owner, size, t);
  const std::string what = fmt::format("{} shared memory", verb_of(t.op)), address = format_address(t.address);
  const std::uint32_t number = arena.block, linear = number - 1;
  const dim3 grid = w.launch->grid;
  fail(w, "cluster", t.pc(),
       owner != nullptr ? fmt::format("{}{} at address {}, which has ended: no cluster barrier keeps it", what,
                                      of_block(*owner), address)
       : number == 0
           ? fmt::format("{} of a block that has ended, at address {}", what, address)
           : fmt::format("{} of block ({},{},{}) at address {}: only blocks of one cluster reach each other's", what,
                         linear % grid.x, linear / grid.x % grid.y, linear / grid.x / grid.y, address));
}

// A variable of the model's own, or one that has no name.
bool is_internal(const std::string& variable) {
  return variable.find("simt") != std::string::npos || variable.starts_with("tile_") || variable == "a constant";
}

[[noreturn]] void report_wild_access(Worker& w, std::size_t size, Touched t) {
  const std::string variable = hooks::variable_at(t.address);
  std::string beside = variable.empty() ? before_which(w, t.address) : beside_which(w, t.address, size, near_bytes);
  if (!variable.empty() && (beside.empty() || !is_internal(variable)))  // it may have been meant
    fail(w, "unsupported", t.pc(),
         fmt::format("{} {}, a variable of the program that is neither __shared__ nor a __device__ one outside "
                     "functions and classes{}",
                     verb_of(t.op), variable, beside.empty() ? "" : "; it lies " + beside));
  if (beside.empty()) beside = beside_which(w, t.address, size, far_bytes);
  if (beside.empty()) {
    const std::string far = beside_which(w, t.address, size, Address(1) << 32);
    beside = "in no allocation: is it a pointer of the host? a tile::array has .device()" +
             (far.empty() ? "" : "; else it lies " + far);
  }
  fail(w, "out of bounds", t.pc(),
       fmt::format("{} {} bytes of global memory at address {}, {}", verb_of(t.op), size, format_address(t.address),
                   beside));
}

// Of a race between two lanes of a warp: that the shuffle or the like in which they took part since they last met at a barrier does not
// order memory, or, unless both are on one line (an update), that a barrier would. Else "".
std::string not_by_exchange(const Worker& w, order::Stamp with, bool one_line) {
  const Exchange& own = w.lane->exchanged;
  const std::uint32_t other = order::thread_of(with);
  if (other / 32 != std::uint32_t(w.lane->linear) / 32) return "";
  if ((own.mask >> other % 32 & 1u) != 0 && own.epoch == w.block->order.clock(w.lane->linear).epoch)
    return fmt::format(" (the {} of {} does not order memory: __syncwarp() does)",
                       own.is_shuffle ? "shuffle" : "warp operation", line_of(own.pc));
  if (one_line) return "";
  return w.block->lanes.size() > 32
             ? " (both are lanes of one warp: __syncwarp() would order these two, __syncthreads() all threads of the "
               "block)"
             : " (both are lanes of one warp: __syncwarp() between the two is what is missing)";
}

}  // namespace

void add_finding(Launch& launch, const MistakeKey& key, const Culprit& by, const std::function<std::string()>& what) {
  const std::scoped_lock lock(launch.mutex);
  if (!launch.seen.insert(key).second) return;
  const uint3 b = by.block.index;
  std::string text = fmt::format("{}: {}, {}, block ({},{},{}), thread {} {}", std::get<0>(key), launch.name,
                                 line_of(by.pc), b.x, b.y, b.z, thread_name(by.lane), what());
  if (launch.told.insert(without_who_and_where(text)).second) launch.findings.push_back(std::move(text));
}

void fail(Worker& worker, const char* kind, Address pc, const std::string& what) {
  report(worker, kind, culprit(worker, pc), 0, [&] { return what; });
  abandon_block(worker);
}

std::string thread_name(const Lane& lane) {
  return fmt::format("({},{},{})", lane.thread.x, lane.thread.y, lane.thread.z);
}
std::string thread_name(const Worker& worker, std::uint64_t linear) {
  const dim3 b = worker.launch->block;
  return fmt::format("({},{},{})", linear % b.x, linear / b.x % b.y, linear / (b.x * b.y));
}
std::string of_block(const Block& block) {
  return fmt::format(" of block ({},{},{})", block.index.x, block.index.y, block.index.z);
}
std::string format_address(Address address) { return fmt::format("{:#x}", address); }
std::string line_of(Address return_address) {
  const Place place = hooks::place_of(return_address);
  return fmt::format("{}:{}", place.file.substr(place.file.rfind('/') + 1), place.line);
}
bool on_one_line(Address a, Address b) { return a == b || hooks::place_of(a) == hooks::place_of(b); }
const char* verb_of(Op op) { return op == Op::load ? "reads" : op == Op::store ? "writes" : "updates"; }

std::string element_name(const Target& target, const Region* region, Address address) {
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
  return element_name({&v->name, element, block->shared_begin() + v->offset, nullptr, &v->shape}, nullptr, address);
}

void report_race(Worker& w, Touched t, const Target& target, const Region* region, const order::Conflict& other) {
  if (!w.launch->options.report_races) return;
  const Address other_pc = hooks::image_base() + other.pc;
  report(w, other.unfenced ? "missing proxy fence" : "race", culprit(w, t.pc()), other_pc, [&] {
    const bool own_block = order::block_of(other.with) == w.block->serial;
    const bool of_copy = order::actor_of(other.with) >= order::copies_of;
    return fmt::format(
        "{}{} {} (address {}), which {}{} {} at {} with {}{}", t.by_copy ? "asynchronously " : "", verb_of(t.op),
        element_name(target, region, t.address), format_address(t.address), actor_name(w, other.with),
        own_block ? "" : fmt::format(" of block number {}", order::block_of(other.with) - 1),
        other.wrote ? "wrote" : "read", line_of(other_pc),
        other.unfenced      ? "no fence.proxy.async between that orders the two"
        : of_copy           ? "no wait between that orders the two"
        : own_block         ? "no barrier between that orders the two"
        : region == nullptr ? "no cluster barrier between that orders the two"
                            : "nothing between that orders the two, as a fence and an atomic operation do",
        own_block && !of_copy && !other.unfenced ? not_by_exchange(w, other.with, line_of(t.pc()) == line_of(other_pc))
                                                 : "");
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
                   index < below && index >= below - below / 64 ? ": an index without a sign went below 0" : ""));
}

}  // namespace simt::execute
