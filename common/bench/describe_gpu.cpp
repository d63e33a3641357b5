#include <fmt/chrono.h>
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <ctime>
#include <string>

#include "common/bench/clocks.hpp"
#include "common/bench/rotation.hpp"

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
  const auto pci_bus_id = [] {
    std::array<char, 32> id{};
    check(cudaDeviceGetPCIBusId(id.data(), int(id.size()), 0), "PCI bus id");
    return std::string(id.data());
  };
  static const struct Told : Nvml {
    explicit Told(const std::string& gpu) : Nvml(gpu) {
      if (!missing().empty()) fmt::print(stderr, "{}: no clocks and no power are recorded\n", missing());
    }
  } instance(pci_bus_id());
  return instance;
}

Record describe_gpu() {
  cudaDeviceProp p{};
  check(cudaGetDeviceProperties(&p, 0), "cudaGetDeviceProperties");
  int driver = 0;
  check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  const std::string cuda_of_driver = fmt::format("{}.{}", driver / 1000, driver % 1000 / 10);
  int clock_khz = 0;
  check(cudaDeviceGetAttribute(&clock_khz, cudaDevAttrClockRate, 0), "clock rate");
  return {{"gpu", p.name},
          {"date", fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr)))},
          {"driver", nvml().driver().empty() ? cuda_of_driver : nvml().driver()},
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
