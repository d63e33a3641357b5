// Freivalds' check on the GPU, in float64.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "common/check/gemm_tests.hpp"
#include "common/check/operands.hpp"
#include "common/cuda/cuda.hpp"

namespace tile {
namespace {

/// A matrix in device memory.
struct Matrix {
  int rows, cols, ld;
  const void* data;
  Element type;
  Layout layout;

  __device__ double at(int row, int col) const {
    const std::size_t i = layout == Layout::rows ? std::size_t(row) * ld + col : std::size_t(col) * ld + row;
    if (type == Element::bf16) return __bfloat162float(static_cast<const __nv_bfloat16*>(data)[i]);
    if (type == Element::f16) return __half2float(static_cast<const __half*>(data)[i]);
    return static_cast<const float*>(data)[i];
  }
};

// y[row] = sum over cols of m[row][col] * x[col]; norm[row] = sum of squares. One warp per row.
__global__ void matrix_vector(Matrix m, const double* x, double* y, double* norm) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  const int laneId = threadIdx.x % 32;
  if (row >= m.rows) return;
  double sum = 0, squares = 0;
  for (int col = laneId; col < m.cols; col += 32) {
    const double a = m.at(row, col);
    sum += a * x[col];
    squares += a * a;
  }
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    sum += __shfl_xor_sync(0xffffffffu, sum, lanes);
    squares += __shfl_xor_sync(0xffffffffu, squares, lanes);
  }
  if (laneId == 0) {
    y[row] = sum;
    norm[row] = squares;
  }
}

/// A matrix times a vector, and each row's sum of squares.
struct Image {
  std::vector<double> values, squares;
};

Image multiply(const Matrix& m, const std::vector<double>& x) {
  const int rows = m.rows;
  double *device_x, *y, *norm;
  cuda_check(cudaMalloc(&device_x, x.size() * sizeof(double)), "cudaMalloc");
  cuda_check(cudaMalloc(&y, rows * sizeof(double)), "cudaMalloc");
  cuda_check(cudaMalloc(&norm, rows * sizeof(double)), "cudaMalloc");
  cuda_check(cudaMemcpy(device_x, x.data(), x.size() * sizeof(double), cudaMemcpyHostToDevice), "copy");
  launch(matrix_vector, dim3((rows + 7) / 8), dim3(256), 0, m, device_x, y, norm);
  Image image{std::vector<double>(rows), std::vector<double>(rows)};
  cuda_check(cudaMemcpy(image.values.data(), y, rows * sizeof(double), cudaMemcpyDeviceToHost), "matrix_vector");
  cuda_check(cudaMemcpy(image.squares.data(), norm, rows * sizeof(double), cudaMemcpyDeviceToHost), "copy");
  for (double* memory : {device_x, y, norm}) cudaFree(memory);
  return image;
}

}  // namespace

double freivalds(const Product& product, std::uint64_t seed) {
  const Problem& p = product.problem;
  std::mt19937_64 bits(seed);
  std::vector<double> x(p.N);
  for (double& value : x) value = bits() >> 63 ? 1.0 : -1.0;

  const Image Bx = multiply({p.K, p.N, p.ldb, product.B, p.types.B, p.B}, x);
  const Image ABx = multiply({p.M, p.K, p.lda, product.A, p.types.A, p.A}, Bx.values);
  const Image Cx = multiply({p.M, p.N, p.ldc, product.C, p.types.C, Layout::rows}, x);

  double frobenius = 0;
  for (const double squares : Bx.squares) frobenius += squares;
  double worst = 0;
  for (int row = 0; row < p.M; ++row) {
    const double expected = double(product.alpha) * ABx.values[row];
    const double scale = std::abs(double(product.alpha)) * std::sqrt(ABx.squares[row] * frobenius);
    const double of_C = half_unit_of(p.types.C) * std::sqrt(Cx.squares[row]);
    const double tolerance = 8 * (0x1p-24 * std::sqrt(double(p.K)) * std::max(scale, 1e-30) + of_C);
    const double deviation = std::abs(Cx.values[row] - expected) / tolerance;
    if (!(deviation <= worst)) worst = std::isnan(deviation) ? std::numeric_limits<double>::infinity() : deviation;
  }
  return worst;
}

// Problems too large for the float64 reference.
void test_large_problems(const std::vector<Kernel>& kernels) {
  const auto deviation = [](const Kernel& kernel, const Case& c) {
    const BoundCase bound(kernel, c);
    bound.kernel->run();
    machine::synchronize();
    return freivalds(bound.operands.product(), c.seed + 99);
  };
  for (const Kernel& kernel : kernels) {
    INFO(kernel.name);
    // Sums of integers are exact unless C is too narrow for them.
    CHECK(deviation(kernel, {2048, 1536, 1024, 1, 0, 0, Fill::integers}) <= (kernel.types.C == Element::f32 ? 0 : 1));
    CHECK(deviation(kernel, {1000, 2000, 3000, 1.5f, 0, 8}) <= 1);
  }
}

}  // namespace tile
