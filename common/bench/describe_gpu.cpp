#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cstdio>
#include <ctime>

#include "common/bench/clocks.hpp"
#include "common/bench/cublas.hpp"

namespace tile {

Record kernel_attributes(const void* function, int block_threads, std::size_t dynamic_shared) {
  cudaFuncAttributes a{};
  check(cudaFuncGetAttributes(&a, function), "cudaFuncGetAttributes");
  int blocks = 0;
  if (dynamic_shared > 48 * 1024)  // as launch() allows it; without it none would fit
    check(cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, int(dynamic_shared)),
          "cudaFuncSetAttribute(MaxDynamicSharedMemorySize)");
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, block_threads, dynamic_shared),
        "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
  const char* mangled = nullptr;
  check(cudaFuncGetName(&mangled, function), "cudaFuncGetName");
  return {{"function", mangled},
          {"registers", a.numRegs},
          {"spill_bytes", a.localSizeBytes},
          {"static_shared", a.sharedSizeBytes},
          {"dynamic_shared", dynamic_shared},
          {"block_threads", block_threads},
          {"blocks_per_sm", blocks}};
}

const Nvml& nvml() {
  static const Nvml instance = [] {
    char pci_bus_id[32];
    check(cudaDeviceGetPCIBusId(pci_bus_id, int(sizeof pci_bus_id), 0), "PCI bus id");
    Nvml found(pci_bus_id);
    if (!found.missing().empty()) fmt::print(stderr, "{}: no clocks and no power are recorded\n", found.missing());
    return found;
  }();
  return instance;
}

Record describe_gpu() {
  cudaDeviceProp p{};
  check(cudaGetDeviceProperties(&p, 0), "cudaGetDeviceProperties");
  int clock_khz = 0;
  check(cudaDeviceGetAttribute(&clock_khz, cudaDevAttrClockRate, 0), "clock rate");
  return {{"gpu", p.name},
          {"date", fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr)))},
          {"driver", nvml().driver()},
          {"cuda", TILE_NVCC_VERSION},
          {"architecture", TILE_CUDA_ARCHITECTURE},
          {"sms", p.multiProcessorCount},
          {"sm",
           {{"registers", p.regsPerMultiprocessor},
            {"shared_bytes", p.sharedMemPerMultiprocessor},
            {"reserved_shared", p.reservedSharedMemPerBlock},
            {"threads", p.maxThreadsPerMultiProcessor},
            {"blocks", p.maxBlocksPerMultiProcessor}}},
          {"l2_bytes", p.l2CacheSize},
          {"clock_hz", clock_khz * 1e3},
          {"rates", Record::object()},
          {"kernels", Record::array()}};
}

}  // namespace tile
