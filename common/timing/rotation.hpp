// One problem in device memory, several times over, so that no timed call finds its operands in the L2. In: a case and the
// size of an input element. Out: operands to launch on, copy by copy. GPU programs only.
#pragma once

#include <cstddef>
#include <vector>

#include "common/check/gemm.hpp"
#include "common/timing/cuda_handles.hpp"

namespace tile {

/// Copies of one problem, enough of them that a full round is larger than three times the L2. Inputs are as the case fills
/// them, C is poisoned with NaN.
struct Rotation {
  /// `element` is the size of an element of A and B: 4 for float, 2 for bfloat16. C is float.
  Rotation(const Case& c, std::size_t element);
  /// The i-th copy as a kernel takes it; `c` is the case it was made of, 4-byte inputs.
  Gemm gemm(const Case& c, std::size_t i) const;
  std::size_t size() const { return C.size(); }

  std::vector<Buffer<char>> A, B;
  std::vector<Buffer<float>> C;
};

}  // namespace tile
