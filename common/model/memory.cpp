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

void report_race(Worker& w, Address pc, const std::string& element, Address address, const char* verb,
                 std::uint64_t other, std::uint32_t other_pc, const char* other_verb) {
  if (!w.launch->options.report_races) return;
  const Place place = place_of(image_base + other_pc);
  const bool other_block = block_of(other) != w.block_serial;
  report(w, fmt::format("race {} {}", pc, other_pc),
         fmt::format("race: {} {} {} (address {}), which thread {}{} {} at {}:{} with no barrier between", where(w, pc),
                     verb, element, format_address(address), thread_name(w, thread_of(other)),
                     other_block ? fmt::format(" of block number {}", block_of(other) - 1) : "", other_verb,
                     place.file.substr(place.file.rfind('/') + 1), place.line));
}

const char* verb_of(Op op) { return op == Op::load ? "reads" : op == Op::store ? "writes" : "updates"; }

// Checks one element against its cell and records the access there.
void touch(Worker& w, Cell& cell, Space space, Op op, Address pc, std::uint64_t mine, const Target& target,
           const Region* region, Address address) {
  const std::uint64_t writer = cell.writer.load(std::memory_order_relaxed);
  const bool both_atomic = op == Op::atomic && (writer & atomic);
  if (!both_atomic && unordered(writer, mine, space))
    report_race(w, pc, element_name(target, region, address), address, verb_of(op), writer,
                cell.writer_pc.load(std::memory_order_relaxed), "wrote");
  const auto short_pc = std::uint32_t(pc - image_base);
  if (op == Op::load) {
    if (space == Space::shared && block_of(writer) != w.block_serial)
      report(w, fmt::format("uninitialised {}", pc),
             fmt::format("uninitialised: {} reads {} (address {}), which no thread of the block has written",
                         where(w, pc), element_name(target, region, address), format_address(address)));
    std::uint64_t reader = cell.reader.load(std::memory_order_relaxed);
    if (reader & many_blocks) return;
    if ((reader & many_warps) && block_interval_of(reader) == block_interval_of(mine)) return;
    while (!cell.reader.compare_exchange_weak(reader, joined_reader(reader, mine, space), std::memory_order_relaxed))
      ;
    cell.reader_pc.store(short_pc, std::memory_order_relaxed);
    return;
  }
  const std::uint64_t reader = cell.reader.load(std::memory_order_relaxed);
  if (unordered(reader, mine, space))
    report_race(w, pc, element_name(target, region, address), address, verb_of(op), reader,
                cell.reader_pc.load(std::memory_order_relaxed), "read");
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
  }
  w.shared_cells = std::move(fine);
  w.shared_granule = 1;
}

void access_shared(Worker& w, Address address, std::size_t size, Op op, Address pc) {
  const std::size_t offset = address - w.tls_begin;
  const std::uint16_t index = w.variable_at[offset];
  const SharedVariable* variable = index == 0 ? nullptr : &w.launch->variables[index - 1];
  if (variable == nullptr || offset + size > variable->offset + variable->size) {
    const SharedVariable* before = nullptr;
    for (const auto& v : w.launch->variables)
      if (v.offset <= offset) before = &v;
    report(w, fmt::format("bounds {}", pc),
           fmt::format("out of bounds: {} {} {} bytes of shared memory at address {}, {}", where(w, pc), verb_of(op),
                       size, format_address(address),
                       before == nullptr ? std::string("outside every __shared__ array of this kernel")
                                         : fmt::format("{} bytes past the end of {}",
                                                       offset + size - before->offset - before->size, before->name)));
    abandon_block(w);
  }
  if (size < w.shared_granule) refine_shared_cells(w);
  const std::uint64_t mine = stamp_of(w);
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
  std::string detail = "in no allocation";
  Address nearest = ~Address(0);
  for (const Region* region : w.launch->arrays) {
    const bool after = address + size > region->end;
    const Address distance = after ? address + size - region->end : region->begin - address;
    if (distance >= nearest) continue;
    nearest = distance;
    detail = fmt::format("{} bytes {} {}", distance, after ? "past the end of" : "before the start of", region->name);
  }
  report(w, fmt::format("bounds {}", pc),
         fmt::format("out of bounds: {} {} {} bytes of global memory at address {}, {}", where(w, pc), verb_of(op),
                     size, format_address(address), detail));
  abandon_block(w);
}

// Returns false for memory that is no array of the kernel (constants of the program).
bool access_global(Worker& w, Address address, std::size_t size, Op op, Address pc) {
  Region* region = region_of(w, address, size);
  if (region == nullptr) {
    if (op == Op::load && in_image(address)) return false;
    report_wild_access(w, address, size, op, pc);
  }
  if (size < region->element) {
    report(w, fmt::format("element {}", pc),
           fmt::format("unsupported: {} {} {} bytes of {}, whose elements have {}", where(w, pc), verb_of(op), size,
                       region->name, region->element));
    abandon_block(w);
  }
  const std::uint64_t mine = stamp_of(w);
  const Target target{&region->name, region->element, region->begin};
  const std::size_t first = (address - region->begin) / region->element;
  for (std::size_t i = 0; i < size / region->element; ++i) {
    Cell& cell = region->cells[first + i];
    const Address element = address + i * region->element;
    if (cell.writer.load(std::memory_order_relaxed) == outside) {
      report(w, fmt::format("matrix {}", pc),
             fmt::format("out of bounds: {} {} {} (address {}), outside the {} x {} matrix with leading dimension {}",
                         where(w, pc), verb_of(op), element_name(target, region, element), format_address(element),
                         region->rows, region->cols, region->ld));
      return true;
    }
    touch(w, cell, Space::global, op, pc, mine, target, region, element);
  }
  return true;
}

void access(const void* pointer, std::size_t size, Op op, void* return_address) {
  Worker* const w = active;
  if (w == nullptr) return;
  const auto address = reinterpret_cast<Address>(pointer);
  const auto pc = reinterpret_cast<Address>(return_address);
  Lane& lane = *w->current;
  if (address - lane.stack_low < lane.stack_high - lane.stack_low) return;  // registers and local memory
  active = nullptr;  // what follows may itself call traced inline functions
  if (address % size != 0) {
    report(*w, fmt::format("misaligned {}", pc),
           fmt::format("misaligned: {} {} {} bytes at address {}, which is not a multiple of {}", where(*w, pc),
                       verb_of(op), size, format_address(address), size));
    abandon_block(*w);
  }
  bool counted = true;
  if (address - w->tls_begin < w->tls_size)
    access_shared(*w, address, size, op, pc);
  else
    counted = access_global(*w, address, size, op, pc);
  if (counted) lane.log.push_back({address, std::uint32_t(pc - image_base), std::uint8_t(size), op, lane.turns});
  active = w;
}

void enter_block(void* return_address) {
  Worker* const w = active;
  if (w == nullptr) return;
  Lane& lane = *w->current;
  const auto pc = std::uint32_t(reinterpret_cast<Address>(return_address) - image_base);
  const auto end = lane.blocks.begin() + lane.block_count;
  if (std::find(lane.blocks.begin(), end, pc) != end) {
    ++lane.turns;
    lane.block_count = 0;
  }
  if (lane.block_count == lane.blocks.size()) lane.block_count = 0;  // a turn of many blocks: start over
  lane.blocks[lane.block_count++] = pc;
}

void unsupported_range(std::size_t size, void* return_address) {
  Worker* const w = active;
  if (w == nullptr) return;
  active = nullptr;
  const auto pc = reinterpret_cast<Address>(return_address);
  report(*w, fmt::format("range {}", pc),
         fmt::format("unsupported: {} moves {} bytes at once; the model knows 1, 2, 4, 8 and 16", where(*w, pc), size));
  abandon_block(*w);
}

}  // namespace

// A memcpy or memset in a kernel: fine on the lane's own stack, else an access whose shape the model does not know.
void check_block_copy(const void* pointer, std::size_t size, void* return_address) {
  Worker* const w = active;
  if (w == nullptr) return;
  const auto address = reinterpret_cast<Address>(pointer);
  if (address - w->current->stack_low < w->current->stack_high - w->current->stack_low) return;
  unsupported_range(size, return_address);
}

void prepare_memory(Worker& w) {
  std::tie(w.tls_begin, w.tls_size) = tls_block();
  if (!w.launch->traced) return;
  w.variable_at.assign(w.tls_size + 16, 0);
  for (std::size_t i = 0; i < w.launch->variables.size(); ++i) {
    const SharedVariable& v = w.launch->variables[i];
    std::fill_n(w.variable_at.begin() + std::ptrdiff_t(v.offset), v.size, std::uint16_t(i + 1));
  }
  w.shared_granule = 4;
  w.shared_cells = std::vector<Cell>(w.tls_size / 4 + 16);
}

}  // namespace internal

namespace {

using internal::Address;
using internal::Region;

constexpr std::size_t guard_bytes = 4096;  // unregistered memory on both sides of an allocation

Region& find_region(const void* memory) {
  auto& by_begin = internal::regions().by_begin;
  const auto it = by_begin.find(reinterpret_cast<Address>(memory));
  if (it == by_begin.end()) throw std::logic_error("not an allocation of the model");
  return it->second;
}

// Large memory is reserved only: a page costs nothing until it is touched, and small pages keep what one touch costs
// small. So a matrix may have leading dimensions that no computer's memory would hold.
std::shared_ptr<std::byte> reserve(std::size_t bytes) {
  constexpr std::size_t large = 64 << 20;
  if (bytes < large) {
    auto* memory = static_cast<std::byte*>(std::aligned_alloc(256, bytes));
    if (memory == nullptr) throw std::bad_alloc();
    return {memory, [](std::byte* p) { std::free(p); }};
  }
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  madvise(memory, bytes, MADV_NOHUGEPAGE);
  return {static_cast<std::byte*>(memory), [bytes](std::byte* p) { munmap(p, bytes); }};
}

}  // namespace

void* allocate(std::size_t bytes, std::size_t element, const std::string& name) {
  const std::size_t rounded = (bytes + 255) / 256 * 256;
  const std::shared_ptr<std::byte> storage = reserve(rounded + 2 * guard_bytes);
  std::byte* const raw = storage.get();
  Region region;
  region.name = name;
  region.begin = reinterpret_cast<Address>(raw + guard_bytes);
  region.end = region.begin + bytes;
  region.element = element;
  region.storage = storage;
  const std::scoped_lock lock(internal::regions().mutex);
  internal::regions().by_begin.emplace(region.begin, std::move(region));
  return raw + guard_bytes;
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
#define SIMT_ATOMIC_HOOK(T, bits)                                                                                   \
  T __tsan_atomic##bits##_load(const volatile T* a, int) { return __atomic_load_n(a, __ATOMIC_SEQ_CST); }           \
  void __tsan_atomic##bits##_store(volatile T* a, T v, int) { __atomic_store_n(a, v, __ATOMIC_SEQ_CST); }           \
  T __tsan_atomic##bits##_exchange(volatile T* a, T v, int) { return __atomic_exchange_n(a, v, __ATOMIC_SEQ_CST); } \
  T __tsan_atomic##bits##_fetch_add(volatile T* a, T v, int) { return __atomic_fetch_add(a, v, __ATOMIC_SEQ_CST); } \
  T __tsan_atomic##bits##_fetch_sub(volatile T* a, T v, int) { return __atomic_fetch_sub(a, v, __ATOMIC_SEQ_CST); } \
  int __tsan_atomic##bits##_compare_exchange_strong(volatile T* a, T* c, T v, int, int) {                           \
    return __atomic_compare_exchange_n(a, c, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                         \
  }

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
// Host code of a chapter is compiled with the same flags; its atomics (std::shared_ptr and the like) land here.
SIMT_ATOMIC_HOOK(std::uint8_t, 8)
SIMT_ATOMIC_HOOK(std::uint32_t, 32)
SIMT_ATOMIC_HOOK(std::uint64_t, 64)
void __tsan_read_range(void*, std::size_t size) {
  simt::internal::unsupported_range(size, __builtin_return_address(0));
}
void __tsan_write_range(void*, std::size_t size) {
  simt::internal::unsupported_range(size, __builtin_return_address(0));
}
void __sanitizer_cov_trace_pc() { simt::internal::enter_block(__builtin_return_address(0)); }
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}

// memcpy and its kin, called by a kernel (see TILE_MODEL_LINK_FLAGS in ctest/model.cmake) or by anybody else.
void* __real_memcpy(void*, const void*, std::size_t);
void* __real_memmove(void*, const void*, std::size_t);
void* __real_memset(void*, int, std::size_t);
void* __wrap_memcpy(void* to, const void* from, std::size_t size) {
  simt::internal::check_block_copy(to, size, __builtin_return_address(0));
  simt::internal::check_block_copy(from, size, __builtin_return_address(0));
  return __real_memcpy(to, from, size);
}
void* __wrap_memmove(void* to, const void* from, std::size_t size) {
  simt::internal::check_block_copy(to, size, __builtin_return_address(0));
  simt::internal::check_block_copy(from, size, __builtin_return_address(0));
  return __real_memmove(to, from, size);
}
void* __wrap_memset(void* to, int value, std::size_t size) {
  simt::internal::check_block_copy(to, size, __builtin_return_address(0));
  return __real_memset(to, value, size);
}
}
