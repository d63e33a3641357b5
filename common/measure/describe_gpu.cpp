#include "common/measure/describe_gpu.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <memory>
#include <string>

#include "common/measure/cuda_handles.hpp"

namespace tile {
namespace {

std::string run_command(const char* command) {
  std::string output;
  std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command, "r"), pclose);
  std::array<char, 256> chunk;
  while (pipe && std::fgets(chunk.data(), chunk.size(), pipe.get()) != nullptr) output += chunk.data();
  return output;
}

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

}  // namespace

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

Record clocks_now() {
  const std::string line = run_command(
      "nvidia-smi --query-gpu=clocks.sm,clocks.mem,power.draw,power.limit,temperature.gpu "
      "--format=csv,noheader,nounits 2>/dev/null");
  double sm = 0, memory = 0, power = 0, limit = 0, temperature = 0;
  std::sscanf(line.c_str(), "%lf, %lf, %lf, %lf, %lf", &sm, &memory, &power, &limit, &temperature);
  return {{"sm_mhz", sm},
          {"memory_mhz", memory},
          {"power_w", power},
          {"power_limit_w", limit},
          {"temperature_c", temperature}};
}

Record describe_gpu() {
  cudaDeviceProp p{};
  check(cudaGetDeviceProperties(&p, 0), "cudaGetDeviceProperties");
  int driver = 0;
  check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  std::string driver_release = run_command("nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>/dev/null");
  driver_release.erase(std::min(driver_release.find('\n'), driver_release.size()));
  int clock_khz = 0;
  check(cudaDeviceGetAttribute(&clock_khz, cudaDevAttrClockRate, 0), "clock rate");
  return {{"schema", 1},
          {"gpu", p.name},
          {"date", fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr)))},
          {"driver", driver_release.empty() ? version_text(driver) : driver_release},
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
