// What the CUDA runtime hands out, as C++ objects: device memory and events that release themselves, and status codes that
// become exceptions. In: sizes, and work on the default stream. Out: pointers and milliseconds. GPU programs only.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

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

}  // namespace tile
