// One problem in device memory, several times over, so that no timed call finds its operands in the L2. In: a case.
// Out: operands to launch on, copy by copy. GPU programs only.
#pragma once

#include <cstddef>
#include <vector>

#include "common/check/gemm.hpp"
#include "common/timing/cuda_handles.hpp"

namespace tile {

/// Copies of one problem, enough of them that a full round is larger than three times the L2. Inputs are as the case fills
/// them, C is poisoned with NaN.
struct Rotation {
  explicit Rotation(const Case& c);
  /// The i-th copy as a kernel takes it.
  Product product(std::size_t i) const;
  std::size_t size() const { return C.size(); }

  Case problem;
  std::vector<Buffer<char>> A, B, C;
};

}  // namespace tile
