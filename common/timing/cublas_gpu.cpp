// The handle and workspace of cuBLAS, the product of cublas.hpp, and its rate for timing.hpp.
#include <cublas_v2.h>
#include <fmt/format.h>

#include <cstdlib>
#include <stdexcept>
#include <string>

#include "common/timing/cublas.hpp"
#include "common/timing/rotation.hpp"

namespace tile {
namespace {

void check(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw std::runtime_error(std::string(what) + ": " + cublasGetStatusString(status));
}

/// One handle and its workspace, as every program of this book uses cuBLAS.
class Cublas {
 public:
  Cublas() : workspace_(cublas_workspace_bytes) {
    require_plain_cublas();
    check(cublasCreate(&handle_), "cublasCreate");
    check(cublasSetWorkspace(handle_, workspace_.get(), cublas_workspace_bytes), "cublasSetWorkspace");
    check(cublasSetMathMode(handle_, CUBLAS_DEFAULT_MATH), "cublasSetMathMode");
  }
  ~Cublas() { cublasDestroy(handle_); }
  Cublas(const Cublas&) = delete;

  cublasHandle_t handle() const { return handle_; }

 private:
  Buffer<char> workspace_;
  cublasHandle_t handle_{};
};

cublasHandle_t cublas() {
  static const Cublas instance;
  return instance.handle();
}

}  // namespace

void require_plain_cublas() {
  for (const char* name : {"NVIDIA_TF32_OVERRIDE", "CUBLAS_EMULATE_SINGLE_PRECISION"})
    if (std::getenv(name) != nullptr)
      throw std::runtime_error(fmt::format("{} is set and would change what cuBLAS computes: unset it", name));
}

void cublas_multiply(int M, int N, int K, float alpha, const void* A, int lda, const void* B, int ldb, float beta,
                     float* C, int ldc, CublasMode mode) {
  const cudaDataType_t input = mode == CublasMode::bf16 ? CUDA_R_16BF : CUDA_R_32F;
  const cublasComputeType_t compute = mode == CublasMode::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  // Row-major C = alpha A B + beta C is column-major C^T = alpha B^T A^T + beta C^T.
  check(cublasGemmEx(cublas(), CUBLAS_OP_N, CUBLAS_OP_N, N, M, K, &alpha, B, input, ldb, A, input, lda, &beta, C,
                     CUDA_R_32F, ldc, compute, CUBLAS_GEMM_DEFAULT),
        "cublasGemmEx");
}

Spread cublas_tflops(int size, CublasMode mode, int repetitions) {
  const Case c{size, size, size};
  const Rotation rotation(c, mode == CublasMode::bf16 ? 2 : 4);
  const Spread ms = time_ms(
      [&](int repetition) {
        const std::size_t i = std::size_t(repetition) % rotation.size();
        cublas_multiply(size, size, size, 1, rotation.A[i].get(), size, rotation.B[i].get(), size, 0,
                        rotation.C[i].get(), size, mode);
      },
      repetitions);
  const auto tflops = [&](double time) { return tflops_of(size, size, size, time); };
  return {tflops(ms.median), tflops(ms.high), tflops(ms.low)};
}

}  // namespace tile
