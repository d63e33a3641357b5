// The problem of this book, C = alpha*A*B + beta*C in row-major FP32, and how an answer is checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

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

/// Starts a kernel on a problem in device memory; throws std::invalid_argument when the kernel does not take it.
using Launcher = void (*)(const Gemm&);

/// Which problems a kernel's fast instantiation takes. Its launcher gives every other problem to one with guards.
enum class Takes {
  all,          ///< there is only one instantiation, and it has guards
  whole_tiles,  ///< M, N and K are multiples of the tile's
  float4s,      ///< and A, B, C begin at multiples of 16 bytes; lda, ldb, ldc are multiples of 4
  boxes,        ///< the same for any K: a box that reaches beyond a matrix brings zeros
  boxes_of_B    ///< the same for any K, lda and begin of A
};

/// What a block works on: BM x BN elements of C, BK deep along K (1: not in steps).
struct Tile {
  int BM, BN, BK;
  Takes takes;
};

/// One kernel of a chapter.
struct Kernel {
  std::string name;  ///< as keys and tables call it
  Launcher launch;
  const void* address;  ///< the instantiated __global__ function; the fast one where there are two
  int block_threads;
  Tile tile;
  std::size_t static_shared = 0, dynamic_shared = 0;  ///< bytes of shared memory a block
  bool takes_any_extent = false;  ///< its blocks go through all tiles: no problem has too many for a grid
};

enum class Fill {
  random,   ///< uniform in [-1, 1), full-entropy mantissas
  integers  ///< whole numbers in [-3, 3]: every partial sum is exact in float up to K = 1.8 million
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

  int lda() const { return K + pad + pads.A; }
  int ldb() const { return N + pad + pads.B; }
  int ldc() const { return N + pad + pads.C; }
};

/// `count` values of `fill`, the same for the same seed on every machine.
std::vector<float> make_values(std::size_t count, Fill fill, std::uint64_t seed);

/// Throws std::invalid_argument when extents or leading dimensions make no sense; every launcher's first line.
void require_valid(const Gemm& g);

/// The operands of a case in device memory: padding and guard bands hold NaN, and C too where beta is 0. Each of these
/// NaNs has bits of its own, so that a copy of one in the place of another is seen. Of wide padding only the part next
/// to the elements is written and looked at, so that leading dimensions may be huge.
class Operands {
 public:
  explicit Operands(const Case& c);
  ~Operands();
  Operands(const Operands&) = delete;
  Operands& operator=(const Operands&) = delete;

  const Gemm& gemm() const { return gemm_; }
  /// C as the device holds it, rows of N elements.
  std::vector<float> download_C() const;
  /// "" or what was overwritten: an element of C's padding, or of the guard band before or after C.
  std::string overwritten() const;
  /// Model only: throws simt::Error unless the last traced launch wrote every element of C.
  const void* allocation_of_C() const { return device_[2]; }

  std::vector<float> A, B, C;  ///< host copies, without padding

 private:
  Gemm gemm_{};
  void release();

  std::size_t first_of_C_;  ///< elements of the allocation before C
  void* device_[3] = {};
};

/// How far a result may lie from the float64 reference.
struct Verdict {
  bool ok = false;
  double worst_error = 0;  ///< largest |C - reference|; infinite when a value was NaN
  double worst_ratio = 0;  ///< largest error as a fraction of the bound of its element
  std::string message;     ///< why not ok, naming the first bad element
};

/// Runs `launcher` once on `c` and compares every element with a float64 reference.
///
/// Random inputs: |error| <= gamma(K+2) * (|alpha| |A||B| + |beta C|), gamma(n) = n u / (1 - n u), u = 2^-24, the
/// forward error bound of Higham, "Accuracy and Stability of Numerical Algorithms", section 3.5, for any order of
/// the additions. Integer inputs: equal bit for bit. NaN never passes. Padding and guard bands must be untouched.
Verdict check(Launcher launcher, const Case& c);

/// A case in words, for messages.
std::string describe(const Case& c);

/// Runs check() on each case; "" when all pass, else the first failing case and its message.
std::string first_failure(Launcher launcher, const std::vector<Case>& cases);

// Cases that every kernel which takes any shape must pass; all with integers, so equal bit for bit.
std::vector<Case> ragged_cases();                   ///< no extent a multiple of a tile, none square, down to 1 x 1 x 1
std::vector<Case> padded_cases();                   ///< leading dimensions larger than the matrix
std::vector<Case> scaled_cases(const Case& shape);  ///< alpha and beta, negative and zero ones included

/// Shapes that differ from whole tiles of `tile` in one extent at a time, by one, below and above; integers.
std::vector<Case> one_ragged_extent(const Tile& tile);
/// Whole tiles with nothing in the way of float4, and leading dimensions that differ; integers.
std::vector<Case> whole_tiles(const Tile& tile);
/// Whole tiles where one pointer or one leading dimension is such that no float4 access may meet it; integers.
std::vector<Case> misaligned_cases(const Tile& tile);

/// GPU only: runs a case too large for the float64 reference and returns Freivalds' deviation (freivalds.hpp).
double freivalds_deviation(Launcher launcher, const Case& c);

/// The comparison alone: `result` has N elements a row.
Verdict compare(const Operands& operands, const Case& c, const std::vector<float>& result);

}  // namespace tile
