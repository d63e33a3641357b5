// For your own kernels: describe a launch, and `./tile count FILE.cu` shows what it would cost.
//
//   #include "common/count/count.hpp"
//   __global__ void my_kernel(float* out, const float* in) { ... }
//   TILE_COUNT("what this run shows") {
//     auto in = tile::array<float>("in", 1024), out = tile::array<float>("out", 1024);
//     tile::launch(my_kernel, dim3(4), dim3(256), 0, out.device(), in.device());
//     tile::expect(out.host()[7] == in.host()[7], "out must equal in");
//   }
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/cuda/cuda.hpp"
#include "common/cuda/machine.hpp"

namespace tile {

/// An array in device memory; `name` appears in the table. It starts out as 0, 1, 2, ... converted to T.
template <class T>
class DeviceArray {
 public:
  DeviceArray(const std::string& name, std::size_t count) : count_(count) {
    if (count == 0) throw std::invalid_argument("array " + name + " needs at least one element");
#if TILE_ON_MODEL
    constexpr simt::ElementType type = simt::element_type<T>();
    data_ = static_cast<T*>(machine::allocate(count * sizeof(T), type.smallest_access, name));
    simt::declare_elements(data_, type);
#else  // tests that run on both machines
    data_ = static_cast<T*>(machine::allocate(count * sizeof(T), sizeof(T), name));
#endif
    std::vector<T> values(count);
    if constexpr (std::is_arithmetic_v<T>)
      for (std::size_t i = 0; i < count; ++i) values[i] = T(i);
    set(values);
  }
  ~DeviceArray() { machine::release(data_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  /// The pointer to pass to a kernel.
  T* device() const { return data_; }
  /// A copy of the contents.
  std::vector<T> host() const {
    std::vector<T> values(count_);
    machine::copy_to_host(values.data(), data_, count_ * sizeof(T));
    return values;
  }
  void set(const std::vector<T>& values) {
    if (values.size() != count_) throw std::invalid_argument("set() needs as many values as the array has elements");
    machine::copy_to_device(data_, values.data(), count_ * sizeof(T));
  }

 private:
  std::size_t count_;
  T* data_ = nullptr;
};

template <class T>
DeviceArray<T> array(const std::string& name, std::size_t count) {
  return DeviceArray<T>(name, count);
}

/// Ends the run with `message` unless `condition` holds.
inline void expect(bool condition, const std::string& message) {
  if (!condition) throw std::runtime_error("expectation not met: " + message);
}

/// Sets how many floating-point operations the launches of this run do, because the model does not count them.
void flops(double of_this_run);

/// A described run; TILE_COUNT registers one.
struct CountedRun {
  CountedRun(const char* title, void (*body)());
};

}  // namespace tile

#define TILE_COUNT_JOIN2(a, b) a##b
#define TILE_COUNT_JOIN(a, b) TILE_COUNT_JOIN2(a, b)
#define TILE_COUNT(title)                                                        \
  static void TILE_COUNT_JOIN(tile_counted_run_, __LINE__)();                    \
  static const tile::CountedRun TILE_COUNT_JOIN(tile_registered_run_, __LINE__)( \
      title, TILE_COUNT_JOIN(tile_counted_run_, __LINE__));                      \
  static void TILE_COUNT_JOIN(tile_counted_run_, __LINE__)()
