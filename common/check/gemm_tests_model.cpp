// The tests of every GEMM that only the SIMT model can make.
#include <stdexcept>
#include <vector>

#include "common/check/gemm_tests.hpp"
#include "common/check/traced.hpp"

namespace tile {
namespace {

// The problems of a tile that its fast kernel cannot compute: each meets all conditions but one.
std::vector<Case> beyond_the_fast_kernel(const Tile& tile) {
  if (tile.takes == Takes::all) return {};
  std::vector<Case> cases;
  const Case whole = whole_tiles(tile).front();
  for (int Case::*const extent : {&Case::M, &Case::N, &Case::K})
    for (const int change : {-4, 4, whole.*extent / 2}) {  // leading dimensions stay multiples of 4
      cases.push_back(whole);
      cases.back().*extent += change;
    }
  if (tile.takes == Takes::float4s)
    for (const Case& c : misaligned_cases(tile)) cases.push_back(c);
  return cases;
}

}  // namespace

void test_ragged_is_clean(const std::vector<Kernel>& kernels) {
  std::vector<Case> cases{{33, 65, 17, 1, 0, 0, Fill::integers}, {70, 31, 50, 1, 2, 5, Fill::integers}};
  for (const Kernel& kernel : kernels) {
    std::vector<Case> all = one_ragged_extent(kernel.tile);
    all.insert(all.end(), cases.begin(), cases.end());
    for (const Case& c : all) {
      INFO(kernel.name, ", ", describe(c));
      CHECK_NOTHROW(require_clean(kernel, c));
    }
  }
}

void test_choice_of_kernel(const std::vector<Kernel>& kernels) {
  for (const Kernel& kernel : kernels) {
    std::vector<Case> taken = whole_tiles(kernel.tile);
    if (kernel.tile.takes != Takes::float4s)
      for (const Case& c : misaligned_cases(kernel.tile)) taken.push_back(c);
    for (const Case& c : taken) {
      INFO(kernel.name, " should take ", describe(c));
      const simt::Counts run = launched(kernel, c);
      CHECK(run.function == kernel.address);
      CHECK(run.block.x * run.block.y * run.block.z == unsigned(kernel.block_threads));
      CHECK(run.static_shared_bytes == kernel.static_shared);
      CHECK(run.dynamic_shared_bytes == kernel.dynamic_shared);
    }
    INFO(kernel.name);
    CHECK_NOTHROW(require_clean(kernel, whole_tiles(kernel.tile)[1]));
    for (const Case& c : beyond_the_fast_kernel(kernel.tile)) {
      INFO(kernel.name, " must not take ", describe(c));
      CHECK(launched(kernel, c).function != kernel.address);
    }
  }
}

void test_large_problems(const std::vector<Kernel>&) {
  throw std::logic_error("this test runs on a GPU; its problems are too large for the model");
}

}  // namespace tile
