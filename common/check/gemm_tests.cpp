#include "common/check/gemm_tests.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <utility>

#include "common/check/operands.hpp"

namespace tile {
namespace {

// Launches a kernel on a product that it may reject; the operands have the kernel's types.
void start(const Kernel& kernel, const Gemm& g) {
  Product product = product_of(g);
  product.problem.types = kernel.types;
  Launchable(kernel).run(product);
}

// One assertion for a list of cases.
void expect_right(const Kernel& kernel, const std::vector<Case>& cases) {
  INFO(kernel.name);
  CHECK(first_failure(kernel, cases) == "");
}

// A leading dimension with which most of a matrix lies more than 2^31 elements from its start: all rows but two on the
// model, which reserves memory without using it; three quarters of them, or all but two, on a GPU, which needs it.
int far_ld(int rows) {
  if (machine::kind() == "model") return (1 << 30) + 40;
  return int(std::min(std::int64_t(1) << 30, (std::int64_t(1) << 33) / rows)) / 8 * 8 + 8;
}

void expect_right_or_skip(const Kernel& kernel, const Case& c) {
  try {
    const Verdict verdict = check(kernel, c);
    CHECK_MESSAGE(verdict.ok(), kernel.name, ", ", describe(c), ": ", verdict.message);
  } catch (const machine::OutOfMemory& e) {
    skip_test(kernel.name + ", " + describe(c) + ": " + e.what());
  }
}

// A multiply-add rounds once on a GPU, and twice on the model, because it is compiled for the CPU.
float sum_in_order(const Operands& operands, int row, int col) {
  const Case& c = operands.problem;
  const bool fused = machine::kind() == "gpu";
  float sum = 0;
  for (int k = 0; k < c.K; ++k) {
    const float a = operands.A[std::size_t(row) * c.K + k], b = operands.B[std::size_t(k) * c.N + col];
    sum = fused ? std::fma(a, b, sum) : sum + a * b;
  }
  return rounded_to(c.types.C, sum);
}

// The first element that is not the sum in the order of k, or "".
std::string out_of_order(const Kernel& kernel, const Case& c) {
  const BoundCase bound(kernel, c);
  bound.kernel->run();
  machine::synchronize();
  const std::vector<float> result = bound.operands.download_C();
  for (int row = 0; row < c.M; ++row)
    for (int col = 0; col < c.N; ++col) {
      const float got = result[std::size_t(row) * c.N + col], sum = sum_in_order(bound.operands, row, col);
      if (std::bit_cast<std::uint32_t>(got) != std::bit_cast<std::uint32_t>(sum))
        return fmt::format("C[{}][{}] is {}, in the order of k {}", row, col, got, sum);
    }
  return "";
}

// The kernels that TILE_TRIED_ON_MODEL names. In a function, so that it is initialised before its first use.
std::vector<std::string>& names_on_model() {
  static std::vector<std::string> names;
  return names;
}

}  // namespace

bool try_on_model(std::vector<std::string> names) {
  names_on_model() = std::move(names);
  return true;
}

std::vector<Kernel> tried(const std::vector<Kernel>& kernels) {
  if (names_on_model().empty() || machine::kind() != "model") return kernels;
  std::vector<Kernel> found;
  for (const std::string& name : names_on_model()) {
    const auto kernel = std::ranges::find(kernels, name, &Kernel::name);
    if (kernel == kernels.end()) throw std::invalid_argument("no kernel is called " + name);
    found.push_back(*kernel);
  }
  return found;
}

void test_shapes(const std::vector<Kernel>& kernels) {
  std::vector<Case> residue;  // no extent a multiple of a tile, none square
  for (const auto& [M, N, K] :
       std::vector<std::array<int, 3>>{{1, 1, 1}, {32, 32, 32}, {33, 65, 17}, {96, 40, 129}, {5, 200, 3}, {130, 2, 64}})
    residue.push_back({M, N, K, 1, 0, 0, Fill::integers});
  for (const Kernel& kernel : kernels) {
    expect_right(kernel, residue);
    expect_right(kernel, whole_tiles(kernel.tile, kernel.types));
    expect_right(kernel, one_residue_extent(kernel.tile));
  }
}

void test_rounding(const std::vector<Kernel>& kernels) {
  for (const Kernel& kernel : kernels)
    for (const Case& c : {Case{70, 90, 300}, Case{kernel.tile.BM, 2 * kernel.tile.BN, 64}}) {
      const Verdict verdict = check(kernel, c);
      CHECK_MESSAGE(verdict.ok(), kernel.name, ": ", verdict.message);
      CHECK(verdict.worst_error > 0);  // a comparison that sees no rounding compares nothing
    }
}

void test_leading_dimensions(const std::vector<Kernel>& kernels) {
  std::vector<Case> padded;
  for (const int pad : {1, 7, 32}) padded.push_back({45, 34, 67, 1, 2, pad, Fill::integers, 1, 0, {0, 3, 5}});
  for (const Kernel& kernel : kernels) expect_right(kernel, padded);
}

void test_misalignment(const std::vector<Kernel>& kernels) {
  for (const Kernel& kernel : kernels) expect_right(kernel, misaligned_cases(kernel.tile, kernel.types));
}

void test_alpha_and_beta(const std::vector<Kernel>& kernels) {
  for (const Kernel& kernel : kernels) {
    expect_right(kernel, scaled_cases({40, 50, 60, 1, 0, 3, Fill::integers}));
    expect_right(kernel, scaled_cases(whole_tiles(kernel.tile, kernel.types).front()));
  }
}

void test_unread_C(const std::vector<Kernel>& kernels) {
  // C holds NaN before the run, which a kernel that multiplies C by 0 would propagate.
  for (const Kernel& kernel : kernels)
    for (const Case& c :
         {Case{37, 41, 29, 1.5f, 0.0f}, Case{kernel.tile.BM, kernel.tile.BN, 2 * kernel.tile.BK, 1.5f, 0.0f}}) {
      const Verdict verdict = check(kernel, c);
      CHECK_MESSAGE(verdict.ok(), kernel.name, ": ", verdict.message);
    }
}

void test_running_again(const std::vector<Kernel>& kernels) {
  for (const Kernel& kernel : kernels) {
    INFO(kernel.name);
    CHECK((kernel.launch == nullptr) != (kernel.prepare == nullptr));  // exactly one of them is given
    if (kernel.prepare == nullptr) continue;
    // deep enough for split-K, and A cannot be read as float4
    Case c{kernel.tile.BM, kernel.tile.BN, 400, 1, 0, 0, Fill::integers};
    c.pads.A = 1;
    BoundCase bound(kernel, c);
    for (const int seed : {1, 5, 9}) {
      bound.operands.refill_A(c.fill, std::uint64_t(seed));
      bound.kernel->run();
      CHECK(compare(bound.operands).message == "");
    }
  }
}

void test_refusals(const std::vector<Kernel>& kernels) {
  alignas(16) float x[4] = {};
  const Gemm good{4, 4, 4, 1, x, 4, x, 4, 0, x, 4};
  for (const Kernel& kernel : kernels) {
    INFO(kernel.name);
    for (int Gemm::*const extent : {&Gemm::M, &Gemm::N, &Gemm::K, &Gemm::lda, &Gemm::ldb, &Gemm::ldc})
      for (const int value : {0, -1}) {
        Gemm g = good;
        g.*extent = value;
        CHECK_THROWS_AS(start(kernel, g), std::invalid_argument);
      }
    for (int Gemm::*const ld : {&Gemm::lda, &Gemm::ldb, &Gemm::ldc}) {
      Gemm g = good;
      g.*ld = 3;
      CHECK_THROWS_AS(start(kernel, g), std::invalid_argument);
    }
    if (kernel.takes_any_extent) continue;
    const auto [BM, BN, BK, takes] = kernel.tile;
    CHECK_THROWS_WITH_AS(start(kernel, {65536 * BM, BN, BK, 1, x, BK, x, BN, 0, x, BN}),
                         "grid.y is 65536, and CUDA launches at most 65535 blocks along it: split the problem",
                         std::invalid_argument);
  }
}

void test_far_offsets(const std::vector<Kernel>& kernels) {
  for (const Kernel& kernel : kernels) {
    const auto [BM, BN, BK, takes] = kernel.tile;
    const Case whole{BM, BN, BK * std::max(2, 32 / BK), 1, 2, 0, Fill::integers};
    Case residue = whole;
    residue.N = std::max(1, residue.N - 1);
    for (const Case& near : {whole, residue}) {
      Case A = near, B = near, C = near;
      A.pads.A = far_ld(near.M) - near.K;
      B.pads.B = far_ld(near.K) - near.N;
      C.pads.C = far_ld(near.M) - near.N;
      for (const Case& c : {A, B, C}) expect_right_or_skip(kernel, c);
    }
  }
}

void test_order_of_additions(const std::vector<Kernel>& kernels, const std::vector<Case>& cases) {
  for (const Kernel& kernel : kernels)
    for (const Case& c : cases) {
      INFO(kernel.name, ", ", describe(c));
      CHECK(out_of_order(kernel, c) == "");
    }
}

}  // namespace tile
