// What host code sees of the SIMT model: a device, a machine on this computer's cores, and tensor maps.
#include <cstring>
#include <new>

#include "common/cuda/machine.hpp"
#include "common/cuda/tensor_map.hpp"
#include "common/sim/model.hpp"

namespace tile::machine {

const Device& device() {
  static const Device modelled{132, true};  // an H200
  return modelled;
}

std::string kind() { return "model"; }
std::string unavailable() { return ""; }
std::string description() {
  const unsigned threads = simt::host_threads();
  return "the SIMT model on " + std::to_string(threads) + (threads == 1 ? " host thread" : " host threads");
}
void* allocate(std::size_t bytes, std::size_t element, const std::string& name) {
  try {
    return simt::allocate(bytes, element, name);
  } catch (const std::bad_alloc&) {
    throw OutOfMemory("this computer has no " + std::to_string(bytes >> 20) + " MiB to reserve for " + name);
  }
}
void release(void* memory) { simt::release(memory); }
void copy_to_device(void* device, const void* host, std::size_t bytes) { std::memcpy(device, host, bytes); }
void copy_to_host(void* host, const void* device, std::size_t bytes) { std::memcpy(host, device, bytes); }
void synchronize() {}
void declare_matrix(void* memory, std::size_t first, std::size_t rows, std::size_t cols, std::size_t ld) {
  simt::declare_matrix(memory, first, rows, cols, ld);
}

void encode_tensor_map(void* map, const void* base, TensorElement element, const BoxedMatrix& matrix) {
  *static_cast<simt::TensorMap*>(map) = {matrix, reinterpret_cast<std::uintptr_t>(base),
                                         std::uint32_t(size_of(element)), true};
}

}  // namespace tile::machine
