// Every load and store of a traced kernel arrives here: whose memory it is, whether it may be touched, and whether
// another thread touched it without a barrier in between.
#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "common/model/internal.hpp"

namespace simt {
namespace internal {

thread_local Worker* active = nullptr;

Regions& regions() {
  static Regions instance;
  return instance;
}

std::string format_address(Address address) { return fmt::format("{:#x}", address); }

namespace {

// A stamp packs, from the top: block serial (24 bits), barrier interval (18), thread (10), warp interval (8), flags.
constexpr int interval_shift = 22, thread_shift = 12, warp_interval_shift = 4;
constexpr int block_shift = 40;
constexpr std::uint64_t many_lanes = 1, many_warps = 2, many_blocks = 4, atomic = 8;
constexpr std::uint64_t outside = ~0ull;  // a writer stamp: the element is not part of the declared matrix

std::uint64_t stamp_of(const Worker& w) {
  const Lane& lane = *w.current;
  return std::uint64_t(w.block_serial) << block_shift | std::uint64_t(w.interval & 0x3ffff) << interval_shift |
         std::uint64_t(lane.linear) << thread_shift | std::uint64_t(lane.warp_interval & 0xff) << warp_interval_shift;
}
std::uint64_t block_of(std::uint64_t stamp) { return stamp >> block_shift; }
std::uint64_t block_interval_of(std::uint64_t stamp) { return stamp >> interval_shift; }
std::uint64_t thread_of(std::uint64_t stamp) { return stamp >> thread_shift & 0x3ff; }
std::uint64_t thread_and_block_of(std::uint64_t stamp) { return block_of(stamp) << 10 | thread_of(stamp); }
std::uint64_t warp_of(std::uint64_t stamp) { return thread_of(stamp) / 32; }
std::uint64_t warp_interval_of(std::uint64_t stamp) { return stamp >> warp_interval_shift & 0xff; }

// True when the access stamped `before` and the one stamped `mine` have no barrier between them.
bool unordered(std::uint64_t before, std::uint64_t mine, Space space) {
  if (before == 0) return false;
  if (space == Space::global && (before & many_blocks)) return true;
  if (block_of(before) != block_of(mine)) return space == Space::global;
  if (block_interval_of(before) != block_interval_of(mine)) return false;
  if ((before & many_warps) || warp_of(before) != warp_of(mine)) return true;
  if (warp_interval_of(before) != warp_interval_of(mine)) return false;
  return (before & many_lanes) || thread_of(before) != thread_of(mine);
}

// The reader stamp after one more read: remembers whether lanes, warps or blocks other than `mine` read as well.
std::uint64_t joined_reader(std::uint64_t before, std::uint64_t mine, Space space) {
  if (before == 0) return mine;
  if (block_of(before) != block_of(mine)) return space == Space::shared ? mine : mine | many_blocks;
  const std::uint64_t sticky = before & many_blocks;
  if (block_interval_of(before) != block_interval_of(mine)) return mine | sticky;
  if ((before & many_warps) || warp_of(before) != warp_of(mine)) return mine | sticky | many_warps;
  if (warp_interval_of(before) != warp_interval_of(mine)) return mine | sticky;
  if (thread_of(before) == thread_of(mine)) return before;
  return mine | sticky | many_lanes;
}

std::string thread_name(const Worker& w, std::uint64_t linear) {
  const dim3 b = w.launch->block;
  return fmt::format("({},{},{})", linear % b.x, linear / b.x % b.y, linear / (b.x * b.y));
}

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

// A thread and where it accessed an element.
struct Accessor {
  std::uint64_t block, thread;  // serial of the block, linear index
  std::uint32_t pc;
  bool operator==(const Accessor&) const = default;
};

// Cell::other_reader packs block serial (22 bits), thread (10) and pc (32); serials beyond are not kept.
std::uint64_t packed(const Accessor& a) { return a.block >> 22 ? 0 : a.block << 42 | a.thread << 32 | a.pc; }
Accessor unpacked(std::uint64_t bits) { return {bits >> 42, bits >> 32 & 0x3ff, std::uint32_t(bits)}; }

Accessor writer_of(const Cell& cell) {
  const std::uint64_t stamp = cell.writer.load(std::memory_order_relaxed);
  return {block_of(stamp), thread_of(stamp), cell.writer_pc.load(std::memory_order_relaxed)};
}
// The reader that a race of the running lane names: where several read, not the lane itself.
Accessor reader_of(const Worker& w, const Cell& cell) {
  const std::uint64_t stamp = cell.reader.load(std::memory_order_relaxed);
  const std::uint64_t other = cell.other_reader.load(std::memory_order_relaxed);
  const bool itself = block_of(stamp) == w.block_serial && thread_of(stamp) == std::uint64_t(w.current->linear);
  if (itself && other != 0) return unpacked(other);
  return {block_of(stamp), thread_of(stamp), cell.reader_pc.load(std::memory_order_relaxed)};
}

void report_race(Worker& w, Address pc, const Target& target, const Region* region, Address address, const char* verb,
                 const Accessor& other, const char* other_verb) {
  if (!w.launch->options.report_races) return;
  report(w, Mistake::race, pc, other.pc, [&] {
    const Place place = place_of(image_base + other.pc);
    return fmt::format("race: {} {} {} (address {}), which thread {}{} {} at {}:{} with no barrier between",
                       where(w, pc), verb, element_name(target, region, address), format_address(address),
                       thread_name(w, other.thread),
                       other.block == w.block_serial ? "" : fmt::format(" of block number {}", other.block - 1),
                       other_verb, place.file.substr(place.file.rfind('/') + 1), place.line);
  });
}

const char* verb_of(Op op) { return op == Op::load ? "reads" : op == Op::store ? "writes" : "updates"; }

// Checks one element against its cell and records the access there.
void touch(Worker& w, Cell& cell, Space space, Op op, Address pc, std::uint64_t mine, const Target& target,
           const Region* region, Address address) {
  const std::uint64_t writer = cell.writer.load(std::memory_order_relaxed);
  const bool both_atomic = op == Op::atomic && (writer & atomic);
  if (!both_atomic && unordered(writer, mine, space))
    report_race(w, pc, target, region, address, verb_of(op), writer_of(cell), "wrote");
  const auto short_pc = std::uint32_t(pc - image_base);
  if (op == Op::load) {
    if (space == Space::shared && block_of(writer) != w.block_serial)
      report(w, Mistake::uninitialised, pc, 0, [&] {
        return fmt::format("uninitialised: {} reads {} (address {}), which no thread of the block has written",
                           where(w, pc), element_name(target, region, address), format_address(address));
      });
    std::uint64_t reader = cell.reader.load(std::memory_order_relaxed);
    if (reader & many_blocks) return;
    if ((reader & many_warps) && block_interval_of(reader) == block_interval_of(mine)) return;
    std::uint64_t joined = joined_reader(reader, mine, space);
    while (!cell.reader.compare_exchange_weak(reader, joined, std::memory_order_relaxed))
      joined = joined_reader(reader, mine, space);
    if (joined & (many_lanes | many_warps | many_blocks) && thread_and_block_of(reader) != thread_and_block_of(mine))
      cell.other_reader.store(
          packed({block_of(reader), thread_of(reader), cell.reader_pc.load(std::memory_order_relaxed)}),
          std::memory_order_relaxed);
    cell.reader_pc.store(short_pc, std::memory_order_relaxed);
    return;
  }
  const std::uint64_t reader = cell.reader.load(std::memory_order_relaxed);
  if (unordered(reader, mine, space))
    report_race(w, pc, target, region, address, verb_of(op), reader_of(w, cell), "read");
  cell.writer.store(op == Op::atomic ? mine | atomic : mine, std::memory_order_relaxed);
  cell.writer_pc.store(short_pc, std::memory_order_relaxed);
}

// Sub-word accesses need finer shadow cells than one a word.
void refine_shared_cells(Worker& w) {
  std::vector<Cell> fine(w.tls_size + 16);
  for (std::size_t i = 0; i < w.tls_size; ++i) {
    Cell& coarse = w.shared_cells[i / w.shared_granule];
    fine[i].writer = coarse.writer.load();
    fine[i].reader = coarse.reader.load();
    fine[i].writer_pc = coarse.writer_pc.load();
    fine[i].reader_pc = coarse.reader_pc.load();
    fine[i].other_reader = coarse.other_reader.load();
  }
  w.shared_cells = std::move(fine);
  w.shared_granule = 1;
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
const SharedVariable* variable_of(const Worker& w, Address address, std::size_t size) {
  const std::size_t offset = address - w.tls_begin;
  const std::uint16_t index = w.variable_at[offset];
  if (index == 0) return nullptr;
  const SharedVariable& variable = w.launch->variables[index - 1];
  return offset + size <= variable.offset + variable.size ? &variable : nullptr;
}

void access_shared(Worker& w, Address address, std::size_t size, Op op, Address pc) {
  const SharedVariable* variable = variable_of(w, address, size);
  if (variable == nullptr) report_wild_shared_access(w, address, size, op, pc);
  if (size < w.shared_granule) refine_shared_cells(w);
  const std::uint64_t mine = stamp_of(w);
  const std::size_t offset = address - w.tls_begin;
  const Target target{&variable->name, w.shared_granule == 1 ? size : 4, w.tls_begin + variable->offset};
  for (std::size_t i = 0; i < size; i += w.shared_granule)
    touch(w, w.shared_cells[(offset + i) / w.shared_granule], Space::shared, op, pc, mine, target, nullptr,
          address + i);
}

Region* region_of(Worker& w, Address address, std::size_t size) {
  if (w.last_region != nullptr && address >= w.last_region->begin && address + size <= w.last_region->end)
    return w.last_region;
  for (Region* region : w.launch->arrays)
    if (address >= region->begin && address + size <= region->end) return w.last_region = region;
  return nullptr;
}

[[noreturn]] void report_wild_access(Worker& w, Address address, std::size_t size, Op op, Address pc) {
  if (const std::string variable = variable_at(address); !variable.empty()) {
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

void access_global(Worker& w, Address address, std::size_t size, Op op, Address pc) {
  Region* region = region_of(w, address, size);
  if (region == nullptr) report_wild_access(w, address, size, op, pc);
  if (size < region->element) {
    report(w, Mistake::element, pc, 0, [&] {
      return fmt::format("unsupported: {} {} {} bytes of {}, whose elements have {}", where(w, pc), verb_of(op), size,
                         region->name, region->element);
    });
    abandon_block(w);
  }
  const std::uint64_t mine = stamp_of(w);
  const Target target{&region->name, region->element, region->begin};
  const std::size_t first = (address - region->begin) / region->element;
  for (std::size_t i = 0; i < size / region->element; ++i) {
    Cell& cell = region->cells[first + i];
    const Address element = address + i * region->element;
    if (cell.writer.load(std::memory_order_relaxed) == outside) {
      report(w, Mistake::outside_matrix, pc, 0, [&] {
        return fmt::format("out of bounds: {} {} {} (address {}), outside the {} x {} matrix with leading dimension {}",
                           where(w, pc), verb_of(op), element_name(target, region, element), format_address(element),
                           region->rows, region->cols, region->ld);
      });
      return;
    }
    touch(w, cell, Space::global, op, pc, mine, target, region, element);
  }
}

void require_aligned(Worker& w, Address address, std::size_t size, Op op, Address pc) {
  if (address % size == 0) return;
  report(w, Mistake::misaligned, pc, 0, [&] {
    return fmt::format("misaligned: {} {} {} bytes at address {}, which is not a multiple of {}", where(w, pc),
                       verb_of(op), size, format_address(address), size);
  });
  abandon_block(w);
}

// An untraced run is not counted, but it does not leave its memory either: what it would overwrite is the model's own.
void require_in_bounds(Worker& w, Address address, std::size_t size, Op op, Address pc) {
  if (address - w.tls_begin < w.tls_size) {
    if (variable_of(w, address, size) == nullptr) report_wild_shared_access(w, address, size, op, pc);
  } else if (region_of(w, address, size) == nullptr) {
    report_wild_access(w, address, size, op, pc);
  }
}

bool on_own_stack(const Lane& lane, Address address) {
  return address - lane.stack_low < lane.stack_high - lane.stack_low;
}

// An access to memory that lanes share.
[[gnu::noinline]] void access_shared_or_global(Worker* w, Address address, std::size_t size, Op op, Address pc) {
  active = nullptr;  // what follows may itself call traced inline functions
  require_aligned(*w, address, size, op, pc);
  if (!w->traced) {
    require_in_bounds(*w, address, size, op, pc);
  } else {
    if (address - w->tls_begin < w->tls_size)
      access_shared(*w, address, size, op, pc);
    else
      access_global(*w, address, size, op, pc);
    Lane& lane = *w->current;
    lane.log.push_back({address, std::uint32_t(pc - image_base), std::uint8_t(size), op, lane.turns});
  }
  active = w;
}

// Most accesses end here: to registers and local memory, which lie on the lane's stack.
[[gnu::always_inline]] inline void access(const void* pointer, std::size_t size, Op op, void* return_address) {
  Worker* const w = active;
  const auto address = reinterpret_cast<Address>(pointer);
  if (w == nullptr || on_own_stack(*w->current, address)) return;
  access_shared_or_global(w, address, size, op, reinterpret_cast<Address>(return_address));
}

[[gnu::always_inline]] inline void enter_block(void* return_address) {
  Worker* const w = active;
  if (w == nullptr || !w->traced) return;
  Lane& lane = *w->current;
  const auto pc = std::uint32_t(reinterpret_cast<Address>(return_address) - image_base);
  const auto end = lane.blocks.begin() + lane.block_count;
  if (std::find(lane.blocks.begin(), end, pc) != end) {
    if (lane.turns != unknown_turns) ++lane.turns;
    lane.block_count = 0;
  }
  if (lane.block_count == lane.blocks.size()) {  // too many to find the next turn: what follows is a guess
    lane.turns = unknown_turns;
    lane.block_count = 0;
  }
  lane.blocks[lane.block_count++] = pc;
}

// An access whose shape the model does not know: fine on the lane's own stack, else an error. what() says which.
template <class What>
void refuse(const volatile void* pointer, void* return_address, What what) {
  Worker* const w = active;
  if (w == nullptr || on_own_stack(*w->current, reinterpret_cast<Address>(pointer))) return;
  active = nullptr;  // what follows copies blocks itself
  const auto pc = reinterpret_cast<Address>(return_address);
  report(*w, Mistake::unsupported, pc, 0, [&] { return fmt::format("unsupported: {} {}", where(*w, pc), what()); });
  abandon_block(*w);
}

void refuse_range(const void* pointer, std::size_t size, void* return_address) {
  refuse(pointer, return_address, [&] {
    return fmt::format(
        "moves {} bytes at once, and a GPU at most 16: how it would split them, the model does not know; assign "
        "elements "
        "or vectors instead",
        size);
  });
}

// What -fsanitize=bounds hands over: libubsan's structures, as far as they are read here.
struct ArrayType {
  std::uint16_t kind, info;
  char name[1];  // "'float [8]'", and longer than declared
};
struct IndexCheck {
  const char* file;
  std::uint32_t line, column;
  const ArrayType* array;
};

// An index that the extent of its array does not allow. It is the only sign of such a mistake in an array in registers, and
// comes before the access to any other.
void refuse_index(const IndexCheck& check, std::uintptr_t index, void* return_address) {
  Worker* const w = active;
  if (w == nullptr) {
    fmt::print(stderr, "{}:{}: index {} of an array of type {}\n", check.file, check.line, std::intptr_t(index),
               check.array->name);
    std::abort();
  }
  active = nullptr;
  const auto pc = reinterpret_cast<Address>(return_address);
  report(*w, Mistake::bounds, pc, 0, [&] {
    return fmt::format("out of bounds: {} uses index {} of an array of type {}", where(*w, pc), std::intptr_t(index),
                       check.array->name);
  });
  abandon_block(*w);
}

void refuse_atomic(const volatile void* pointer, void* return_address) {
  refuse(pointer, return_address, [] {
    return std::string("uses an atomic operation of C++; the model counts CUDA's: atomicAdd, atomicCAS, ...");
  });
}

}  // namespace

// A memcpy, memset or the like in a kernel.
void check_block_copy(const void* pointer, std::size_t size, void* return_address) {
  refuse(pointer, return_address, [&] {
    return fmt::format(
        "moves {} bytes with a block copy: into how many accesses nvcc makes it, the model does not know; assign "
        "elements or vectors instead",
        size);
  });
}

void prepare_memory(Worker& w) {
  std::tie(w.tls_begin, w.tls_size) = tls_block();
  w.variable_at.assign(w.tls_size + 16, 0);
  for (std::size_t i = 0; i < w.launch->variables.size(); ++i) {
    const SharedVariable& v = w.launch->variables[i];
    std::fill_n(w.variable_at.begin() + std::ptrdiff_t(v.offset), v.size, std::uint16_t(i + 1));
  }
  if (!w.traced) return;
  w.shared_granule = 4;
  w.shared_cells = std::vector<Cell>(w.tls_size / 4 + 16);
}

}  // namespace internal

namespace {

using internal::Address;
using internal::Region;

constexpr std::size_t page = 4096;
constexpr std::size_t guard_bytes = page;  // unregistered memory on both sides of an allocation

Region& find_region(const void* memory) {
  auto& by_begin = internal::regions().by_begin;
  const auto it = by_begin.find(reinterpret_cast<Address>(memory));
  if (it == by_begin.end()) throw std::logic_error("not an allocation of the model");
  return it->second;
}

}  // namespace

void* allocate(std::size_t bytes, std::size_t element, const std::string& name) {
  // Pages that nobody touches cost nothing, so that a matrix may have a leading dimension of gigabytes.
  const std::size_t mapped = (bytes + page - 1) / page * page + 2 * guard_bytes;
  void* raw = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (raw == MAP_FAILED) throw std::bad_alloc();
  // Nor must a touch cost a page of 2 MiB, as it would where the system hands those out unasked.
  if (mapped > (std::size_t(64) << 20)) madvise(raw, mapped, MADV_NOHUGEPAGE);
  Region region;
  region.name = name;
  region.begin = reinterpret_cast<Address>(raw) + guard_bytes;
  region.end = region.begin + bytes;
  region.element = element;
  region.storage = {static_cast<std::byte*>(raw), [mapped](std::byte* memory) { munmap(memory, mapped); }};
  const std::scoped_lock lock(internal::regions().mutex);
  const Address begin = region.begin;
  internal::regions().by_begin.emplace(begin, std::move(region));
  return reinterpret_cast<void*>(begin);
}

void release(void* memory) {
  const std::scoped_lock lock(internal::regions().mutex);
  internal::regions().by_begin.erase(reinterpret_cast<Address>(memory));
}

void declare_matrix(void* memory, std::size_t first, std::size_t rows, std::size_t cols, std::size_t ld) {
  Region& region = find_region(memory);
  region.first = first;
  region.rows = rows;
  region.cols = cols;
  region.ld = ld;
}

void require_all_written(const void* memory) {
  const Region& region = find_region(memory);
  if (region.cells == nullptr) throw std::logic_error("require_all_written: nothing was traced");
  std::size_t missing = 0;
  std::string first;
  for (std::size_t row = 0; row < region.rows; ++row)
    for (std::size_t col = 0; col < region.cols; ++col)
      if (region.cells[region.first + row * region.ld + col].writer.load() == 0 && missing++ == 0)
        first = fmt::format("{}[{}][{}]", region.name, row, col);
  if (missing > 0)
    throw Error(fmt::format("missing: {} of {} elements of {} were never written, the first is {}", missing,
                            region.rows * region.cols, region.name, first));
}

namespace internal {
/// Clears an allocation's cells for a traced launch and marks what lies outside its declared matrix.
void reset_cells(Region& region) {
  const std::size_t count = (region.end - region.begin) / region.element;
  if (region.cells == nullptr) region.cells = std::make_unique<Cell[]>(count);
  for (std::size_t i = 0; i < count; ++i) {
    bool inside = true;
    if (region.rows != 0) {
      const std::size_t at = i - region.first;
      inside = i >= region.first && at / region.ld < region.rows && at % region.ld < region.cols;
    }
    region.cells[i].writer.store(inside ? 0 : outside, std::memory_order_relaxed);
    region.cells[i].reader.store(0, std::memory_order_relaxed);
    region.cells[i].other_reader.store(0, std::memory_order_relaxed);
  }
}

/// Throws Error when a traced launch changed an element that nobody announced to write: a way past the hooks.
void require_announced_stores(const LaunchState& launch) {
  for (std::size_t i = 0; i < launch.arrays.size(); ++i) {
    const Region& region = *launch.arrays[i];
    const auto* now = reinterpret_cast<const std::byte*>(region.begin);
    for (std::size_t at = 0; at < launch.before[i].size(); at += region.element) {
      const std::uint64_t writer = region.cells[at / region.element].writer.load(std::memory_order_relaxed);
      if ((writer != 0 && writer != outside) || std::memcmp(&launch.before[i][at], now + at, region.element) == 0)
        continue;
      throw Error(fmt::format(
          "unsupported: {} changed {} with an access that g++ did not announce to the model: its counts would be wrong",
          launch.name, element_name({&region.name, region.element, region.begin}, &region, region.begin + at)));
    }
  }
}
}  // namespace internal

void device::atomic_access(void* address, std::size_t size) {
  internal::access(address, size, Op::atomic, __builtin_return_address(0));
}

}  // namespace simt

// The entry points that g++ -fsanitize=thread calls. The names are fixed by the compiler.
#define SIMT_HOOK(bytes)                                                                                              \
  void __tsan_read##bytes(void* a) { simt::internal::access(a, bytes, simt::Op::load, __builtin_return_address(0)); } \
  void __tsan_write##bytes(void* a) {                                                                                 \
    simt::internal::access(a, bytes, simt::Op::store, __builtin_return_address(0));                                   \
  }                                                                                                                   \
  void __tsan_volatile_read##bytes(void* a) {                                                                         \
    simt::internal::access(a, bytes, simt::Op::load, __builtin_return_address(0));                                    \
  }                                                                                                                   \
  void __tsan_volatile_write##bytes(void* a) {                                                                        \
    simt::internal::access(a, bytes, simt::Op::store, __builtin_return_address(0));                                   \
  }
#define SIMT_UNALIGNED_HOOK(bytes)                                                  \
  void __tsan_unaligned_read##bytes(void* a) {                                      \
    simt::internal::access(a, bytes, simt::Op::load, __builtin_return_address(0));  \
  }                                                                                 \
  void __tsan_unaligned_write##bytes(void* a) {                                     \
    simt::internal::access(a, bytes, simt::Op::store, __builtin_return_address(0)); \
  }
// Host code of a chapter is compiled with the same flags; its atomics (std::shared_ptr and the like) land here.
#define SIMT_ATOMIC_HOOK(T, bits, operation, parameters, call)     \
  T __tsan_atomic##bits##_##operation parameters {                 \
    simt::internal::refuse_atomic(a, __builtin_return_address(0)); \
    return call;                                                   \
  }
#define SIMT_ATOMIC_UPDATE_HOOK(T, bits, operation)                        \
  SIMT_ATOMIC_HOOK(T, bits, fetch_##operation, (volatile T * a, T v, int), \
                   __atomic_fetch_##operation(a, v, __ATOMIC_SEQ_CST))
#define SIMT_ATOMIC_HOOKS(T, bits)                                                                             \
  SIMT_ATOMIC_HOOK(T, bits, load, (const volatile T* a, int), __atomic_load_n(a, __ATOMIC_SEQ_CST))            \
  SIMT_ATOMIC_HOOK(void, bits, store, (volatile T * a, T v, int), __atomic_store_n(a, v, __ATOMIC_SEQ_CST))    \
  SIMT_ATOMIC_HOOK(T, bits, exchange, (volatile T * a, T v, int), __atomic_exchange_n(a, v, __ATOMIC_SEQ_CST)) \
  SIMT_ATOMIC_UPDATE_HOOK(T, bits, add)                                                                        \
  SIMT_ATOMIC_UPDATE_HOOK(T, bits, sub)                                                                        \
  SIMT_ATOMIC_UPDATE_HOOK(T, bits, and)                                                                        \
  SIMT_ATOMIC_UPDATE_HOOK(T, bits, or)                                                                         \
  SIMT_ATOMIC_UPDATE_HOOK(T, bits, xor)                                                                        \
  SIMT_ATOMIC_UPDATE_HOOK(T, bits, nand)                                                                       \
  SIMT_ATOMIC_HOOK(int, bits, compare_exchange_strong, (volatile T * a, T * c, T v, int, int),                 \
                   __atomic_compare_exchange_n(a, c, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))            \
  SIMT_ATOMIC_HOOK(int, bits, compare_exchange_weak, (volatile T * a, T * c, T v, int, int),                   \
                   __atomic_compare_exchange_n(a, c, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))

extern "C" {
SIMT_HOOK(1)
SIMT_HOOK(2)
SIMT_HOOK(4)
SIMT_HOOK(8)
SIMT_HOOK(16)
SIMT_UNALIGNED_HOOK(2)
SIMT_UNALIGNED_HOOK(4)
SIMT_UNALIGNED_HOOK(8)
SIMT_UNALIGNED_HOOK(16)
SIMT_ATOMIC_HOOKS(std::uint8_t, 8)
SIMT_ATOMIC_HOOKS(std::uint16_t, 16)
SIMT_ATOMIC_HOOKS(std::uint32_t, 32)
SIMT_ATOMIC_HOOKS(std::uint64_t, 64)
void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
void __tsan_atomic_signal_fence(int) {}
void __tsan_read_range(void* a, std::size_t size) {
  simt::internal::refuse_range(a, size, __builtin_return_address(0));
}
void __tsan_write_range(void* a, std::size_t size) {
  simt::internal::refuse_range(a, size, __builtin_return_address(0));
}
void __ubsan_handle_out_of_bounds(const void* check, std::uintptr_t index) {
  simt::internal::refuse_index(*static_cast<const simt::internal::IndexCheck*>(check), index,
                               __builtin_return_address(0));
}
void __sanitizer_cov_trace_pc() { simt::internal::enter_block(__builtin_return_address(0)); }
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}

// memcpy and its kin, called by a kernel (see TILE_MODEL_LINK_FLAGS in ctest/model.cmake) or by anybody else. The names
// that end in _chk are what -D_FORTIFY_SOURCE makes of them.
#define SIMT_COPY_HOOK(name)                                                                    \
  void* __real_##name(void*, const void*, std::size_t);                                         \
  void* __wrap_##name(void* to, const void* from, std::size_t size) {                           \
    simt::internal::check_block_copy(to, size, __builtin_return_address(0));                    \
    simt::internal::check_block_copy(from, size, __builtin_return_address(0));                  \
    return __real_##name(to, from, size);                                                       \
  }                                                                                             \
  void* __wrap___##name##_chk(void* to, const void* from, std::size_t size, std::size_t room) { \
    simt::internal::check_block_copy(to, size, __builtin_return_address(0));                    \
    simt::internal::check_block_copy(from, size, __builtin_return_address(0));                  \
    if (size > room) std::abort();                                                              \
    return __real_##name(to, from, size);                                                       \
  }
SIMT_COPY_HOOK(memcpy)
SIMT_COPY_HOOK(memmove)
SIMT_COPY_HOOK(mempcpy)
void* __real_memset(void*, int, std::size_t);
void* __wrap_memset(void* to, int value, std::size_t size) {
  simt::internal::check_block_copy(to, size, __builtin_return_address(0));
  return __real_memset(to, value, size);
}
void* __wrap___memset_chk(void* to, int value, std::size_t size, std::size_t room) {
  simt::internal::check_block_copy(to, size, __builtin_return_address(0));
  if (size > room) std::abort();
  return __real_memset(to, value, size);
}
int __real_memcmp(const void*, const void*, std::size_t);
int __wrap_memcmp(const void* one, const void* other, std::size_t size) {
  simt::internal::check_block_copy(one, size, __builtin_return_address(0));
  simt::internal::check_block_copy(other, size, __builtin_return_address(0));
  return __real_memcmp(one, other, size);
}
}
