// A problem too large for the float64 reference, run once and checked on the GPU. In: a launcher and a case. Out: how far the
// result lies from right, in units of the tolerance.
#include "common/check/freivalds.hpp"
#include "common/check/gemm.hpp"
#include "common/cuda/machine.hpp"

namespace tile {

double freivalds_deviation(Launcher launcher, const Case& c) {
  Operands operands(c);
  const Gemm& g = operands.gemm();
  const std::size_t bytes = operands.C.size() * sizeof(float);
  float* copy = static_cast<float*>(machine::allocate(bytes, sizeof(float), "C before"));
  machine::copy_to_device(copy, operands.C.data(), bytes);
  launcher(g);
  machine::synchronize();
  const double deviation = freivalds(g, copy, c.seed + 99);
  machine::release(copy);
  return deviation;
}

}  // namespace tile
