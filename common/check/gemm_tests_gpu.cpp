// The test of every GEMM that only a GPU can make.
#include "common/check/gemm_tests.hpp"

namespace tile {

void test_large_problems(const std::vector<Kernel>& kernels) {
  for (const Kernel& kernel : kernels) {
    INFO(kernel.name);
    CHECK(freivalds_deviation(kernel, {2048, 1536, 1024, 1, 0, 0, Fill::integers}) == 0);
    CHECK(freivalds_deviation(kernel, {1000, 2000, 3000, 1.5f, -0.5f, 8}) <= 1);
  }
}

}  // namespace tile
