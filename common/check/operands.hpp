// The operands of a case in device memory, guarded so that stray accesses are detected. In: a case. Out: pointers for a
// kernel, and after its run C and what was overwritten.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/check/gemm.hpp"

namespace tile {

/// `count` values according to `fill`; for the same seed they are the same on every machine.
std::vector<float> make_values(std::size_t count, Fill fill, std::uint64_t seed);

/// Throws std::invalid_argument if extents or leading dimensions are invalid; every launcher calls it first.
void require_valid(const Gemm& g);
/// The same for a `prepare`.
void require_valid(const Product& product);

/// The operands of a case in device memory: padding and guard bands hold NaN, and so does C if beta is 0. Each of these
/// NaNs has its own bits, so that a copy of one over another is detected. Of wide padding only the part next to the
/// elements is written and checked, so that leading dimensions may be huge.
class Operands {
 public:
  explicit Operands(const Case& c);
  ~Operands();
  Operands(const Operands&) = delete;
  Operands& operator=(const Operands&) = delete;

  const Product& product() const { return product_; }
  /// The same for FP32 kernels; throws std::invalid_argument for other types and layouts.
  Gemm gemm() const { return gemm_of(product_); }
  /// Refills A with other values, also on the device.
  void refill_A(Fill fill, std::uint64_t seed);
  /// C as the device holds it, rows of N elements.
  std::vector<float> download_C() const;
  /// What was overwritten, an element of C's padding or of the guard band before or after C; or "".
  std::string overwritten() const;
  /// Model only: for queries about the elements that the last traced launch wrote.
  const void* allocation_of_C() const;

  const Case problem;
  std::vector<float> A, B, C;  ///< host copies, row-major without padding, rounded to the element types

 private:
  struct Matrix;
  std::vector<Matrix> matrices_;  // A, B, C
  Product product_;
};

/// A case's operands in device memory, of the kernel's types, and the kernel bound to them.
struct BoundCase {
  BoundCase(const Launchable& launchable, const Case& c)
      : operands(c.of(launchable.types())), kernel(launchable.prepare(operands.product())) {}

  Operands operands;
  std::unique_ptr<BoundKernel> kernel;
};

/// Compares C in device memory with a float64 reference; see check().
Verdict compare(const Operands& operands);

}  // namespace tile
