// The fastest of what cuBLASLt suggests for one problem: what a patient user of cuBLAS could get. In: a problem in device memory.
// Out: the product by that suggestion, and what was searched, as a part of a record. GPU programs only.
#pragma once

#include <memory>

#include "common/bench/record.hpp"
#include "common/bench/rotation.hpp"

namespace tile {

/// Asks cuBLASLt's heuristics how to multiply with sums in FP32, in as much workspace as cublasGemmEx has, and times what they
/// suggest, in their order; of operands in FP32 not what would use tensor cores.
class CublasLt {
 public:
  /// How long to search: each suggestion so many times; fewer, but at least twice, where all of them would take longer than so
  /// many seconds; and after twice these none is begun.
  struct Effort {
    int repetitions;
    double seconds;
  };

  /// Searches with the problem's copies, in turn. Throws std::runtime_error when the fastest one's result is wrong.
  CublasLt(const Rotation& rotation, const Effort& effort);
  ~CublasLt();
  CublasLt(const CublasLt&) = delete;

  /// Whether there was anything to try.
  bool found() const;
  /// The product by the fastest; it is of the problem that was searched.
  void multiply(const Product& product) const;
  /// How many were asked for and suggested; of those tried the medians and attributes, and which was the fastest; what became of the
  /// others: `tensor_cores`, `refused` (by the library, when it should run them), `not_begun`.
  const Record& search() const;

 private:
  struct Plan;
  std::unique_ptr<Plan> plan_;
};

}  // namespace tile
