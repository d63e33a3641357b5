// The test of every GEMM that only a GPU can make.
#include "common/check/gemm_tests.hpp"

namespace tile {

void test_large_problems(const std::vector<Kernel>& kernels) {
  for (const Kernel& kernel : kernels) {
    INFO(kernel.name);
    // Sums of whole numbers are exact, unless C is too narrow for them.
    const double allowed = kernel.types.C == Element::f32 ? 0 : 1;
    CHECK(freivalds_deviation(kernel, {2048, 1536, 1024, 1, 0, 0, Fill::integers}) <= allowed);
    CHECK(freivalds_deviation(kernel, {1000, 2000, 3000, 1.5f, -0.5f, 8}) <= 1);
  }
}

}  // namespace tile
