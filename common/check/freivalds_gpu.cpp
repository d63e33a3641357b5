// What only a GPU can check: problems too large for the float64 reference.
#include "common/check/freivalds.hpp"
#include "common/check/gemm_tests.hpp"
#include "common/check/operands.hpp"
#include "common/cuda/machine.hpp"

namespace tile {

double freivalds_deviation(const Launchable& kernel, const Case& c) {
  const BoundCase bound(kernel, c);
  const std::vector<float>& C = bound.operands.C;
  const std::size_t bytes = C.size() * sizeof(float);
  float* copy = static_cast<float*>(machine::allocate(bytes, sizeof(float), "C before"));
  machine::copy_to_device(copy, C.data(), bytes);
  bound.kernel->run();
  machine::synchronize();
  const double deviation = freivalds(bound.operands.product(), copy, c.seed + 99);
  machine::release(copy);
  return deviation;
}

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
