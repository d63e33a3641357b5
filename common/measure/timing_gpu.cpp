#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_runtime_api.h>
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <stdexcept>

#include "common/measure/bench.hpp"
#include "common/measure/clocks.hpp"
#include "common/measure/timing.hpp"

namespace tile {
namespace {

void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
}
void check(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw std::runtime_error(std::string(what) + ": " + cublasGetStatusString(status));
}

/// Device memory that frees itself.
template <class T>
class Buffer {
 public:
  explicit Buffer(std::size_t count) {
    check(cudaMalloc(reinterpret_cast<void**>(&data_), count * sizeof(T)), "cudaMalloc");
  }
  ~Buffer() { cudaFree(data_); }
  Buffer(Buffer&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  T* get() const { return data_; }

 private:
  T* data_ = nullptr;
};

class Event {
 public:
  Event() { check(cudaEventCreate(&event_), "cudaEventCreate"); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  void record() { check(cudaEventRecord(event_), "cudaEventRecord"); }
  double ms_since(const Event& start) const {
    float ms = 0;
    check(cudaEventSynchronize(event_), "cudaEventSynchronize");
    check(cudaEventElapsedTime(&ms, start.event_, event_), "cudaEventElapsedTime");
    return ms;
  }

 private:
  cudaEvent_t event_{};
};

class Cublas {
 public:
  Cublas() : workspace_(workspace_bytes) {
    require_plain_cublas();
    check(cublasCreate(&handle_), "cublasCreate");
    check(cublasSetWorkspace(handle_, workspace_.get(), workspace_bytes), "cublasSetWorkspace");
    check(cublasSetMathMode(handle_, CUBLAS_DEFAULT_MATH), "cublasSetMathMode");
  }
  ~Cublas() { cublasDestroy(handle_); }
  Cublas(const Cublas&) = delete;

  /// Row-major C = alpha A B + beta C is column-major C^T = alpha B^T A^T + beta C^T.
  void multiply(int M, int N, int K, float alpha, const void* A, int lda, const void* B, int ldb, float beta, float* C,
                int ldc, CublasMode mode) {
    const cudaDataType_t input = mode == CublasMode::bf16 ? CUDA_R_16BF : CUDA_R_32F;
    const cublasComputeType_t compute = mode == CublasMode::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    check(cublasGemmEx(handle_, CUBLAS_OP_N, CUBLAS_OP_N, N, M, K, &alpha, B, input, ldb, A, input, lda, &beta, C,
                       CUDA_R_32F, ldc, compute, CUBLAS_GEMM_DEFAULT),
          "cublasGemmEx");
  }

 private:
  static constexpr std::size_t workspace_bytes = 32u << 20;
  Buffer<char> workspace_;
  cublasHandle_t handle_{};
};

Cublas& cublas() {
  static Cublas instance;
  return instance;
}

/// Copies of one problem, enough of them that a full round is larger than three times the L2.
struct Rotation {
  Rotation(const Case& c, std::size_t element) {
    int l2 = 0;
    check(cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, 0), "L2 size");
    const std::size_t a = std::size_t(c.M) * (c.K + c.pad), b = std::size_t(c.K) * (c.N + c.pad);
    const std::size_t out = std::size_t(c.M) * (c.N + c.pad);
    const std::size_t bytes = (a + b) * element + out * 4;
    // An even number: a pair of calls takes two, and both sides see the same ones.
    const std::size_t copies = std::clamp<std::size_t>((3 * std::size_t(l2) + bytes - 1) / bytes, 4, 64) / 2 * 2;
    const auto upload = [&](std::size_t count, std::uint64_t seed) {
      const std::vector<float> values = make_values(count, c.fill, seed);
      Buffer<char> device(count * element);
      if (element == 4) {
        check(cudaMemcpy(device.get(), values.data(), count * 4, cudaMemcpyHostToDevice), "upload");
      } else {
        std::vector<__nv_bfloat16> narrow(count);
        std::transform(values.begin(), values.end(), narrow.begin(), [](float v) { return __float2bfloat16(v); });
        check(cudaMemcpy(device.get(), narrow.data(), count * 2, cudaMemcpyHostToDevice), "upload");
      }
      return device;
    };
    A.push_back(upload(a, c.seed));
    B.push_back(upload(b, c.seed + 1));
    C.emplace_back(out);
    for (std::size_t i = 1; i < copies; ++i) {
      A.emplace_back(a * element);
      B.emplace_back(b * element);
      C.emplace_back(out);
      check(cudaMemcpy(A[i].get(), A[0].get(), a * element, cudaMemcpyDeviceToDevice), "copy");
      check(cudaMemcpy(B[i].get(), B[0].get(), b * element, cudaMemcpyDeviceToDevice), "copy");
    }
    for (auto& buffer : C) check(cudaMemset(buffer.get(), 0xff, out * 4), "poison C");  // 0xffffffff is a NaN
  }
  Gemm gemm(const Case& c, std::size_t i) const {
    return {c.M,
            c.N,
            c.K,
            c.alpha,
            reinterpret_cast<const float*>(A[i].get()),
            c.K + c.pad,
            reinterpret_cast<const float*>(B[i].get()),
            c.N + c.pad,
            c.beta,
            C[i].get(),
            c.N + c.pad};
  }
  std::size_t size() const { return C.size(); }

  std::vector<Buffer<char>> A, B;
  std::vector<Buffer<float>> C;
};

// One checked run in float64 arithmetic on the GPU, for integers (exact) and random values.
double require_correct(Launcher launcher, const Case& c) {
  double random_deviation = 0;
  for (const Fill fill : {Fill::integers, Fill::random}) {
    Case checked = c;
    checked.fill = fill;
    checked.beta = 0;
    const Rotation rotation(checked, 4);
    const Gemm g = rotation.gemm(checked, 0);
    launcher(g);
    check(cudaDeviceSynchronize(), "kernel");
    const double deviation = freivalds(g, nullptr, 2024);
    const double allowed = fill == Fill::integers ? 0.0 : 1.0;
    if (!(deviation <= allowed))
      throw std::runtime_error(
          fmt::format("wrong result at {} x {} x {} ({} inputs): Freivalds deviation {}, at most {} "
                      "allowed; no timing is recorded",
                      c.M, c.N, c.K, fill == Fill::integers ? "integer" : "random", deviation, allowed));
    random_deviation = deviation;
  }
  return random_deviation;
}

std::string run_command(const char* command) {
  std::string output;
  std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command, "r"), pclose);
  std::array<char, 256> chunk;
  while (pipe && std::fgets(chunk.data(), chunk.size(), pipe.get()) != nullptr) output += chunk.data();
  return output;
}

// Milliseconds without digits that no event resolves.
double to_nanosecond(double ms) { return std::round(ms * 1e6) / 1e6; }

std::string pci_bus_id() {
  char id[32] = "";
  check(cudaDeviceGetPCIBusId(id, sizeof id, 0), "PCI bus id");
  return id;
}

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

}  // namespace

void require_plain_cublas() {
  for (const char* name : {"NVIDIA_TF32_OVERRIDE", "CUBLAS_EMULATE_SINGLE_PRECISION"})
    if (std::getenv(name) != nullptr)
      throw std::runtime_error(fmt::format("{} is set and would change what cuBLAS computes: unset it", name));
}

Spread time_ms(const std::function<void(int)>& work, int repetitions) {
  for (int i = 0; i < 3; ++i) work(i);
  std::vector<double> samples;
  Event start, stop;
  for (int i = 0; i < repetitions; ++i) {
    hold_gpu();
    start.record();
    work(i);
    stop.record();
    samples.push_back(stop.ms_since(start));
  }
  return spread_of(samples);
}

Spread cublas_tflops(int size, CublasMode mode, int repetitions) {
  const Case c{size, size, size};
  const Rotation rotation(c, mode == CublasMode::bf16 ? 2 : 4);
  const Spread ms = time_ms(
      [&](int repetition) {
        const std::size_t i = std::size_t(repetition) % rotation.size();
        cublas().multiply(size, size, size, 1, rotation.A[i].get(), size, rotation.B[i].get(), size, 0,
                          rotation.C[i].get(), size, mode);
      },
      repetitions);
  const auto tflops = [&](double time) { return tflops_of(size, size, size, time); };
  return {tflops(ms.median), tflops(ms.high), tflops(ms.low)};
}

std::vector<Record> time_against_cublas(const std::vector<Launcher>& launchers, const Case& c) {
  constexpr int most = 200;
  struct Timed {
    Launcher launcher;
    double deviation;
    std::vector<double> ms{}, cublas_ms{}, ratio{};
    bool done() const { return int(ms.size()) == most || (settled(ms) && settled(ratio)); }
  };
  std::vector<Timed> timed;
  for (const Launcher launcher : launchers) timed.push_back({launcher, require_correct(launcher, c)});

  const Rotation rotation(c, 4);
  std::size_t calls = 0;  // of all kernels and of cuBLAS: no call meets what another just read
  const auto run = [&](const Timed& t, bool ours) {
    const Gemm g = rotation.gemm(c, calls++ % rotation.size());
    if (ours)
      t.launcher(g);
    else
      cublas().multiply(g.M, g.N, g.K, g.alpha, g.A, g.lda, g.B, g.ldb, g.beta, g.C, g.ldc, CublasMode::fp32);
  };
  for (const Timed& t : timed)
    for (int i = 0; i < 3; ++i) run(t, true), run(t, false);

  Event start, between, stop;
  ClockSampler clocks(pci_bus_id());
  for (std::size_t round = 0; !std::all_of(timed.begin(), timed.end(), [](auto& t) { return t.done(); }); ++round)
    for (std::size_t turn = 0; turn < timed.size(); ++turn) {
      Timed& t = timed[(turn + round) % timed.size()];  // none always follows the same one
      if (t.done()) continue;
      const bool ours_first = round % 2 == 0;  // neither side always finds the other's clock and heat
      hold_gpu();
      start.record();
      run(t, ours_first);
      between.record();
      run(t, !ours_first);
      stop.record();
      const double first = to_nanosecond(between.ms_since(start)), second = to_nanosecond(stop.ms_since(between));
      t.ms.push_back(ours_first ? first : second);
      t.cublas_ms.push_back(ours_first ? second : first);
      t.ratio.push_back(t.cublas_ms.back() / t.ms.back());
    }

  const Record sampled = clocks.stop();
  std::vector<Record> results;
  for (const Timed& t : timed) {
    results.push_back({{"M", c.M},
                       {"N", c.N},
                       {"K", c.K},
                       {"samples_ms", t.ms},
                       {"cublas_samples_ms", t.cublas_ms},
                       {"clocks", sampled},
                       {"freivalds_deviation", t.deviation}});
    results.back().update(summary_of(results.back()));
  }
  return results;
}

struct TuningBench::Buffers {
  explicit Buffers(int size) : problem{size, size, size}, rotation(problem, 4) {}
  Case problem;
  Rotation rotation;
};

TuningBench::TuningBench(int size) : buffers_(std::make_unique<Buffers>(size)) {}
TuningBench::~TuningBench() = default;

double TuningBench::median_ms(Launcher launcher, int repetitions) {
  const auto& [problem, rotation] = *buffers_;
  const Gemm first = rotation.gemm(problem, 0);
  check(cudaMemset(first.C, 0xff, sizeof(float) * problem.M * problem.N), "poison C");
  launcher(first);
  check(cudaDeviceSynchronize(), "kernel");
  if (const double deviation = freivalds(first, nullptr, 2024); !(deviation <= 1))
    throw std::runtime_error(fmt::format("wrong result: Freivalds deviation {}, at most 1 allowed", deviation));
  const auto run = [&](int repetition) { launcher(rotation.gemm(problem, std::size_t(repetition) % rotation.size())); };
  return to_nanosecond(time_ms(run, repetitions).median);
}

Record kernel_attributes(const void* function, int block_threads, std::size_t dynamic_shared) {
  cudaFuncAttributes a{};
  check(cudaFuncGetAttributes(&a, function), "cudaFuncGetAttributes");
  int blocks = 0;
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
