// The handle and workspace of cuBLAS, the product of cublas.hpp, and its rate for timing.hpp.
#include <cublas_v2.h>
#include <fmt/format.h>

#include <cstdlib>
#include <stdexcept>
#include <string>

#include "common/bench/cublas.hpp"
#include "common/bench/rotation.hpp"
#include "common/bench/timing.hpp"

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

void cublas_multiply(const Product& product, Shortcut shortcut) {
  const Problem& p = product.problem;
  const auto type = [](Element e) {
    return e == Element::bf16 ? CUDA_R_16BF : e == Element::f16 ? CUDA_R_16F : CUDA_R_32F;
  };
  const auto as_stored = [](Layout layout) { return layout == Layout::rows ? CUBLAS_OP_N : CUBLAS_OP_T; };
  const cublasComputeType_t compute = shortcut == Shortcut::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  // Row-major C = alpha A B + beta C is column-major C^T = alpha B^T A^T + beta C^T.
  check(cublasGemmEx(cublas(), as_stored(p.B), as_stored(p.A), p.N, p.M, p.K, &product.alpha, product.B,
                     type(p.types.B), p.ldb, product.A, type(p.types.A), p.lda, &product.beta, product.C,
                     type(p.types.C), p.ldc, compute, CUBLAS_GEMM_DEFAULT),
        "cublasGemmEx");
}

Spread cublas_tflops(int size, CublasMode mode, int repetitions) {
  Case c{size, size, size};
  if (mode == CublasMode::bf16) c.types.A = c.types.B = Element::bf16;
  const Shortcut shortcut = mode == CublasMode::tf32 ? Shortcut::tf32 : Shortcut::none;
  const Rotation rotation(c);
  const Spread ms = time_ms(
      [&](int repetition) { cublas_multiply(rotation.product(std::size_t(repetition) % rotation.size()), shortcut); },
      repetitions);
  const auto tflops = [&](double time) { return tflops_of(size, size, size, time); };
  return {tflops(ms.median), tflops(ms.high), tflops(ms.low)};
}

}  // namespace tile
