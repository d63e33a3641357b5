// The limits of GPUs, as far as this book's arithmetic needs them.
#pragma once

#include <algorithm>

namespace tile {

/// Published figures of a GPU. Rates that matter are measured by chapter 00; these are for arithmetic on paper.
struct GpuSpec {
  // The same on every GPU of this book.
  static constexpr int warp = 32;       ///< lanes
  static constexpr int schedulers = 4;  ///< of an SM, each with a quarter of its lanes and registers
  static constexpr int banks = 32;      ///< of shared memory and L1
  static constexpr int bank_bytes = 4;  ///< that a bank delivers per cycle

  const char* name;
  int sms;
  int fma_lanes;           ///< FP32 FMA results per SM and cycle
  double clock_ghz;        ///< boost clock
  double dram_gbs;         ///< memory bandwidth, GB/s (10^9 bytes)
  int registers;           ///< 32-bit registers per SM
  int shared_bytes;        ///< shared memory per SM that blocks can use, including the reserved part
  int reserved_shared;     ///< shared memory reserved by the system, per block
  int max_threads;         ///< resident threads per SM
  int max_blocks;          ///< resident blocks per SM
  int l1_bytes;            ///< L1 and shared memory of an SM together
  double bf16_tflops = 0;  ///< of its tensor cores, BF16 in and FP32 out, dense; 0: not given here

  constexpr double peak_tflops() const { return 2.0 * sms * fma_lanes * clock_ghz * 1e-3; }
  /// The arithmetic intensity, in flops per byte, at which arithmetic takes as long as memory traffic.
  constexpr double ridge() const { return peak_tflops() * 1e3 / dram_gbs; }
};

// Sources: NVIDIA's architecture whitepapers (GA102, GH100, Blackwell RTX) and the CUDA Programming Guide's table of
// compute capabilities 8.6, 9.0 and 12.0. The A6000's and the laptop's peaks are quoted at 30 and 9.6 TFLOP/s by
// the worklogs this ladder comes from; the clocks below are those that give these.
inline constexpr GpuSpec rtx_a6000{"RTX A6000", 84, 128, 1.395, 768, 65536, 100 * 1024, 1024, 1536, 16, 128 * 1024};
inline constexpr GpuSpec rtx_5060_laptop{"RTX 5060 laptop", 26,   128,  1.442, 384,       65536,
                                         100 * 1024,        1024, 1536, 24,    128 * 1024};
inline constexpr GpuSpec h100{"H100 SXM", 132, 128, 1.98, 3350, 65536, 228 * 1024, 1024, 2048, 32, 256 * 1024, 989.4};
inline constexpr GpuSpec h200{"H200", 132, 128, 1.98, 4800, 65536, 228 * 1024, 1024, 2048, 32, 256 * 1024, 989.4};

/// How many blocks of a kernel fit on one SM, and what limits them.
struct Occupancy {
  int by_threads, by_registers, by_shared, by_blocks;
  int blocks;       ///< the smallest of them
  double fraction;  ///< resident threads / max_threads

  constexpr const char* limiter() const {
    if (blocks == by_threads) return by_threads == by_registers ? "threads and registers" : "threads";
    if (blocks == by_registers) return "registers";
    return blocks == by_shared ? "shared memory" : "blocks";
  }
};

/// Registers allocated to one warp of a kernel, in units of 256 (CUDA Programming Guide, "Hardware Multithreading"; the
/// CUDA Occupancy Calculator lists this unit for compute capability 3.0 and later).
constexpr int registers_per_warp(int registers_per_thread) { return (registers_per_thread * 32 + 255) / 256 * 256; }

/// Resident blocks per SM for a kernel of `threads` threads per block, with the given registers per thread and bytes of
/// shared memory per block. Warps are distributed over the SM's four partitions, each with a quarter of the registers.
constexpr Occupancy occupancy(const GpuSpec& gpu, int threads, int registers_per_thread, int shared_bytes) {
  const int warps = (threads + 31) / 32;
  const int warps_by_registers =
      gpu.registers / gpu.schedulers / registers_per_warp(std::max(registers_per_thread, 1)) * gpu.schedulers;
  Occupancy o{};
  o.by_threads = gpu.max_threads / (warps * 32);
  o.by_registers = warps_by_registers / warps;
  o.by_shared = gpu.shared_bytes / ((shared_bytes + gpu.reserved_shared + 127) / 128 * 128);
  o.by_blocks = gpu.max_blocks;
  o.blocks = std::min(std::min(o.by_threads, o.by_registers), std::min(o.by_shared, o.by_blocks));
  o.fraction = double(o.blocks) * warps * 32 / gpu.max_threads;
  return o;
}

}  // namespace tile
