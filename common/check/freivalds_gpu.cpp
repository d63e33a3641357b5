// A problem too large for the float64 reference, run once and checked on the GPU. In: a kernel and a case. Out: how far the result
// lies from right, in units of the tolerance.
#include "common/check/freivalds.hpp"
#include "common/check/gemm.hpp"
#include "common/check/operands.hpp"
#include "common/cuda/machine.hpp"

namespace tile {

double freivalds_deviation(const Runnable& kernel, const Case& c) {
  const Ready ready(kernel, c);
  const std::vector<float>& C = ready.operands.C;
  const std::size_t bytes = C.size() * sizeof(float);
  float* copy = static_cast<float*>(machine::allocate(bytes, sizeof(float), "C before"));
  machine::copy_to_device(copy, C.data(), bytes);
  ready.kernel->run();
  machine::synchronize();
  const double deviation = freivalds(ready.operands.product(), copy, c.seed + 99);
  machine::release(copy);
  return deviation;
}

}  // namespace tile
