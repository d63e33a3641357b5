// The machine a program was compiled for, as host code sees it: whether it is available, what a
// launcher must know to choose a kernel, and device memory. Implemented twice, in
// common/cuda/machine_gpu.cu and common/sim/machine_model.cpp; the linker picks one.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

namespace tile::machine {

/// "gpu" or "model".
std::string kind();
/// Empty if the machine can run kernels; otherwise the reason why not, in one line.
std::string unavailable();
/// What the kernels run on: the GPU's name, or "SIMT model, 2 host threads".
std::string description();

struct Device {
  int sms;  ///< streaming multiprocessors
  /// Whether it has mbarriers and TMA, both from compute capability 9.0 on, and the program was
  /// compiled to use them.
  bool copies_in_bulk;
};
/// The GPU's properties, queried once; the model stands for an H200.
const Device& device();

/// Thrown when an allocation does not fit; what() says how much was requested.
struct OutOfMemory : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Allocates device memory, 256-byte aligned. `element` is the size of one element in bytes,
/// `name` appears in error messages. Throws OutOfMemory if there is not enough.
void* allocate(std::size_t bytes, std::size_t element, const std::string& name);
void release(void* memory);
void copy_to_device(void* device, const void* host, std::size_t bytes);
/// Waits for running kernels first; throws std::runtime_error if one of them failed.
void copy_to_host(void* host, const void* device, std::size_t bytes);
void synchronize();

/// Tells the model that an allocation holds a rows x cols matrix with leading dimension ld, from
/// element `first` on: traced accesses elsewhere in it are errors. Does nothing on a GPU.
void declare_matrix(void* memory, std::size_t first, std::size_t rows, std::size_t cols,
                    std::size_t ld);

}  // namespace tile::machine
