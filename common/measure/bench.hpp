// The parts of a record that only a GPU can give (timing_gpu.cpp).
#pragma once

#include "common/check/gemm.hpp"
#include "common/measure/record.hpp"

namespace tile {

/// One run for a record: checks the kernel, then times it and cuBLAS in turn, `repetitions` times each, on random
/// inputs in buffers rotated past the L2. Throws std::runtime_error when the kernel's result is wrong.
Record time_against_cublas(Launcher launcher, const Case& c, int repetitions = 20);

/// What the compiler and the driver say of a kernel: mangled name, registers, spills, shared memory, resident blocks per SM.
Record kernel_attributes(const void* function, int block_threads, std::size_t dynamic_shared);

/// The head of a record: GPU, driver, CUDA, date, SM count, clocks.
Record describe_gpu();
/// Clocks, power and temperature now, as nvidia-smi reports them.
Record clocks_now();

}  // namespace tile
