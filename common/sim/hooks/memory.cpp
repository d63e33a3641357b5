#include "common/sim/hooks/memory.hpp"

#include <sys/mman.h>

#include <new>
#include <stdexcept>

#include "common/sim/model.hpp"

namespace simt {
namespace announce {

Regions& regions() {
  static Regions instance;
  return instance;
}

Region& region_at(const void* memory) {
  auto& by_begin = regions().by_begin;
  const auto it = by_begin.find(reinterpret_cast<Address>(memory));
  if (it == by_begin.end()) throw std::logic_error("not an allocation of the model");
  return it->second;
}

}  // namespace announce

namespace {
void declare(announce::Region& region, const ElementType& type) {
  region.alignment = type.alignment;
  region.declared = {type.bytes, {}};
  for (const std::size_t extent : type.extents)
    if (extent != 0) region.declared.extents.push_back(extent);
}

constexpr std::size_t page = 4096;
constexpr std::size_t guard_bytes = page;  // unregistered memory on both sides of an allocation
}  // namespace

DeviceVariable::DeviceVariable(const char* name, void* memory, std::size_t bytes, const ElementType& type,
                               bool is_constant) {
  announce::Region region;
  region.name = name;
  region.begin = reinterpret_cast<announce::Address>(memory);
  region.end = region.begin + bytes;
  region.element = type.smallest_access;
  declare(region, type);
  region.is_constant = is_constant;
  const std::scoped_lock lock(announce::regions().mutex);
  announce::regions().by_begin.emplace(region.begin, std::move(region));
}

void* allocate(std::size_t bytes, std::size_t element, const std::string& name) {
  // Pages that nobody touches cost nothing, so that a matrix may have a leading dimension of gigabytes.
  const std::size_t mapped = (bytes + page - 1) / page * page + 2 * guard_bytes;
  void* raw = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (raw == MAP_FAILED) throw std::bad_alloc();
  // Nor must a touch cost a page of 2 MiB, as it would where the system hands those out unasked.
  if (mapped > (std::size_t(64) << 20)) madvise(raw, mapped, MADV_NOHUGEPAGE);
  announce::Region region;
  region.name = name;
  region.begin = reinterpret_cast<announce::Address>(raw) + guard_bytes;
  region.end = region.begin + bytes;
  region.element = element;
  region.storage = {static_cast<std::byte*>(raw), [mapped](std::byte* memory) { munmap(memory, mapped); }};
  const std::scoped_lock lock(announce::regions().mutex);
  const announce::Address begin = region.begin;
  announce::regions().by_begin.emplace(begin, std::move(region));
  return reinterpret_cast<void*>(begin);
}

void declare_elements(void* memory, const ElementType& type) { declare(announce::region_at(memory), type); }

void release(void* memory) {
  const std::scoped_lock lock(announce::regions().mutex);
  announce::regions().by_begin.erase(reinterpret_cast<announce::Address>(memory));
}

void declare_matrix(void* memory, std::size_t first, std::size_t rows, std::size_t cols, std::size_t ld) {
  announce::Region& region = announce::region_at(memory);
  region.first = first;
  region.rows = rows;
  region.cols = cols;
  region.ld = ld;
}

}  // namespace simt
