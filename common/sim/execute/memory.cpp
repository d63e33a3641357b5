// The layout of blocks' shared memory and stacks, the bytes that a launch may touch, and the cells that track them.
#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <new>

#include "common/sim/execute/execute.hpp"

namespace simt::execute {
namespace {

const char* const unnamed_dynamic_shared = "dynamic shared memory";

std::size_t rounded_up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

// Arenas are reused from launch to launch.
std::mutex arenas_mutex;
std::vector<std::unique_ptr<Arena>> arenas;
std::vector<Arena*> free_arenas;

// Room before and after the requested memory, for addresses that miss it. Sizes are rounded up, so arenas can be reused.
constexpr std::size_t room_before = 64 * 1024, room_after = 256 * 1024, unit = 1024 * 1024;

}  // namespace

Arena* take_arena(std::size_t bytes) {
  const std::scoped_lock lock(arenas_mutex);
  const auto found = std::ranges::find_if(free_arenas, [&](const Arena* a) { return a->bytes >= bytes + room_after; });
  if (found != free_arenas.end()) {
    Arena* const arena = *found;
    free_arenas.erase(found);
    return arena;
  }
  // Untouched pages cost nothing.
  const std::size_t stacks = stack_bytes * max_threads, mapped = rounded_up(room_before + bytes + room_after, unit);
  void* const memory =
      mmap(nullptr, unit + stacks + mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  mprotect(memory, unit, PROT_NONE);  // the first lane faults here if its variables do not fit its stack
  Arena& arena = *arenas.emplace_back(std::make_unique<Arena>());
  arena.stacks = static_cast<std::byte*>(memory) + unit;
  arena.memory = arena.stacks + stacks + room_before;
  arena.bytes = mapped - room_before;
  madvise(arena.stacks + stacks, mapped, MADV_NOHUGEPAGE);  // a touch must not cost a page of 2 MiB
  return &arena;
}
void give_arena(Arena* arena) {
  arena->block = 0;
  const std::scoped_lock lock(arenas_mutex);
  free_arenas.push_back(arena);
}
const Arena* arena_at(Address address) {
  const std::scoped_lock lock(arenas_mutex);
  for (const auto& arena : arenas)
    if (address - reinterpret_cast<Address>(arena->memory) + room_before < arena->bytes + room_before)
      return arena.get();
  return nullptr;
}

void place_shared_memory(Launch& launch) {
  constexpr std::size_t dynamic_alignment = 1024;
  // Separates the kernel's own variables, those of functions, and dynamic memory, so that a near miss is out of bounds.
  constexpr std::size_t guard_bytes = 4096;
  const std::vector<hooks::SharedVariable>& variables = hooks::shared_variables(launch.kernel->address);
  launch.variables = std::vector<PlacedVariable>(variables.size() + 1);
  std::size_t end = guard_bytes;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    PlacedVariable& v = launch.variables[i];
    if (i > 0 && variables[i - 1].in_kernel && !variables[i].in_kernel) end += guard_bytes;
    static_cast<hooks::SharedVariable&>(v) = variables[i];
    v.offset = rounded_up(end, std::max(v.alignment, SharedLayout::grain));
    end = v.offset + v.size;
    v.counts = v.in_kernel;
  }
  PlacedVariable& dynamic = launch.variables.back();
  dynamic.name = unnamed_dynamic_shared;
  dynamic.size = launch.counts.dynamic_shared_bytes;
  dynamic.is_dynamic = true;
  dynamic.offset = rounded_up(end + guard_bytes, dynamic_alignment);
  for (PlacedVariable& v : launch.variables) {
    v.first_byte = launch.variable_bytes;
    launch.variable_bytes += rounded_up(v.size, SharedLayout::grain);
  }
  launch.arena_bytes = rounded_up(dynamic.offset + dynamic.size + guard_bytes, SharedLayout::grain);
  launch.counts.static_shared_bytes = static_bytes(launch);
}

void describe_layout(Launch& launch) {
  constexpr std::size_t grain = SharedLayout::grain;
  launch.grains.assign(launch.arena_bytes / grain, {});
  launch.offset_of.assign(hooks::shared_variable_count() + 1, 0);  // offset 0: memory that the kernel must not touch
  for (std::size_t i = 0; i < launch.variables.size(); ++i) {
    const PlacedVariable& v = launch.variables[i];
    for (std::size_t at = v.offset; at < v.offset + v.size; at += grain)
      launch.grains[at / grain] = {std::uint32_t(v.offset + v.size - at), std::uint16_t(i + 1)};
    if (!v.is_dynamic) launch.offset_of[v.number] = std::uint32_t(v.offset);
  }
}

std::size_t static_bytes(const Launch& launch) {
  std::size_t bytes = 0;
  for (const PlacedVariable& v : launch.variables) {
    if (!v.counts) continue;
    std::size_t alignment = 16;
    while (alignment > 1 && v.size % alignment != 0) alignment /= 2;
    bytes = rounded_up(bytes, alignment) + v.size;
  }
  return bytes;
}

cost::Array array_of(const Worker& w, Address address) {
  if (const Block* owner = is_shared(w, address) ? w.block : owner_of(w, address)) {
    const std::size_t offset = address - owner->shared_begin();
    const auto index = std::uint16_t(w.shared.grains[offset / SharedLayout::grain].variable - 1);
    const PlacedVariable& v = w.launch->variables[index];
    const Address begin = owner->shared_begin() + v.offset;
    return {owner == w.block ? Space::shared : Space::distributed, index, begin, begin + v.size, begin};
  }
  const auto& arrays = w.launch->arrays;
  const auto after =
      std::upper_bound(arrays.begin(), arrays.end(), address, [](Address a, const Region* r) { return a < r->begin; });
  const Region& region = **(after - 1);
  return {region.is_constant ? Space::constant : Space::global, std::uint16_t(after - arrays.begin() - 1), region.begin,
          region.end, region.begin + region.first * region.element};
}

}  // namespace simt::execute

namespace simt {

void require_all_written(const void* memory) {
  const hooks::Region& region = hooks::region_at(memory);
  if (region.cells == nullptr) throw std::logic_error("require_all_written: no launch was traced");
  std::size_t missing = 0;
  std::string first;
  for (std::size_t row = 0; row < region.rows; ++row)
    for (std::size_t col = 0; col < region.cols; ++col)
      if (!region.cells->written(region.first + row * region.ld + col) && missing++ == 0)
        first = fmt::format("{}[{}][{}]", region.name, row, col);
  if (missing > 0)
    throw Error(fmt::format("missing: {} of {} elements of {} were never written; the first is {}", missing,
                            region.rows * region.cols, region.name, first));
}

void* device::dynamic_shared(const char* name) {
  execute::Worker& w = *execute::running;
  execute::PlacedVariable& dynamic = w.launch->variables.back();
  const hooks::ScopedIgnore ignore;
  const std::scoped_lock lock(w.launch->mutex);
  if (dynamic.name == execute::unnamed_dynamic_shared) dynamic.name = name;  // the first name counts
  return reinterpret_cast<void*>(w.shared_begin + dynamic.offset);
}

}  // namespace simt
