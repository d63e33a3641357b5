// Each access of a kernel: whose memory it is, whether it may be touched, and whether another thread touched it unordered.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "common/model/execute/execute.hpp"

namespace simt::execute {
namespace {

// A loop that loads the same element by the same instruction so often waits for a value that another lane will write.
constexpr std::uint32_t repeats_of_a_poll = 64;

struct Target {
  const std::string* array;
  std::size_t element;  // bytes
  Address begin;
};

std::string element_name(const Target& target, const Region* region, Address address) {
  const std::size_t index = (address - target.begin) / target.element;
  if (region != nullptr && region->rows != 0 && index >= region->first) {
    const std::size_t at = index - region->first;
    return fmt::format("{}[{}][{}]", *target.array, at / region->ld, at % region->ld);
  }
  return fmt::format("{}[{}]", *target.array, index);
}

struct Touched {
  Op op;
  Address pc, address;
  order::By by{};
  bool strong = false;  // atomic, or volatile in global memory: such accesses of several threads are no race
};

void report_race(Worker& w, const Touched& t, const Target& target, const Region* region,
                 const order::Conflict& other) {
  if (!w.launch->options.report_races) return;
  const Address other_pc = announce::image_base() + other.pc;
  report(w, other.unfenced ? Mistake::proxy_fence : Mistake::race, t.pc, other_pc, [&] {
    const bool own_block = order::block_of(other.with) == w.block->serial;
    const bool of_copy = order::actor_of(other.with) >= order::copies_of;
    return fmt::format("{}: {} {}{} {} (address {}), which {}{} {} at {} with no {} between",
                       other.unfenced ? "missing proxy fence" : "race", where(w, t.pc),
                       t.by.thread() ? "" : "asynchronously ", verb_of(t.op), element_name(target, region, t.address),
                       format_address(t.address), actor_name(w, other.with),
                       own_block ? "" : fmt::format(" of block number {}", order::block_of(other.with) - 1),
                       other.wrote ? "wrote" : "read", line_of(other_pc),
                       other.unfenced ? "fence.proxy.async"
                       : of_copy      ? "wait"
                                      : "barrier");
  });
}

[[noreturn]] void report_wild_shared_access(Worker& w, Address address, std::size_t size, Op op, Address pc) {
  report(w, Mistake::bounds, pc, 0, [&] {
    const std::size_t offset = address - w.tls_begin;
    const SharedVariable* before = nullptr;
    for (const auto& v : w.launch->variables)
      if (v.offset <= offset) before = &v;
    return fmt::format("out of bounds: {} {} {} bytes of shared memory at address {}, {}", where(w, pc), verb_of(op),
                       size, format_address(address),
                       before == nullptr ? std::string("outside every __shared__ array of this kernel")
                                         : fmt::format("{} bytes past the end of {}",
                                                       offset + size - before->offset - before->size, before->name));
  });
  abandon_block(w);
}

// The __shared__ array that holds [address, address + size), or nullptr.
const PlacedVariable* variable_of(const Worker& w, Address address, std::size_t size) {
  const std::size_t offset = address - w.tls_begin;
  const std::uint16_t index = w.variable_at[offset];
  if (index == 0) return nullptr;
  const PlacedVariable& variable = w.launch->variables[index - 1];
  return offset + size <= variable.offset + variable.size ? &variable : nullptr;
}

order::Access access_of(const Worker& w, const Touched& t) {
  return {w.block->order, w.lane->linear, t.op != Op::load, t.strong, t.by, announce::offset_of(t.pc)};
}

// Whether two stores are those of two lanes of a warp by one instruction.
bool of_one_instruction(const Worker& w, const Touched& t, const order::Conflict& other) {
  return t.op == Op::store && t.by.thread() && other.wrote && order::block_of(other.with) == w.block->serial &&
         order::warp_of(other.with) == std::uint32_t(w.lane->linear) / 32 && other.pc == announce::offset_of(t.pc);
}

[[gnu::noinline]] void meet(Worker& w, const Touched& t, const Target& target, const Region* region,
                            const order::Conflict& other) {
  if (!w.launch->options.report_races) return;
  if (!of_one_instruction(w, t, other)) return report_race(w, t, target, region, other);
  SameValue check{t.address, {}, std::min<std::size_t>(target.element, 16), {}};
  std::memcpy(check.before.data(), reinterpret_cast<const void*>(t.address), check.bytes);
  check.report = [&w, t, target, region, other] { report_race(w, t, target, region, other); };
  w.lane->same_values.push_back(std::move(check));
}

[[gnu::always_inline]] inline void touch_shared(Worker& w, std::size_t size, const Touched& t) {
  const PlacedVariable* variable = variable_of(w, t.address, size);
  if (variable == nullptr) report_wild_shared_access(w, t.address, size, t.op, t.pc);
  Block& block = *w.block;
  if (size < block.granule()) {  // sub-word accesses need finer cells than one a word
    block.shared = block.shared.refined(block.granule());
    block.granule_bits = 0;
  }
  if (!block.mbarriers.empty()) refuse_mbarrier(w, t.address, size, t.op, t.pc, t.by);
  const std::size_t first = variable->first_byte + (t.address - w.tls_begin - variable->offset);
  const Target target{&variable->name, block.granule() == 1 ? size : 4, w.tls_begin + variable->offset};
  const order::Access access = access_of(w, t);
  for (std::size_t i = 0; i < size; i += block.granule()) {
    const std::size_t cell = (first + i) >> block.granule_bits;
    if (t.op == Op::load && !block.shared.written(cell, block.order))
      report(w, Mistake::uninitialised, t.pc, 0, [&] {
        return fmt::format("uninitialised: {} reads {} (address {}), which no thread of the block has written",
                           where(w, t.pc), element_name(target, nullptr, t.address + i), format_address(t.address + i));
      });
    if (order::Conflict conflict; block.shared.put(cell, access, conflict))
      meet(w, {t.op, t.pc, t.address + i, t.by, t.strong}, target, nullptr, conflict);
  }
}

Region* region_of(Worker& w, Address address, std::size_t size) {
  if (w.last_region != nullptr && address >= w.last_region->begin && address + size <= w.last_region->end)
    return w.last_region;
  for (Region* region : w.launch->arrays)
    if (address >= region->begin && address + size <= region->end) return w.last_region = region;
  return nullptr;
}

[[noreturn]] void report_wild_access(Worker& w, Address address, std::size_t size, Op op, Address pc) {
  if (const std::string variable = announce::variable_at(address); !variable.empty()) {
    report(w, Mistake::unsupported, pc, 0, [&] {
      return fmt::format(
          "unsupported: {} {} {}, a variable of the program: the model counts arrays that the host allocates and "
          "__shared__ ones; hand it over as an array",
          where(w, pc), verb_of(op), variable);
    });
    abandon_block(w);
  }
  report(w, Mistake::bounds, pc, 0, [&] {
    std::string detail = "in no allocation";
    Address nearest = ~Address(0);
    for (const Region* region : w.launch->arrays) {
      const bool after = address + size > region->end;
      const Address distance = after ? address + size - region->end : region->begin - address;
      if (distance >= nearest) continue;
      nearest = distance;
      detail = fmt::format("{} bytes {} {}", distance, after ? "past the end of" : "before the start of", region->name);
    }
    return fmt::format("out of bounds: {} {} {} bytes of global memory at address {}, {}", where(w, pc), verb_of(op),
                       size, format_address(address), detail);
  });
  abandon_block(w);
}

[[gnu::always_inline]] inline void touch_global(Worker& w, std::size_t size, const Touched& t) {
  Region* region = region_of(w, t.address, size);
  if (region == nullptr) report_wild_access(w, t.address, size, t.op, t.pc);
  if (size < region->element)
    w.refuse(t.pc, fmt::format("{} {} bytes of {}, whose elements have {}", verb_of(t.op), size, region->name,
                               region->element));
  const Target target{&region->name, region->element, region->begin};
  const std::size_t first = (t.address - region->begin) / region->element;
  const order::Access access = access_of(w, t);
  for (std::size_t i = 0; i < size / region->element; ++i) {
    const Address element = t.address + i * region->element;
    if (region->cells->outside(first + i)) {
      report(w, Mistake::outside_matrix, t.pc, 0, [&] {
        return fmt::format("out of bounds: {} {} {} (address {}), outside the {} x {} matrix with leading dimension {}",
                           where(w, t.pc), verb_of(t.op), element_name(target, region, element),
                           format_address(element), region->rows, region->cols, region->ld);
      });
      return;
    }
    if (order::Conflict conflict; region->cells->put(first + i, access, conflict))
      meet(w, {t.op, t.pc, element, t.by, t.strong}, target, region, conflict);
  }
}

[[noreturn, gnu::noinline]] void report_misaligned(Worker& w, Address address, std::size_t size, Op op, Address pc) {
  report(w, Mistake::misaligned, pc, 0, [&] {
    return fmt::format("misaligned: {} {} {} bytes at address {}, which is not a multiple of {}", where(w, pc),
                       verb_of(op), size, format_address(address), size);
  });
  abandon_block(w);
}

// Whether an access stays within a __shared__ array of the kernel or an allocation.
bool in_bounds(Worker& w, Address address, std::size_t size) {
  if (is_shared(w, address)) return w.bytes_left[address - w.tls_begin] >= size;
  return region_of(w, address, size) != nullptr;
}

[[noreturn, gnu::noinline]] void report_out_of_bounds(Worker& w, std::size_t size, const Touched& t) {
  if (is_shared(w, t.address)) report_wild_shared_access(w, t.address, size, t.op, t.pc);
  report_wild_access(w, t.address, size, t.op, t.pc);
}

// A strong access after a fence releases what its thread had done before the fence; whoever finds the value has learnt it.
[[gnu::noinline]] void release_and_learn(Worker& w, const Touched& t) {
  const order::KnownPointer& fenced = w.block->order.clock(w.lane->linear).fenced;
  if (t.op != Op::load && fenced != nullptr) {
    const std::scoped_lock lock(w.launch->released_mutex);
    order::KnownPointer& released = w.launch->released[t.address];
    released = order::joined(released, fenced);
  }
  if (t.op != Op::store) w.lane->learn_from = t.address;
}

[[gnu::noinline]] void touch_and_log(Worker& w, std::size_t size, const Touched& t) {
  if (w.lane->learn_from != 0 || !w.lane->same_values.empty()) settle(w);
  if (t.strong) release_and_learn(w, t);
  if (is_shared(w, t.address))
    touch_shared(w, size, t);
  else
    touch_global(w, size, t);
  w.lane->log.push_back({t.address, announce::offset_of(t.pc), std::uint8_t(size), t.op, w.lane->turns.count});
}

// An untraced run is not counted, but it does not leave its memory either: what it would overwrite is the model's own.
[[gnu::always_inline]] inline void touch(Worker& w, std::size_t size, const Touched& t) {
  if ((t.address & (size - 1)) != 0) report_misaligned(w, t.address, size, t.op, t.pc);
  if (w.traced) return touch_and_log(w, size, t);
  if (!in_bounds(w, t.address, size)) report_out_of_bounds(w, size, t);
}

[[gnu::noinline]] void let_others_run(Worker& w, Address pc) {
  w.lane->wait.pc = pc;
  suspend(w, LaneState::polling);
}

// A lane that makes the same access again and again lets others run now and then.
[[gnu::always_inline]] inline void notice_polling(Worker& w, Address address, Address pc) {
  Lane& lane = *w.lane;
  if (lane.last_address != address || lane.last_pc != pc) {
    lane.last_address = address;
    lane.last_pc = pc;
    lane.repeats = 0;
  } else if (++lane.repeats % repeats_of_a_poll == 0) {
    let_others_run(w, pc);
  }
}

}  // namespace

void Worker::access(Address address, std::size_t size, Op op, Address pc, bool is_volatile) {
  if (op != Op::store) notice_polling(*this, address, pc);
  const bool strong = op == Op::atomic || (is_volatile && !is_shared(*this, address));
  touch(*this, size, {op, pc, address, {}, strong});
}

bool is_shared(const Worker& w, Address address) { return address - w.tls_begin < w.tls_size; }

std::string shared_name(const Worker& w, Address address, std::size_t element) {
  const PlacedVariable* variable = is_shared(w, address) ? variable_of(w, address, 1) : nullptr;
  if (variable == nullptr) return "";
  return element_name({&variable->name, element, w.tls_begin + variable->offset}, nullptr, address);
}

void require_in_bounds(Worker& w, Address address, std::size_t size, Op op, Address pc) {
  if (!in_bounds(w, address, size)) report_out_of_bounds(w, size, {op, pc, address, {}, false});
}

void touch_in_bulk(Worker& w, Address address, std::size_t size, Op op, Address pc, const order::By& by) {
  const Touched t{op, pc, address, by, false};
  if (is_shared(w, address))
    touch_shared(w, size, t);
  else
    touch_global(w, size, t);
}

void settle(Worker& w) {
  Lane& lane = *w.lane;
  if (lane.learn_from != 0) {
    const std::scoped_lock lock(w.launch->released_mutex);
    const auto released = w.launch->released.find(lane.learn_from);
    if (released != w.launch->released.end()) w.block->order.learn(lane.linear, released->second);
    lane.learn_from = 0;
  }
  for (const SameValue& same : lane.same_values)
    if (std::memcmp(same.before.data(), reinterpret_cast<const void*>(same.address), same.bytes) != 0) same.report();
  lane.same_values.clear();
}

void start_copy(Worker& w, void* to, const void* from, std::size_t bytes, Address pc) {
  const order::By copies{order::By::What::copies};
  touch(w, bytes, {Op::load, pc, reinterpret_cast<Address>(from), copies, false});
  touch(w, bytes, {Op::store, pc, reinterpret_cast<Address>(to), copies, false});
  w.copies_at.insert(announce::offset_of(pc));
  w.lane->copies.push_back({to, from, bytes, w.block->order.clock(w.lane->linear).copies_group});
}

void deliver_copies(Lane& lane, order::Epoch group) {
  const auto later =
      std::find_if(lane.copies.begin(), lane.copies.end(), [&](const auto& c) { return c.group >= group; });
  for (auto copy = lane.copies.begin(); copy != later; ++copy) std::memcpy(copy->to, copy->from, copy->bytes);
  lane.copies.erase(lane.copies.begin(), later);
}

void prepare_memory(Worker& w) {
  std::tie(w.tls_begin, w.tls_size) = announce::tls_block();
  w.variable_at.assign(w.tls_size + 16, 0);
  w.bytes_left.assign(w.tls_size + 16, 0);
  for (std::size_t i = 0; i < w.launch->variables.size(); ++i) {
    const PlacedVariable& v = w.launch->variables[i];
    std::fill_n(w.variable_at.begin() + std::ptrdiff_t(v.offset), v.size, std::uint16_t(i + 1));
    for (std::size_t byte = 0; byte < v.size; ++byte) w.bytes_left[v.offset + byte] = std::uint32_t(v.size - byte);
  }
}

void prepare_shared(Worker& w, Block& block) {
  // Cells of a block that ran before count as unwritten: its stamps name another block.
  const std::size_t words = (w.launch->shared_bytes + block.granule() - 1) >> block.granule_bits;
  if (block.shared.size() != words) block.shared.start(words, int(block.lanes.size()));
}

void prepare_cells(Region& region) {
  if (region.cells == nullptr) region.cells = std::make_shared<order::GlobalCells>(region.elements());
  region.cells->clear([&](std::size_t i) { return region.inside(i); });
}

account::Array array_of(const Worker& w, Address address) {
  if (is_shared(w, address)) {
    const auto index = std::uint16_t(w.variable_at[address - w.tls_begin] - 1);
    const PlacedVariable& v = w.launch->variables[index];
    const Address begin = w.tls_begin + v.offset;
    return {Space::shared, index, begin, begin + v.size, begin};
  }
  const auto& arrays = w.launch->arrays;
  const auto after =
      std::upper_bound(arrays.begin(), arrays.end(), address, [](Address a, const Region* r) { return a < r->begin; });
  const Region& region = **(after - 1);
  return {Space::global, std::uint16_t(after - arrays.begin() - 1), region.begin, region.end,
          region.begin + region.first * region.element};
}

void require_announced_stores(const Launch& launch) {
  for (std::size_t i = 0; i < launch.arrays.size(); ++i) {
    const Region& region = *launch.arrays[i];
    const auto* now = reinterpret_cast<const std::byte*>(region.begin);
    for (std::size_t at = 0; at < launch.before[i].size(); at += region.element) {
      const std::size_t element = at / region.element;
      const bool announced = region.cells->written(element) || region.cells->outside(element);
      if (announced || std::memcmp(&launch.before[i][at], now + at, region.element) == 0) continue;
      throw Error(fmt::format(
          "unsupported: {} changed {} with an access that g++ did not announce to the model: its counts would be wrong",
          launch.name, element_name({&region.name, region.element, region.begin}, &region, region.begin + at)));
    }
  }
}

}  // namespace simt::execute

namespace simt {

void require_all_written(const void* memory) {
  const announce::Region& region = announce::region_at(memory);
  if (region.cells == nullptr) throw std::logic_error("require_all_written: nothing was traced");
  std::size_t missing = 0;
  std::string first;
  for (std::size_t row = 0; row < region.rows; ++row)
    for (std::size_t col = 0; col < region.cols; ++col)
      if (!region.cells->written(region.first + row * region.ld + col) && missing++ == 0)
        first = fmt::format("{}[{}][{}]", region.name, row, col);
  if (missing > 0)
    throw Error(fmt::format("missing: {} of {} elements of {} were never written, the first is {}", missing,
                            region.rows * region.cols, region.name, first));
}

}  // namespace simt
