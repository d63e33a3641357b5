// Machine: the SIMT model on this computer's cores.
#include <cstring>
#include <new>

#include "common/cuda/machine.hpp"
#include "common/sim/model.hpp"

namespace tile::machine {

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

}  // namespace tile::machine
