// check/: the problem of this book, C = alpha*A*B + beta*C, and how a result is checked.
//
// In: a kernel as a chapter lists it (Kernel, here), and a case: extents, types, leading dimensions, alpha, beta, and
// the values of the matrices. Out: a verdict that names the first wrong element; on the model also the Counts of the run.
// check/ depends on sim/ and cuda/.
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

/// The same for any types and layouts.
struct Product {
  Problem problem;
  float alpha;
  const void *A, *B;
  float beta;
  void* C;
};

/// A kernel bound to the operands of one product. It owns what else its launches need: tensor maps, workspace.
class BoundKernel {
 public:
  /// Launches the kernel; may be called again.
  virtual void run() = 0;
  virtual ~BoundKernel() = default;
};
/// Launches a kernel on a problem in device memory; throws std::invalid_argument if the kernel does not support it.
using Launcher = void (*)(const Gemm&);
/// Binds a kernel to a product; throws std::invalid_argument if it does not support the product.
using Prepare = std::unique_ptr<BoundKernel> (*)(const Product&);

/// A launcher bound to its operands, a Gemm or a Product, for launches that need nothing else.
template <class Operands>
class BoundLauncher : public BoundKernel {
 public:
  BoundLauncher(void (*launch)(const Operands&), const Operands& operands) : launch_(launch), operands_(operands) {}
  void run() override { launch_(operands_); }

 private:
  void (*launch_)(const Operands&);
  Operands operands_;
};

/// What a kernel's fast instantiation requires of extents and addresses. For all other problems its launcher uses the
/// predicated instantiation.
enum class Alignment {
  any,          ///< nothing: the only instantiation is predicated
  whole_tiles,  ///< M, N and K are multiples of the tile's
  float4s,      ///< and A, B, C begin at multiples of 16 bytes, and so does each of their rows
  whole_C,      ///< M and N are multiples of the tile's, C begins at a multiple of 16 bytes, and ldc is a multiple of 4
  other         ///< something else: the chapter itself tests which instantiation its launcher uses
};

/// A block's tile: BM x BN elements of C, in k-tiles of depth BK (1: no k-tiles).
struct Tile {
  int BM, BN, BK;
  Alignment alignment;
};

/// One kernel of a chapter. It is launched by `launch`, or, if it needs more than the operands, by `prepare`.
struct Kernel {
  std::string name{};  ///< in keys and tables
  Launcher launch = nullptr;
  const void* address = nullptr;  ///< the instantiated __global__ function; the fast one if there are two
  int block_threads = 0;
  Tile tile{};
  std::size_t static_shared = 0, dynamic_shared = 0;  ///< bytes of shared memory per block
  Prepare prepare = nullptr;                          ///< instead of `launch`, which then is null
  Types types{};                                      ///< of its operands
  bool takes_any_extent = false;                      ///< its blocks loop over all tiles, so the grid limits no extent
};

/// Anything that can be bound to a product: a Kernel, or just a launcher, which takes FP32 and has no `address`.
class Launchable {
 public:
  template <class Function>
  requires std::convertible_to<Function, Launcher> Launchable(Function launch) : kernel_{.launch = launch} {}
  Launchable(const Kernel& kernel) : kernel_(kernel) {}

  std::unique_ptr<BoundKernel> prepare(const Product& product) const;
  /// Binds it, and runs it once.
  void run(const Product& product) const { prepare(product)->run(); }
  const Types& types() const { return kernel_.types; }
  const void* address() const { return kernel_.address; }

 private:
  Kernel kernel_;
};

/// Throws std::invalid_argument unless A, B and C have these types and are row-major.
void require_rows_of(const Product& product, const Types& types);

/// A product as FP32 kernels take it; throws std::invalid_argument for other types and layouts.
Gemm gemm_of(const Product& product);
Product product_of(const Gemm& gemm);

enum class Fill {
  random,    ///< uniform in [-1, 1), full-entropy mantissas
  integers,  ///< in [-3, 3]: every partial sum is exact in float up to K = 1.8 million
  zeros      ///< no bit ever toggles: shows what the data costs in power
};

struct PerMatrix {
  int A = 0, B = 0, C = 0;
};

/// A problem to check a kernel on. Leading dimensions are the matrix width plus `pad`.
struct Case {
  int M, N, K;
  float alpha = 1.0f, beta = 0.0f;
  int pad = 0;
  Fill fill = Fill::random;
  std::uint64_t seed = 1;
  int offset = 0;               ///< of A, B and C from a 256-byte boundary, in elements; 1 to 3 rule out float4
  PerMatrix pads{}, offsets{};  ///< additional padding and offset of one matrix, in elements
  Types types{};
  Layout layout_A = Layout::rows, layout_B = Layout::rows;

  int lda() const { return (layout_A == Layout::rows ? K : M) + pad + pads.A; }
  int ldb() const { return (layout_B == Layout::rows ? N : K) + pad + pads.B; }
  int ldc() const { return N + pad + pads.C; }
  Problem problem() const { return {M, N, K, lda(), ldb(), ldc(), layout_A, layout_B, types}; }
  /// The same with other types.
  Case of(const Types& other) const {
    Case c = *this;
    c.types = other;
    return c;
  }
};

/// The outcome of a check: how far a result is from the float64 reference, and what is wrong.
struct Verdict {
  double worst_error = 0;  ///< largest |C - reference|; infinite if a value is NaN
  std::string message{};   ///< what is wrong, with the first wrong element; "" if nothing is
  bool ok() const { return message.empty(); }
};

/// Runs a kernel once on `c`, with elements of its types, and compares every element of C with a float64 reference.
///
/// Random inputs: |error| <= gamma(K+2) * (|alpha| |A||B| + |beta C|), gamma(n) = n u / (1 - n u), u = 2^-24, the
/// forward error bound of Higham, "Accuracy and Stability of Numerical Algorithms", section 3.5, for any order of
/// the additions. Integer inputs: equal bit for bit. A 16-bit C is rounded once more, by at most half a unit in its
/// last place. NaN never passes. Padding and guard bands must be untouched.
Verdict check(const Launchable& kernel, const Case& c);

/// A description of a case, for messages.
std::string describe(const Case& c);

/// Runs check() on each case; "" if all pass, otherwise the first failing case and its message.
std::string first_failure(const Launchable& kernel, const std::vector<Case>& cases);

/// The same shape with other alpha and beta, including negative ones and zero.
std::vector<Case> scaled_cases(const Case& shape);
/// Shapes that differ from whole tiles of `tile` in one extent at a time, by one, below and above; integers.
std::vector<Case> one_residue_extent(const Tile& tile);
/// Whole tiles that allow 16-byte accesses, with different leading dimensions; integers.
std::vector<Case> whole_tiles(const Tile& tile, const Types& types = {});
/// Whole tiles in which one pointer or one leading dimension rules out 16-byte accesses; integers.
std::vector<Case> misaligned_cases(const Tile& tile, const Types& types = {});

/// Freivalds' check in float64 on the GPU, in GPU programs only, of a product with beta 0: with a random vector x of -1
/// and 1, C x must equal alpha A (B x).
/// Returns the largest deviation of a row in units of the tolerance; for integer inputs it must be exactly 0. The
/// tolerance is 8 u sqrt(K) |a_i| |B|_F, eight times a row's root-mean-square error under independent roundings, plus
/// eight times that of rounding C to 16 bits. NaN gives infinity. (R. Freivalds, "Probabilistic machines can use
/// less running time", 1977.)
double freivalds(const Product& product, std::uint64_t seed);

}  // namespace tile
