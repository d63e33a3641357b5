// The baselines of every timing: cublasGemmEx, and the fastest of what cuBLASLt suggests for a problem, which a
// patient user of cuBLAS could get. In: a product in device memory. Out: the result in C, computed on the default
// stream, and what was searched. GPU programs only; chapters ask for rates through timing.hpp.
#pragma once

#include <cstddef>
#include <memory>

#include "common/bench/record.hpp"
#include "common/bench/rotation.hpp"

namespace tile {

/// What cuBLAS may compute with instead of FP32.
enum class Shortcut { none, tf32 };

/// The product by cublasGemmEx with a 32 MiB workspace, in FP32 unless a shortcut is allowed. A and B are of the same
/// type.
void cublas_multiply(const Product& product, Shortcut shortcut = Shortcut::none);

/// What every program of this book gives cuBLAS to work in.
inline constexpr std::size_t cublas_workspace_bytes = 32u << 20;

/// Asks cuBLASLt's heuristics how to multiply with sums in FP32, in as much workspace as cublasGemmEx has, and times
/// what they suggest, in their order; of operands in FP32 not what would use tensor cores.
class CublasLt {
 public:
  /// How long to search: each suggestion so many times; fewer, but at least twice, where all of them would take
  /// longer than so many seconds; and after twice these none is begun.
  struct Effort {
    int repetitions;
    double seconds;
  };

  /// Searches, rotating through the problem's copies. Throws std::runtime_error when the fastest one's result is wrong.
  CublasLt(const Rotation& rotation, const Effort& effort);
  ~CublasLt();
  CublasLt(const CublasLt&) = delete;

  /// Whether there was anything to try.
  bool found() const;
  /// The product by the fastest; it is of the problem that was searched.
  void multiply(const Product& product) const;
  /// How many suggestions were `asked` for, and how many were `suggested`.
  const Record& search() const;

 private:
  struct Plan;
  std::unique_ptr<Plan> plan_;
};

}  // namespace tile
