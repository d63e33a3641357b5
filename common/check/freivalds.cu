// Freivalds' check on the GPU, in float64.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "common/check/freivalds.hpp"
#include "common/cuda/cuda.hpp"

namespace tile {
namespace {

// y[row] = sum over cols of A[row][col] * x[col]; norm[row] = sum of squares. One warp a row.
__global__ void matrix_vector(int rows, int cols, const float* A, int ld, const double* x, double* y, double* norm) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  const int laneId = threadIdx.x % 32;
  if (row >= rows) return;
  double sum = 0, squares = 0;
  for (int col = laneId; col < cols; col += 32) {
    const double a = A[std::size_t(row) * ld + col];
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

struct Product {
  std::vector<double> values, squares;
};

Product multiply(int rows, int cols, const float* A, int ld, const std::vector<double>& x) {
  double *device_x, *y, *norm;
  cuda_check(cudaMalloc(&device_x, x.size() * sizeof(double)), "cudaMalloc");
  cuda_check(cudaMalloc(&y, rows * sizeof(double)), "cudaMalloc");
  cuda_check(cudaMalloc(&norm, rows * sizeof(double)), "cudaMalloc");
  cuda_check(cudaMemcpy(device_x, x.data(), x.size() * sizeof(double), cudaMemcpyHostToDevice), "copy");
  launch(matrix_vector, dim3((rows + 7) / 8), dim3(256), 0, rows, cols, A, ld, device_x, y, norm);
  Product product{std::vector<double>(rows), std::vector<double>(rows)};
  cuda_check(cudaMemcpy(product.values.data(), y, rows * sizeof(double), cudaMemcpyDeviceToHost), "matrix_vector");
  cuda_check(cudaMemcpy(product.squares.data(), norm, rows * sizeof(double), cudaMemcpyDeviceToHost), "copy");
  for (double* memory : {device_x, y, norm}) cudaFree(memory);
  return product;
}

}  // namespace

double freivalds(const Gemm& g, const float* before, std::uint64_t seed) {
  std::mt19937_64 bits(seed);
  std::vector<double> x(g.N);
  for (double& value : x) value = bits() >> 63 ? 1.0 : -1.0;

  const Product Bx = multiply(g.K, g.N, g.B, g.ldb, x);
  const Product ABx = multiply(g.M, g.K, g.A, g.lda, Bx.values);
  const Product Cx = multiply(g.M, g.N, g.C, g.ldc, x);
  Product C0x;
  if (g.beta != 0.0f) C0x = multiply(g.M, g.N, before, g.N, x);

  double frobenius = 0;
  for (const double squares : Bx.squares) frobenius += squares;
  double worst = 0;
  for (int row = 0; row < g.M; ++row) {
    double expected = double(g.alpha) * ABx.values[row];
    double scale = std::abs(double(g.alpha)) * std::sqrt(ABx.squares[row] * frobenius);
    if (g.beta != 0.0f) {
      expected += double(g.beta) * C0x.values[row];
      scale += std::abs(double(g.beta)) * std::sqrt(C0x.squares[row]);
    }
    const double tolerance = 8 * 0x1p-24 * std::sqrt(double(g.K)) * std::max(scale, 1e-30);
    const double deviation = std::abs(Cx.values[row] - expected) / tolerance;
    if (!(deviation <= worst)) worst = std::isnan(deviation) ? std::numeric_limits<double>::infinity() : deviation;
  }
  return worst;
}

}  // namespace tile
