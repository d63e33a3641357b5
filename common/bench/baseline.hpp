// What a chapter's kernels are timed against. Names only: whoever registers, times or checks a chapter says which.
#pragma once

namespace tile {

enum class Baseline {
  gemm_ex,  ///< cublasGemmEx as it comes
  stronger  ///< also the fastest that cuBLASLt's heuristics suggest; the faster of the two counts
};

}  // namespace tile
