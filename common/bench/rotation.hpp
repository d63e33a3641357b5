// Device memory and events of the CUDA runtime that release themselves, and one problem in device memory several times
// over, so that no timed call finds its operands in the L2. In: a case. Out: operands to launch on, copy by copy. GPU
// programs only.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "common/bench/timing.hpp"
#include "common/check/gemm.hpp"

namespace tile {

/// Throws std::runtime_error, `what` and CUDA's own words, unless `status` is success.
inline void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
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

/// A moment on the GPU's default stream.
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

/// What A and B are filled with, in device memory, made once for many problems: enough for the largest of them. Random
/// numbers come from the CPU, and for a large problem they take longer than all that is timed.
class Inputs {
 public:
  /// Throws std::invalid_argument unless the cases agree on types, fill and seed.
  explicit Inputs(const std::vector<Case>& cases);
  const void* A() const { return A_.get(); }
  const void* B() const { return B_.get(); }

 private:
  Buffer<char> A_, B_;
};

/// Copies of one problem, enough of them that a full round is larger than three times the L2, or a single one for a warm
/// L2. Inputs are as the case fills them, C is poisoned with NaN.
struct Rotation {
  explicit Rotation(const Case& c) : Rotation(c, Inputs({c})) {}
  /// The same, filled from inputs that were made for this case among others.
  Rotation(const Case& c, const Inputs& inputs, L2 l2 = L2::cold);
  /// The i-th copy as a kernel takes it.
  Product product(std::size_t i) const;
  std::size_t size() const { return C.size(); }

  Case problem;
  std::vector<Buffer<char>> A, B, C;
};

}  // namespace tile
