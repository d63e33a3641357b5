// The fastest of what cublasLt suggests for one problem: what a patient user of cuBLAS could get. In: a problem in device memory.
// Out: the product by that suggestion, and what was searched, as a part of a record. GPU programs only.
#pragma once

#include <memory>

#include "common/records/record.hpp"
#include "common/timing/rotation.hpp"

namespace tile {

/// Asks cublasLt's heuristics how to multiply with sums in FP32, in as much workspace as cublasGemmEx has, and times all that they
/// suggest; of operands in FP32 not what would use tensor cores.
class CublasLt {
 public:
  /// Searches with the problem's copies, in turn, each suggestion so many times and three more to warm up. Throws std::runtime_error when the fastest one's result is wrong.
  CublasLt(const Rotation& rotation, int repetitions);
  ~CublasLt();
  CublasLt(const CublasLt&) = delete;

  /// Whether there was anything to try.
  bool found() const;
  /// The product by the fastest; it is of the problem that was searched.
  void multiply(const Product& product) const;
  /// How many were asked for, suggested and tried, the medians and attributes of these, and which was the fastest.
  const Record& search() const;

 private:
  struct Plan;
  std::unique_ptr<Plan> plan_;
};

}  // namespace tile
