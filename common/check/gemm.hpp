// check/: the problem of this book, C = alpha*A*B + beta*C, and how an answer is checked.
//
// In: a kernel as a chapter lists it (Kernel, here), and a case: extents, types, leading dimensions, alpha, beta, and
// what the matrices hold. Out: a verdict that names the first wrong element; on the model also the Counts of the run.
//
// How: problem.hpp says which product is asked for. operands.hpp lays the matrices into device memory, with what a
// kernel must not touch poisoned or guarded, and takes C back. Whole numbers are compared bit for bit; random ones with
// a float64 reference, within a bound that grows with K; where that would take too long, freivalds.cu compares products
// with a vector (GPU). traced.hpp runs a kernel on the model with all checks, and finds access sites by their tags.
// gemm_tests.hpp has what every GEMM of every chapter must pass. Dependencies go from here to sim/ and cuda/.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/check/problem.hpp"
#include "common/cuda/machine.hpp"

namespace tile {

/// One GEMM: A is M x K, B is K x N, C is M x N, all row-major; leading dimensions count elements
/// (lda >= K, ldb >= N, ldc >= N). With beta == 0, C is written but never read.
struct Gemm {
  int M, N, K;
  float alpha;
  const float* A;
  int lda;
  const float* B;
  int ldb;
  float beta;
  float* C;
  int ldc;
};

/// The same of any types and layouts.
struct Product {
  Problem problem;
  float alpha;
  const void *A, *B;
  float beta;
  void* C;
};

/// A kernel bound to the operands of one product. It owns what its launches need as well, such as tensor maps and
/// workspace.
class BoundKernel {
 public:
  /// Launches the kernel; may be called again.
  virtual void run() = 0;
  virtual ~BoundKernel() = default;
};
/// Starts a kernel on a problem in device memory; throws std::invalid_argument when the kernel does not take it.
using Launcher = void (*)(const Gemm&);
/// Binds a kernel to a product; throws std::invalid_argument when it does not take the product.
using Prepare = std::unique_ptr<BoundKernel> (*)(const Product&);

/// A launcher bound to its operands, a Gemm or a Product: its launches need nothing else.
template <class Operands>
class BoundLauncher : public BoundKernel {
 public:
  BoundLauncher(void (*launch)(const Operands&), const Operands& operands) : launch_(launch), operands_(operands) {}
  void run() override { launch_(operands_); }

 private:
  void (*launch_)(const Operands&);
  Operands operands_;
};
/// The `prepare` of a kernel that `launch` starts.
template <void (*launch)(const Product&)>
std::unique_ptr<BoundKernel> prepare_nothing(const Product& product) {
  return std::make_unique<BoundLauncher<Product>>(launch, product);
}

/// What a kernel's fast instantiation requires of extents and addresses. Its launcher gives every other problem to one
/// with guards.
enum class Alignment {
  any,          ///< nothing: there is only one instantiation, and it has guards
  whole_tiles,  ///< M, N and K are multiples of the tile's
  float4s,      ///< and A, B, C begin at multiples of 16 bytes, and so does each of their rows
  whole_C       ///< M and N are multiples of the tile's, C begins at a multiple of 16 bytes, and ldc is a multiple of 4
};

/// What a block works on: BM x BN elements of C, BK deep along K (1: not in steps).
struct Tile {
  int BM, BN, BK;
  Alignment alignment;
};

/// One kernel of a chapter. It is started by `launch`, or, where a launch needs more than the operands, by `prepare`.
struct Kernel {
  std::string name{};  ///< as keys and tables call it
  Launcher launch = nullptr;
  const void* address = nullptr;  ///< the instantiated __global__ function; the fast one where there are two
  int block_threads = 0;
  Tile tile{};
  std::size_t static_shared = 0, dynamic_shared = 0;  ///< bytes of shared memory a block
  Prepare prepare = nullptr;                          ///< in place of `launch`, which then is null
  Types types{};                                      ///< of its operands
  bool takes_any_extent = false;  ///< its blocks go through all tiles: no problem has too many for a grid
};

/// What can be bound to a product: a Kernel, or a launcher alone, which takes FP32 and has no `address`.
class Launchable {
 public:
  template <class Function>
  requires std::convertible_to<Function, Launcher> Launchable(Function launch) : kernel_{.launch = launch} {}
  Launchable(const Kernel& kernel) : kernel_(kernel) {}

  std::unique_ptr<BoundKernel> prepare(const Product& product) const;
  /// Binds, and runs once.
  void run(const Product& product) const { prepare(product)->run(); }
  const Types& types() const { return kernel_.types; }
  const void* address() const { return kernel_.address; }

 private:
  Kernel kernel_;
};

/// Throws std::invalid_argument unless A, B and C have these types and lie row by row.
void require_rows_of(const Product& product, const Types& types);

/// A product as FP32 kernels take it; throws std::invalid_argument for other types and layouts.
Gemm gemm_of(const Product& product);
Product product_of(const Gemm& gemm);

enum class Fill {
  random,    ///< uniform in [-1, 1), full-entropy mantissas
  integers,  ///< whole numbers in [-3, 3]: every partial sum is exact in float up to K = 1.8 million
  zeros      ///< no bit ever changes: to see what the data costs in power
};

struct PerMatrix {
  int A = 0, B = 0, C = 0;
};

/// What to check a kernel on. Leading dimensions are the matrix width plus `pad`.
struct Case {
  int M, N, K;
  float alpha = 1.0f, beta = 0.0f;
  int pad = 0;
  Fill fill = Fill::random;
  std::uint64_t seed = 1;
  int offset = 0;  ///< elements by which A, B and C begin after a 256-byte boundary; 1 to 3 rule out float4
  PerMatrix pads{}, offsets{};  ///< in addition, for one matrix: elements of padding, and of offset
  Types types{};
  Layout layout_A = Layout::rows, layout_B = Layout::rows;

  int lda() const { return (layout_A == Layout::rows ? K : M) + pad + pads.A; }
  int ldb() const { return (layout_B == Layout::rows ? N : K) + pad + pads.B; }
  int ldc() const { return N + pad + pads.C; }
  Problem problem() const { return {M, N, K, lda(), ldb(), ldc(), layout_A, layout_B, types}; }
  /// The same of other types.
  Case of(const Types& other) const {
    Case c = *this;
    c.types = other;
    return c;
  }
};

/// How far a result may lie from the float64 reference.
struct Verdict {
  double worst_error = 0;  ///< largest |C - reference|; infinite when a value was NaN
  std::string message{};   ///< what is wrong, naming the first bad element; "" when nothing is
  bool ok() const { return message.empty(); }
};

/// Runs a kernel once on `c`, with elements of its types, and compares every element of C with a float64 reference.
///
/// Random inputs: |error| <= gamma(K+2) * (|alpha| |A||B| + |beta C|), gamma(n) = n u / (1 - n u), u = 2^-24, the
/// forward error bound of Higham, "Accuracy and Stability of Numerical Algorithms", section 3.5, for any order of
/// the additions. Integer inputs: equal bit for bit. A C of two bytes is rounded once more, by at most half a unit in its
/// last place. NaN never passes. Padding and guard bands must be untouched.
Verdict check(const Launchable& kernel, const Case& c);

/// A case in words, for messages.
std::string describe(const Case& c);

/// Runs check() on each case; "" when all pass, else the first failing case and its message.
std::string first_failure(const Launchable& kernel, const std::vector<Case>& cases);

/// The same shape with other alpha and beta, negative and zero ones included.
std::vector<Case> scaled_cases(const Case& shape);
/// Shapes that differ from whole tiles of `tile` in one extent at a time, by one, below and above; integers.
std::vector<Case> one_ragged_extent(const Tile& tile);
/// Whole tiles with nothing in the way of accesses of 16 bytes, and leading dimensions that differ; integers.
std::vector<Case> whole_tiles(const Tile& tile, const Types& types = {});
/// Whole tiles where one pointer or one leading dimension is such that no access of 16 bytes may meet it; integers.
std::vector<Case> misaligned_cases(const Tile& tile, const Types& types = {});

/// Freivalds' check in float64 on the GPU, in GPU programs only: with a random vector x of -1 and 1, C x must equal
/// alpha A (B x) + beta C0 x. `before` is C before the run (N elements a row) and may be null when beta is 0.
/// Returns the largest deviation of a row in units of the tolerance: exactly 0 is expected of integer inputs; for
/// random ones it is 8 u sqrt(K) |a_i| |B|_F, eight times a row's root-mean-square error under independent roundings,
/// and eight times that of rounding C to two bytes. NaN gives infinity. (R. Freivalds, "Probabilistic machines can use
/// less running time", 1977.)
double freivalds(const Product& product, const float* before, std::uint64_t seed);

}  // namespace tile
