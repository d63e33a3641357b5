// The tests of every GEMM that need the SIMT model.

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "common/check/gemm_tests.hpp"
#include "common/check/traced.hpp"

namespace tile {
namespace {

// Whether a matrix and each of its rows begin at multiples of 16 bytes.
bool divisible_by_16(Element element, int ld, int offset) {
  const int elements = elements_of_16_bytes(element);
  return ld % elements == 0 && offset % elements == 0;
}

// Whether the launcher must choose the fast kernel for a problem.
bool is_for_fast_kernel(const Kernel& kernel, const Case& c) {
  const Tile& tile = kernel.tile;
  const bool whole_C = c.M % tile.BM == 0 && c.N % tile.BN == 0, whole_K = c.K % tile.BK == 0;
  const bool A = divisible_by_16(kernel.types.A, c.lda(), c.offset + c.offsets.A),
             B = divisible_by_16(kernel.types.B, c.ldb(), c.offset + c.offsets.B),
             C = divisible_by_16(kernel.types.C, c.ldc(), c.offset + c.offsets.C);
  switch (tile.alignment) {
    case Alignment::any:
      return true;
    case Alignment::whole_tiles:
      return whole_C && whole_K;
    case Alignment::float4s:
      return whole_C && whole_K && A && B && C;
    case Alignment::whole_C:
      return whole_C && C;
    case Alignment::other:
      break;
  }
  return false;
}

// Problems for the fast kernel, and others that miss one of its conditions.
std::vector<Case> problems_to_choose_for(const Kernel& kernel) {
  std::vector<Case> cases = whole_tiles(kernel.tile, kernel.types);
  const Case whole = cases.front();
  for (int Case::*const extent : {&Case::M, &Case::N, &Case::K})
    for (const int change : {-8, 8, whole.*extent / 2}) {  // leading dimensions stay multiples of 16 bytes
      if (whole.*extent + change < 1) continue;
      cases.push_back(whole);
      cases.back().*extent += change;
    }
  for (const Case& c : misaligned_cases(kernel.tile, kernel.types)) cases.push_back(c);
  return cases;
}

/// A count of a site, and whether it also depends on the address, by the hash of L1's tag banks.
struct CountedNumber {
  const char* name;
  std::uint64_t simt::Site::*number;
  bool by_place;
};
constexpr CountedNumber site_numbers[] = {{"requests", &simt::Site::requests, false},
                                          {"accesses", &simt::Site::accesses, false},
                                          {"sectors", &simt::Site::sectors, false},
                                          {"lines", &simt::Site::lines, false},
                                          {"tag passes", &simt::Site::tag_passes, true},
                                          {"wavefronts", &simt::Site::wavefronts, false},
                                          {"L1 wavefronts", &simt::Site::l1_wavefronts, false},
                                          {"L1 cycles", &simt::Site::l1_cycles, true}};

constexpr double by_place_tolerance = 0.25;

}  // namespace

void test_residue_is_clean(const std::vector<Kernel>& kernels) {
  for (const Kernel& kernel : kernels) {
    std::vector<Case> cases = one_residue_extent(kernel.tile);
    cases.push_back({33, 65, 17, 1, 0, 0, Fill::integers});
    cases.push_back({70, 31, 50, 1, 2, 5, Fill::integers});
    for (const Case& c : cases) {
      INFO(kernel.name, ", ", describe(c));
      CHECK_NOTHROW(traced_run(kernel, c));
    }
  }
}

void test_choice_of_kernel(const std::vector<Kernel>& kernels) {
  for (const Kernel& kernel : kernels) {
    const bool known = kernel.tile.alignment != Alignment::other;
    for (const Case& c : known ? problems_to_choose_for(kernel) : whole_tiles(kernel.tile, kernel.types)) {
      const bool fast = is_for_fast_kernel(kernel, c);
      INFO(kernel.name, fast ? " should take " : " must not take ", describe(c));
      const simt::Counts run = launched(kernel, c);
      if (known) CHECK((run.function == kernel.address) == fast);
      if (run.function != kernel.address) continue;
      CHECK(run.block.x * run.block.y * run.block.z == unsigned(kernel.block_threads));
      CHECK(run.static_shared_bytes == kernel.static_shared);
      CHECK(run.dynamic_shared_bytes == kernel.dynamic_shared);
    }
    INFO(kernel.name);
    CHECK_NOTHROW(traced_run(kernel, whole_tiles(kernel.tile, kernel.types)[1]));
  }
}

void test_whole_tiles_are_clean(const std::vector<Kernel>& kernels) {
  for (const Kernel& kernel : kernels) {
    const Case whole{2 * kernel.tile.BM, 2 * kernel.tile.BN, 2 * kernel.tile.BK};
    INFO(kernel.name, ", ", describe(whole));
    CHECK_NOTHROW(traced_run(kernel, whole));
  }
}

void test_growing_counts(const std::vector<Kernel>& kernels) {
  if (std::all_of(kernels.begin(), kernels.end(), [](const Kernel& kernel) { return kernel.takes_any_extent; }))
    return skip_test("these kernels are persistent: their counts depend on the depth in another way");
  for (const Kernel& kernel : kernels) {
    if (kernel.takes_any_extent) continue;  // how it distributes tiles and splits depends on the depth
    std::vector<simt::Counts> by_depth;
    const Tile& tile = kernel.tile;
    for (const int tiles : {4, 6, 8}) {
      const Case c{
          2 * tile.BM, 2 * tile.BN, tiles * tile.BK, 1, 0, 0, Fill::random, 1, 0, {(8 - tiles) * tile.BK, 0, 0}};
      by_depth.push_back(traced_run(kernel, c));
    }
    INFO(kernel.name);
    REQUIRE(by_depth[0].sites.size() == by_depth[2].sites.size());
    for (std::size_t i = 0; i < by_depth[0].sites.size(); ++i)
      for (const CountedNumber& what : site_numbers) {
        const auto at = [&](std::size_t depth) { return by_depth[depth].sites[i].*(what.number); };
        INFO("line ", by_depth[0].sites[i].line, ", ", by_depth[0].sites[i].array, ", ", std::string(what.name));
        if (what.by_place)
          CHECK(double(at(2)) == doctest::Approx(2 * double(at(1)) - double(at(0))).epsilon(by_place_tolerance));
        else
          CHECK(at(2) - at(1) == at(1) - at(0));
      }
  }
}

void test_large_problems(const std::vector<Kernel>&) {
  throw std::logic_error("this test runs on a GPU; its problems are too large for the model");
}

}  // namespace tile
