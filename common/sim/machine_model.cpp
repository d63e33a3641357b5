// The SIMT model's implementation of machine.hpp: the device, global memory, and the encoding of tensor maps.
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <stdexcept>
#include <tuple>

#include "common/cuda/machine.hpp"
#include "common/cuda/tensor_map.hpp"
#include "common/sim/hooks/hooks.hpp"
#include "common/sim/model.hpp"

namespace simt {
namespace {

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
  const auto begin = reinterpret_cast<hooks::Address>(memory);
  hooks::Region region{name, begin, begin + bytes, type.smallest_access};
  region.is_constant = is_constant;
  add(std::move(region));
  declare_elements(memory, type);
}

void declare_elements(void* memory, const ElementType& type) {
  hooks::Region& region = hooks::region_at(memory);
  region.alignment = type.alignment;
  region.declared = hooks::shape_of(type);
}

}  // namespace simt

namespace tile::machine {

const Device& device() {
  static const Device modelled{132, true};  // an H200
  return modelled;
}

std::string kind() { return "model"; }
std::string unavailable() { return ""; }
std::string description() { return "the SIMT model on " + simt::counted(simt::host_threads(), "host thread"); }

void* allocate(std::size_t bytes, std::size_t element, const std::string& name) {
  constexpr std::size_t page = 4096, guard = page;  // unregistered memory on both sides
  // Untouched pages cost nothing, so a matrix may have a leading dimension of gigabytes.
  const std::size_t mapped = (bytes + page - 1) / page * page + 2 * guard;
  void* raw = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (raw == MAP_FAILED)
    throw OutOfMemory("this computer cannot reserve " + std::to_string(bytes >> 20) + " MiB for " + name);
  // A touch must not cost a page of 2 MiB, as it would with transparent huge pages.
  if (mapped > (std::size_t(64) << 20)) madvise(raw, mapped, MADV_NOHUGEPAGE);
  const simt::hooks::Address begin = reinterpret_cast<simt::hooks::Address>(raw) + guard;
  return simt::add({.name = name,
                    .begin = begin,
                    .end = begin + bytes,
                    .element = element,
                    .storage = {static_cast<std::byte*>(raw), [mapped](std::byte* m) { munmap(m, mapped); }}});
}
void release(void* memory) {
  const std::scoped_lock lock(simt::hooks::regions().mutex);
  simt::hooks::regions().by_begin.erase(reinterpret_cast<simt::hooks::Address>(memory));
}
void copy_to_device(void* device, const void* host, std::size_t bytes) { std::memcpy(device, host, bytes); }
void copy_to_host(void* host, const void* device, std::size_t bytes) { std::memcpy(host, device, bytes); }
void synchronize() {}
void declare_matrix(void* memory, std::size_t first, std::size_t rows, std::size_t cols, std::size_t ld) {
  simt::hooks::Region& region = simt::hooks::region_at(memory);
  std::tie(region.first, region.rows, region.cols, region.ld) = std::tie(first, rows, cols, ld);
}

void encode_tensor_map(void* map, const void* base, TensorElement element, const BoxedMatrix& matrix) {
  *static_cast<simt::TensorMap*>(map) = {matrix, reinterpret_cast<std::uintptr_t>(base),
                                         std::uint32_t(size_of(element)), true};
}

}  // namespace tile::machine
