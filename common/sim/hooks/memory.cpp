// Global memory: which allocations there are, and what they are called.
#include <sys/mman.h>

#include <algorithm>
#include <iterator>
#include <new>
#include <stdexcept>
#include <tuple>

#include "common/sim/hooks/hooks.hpp"
#include "common/sim/model.hpp"

namespace simt {
namespace {

void declare(hooks::Region& region, const ElementType& type) {
  region.alignment = type.alignment;
  region.declared = hooks::shape_of(type);
}

void* add(hooks::Region region) {
  const std::scoped_lock lock(hooks::regions().mutex);
  const hooks::Address begin = region.begin;
  hooks::regions().by_begin.emplace(begin, std::move(region));
  return reinterpret_cast<void*>(begin);
}

}  // namespace

hooks::Regions& hooks::regions() {
  static Regions instance;
  return instance;
}

hooks::Shape hooks::shape_of(const ElementType& type) {
  Shape shape{type.bytes, {}};
  std::copy_if(std::begin(type.extents), std::end(type.extents), std::back_inserter(shape.extents),
               [](std::size_t extent) { return extent != 0; });
  return shape;
}

hooks::Region& hooks::region_at(const void* memory) {
  const auto it = regions().by_begin.find(reinterpret_cast<Address>(memory));
  if (it == regions().by_begin.end()) throw std::logic_error("not an allocation of the model");
  return it->second;
}

DeviceVariable::DeviceVariable(const char* name, void* memory, std::size_t bytes, const ElementType& type,
                               bool is_constant) {
  hooks::Region region;
  region.name = name;
  region.begin = reinterpret_cast<hooks::Address>(memory);
  region.end = region.begin + bytes;
  region.element = type.smallest_access;
  region.is_constant = is_constant;
  declare(region, type);
  add(std::move(region));
}

void* allocate(std::size_t bytes, std::size_t element, const std::string& name) {
  constexpr std::size_t page = 4096, guard = page;  // unregistered memory on both sides
  // Pages that nobody touches cost nothing, so that a matrix may have a leading dimension of gigabytes.
  const std::size_t mapped = (bytes + page - 1) / page * page + 2 * guard;
  void* raw = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (raw == MAP_FAILED) throw std::bad_alloc();
  // Nor must a touch cost a page of 2 MiB, as it would where the system hands those out unasked.
  if (mapped > (std::size_t(64) << 20)) madvise(raw, mapped, MADV_NOHUGEPAGE);
  hooks::Region region;
  region.name = name;
  region.begin = reinterpret_cast<hooks::Address>(raw) + guard;
  region.end = region.begin + bytes;
  region.element = element;
  region.storage = {static_cast<std::byte*>(raw), [mapped](std::byte* memory) { munmap(memory, mapped); }};
  return add(std::move(region));
}

void declare_elements(void* memory, const ElementType& type) { declare(hooks::region_at(memory), type); }

void release(void* memory) {
  const std::scoped_lock lock(hooks::regions().mutex);
  hooks::regions().by_begin.erase(reinterpret_cast<hooks::Address>(memory));
}

void declare_matrix(void* memory, std::size_t first, std::size_t rows, std::size_t cols, std::size_t ld) {
  hooks::Region& region = hooks::region_at(memory);
  std::tie(region.first, region.rows, region.cols, region.ld) = std::tie(first, rows, cols, ld);
}

}  // namespace simt
