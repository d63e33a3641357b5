#include <cublasLt.h>
#include <cublas_v2.h>
#include <fmt/format.h>

#include <cstdlib>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "common/bench/timing.hpp"

namespace tile {
namespace {

constexpr std::size_t workspace_bytes = 32u << 20;  // cuBLAS's workspace in every program of this book

void check(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw std::runtime_error(std::string(what) + ": " + cublasGetStatusString(status));
}

/// The deleter of a handle of cuBLAS or cuBLASLt.
template <auto destroy>
struct Destroy {
  void operator()(auto* handle) const { destroy(handle); }
};
template <class Handle, auto destroy>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Destroy<destroy>>;

/// A handle created by `create(&handle, arguments...)`.
template <class OwnedHandle>
OwnedHandle created(const char* what, auto create, auto... arguments) {
  typename OwnedHandle::pointer handle = nullptr;
  check(create(&handle, arguments...), what);
  return OwnedHandle(handle);
}

// The handle and workspace with which every program of this book uses cuBLAS.
cublasHandle_t cublas() {
  static const Buffer workspace = device_memory(workspace_bytes);
  static const auto handle = [] {
    require_plain_cublas();
    auto made = created<Owned<cublasHandle_t, cublasDestroy>>("cublasCreate", cublasCreate);
    check(cublasSetWorkspace(made.get(), workspace.get(), workspace_bytes), "cublasSetWorkspace");
    check(cublasSetMathMode(made.get(), CUBLAS_DEFAULT_MATH), "cublasSetMathMode");
    return made;
  }();
  return handle.get();
}

cublasLtHandle_t cublas_lt() {
  static const auto handle = created<Owned<cublasLtHandle_t, cublasLtDestroy>>("cublasLtCreate", cublasLtCreate);
  return handle.get();
}

cudaDataType_t type_of(Element element) {
  return element == Element::bf16 ? CUDA_R_16BF : element == Element::f16 ? CUDA_R_16F : CUDA_R_32F;
}

cublasOperation_t as_stored(Layout layout) { return layout == Layout::rows ? CUBLAS_OP_N : CUBLAS_OP_T; }

using Matrix = Owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;

// A matrix in column-major terms: a row-major matrix is stored as its transpose.
Matrix stored(Element element, Layout layout, int rows, int columns, int ld) {
  if (layout == Layout::rows) std::swap(rows, columns);
  return created<Matrix>("cublasLtMatrixLayoutCreate", cublasLtMatrixLayoutCreate, type_of(element),
                         std::uint64_t(rows), std::uint64_t(columns), std::int64_t(ld));
}

/// A problem in cuBLASLt's terms.
struct Described {
  Matrix A, B, C;
  Owned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy> product;
  Buffer workspace = device_memory(workspace_bytes);

  explicit Described(const Problem& p)
      : A(stored(p.types.A, p.A, p.M, p.K, p.lda)),
        B(stored(p.types.B, p.B, p.K, p.N, p.ldb)),
        C(stored(p.types.C, Layout::rows, p.M, p.N, p.ldc)),
        product(created<decltype(product)>("cublasLtMatmulDescCreate", cublasLtMatmulDescCreate, CUBLAS_COMPUTE_32F,
                                           CUDA_R_32F)) {
    // B is the first operand, as in cublas_multiply.
    for (const auto& [operand, layout] :
         {std::pair{CUBLASLT_MATMUL_DESC_TRANSA, p.B}, {CUBLASLT_MATMUL_DESC_TRANSB, p.A}}) {
      const cublasOperation_t operation = as_stored(layout);
      check(cublasLtMatmulDescSetAttribute(product.get(), operand, &operation, sizeof operation),
            "cublasLtMatmulDescSetAttribute");
    }
  }
  cublasStatus_t multiply(const Product& p, const cublasLtMatmulAlgo_t& algorithm) const {
    return cublasLtMatmul(cublas_lt(), product.get(), &p.alpha, p.B, B.get(), p.A, A.get(), &p.beta, p.C, C.get(), p.C,
                          C.get(), &algorithm, workspace.get(), workspace_bytes, nullptr);
  }
};

// If cuBLASLt does not say whether it uses tensor cores, the compute type, plain FP32, implies that it does not.
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

void cublas_multiply(const Product& product, bool tf32) {
  const Problem& p = product.problem;
  // Row-major C = alpha A B + beta C is column-major C^T = alpha B^T A^T + beta C^T.
  check(cublasGemmEx(cublas(), as_stored(p.B), as_stored(p.A), p.N, p.M, p.K, &product.alpha, product.B,
                     type_of(p.types.B), p.ldb, product.A, type_of(p.types.A), p.lda, &product.beta, product.C,
                     type_of(p.types.C), p.ldc, tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F,
                     CUBLAS_GEMM_DEFAULT),
        "cublasGemmEx");
}

double cublas_tflops(const Case& c, bool tf32, int repetitions) {
  const Rotation rotation(c);
  const auto run = [&](int call) { cublas_multiply(rotation.product(std::size_t(call)), tf32); };
  return tflops_of(c.M, c.N, c.K, time_ms(run, repetitions).median);
}

CublasLt search_cublas_lt(const Rotation& rotation, int repetitions) {
  require_plain_cublas();
  const Problem p = rotation.problem.problem();
  const auto described = std::make_shared<Described>(p);
  const auto preference = created<Owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>>(
      "cublasLtMatmulPreferenceCreate", cublasLtMatmulPreferenceCreate);
  check(cublasLtMatmulPreferenceSetAttribute(preference.get(), CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                             &workspace_bytes, sizeof workspace_bytes),
        "cublasLtMatmulPreferenceSetAttribute");
  std::vector<cublasLtMatmulHeuristicResult_t> suggestions(32);
  const int asked = int(suggestions.size());
  int count = 0;
  const auto& [A, B, C, product, workspace] = *described;
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(cublas_lt(), product.get(), B.get(), A.get(), C.get(), C.get(), preference.get(),
                                     asked, suggestions.data(), &count);
  if (status != CUBLAS_STATUS_NOT_SUPPORTED) check(status, "cublasLtMatmulAlgoGetHeuristic");  // else: no suggestion
  suggestions.resize(std::size_t(count));

  CublasLt found{{}, {{"asked", asked}, {"suggested", count}}};
  double fastest_ms = std::numeric_limits<double>::infinity();
  std::size_t calls = 0;  // over all suggestions, so that none finds in the L2 what another has just read
  for (const auto& suggestion : suggestions) {
    const cublasLtMatmulAlgo_t algorithm = suggestion.algo;
    if (p.types == Types{} && uses_tensor_cores(algorithm)) continue;
    if (suggestion.state != CUBLAS_STATUS_SUCCESS ||
        described->multiply(rotation.product(calls++), algorithm) != CUBLAS_STATUS_SUCCESS)
      continue;
    const auto multiply = [=](const Product& by) { check(described->multiply(by, algorithm), "cublasLtMatmul"); };
    const double ms = time_ms([&](int) { multiply(rotation.product(calls++)); }, repetitions, 0).median;
    if (ms < fastest_ms) fastest_ms = ms, found.multiply = multiply;
  }
  return found;
}

}  // namespace tile
