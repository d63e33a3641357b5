// The machine a program was compiled for, as host code sees it: whether it can be used at all,
// what a launcher asks before it chooses a kernel, and memory. Implemented twice:
// common/cuda/machine_gpu.cu and common/sim/machine_model.cpp; the linker picks one.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

namespace tile::machine {

/// "gpu" or "model".
std::string kind();
/// Empty when the machine can run kernels, else the reason why not, one line.
std::string unavailable();
/// What the kernels run on: the GPU's name, or "SIMT model, 2 host threads".
std::string description();

struct Device {
  int sms;  ///< streaming multiprocessors
  /// It has mbarriers and the tensor memory accelerator, and the program was compiled to use
  /// them: both begin with compute capability 9.0.
  bool copies_in_bulk;
};
/// The GPU's, asked once; the model stands for an H200.
const Device& device();

/// The machine has no room for an allocation; what() says how much was asked for.
struct OutOfMemory : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Device memory, 256-byte aligned. `element` is the size of one element in bytes, `name` what
/// errors call it. Throws OutOfMemory when there is not enough.
void* allocate(std::size_t bytes, std::size_t element, const std::string& name);
void release(void* memory);
void copy_to_device(void* device, const void* host, std::size_t bytes);
/// Waits for running kernels first; errors of theirs are thrown as std::runtime_error.
void copy_to_host(void* host, const void* device, std::size_t bytes);
void synchronize();

/// Tells the model that an allocation holds a rows x cols matrix with leading dimension ld, from
/// element `first` on: traced accesses elsewhere in it are errors. A GPU has no use for it.
void declare_matrix(void* memory, std::size_t first, std::size_t rows, std::size_t cols,
                    std::size_t ld);

}  // namespace tile::machine
