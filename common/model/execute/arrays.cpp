// Which bytes a launch may touch, and which cells stand for them.
#include "common/model/execute/arrays.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "common/model/execute/touch.hpp"

namespace simt::execute {
namespace {

const char* const unnamed_dynamic_shared = "dynamic shared memory";
alignas(1024) thread_local std::byte dynamic_shared_memory[largest_shared];

}  // namespace

void* dynamic_shared() { return dynamic_shared_memory; }

void name_dynamic_shared(Worker& worker, const char* name) {
  if (worker.dynamic_shared_named) return;
  const announce::Unheard unheard;
  const auto offset = reinterpret_cast<Address>(dynamic_shared_memory) - worker.tls_begin;
  const std::scoped_lock lock(worker.launch->mutex);
  for (PlacedVariable& v : worker.launch->variables)
    if (v.offset == offset && v.name == unnamed_dynamic_shared) v.name = name;
  worker.dynamic_shared_named = true;
}

void place_shared_memory(Launch& launch) {
  std::vector<SharedVariable> variables = announce::shared_variables(launch.kernel->address);
  const auto offset = reinterpret_cast<Address>(dynamic_shared_memory) - announce::tls_block().first;
  variables.push_back({unnamed_dynamic_shared, offset, launch.dynamic_shared});
  std::sort(variables.begin(), variables.end(), [](auto& a, auto& b) { return a.offset < b.offset; });
  launch.variables = std::vector<PlacedVariable>(variables.size());
  for (std::size_t i = 0; i < variables.size(); ++i) {
    PlacedVariable& v = launch.variables[i];
    static_cast<SharedVariable&>(v) = variables[i];
    v.is_dynamic = v.offset == offset;
    if (v.is_dynamic || v.in_kernel) place(launch, v);
  }
  launch.static_shared = static_bytes(launch);
}

std::string shared_name(const Worker& w, Address address, std::size_t element) {
  const PlacedVariable* variable = is_shared(w, address) ? variable_of(w, address, 1) : nullptr;
  if (variable == nullptr) return "";
  return element_name({&variable->name, element, w.tls_begin + variable->offset, nullptr, &variable->shape}, nullptr,
                      address);
}

void prepare_memory(Worker& w) {
  std::tie(w.tls_begin, w.tls_size) = announce::tls_block();
  constexpr std::size_t grain = announce::shared_alignment;
  w.variable_at.assign(w.tls_size / grain + 1, 0);
  w.room_at.assign(w.tls_size / grain + 1, 0);
  for (std::size_t i = 0; i < w.launch->variables.size(); ++i) {
    const PlacedVariable& v = w.launch->variables[i];
    for (std::size_t at = v.offset; at < v.offset + v.size; at += grain)
      w.variable_at[at / grain] = std::uint16_t(i + 1);
  }
}

std::size_t bytes_of_all_shared(const Launch& launch) {
  std::size_t bytes = 0;
  for (const PlacedVariable& v : launch.variables) bytes += (v.size + 15) / 16 * 16;
  return bytes;
}

void place(Launch& launch, PlacedVariable& variable) {
  const std::scoped_lock lock(launch.mutex);
  if (variable.placed()) return;
  variable.first_byte = launch.shared_bytes.load();
  launch.shared_bytes += (variable.size + 15) / 16 * 16;
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
  if (is_shared(w, address)) {
    const auto index = std::uint16_t(w.variable_at[(address - w.tls_begin) / announce::shared_alignment] - 1);
    const PlacedVariable& v = w.launch->variables[index];
    const Address begin = w.tls_begin + v.offset;
    return {Space::shared, index, begin, begin + v.size, begin};
  }
  if (w.launch->cluster_blocks > 1)
    if (const Remote at = remote_at(w, *w.block->cluster, address); at.own != 0) {
      account::Array array = array_of(w, at.own);
      for (std::uint64_t* place : {&array.begin, &array.end, &array.counted_from}) *place += address - at.own;
      array.space = Space::distributed;
      return array;
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
