// Which bytes a launch may touch, and which cells stand for them.
#include "common/sim/execute/arrays.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "common/sim/execute/touch.hpp"

namespace simt::execute {
namespace {

const char* const unnamed_dynamic_shared = "dynamic shared memory";
constexpr std::size_t dynamic_alignment = 1024;
// Room before what lies in an arena, and behind the kernel's own variables, those of functions, and dynamic shared memory, so that who
// reaches a little too far is told what he missed.
constexpr std::size_t guard_bytes = 4096;

std::size_t rounded_up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace

void describe_layout(Launch& launch) {
  constexpr std::size_t grain = SharedLayout::grain;
  launch.variable_at.assign(launch.arena_bytes / grain, 0);
  launch.room_at.assign(launch.arena_bytes / grain, 0);
  launch.offset_of.assign(announce::shared_variable_count() + 1, 0);  // there the kernel may touch nothing
  for (std::size_t i = 0; i < launch.variables.size(); ++i) {
    const PlacedVariable& v = launch.variables[i];
    const std::size_t end = v.offset + v.size;
    for (std::size_t at = v.offset; at < end; at += grain) {
      launch.variable_at[at / grain] = std::uint16_t(i + 1);
      launch.room_at[at / grain] = std::uint32_t(end - at);
    }
    if (!v.is_dynamic) launch.offset_of[v.number] = std::uint32_t(v.offset);
  }
}

void* dynamic_shared(const Worker& worker) {
  return reinterpret_cast<void*>(worker.shared_begin + worker.launch->variables.back().offset);
}

void name_dynamic_shared(Worker& worker, const char* name) {
  if (worker.dynamic_shared_named) return;
  const announce::Unheard unheard;
  const std::scoped_lock lock(worker.launch->mutex);
  PlacedVariable& dynamic = worker.launch->variables.back();
  if (dynamic.name == unnamed_dynamic_shared) dynamic.name = name;
  worker.dynamic_shared_named = true;
}

void place_shared_memory(Launch& launch) {
  const std::vector<SharedVariable>& variables = announce::shared_variables(launch.kernel->address);
  launch.variables = std::vector<PlacedVariable>(variables.size() + 1);
  std::size_t end = guard_bytes;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    PlacedVariable& v = launch.variables[i];
    if (i > 0 && variables[i - 1].in_kernel && !variables[i].in_kernel) end += guard_bytes;
    static_cast<SharedVariable&>(v) = variables[i];
    v.offset = rounded_up(end, std::max(v.alignment, SharedLayout::grain));
    end = v.offset + v.size;
    if (v.in_kernel) place(launch, v);
  }
  PlacedVariable& dynamic = launch.variables.back();
  dynamic.name = unnamed_dynamic_shared;
  dynamic.size = launch.dynamic_shared;
  dynamic.is_dynamic = true;
  dynamic.offset = rounded_up(end + guard_bytes, dynamic_alignment);
  place(launch, dynamic);
  launch.arena_bytes = rounded_up(dynamic.offset + dynamic.size + guard_bytes, SharedLayout::grain);
  launch.static_shared = static_bytes(launch);
}

std::string shared_name(const Worker& w, Address address, std::size_t element) {
  const Block* const block = owner_of(w, address);
  const PlacedVariable* variable = block == nullptr ? nullptr : variable_of(w, *block, address, 1);
  if (variable == nullptr) return "";
  return element_name({&variable->name, element, block->shared_begin() + variable->offset, nullptr, &variable->shape},
                      nullptr, address);
}

void place(Launch& launch, PlacedVariable& variable) {
  const std::scoped_lock lock(launch.mutex);
  if (variable.placed()) return;
  variable.first_byte = launch.shared_bytes.load();
  launch.shared_bytes += rounded_up(variable.size, SharedLayout::grain);
}

void prepare_shared(Worker& w, Block& block) {
  // Cells of a block that ran before count as unwritten: its stamps name another block.
  const std::size_t words = cells_of(*w.launch, block);
  const int threads = int(block.lanes.size());
  if (w.launch->cluster_blocks > 1)  // others may ask for a place before the block has touched it
    block.shared.start_in_cluster(words, threads, block.serial);
  else if (!block.shared.fits(words, threads))
    block.shared.start(words, threads);
}

account::Array array_of(const Worker& w, Address address) {
  if (const Block* owner = is_shared(w, address) ? w.block : owner_of(w, address)) {
    const std::size_t offset = address - owner->shared_begin();
    const auto index = std::uint16_t(w.shared.variable_at[offset / SharedLayout::grain] - 1);
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

void require_announced_stores(const Launch& launch) {
  for (std::size_t i = 0; i < launch.arrays.size(); ++i) {
    const Region& region = *launch.arrays[i];
    const auto* now = reinterpret_cast<const std::byte*>(region.begin);
    for (std::size_t at = 0; at < launch.before[i].size(); at += region.element) {
      if (std::memcmp(&launch.before[i][at], now + at, region.element) == 0) continue;
      const std::size_t element = at / region.element;
      if (region.cells->written(element) || !region.inside(element)) continue;
      throw Error(fmt::format(
          "unsupported: {} changed {} with an access that the compiler did not announce to the model: its counts would "
          "be wrong",
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

std::size_t elements_written(const void* memory) {
  const announce::Region& region = announce::region_at(memory);
  if (region.cells == nullptr) throw std::logic_error("elements_written: nothing was traced");
  return region.cells->written();
}

}  // namespace simt
