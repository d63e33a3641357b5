#include <cublasLt.h>
#include <cublas_v2.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/bench/cublas.hpp"
#include "common/bench/rotation.hpp"
#include "common/bench/timing.hpp"
#include "common/check/gemm.hpp"

namespace tile {
namespace {

void check(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw std::runtime_error(std::string(what) + ": " + cublasGetStatusString(status));
}

/// A handle of cuBLAS's or cuBLASLt's that destroys itself.
template <class Pointer, cublasStatus_t (*destroy)(Pointer)>
class Handle {
 public:
  Handle() = default;
  ~Handle() {
    if (handle_ != nullptr) destroy(handle_);
  }
  Handle(const Handle&) = delete;
  Pointer* out() { return &handle_; }
  Pointer get() const { return handle_; }

 private:
  Pointer handle_ = nullptr;
};

// One handle and its workspace, as every program of this book uses cuBLAS.
cublasHandle_t cublas() {
  static const Buffer<char> workspace(cublas_workspace_bytes);
  static Handle<cublasHandle_t, cublasDestroy> handle;
  if (handle.get() == nullptr) {
    require_plain_cublas();
    check(cublasCreate(handle.out()), "cublasCreate");
    check(cublasSetWorkspace(handle.get(), workspace.get(), cublas_workspace_bytes), "cublasSetWorkspace");
    check(cublasSetMathMode(handle.get(), CUBLAS_DEFAULT_MATH), "cublasSetMathMode");
  }
  return handle.get();
}

cudaDataType_t type_of(Element element) {
  return element == Element::bf16 ? CUDA_R_16BF : element == Element::f16 ? CUDA_R_16F : CUDA_R_32F;
}

cublasOperation_t as_stored(Layout layout) { return layout == Layout::rows ? CUBLAS_OP_N : CUBLAS_OP_T; }

constexpr int asked = 32;  // suggestions of cuBLASLt

cublasLtHandle_t library() {
  static Handle<cublasLtHandle_t, cublasLtDestroy> handle;
  if (handle.get() == nullptr) check(cublasLtCreate(handle.out()), "cublasLtCreate");
  return handle.get();
}

/// A matrix as column-major sees it.
class Stored : public Handle<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy> {
 public:
  Stored(Element element, int rows, int columns, int ld) {
    check(cublasLtMatrixLayoutCreate(out(), type_of(element), std::uint64_t(rows), std::uint64_t(columns), ld),
          "cublasLtMatrixLayoutCreate");
  }
  /// A rows x columns matrix as column-major sees it: row by row it is stored as its transpose.
  static Stored operand(Layout layout, Element element, int rows, int columns, int ld) {
    return layout == Layout::rows ? Stored(element, columns, rows, ld) : Stored(element, rows, columns, ld);
  }
};

// Where cuBLASLt does not tell what it multiplies with, the compute type is relied upon: FP32 without shortcuts.
bool uses_tensor_cores(const cublasLtMatmulAlgo_t& algorithm) {
  std::uint64_t flags = 0;
  const bool known = cublasLtMatmulAlgoCapGetAttribute(&algorithm, CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS, &flags,
                                                       sizeof flags, nullptr) == CUBLAS_STATUS_SUCCESS;
  return known && (flags & CUBLASLT_NUMERICAL_IMPL_FLAGS_TENSOR_OP_MASK) != 0;
}

}  // namespace

void require_plain_cublas() {
  for (const char* name : {"NVIDIA_TF32_OVERRIDE", "CUBLAS_EMULATE_SINGLE_PRECISION"})
    if (std::getenv(name) != nullptr)
      throw std::runtime_error(fmt::format("{} is set and would change what cuBLAS computes: unset it", name));
}

void cublas_multiply(const Product& product, Shortcut shortcut) {
  const Problem& p = product.problem;
  const cublasComputeType_t compute = shortcut == Shortcut::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  // Row-major C = alpha A B + beta C is column-major C^T = alpha B^T A^T + beta C^T.
  check(cublasGemmEx(cublas(), as_stored(p.B), as_stored(p.A), p.N, p.M, p.K, &product.alpha, product.B,
                     type_of(p.types.B), p.ldb, product.A, type_of(p.types.A), p.lda, &product.beta, product.C,
                     type_of(p.types.C), p.ldc, compute, CUBLAS_GEMM_DEFAULT),
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

// Row-major C = alpha A B + beta C is column-major C^T = alpha B^T A^T + beta C^T, so B comes first.
struct CublasLt::Plan {
  explicit Plan(const Problem& p)
      : B(Stored::operand(p.B, p.types.B, p.K, p.N, p.ldb)),
        A(Stored::operand(p.A, p.types.A, p.M, p.K, p.lda)),
        C(p.types.C, p.N, p.M, p.ldc),
        workspace(cublas_workspace_bytes) {
    require_plain_cublas();
    check(cublasLtMatmulDescCreate(product.out(), CUBLAS_COMPUTE_32F, CUDA_R_32F), "cublasLtMatmulDescCreate");
    set_operation(CUBLASLT_MATMUL_DESC_TRANSA, p.B);
    set_operation(CUBLASLT_MATMUL_DESC_TRANSB, p.A);
  }

  void set_operation(cublasLtMatmulDescAttributes_t operand, Layout layout) {
    const cublasOperation_t operation = as_stored(layout);
    check(cublasLtMatmulDescSetAttribute(product.get(), operand, &operation, sizeof operation),
          "cublasLtMatmulDescSetAttribute");
  }

  std::vector<cublasLtMatmulHeuristicResult_t> suggestions() const {
    Handle<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy> preference;
    check(cublasLtMatmulPreferenceCreate(preference.out()), "cublasLtMatmulPreferenceCreate");
    const std::size_t bytes = cublas_workspace_bytes;
    check(cublasLtMatmulPreferenceSetAttribute(preference.get(), CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes,
                                               sizeof bytes),
          "cublasLtMatmulPreferenceSetAttribute");
    std::vector<cublasLtMatmulHeuristicResult_t> found(asked);
    int count = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
        library(), product.get(), B.get(), A.get(), C.get(), C.get(), preference.get(), asked, found.data(), &count);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED)
      count = 0;  // it suggests nothing for this problem
    else
      check(status, "cublasLtMatmulAlgoGetHeuristic");
    found.resize(std::size_t(count));
    return found;
  }

  cublasStatus_t multiply(const Product& p, const cublasLtMatmulAlgo_t& by) const {
    return cublasLtMatmul(library(), product.get(), &p.alpha, p.B, B.get(), p.A, A.get(), &p.beta, p.C, C.get(), p.C,
                          C.get(), &by, workspace.get(), cublas_workspace_bytes, nullptr);
  }

  // The median of one suggestion's times, after a call that has just been made to warm up. Of at least two; when
  // `seconds` are over, no other is made.
  double median_ms(const Rotation& rotation, const cublasLtMatmulAlgo_t& by, int most, double seconds) const {
    const Stopwatch watch;
    std::vector<double> samples;
    const auto run = [&](int) {
      const std::size_t copy = (samples.size() + 1) % rotation.size();
      check(multiply(rotation.product(copy), by), "cublasLtMatmul");
    };
    while (samples.size() < 2 || (int(samples.size()) < most && watch.seconds() < seconds))
      samples.push_back(time_ms(run, 1, 0).median);
    return to_nanosecond(spread_of(samples).median);
  }

  void require_right(const Rotation& rotation) const {
    Product first = rotation.product(0);
    first.beta = 0;
    check(cudaMemset(first.C, 0xff, size_of(first.problem.types.C) * first.problem.M * first.problem.ldc), "poison C");
    check(multiply(first, fastest), "cublasLtMatmul");
    if (const double deviation = freivalds(first, nullptr, 2024); !(deviation <= 1))
      throw std::runtime_error(
          fmt::format("cuBLASLt's result is wrong at {}: Freivalds deviation {}", key_of(first.problem), deviation));
  }

  Handle<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy> product;
  Stored B, A, C;
  Buffer<char> workspace;
  cublasLtMatmulAlgo_t fastest{};
  double fastest_ms = std::numeric_limits<double>::infinity();
  Record search;
};

CublasLt::CublasLt(const Rotation& rotation, const Effort& effort)
    : plan_(std::make_unique<Plan>(rotation.problem.problem())) {
  const Stopwatch watch;
  const auto suggestions = plan_->suggestions();
  const double share = effort.seconds / double(std::max<std::size_t>(suggestions.size(), 1));
  const bool without_tensor_cores = rotation.problem.types == Types{};
  for (const auto& suggestion : suggestions) {
    if (without_tensor_cores && uses_tensor_cores(suggestion.algo)) continue;
    if (found() && watch.seconds() > 2 * effort.seconds) break;
    if (suggestion.state != CUBLAS_STATUS_SUCCESS ||
        plan_->multiply(rotation.product(0), suggestion.algo) != CUBLAS_STATUS_SUCCESS)
      continue;
    const double ms = plan_->median_ms(rotation, suggestion.algo, effort.repetitions, share);
    if (ms <= plan_->fastest_ms) plan_->fastest_ms = ms, plan_->fastest = suggestion.algo;
  }
  plan_->search = {{"asked", asked}, {"suggested", suggestions.size()}};
  if (found()) plan_->require_right(rotation);
}

CublasLt::~CublasLt() = default;

bool CublasLt::found() const { return plan_->fastest_ms < std::numeric_limits<double>::infinity(); }

void CublasLt::multiply(const Product& product) const {
  check(plan_->multiply(product, plan_->fastest), "cublasLtMatmul");
}

const Record& CublasLt::search() const { return plan_->search; }

}  // namespace tile
