// What a GPU and its driver say of themselves and of a kernel, as parts of a record. In: the GPU that CUDA calls 0, a compiled
// kernel. Out: JSON. GPU programs only.
#pragma once

#include <cstddef>

#include "common/bench/clocks.hpp"
#include "common/bench/record.hpp"

namespace tile {

/// What the compiler and the driver say of a kernel: mangled name, registers, spills, shared memory, resident blocks per SM.
Record kernel_attributes(const void* function, int block_threads, std::size_t dynamic_shared);

/// The head of a record: GPU and what one of its SMs holds, driver, nvcc and the architecture it compiled for, date, clock.
Record describe_gpu();
/// NVML for the GPU that CUDA calls 0. Where it cannot be asked, a line on stderr says so, once.
const Nvml& nvml();

}  // namespace tile
