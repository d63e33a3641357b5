// Timing with CUDA events (timing.hpp), only of correct results; and a record's description of the GPU (clocks.hpp).
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <future>
#include <stdexcept>
#include <string>

#include "common/bench/clocks.hpp"
#include "common/bench/timing.hpp"
#include "common/check/operands.hpp"

namespace tile {
namespace {

void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
}

/// An event on the GPU's default stream.
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

Buffer uploaded(const std::vector<float>& values, Element type) {
  Buffer device = device_memory(values.size() * size_of(type));
  const auto upload_as = [&](auto element) {
    const std::vector<decltype(element)> elements(values.begin(), values.end());
    machine::copy_to_device(device.get(), elements.data(), elements.size() * sizeof element);
  };
  if (type == Element::f32) upload_as(float());
  if (type == Element::bf16) upload_as(__nv_bfloat16());
  if (type == Element::f16) upload_as(__half());
  return device;
}

std::size_t bytes_of_C(const Case& c) { return std::size_t(c.M) * c.ldc() * size_of(c.types.C); }

void poison(const Case& c, void* C) { check(cudaMemset(C, 0xff, bytes_of_C(c)), "poison C"); }  // a NaN of every type

Buffer copy_of(const Buffer& original, std::size_t bytes) {
  Buffer copy = device_memory(bytes);
  check(cudaMemcpy(copy.get(), original.get(), bytes, cudaMemcpyDeviceToDevice), "copy");
  return copy;
}

// Runs a product once, with beta 0 and a poisoned C. Returns its deviation by Freivalds' check; throws if too large.
double require_correct(const std::function<void(const Product&)>& run, const Rotation& rotation) {
  const Case& c = rotation.problem;
  Product product = rotation.product(0);
  product.beta = 0;
  poison(c, product.C);
  run(product);
  machine::synchronize();
  const double deviation = freivalds(product, 2024);
  const double allowed = c.fill != Fill::random && c.types.C == Element::f32 ? 0 : 1;  // integers are exact
  if (!(deviation <= allowed))
    throw std::runtime_error(
        fmt::format("wrong result at {}: Freivalds deviation {}, the maximum is {}; no timing is recorded",
                    key_of(c.problem()), deviation, allowed));
  return deviation;
}

auto runs_of(const Launchable& kernel) {
  return [&](const Product& product) { kernel.run(product); };
}

// A kernel prepared for each copy of a rotation.
std::vector<std::unique_ptr<BoundKernel>> prepared_for(const Launchable& kernel, const Rotation& rotation) {
  std::vector<std::unique_ptr<BoundKernel>> prepared;
  for (std::size_t i = 0; i < rotation.size(); ++i) prepared.push_back(kernel.prepare(rotation.product(i)));
  return prepared;
}

/// A kernel and the times of its iterations: its own, cuBLAS's, and cuBLASLt's if that takes part.
struct Timed {
  double deviation;
  std::vector<std::unique_ptr<BoundKernel>> prepared;
  std::vector<std::vector<double>> ms;
};

}  // namespace

void DeviceFree::operator()(void* memory) const { cudaFree(memory); }

Buffer device_memory(std::size_t bytes) {
  void* memory = nullptr;
  check(cudaMalloc(&memory, bytes), "cudaMalloc");
  return Buffer(memory);
}

Rotation::Rotation(const Case& c, L2 l2) : problem(c) {
  int l2_bytes = 0;
  check(cudaDeviceGetAttribute(&l2_bytes, cudaDevAttrL2CacheSize, 0), "L2 size");
  const std::size_t count_A = std::size_t(c.layout_A == Layout::rows ? c.M : c.K) * c.lda(),
                    count_B = std::size_t(c.layout_B == Layout::rows ? c.K : c.N) * c.ldb();
  const std::size_t bytes_A = count_A * size_of(c.types.A), bytes_B = count_B * size_of(c.types.B);
  const std::size_t copies =
      l2 == L2::warm ? 1 : copies_past_l2(std::size_t(l2_bytes), bytes_A + bytes_B + bytes_of_C(c));
  auto values_of_B = std::async(std::launch::async, make_values, count_B, c.fill, c.seed + 1);
  A.push_back(uploaded(make_values(count_A, c.fill, c.seed), c.types.A));
  B.push_back(uploaded(values_of_B.get(), c.types.B));
  while (A.size() < copies) {
    A.push_back(copy_of(A.front(), bytes_A));
    B.push_back(copy_of(B.front(), bytes_B));
  }
  while (C.size() < copies) {
    C.push_back(device_memory(bytes_of_C(c)));
    poison(c, C.back().get());
  }
}

Product Rotation::product(std::size_t i) const {
  const std::size_t copy = i % size();
  return {problem.problem(), problem.alpha, A[copy].get(), B[copy].get(), problem.beta, C[copy].get()};
}

// The kernel, cuBLAS and, if given, cuBLASLt run in an order that changes from iteration to iteration, so that no side
// always runs with the clock and heat that the same other one left.
std::vector<Record> time_against_cublas(const std::vector<Launchable>& kernels, const Rotation& rotation,
                                        int repetitions_of_suggestions) {
  std::vector<Timed> timed;
  for (const Launchable& kernel : kernels)
    timed.push_back({require_correct(runs_of(kernel), rotation), prepared_for(kernel, rotation), {}});
  CublasLt lt;
  if (repetitions_of_suggestions > 0) lt = search_cublas_lt(rotation, repetitions_of_suggestions);
  if (lt.multiply) require_correct(lt.multiply, rotation);
  const std::size_t sides = lt.multiply ? 3 : 2;

  std::size_t calls = 0;  // over all sides, so that no call finds in the L2 what another has just read
  const auto run = [&](const Timed& t, std::size_t side) {
    const std::size_t call = calls++;
    if (side == 0)
      t.prepared[call % rotation.size()]->run();
    else if (side == 1)
      cublas_multiply(rotation.product(call));
    else
      lt.multiply(rotation.product(call));
  };
  for (Timed& t : timed) {
    t.ms.resize(sides);
    for (int i = 0; i < 3; ++i)
      for (std::size_t side = 0; side < sides; ++side) run(t, side);
  }
  check(cudaDeviceSynchronize(), "warm-up");

  const Case& c = rotation.problem;
  const auto repetitions = std::size_t(repetitions_of(c.M, c.N, c.K));
  std::vector<Event> events(sides + 1);
  ClockSampler clocks(nvml());
  for (std::size_t iteration = 0; iteration < repetitions; ++iteration) {
    const std::vector<std::size_t> order = order_of_iteration(sides, iteration);
    for (std::size_t i = 0; i < timed.size(); ++i) {
      // A different kernel begins each iteration: otherwise one would always run after the same other, with its heat.
      Timed& t = timed[(i + iteration) % timed.size()];
      hold_gpu();
      events[0].record();
      for (std::size_t place = 0; place < sides; ++place) {
        run(t, order[place]);
        events[place + 1].record();
      }
      for (std::size_t place = 0; place < sides; ++place)
        t.ms[order[place]].push_back(to_nanosecond(events[place + 1].ms_since(events[place])));
    }
  }

  const Record sampled = clocks.stop();
  std::vector<Record> runs;
  for (const Timed& t : timed) {
    Record& result = runs.emplace_back(to_json(c.problem()));
    result.update({{"samples_ms", t.ms[0]},
                   {"cublas_samples_ms", t.ms[1]},
                   {"clocks", sampled},
                   {"freivalds_deviation", t.deviation}});
    if (!lt.search.is_null()) result["lt_search"] = lt.search;
    if (sides == 3) result["lt_samples_ms"] = t.ms[2];
    result.update(summary_of(result));
  }
  return runs;
}

void require_exact(const std::vector<Launchable>& kernels, Case c) {
  c.fill = Fill::integers;
  const Rotation rotation(c);
  for (const Launchable& kernel : kernels) require_correct(runs_of(kernel), rotation);
}

Spread time_ms(const std::function<void(int)>& work, int repetitions, int warm_up) {
  for (int call = 0; call < warm_up; ++call) work(call);
  std::vector<double> samples;
  Event start, stop;
  for (int call = warm_up; call < warm_up + repetitions; ++call) {
    hold_gpu();
    start.record();
    work(call);
    stop.record();
    samples.push_back(stop.ms_since(start));
  }
  return spread_of(samples);
}

double median_ms(const Launchable& kernel, const Rotation& rotation, int repetitions) {
  require_correct(runs_of(kernel), rotation);
  const auto prepared = prepared_for(kernel, rotation);
  const auto run = [&](int call) { prepared[std::size_t(call) % prepared.size()]->run(); };
  return to_nanosecond(time_ms(run, repetitions).median);
}

Record kernel_attributes(const void* function, int block_threads, std::size_t dynamic_shared) {
  cudaFuncAttributes a{};
  check(cudaFuncGetAttributes(&a, function), "cudaFuncGetAttributes");
  int blocks = 0;
  if (dynamic_shared > 48 * 1024)  // opt in as launch() does; otherwise no block would fit
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
    if (!found.missing().empty()) fmt::print(stderr, "{}: clocks and power are not recorded\n", found.missing());
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
          {"l2_bytes", p.l2CacheSize},
          {"clock_hz", clock_khz * 1e3},
          {"rates", Record::object()},
          {"kernels", Record::array()}};
}

}  // namespace tile
