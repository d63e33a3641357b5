// The tests that every GEMM must pass, for all chapters.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "common/check/gemm.hpp"
#include "common/cuda/cuda.hpp"

namespace tile {

// Each makes doctest assertions about every kernel of a list; TILE_GEMM_TESTS has their titles.
void test_shapes(const std::vector<Kernel>& kernels);
void test_rounding(const std::vector<Kernel>& kernels);
void test_leading_dimensions(const std::vector<Kernel>& kernels);
void test_misalignment(const std::vector<Kernel>& kernels);
void test_alpha_and_beta(const std::vector<Kernel>& kernels);
void test_unread_C(const std::vector<Kernel>& kernels);
void test_running_again(const std::vector<Kernel>& kernels);
void test_refusals(const std::vector<Kernel>& kernels);
void test_far_offsets(const std::vector<Kernel>& kernels);
void test_large_problems(const std::vector<Kernel>& kernels);  ///< GPU only
/// With random inputs, each result must equal, bit for bit, the sum of its products in the order of k, rounded to C's
/// type. Chapters call it themselves, because kernels that split a sum among threads cannot pass.
void test_order_of_additions(const std::vector<Kernel>& kernels, const std::vector<Case>& cases);
#if TILE_ON_MODEL
void test_residue_is_clean(const std::vector<Kernel>& kernels);
void test_choice_of_kernel(const std::vector<Kernel>& kernels);
/// Only whole tiles, for kernels that need not pass all tests.
void test_whole_tiles_are_clean(const std::vector<Kernel>& kernels);
void test_growing_counts(const std::vector<Kernel>& kernels);
#endif

/// "" if the elements of all threads cover a tile exactly once, otherwise the first element that is not covered once.
/// elements_of(thread, take) calls take(row, col) for each element of a thread.
template <class Elements>
std::string covers_once(int rows, int cols, int threads, Elements elements_of) {
  std::vector<int> times(std::size_t(rows) * std::size_t(cols));
  for (int thread = 0; thread < threads; ++thread)
    elements_of(thread, [&](int row, int col) { ++times.at(std::size_t(row * cols + col)); });
  for (int at = 0; at < rows * cols; ++at)
    if (const int n = times[std::size_t(at)]; n != 1)
      return std::to_string(n) + " times: row " + std::to_string(at / cols) + ", column " + std::to_string(at % cols);
  return "";
}

/// Those of `kernels` that TILE_GEMM_TESTS tests: all, or on the model those that TILE_TRIED_ON_MODEL names. Throws
/// std::invalid_argument for an unknown name.
std::vector<Kernel> tried(const std::vector<Kernel>& kernels);
/// The implementation of TILE_TRIED_ON_MODEL.
bool try_on_model(std::vector<std::string> names);

/// Records why the running test case, or a part of it, cannot be run here. Unless an assertion fails, the program then
/// exits with CTest's code for "skipped" (main.cpp).
void skip_test(const std::string& reason);

}  // namespace tile

/// The test cases that every GEMM must pass. `kernels` is a std::vector<tile::Kernel>, each for problems of any shape.
#define TILE_GEMM_TESTS(kernels)                                                                                    \
  TILE_GEMM_TEST("integers are exact at every kind of shape", test_shapes, kernels)                                 \
  TILE_GEMM_TEST("random values stay within the error bound" * doctest::test_suite("thorough"), test_rounding,      \
                 kernels)                                                                                           \
  TILE_GEMM_TEST("leading dimensions may exceed the matrix", test_leading_dimensions, kernels)                      \
  TILE_GEMM_TEST("misaligned pointers and odd leading dimensions are computed word by word", test_misalignment,     \
                 kernels)                                                                                           \
  TILE_GEMM_TEST("alpha and beta have BLAS semantics", test_alpha_and_beta, kernels)                                \
  TILE_GEMM_TEST("with beta 0 C is not read", test_unread_C, kernels)                                               \
  TILE_GEMM_TEST("a prepared kernel runs again, on what its operands hold then", test_running_again, kernels)       \
  TILE_GEMM_TEST("impossible problems are refused", test_refusals, kernels)                                         \
  TILE_GEMM_TEST("an element may lie more than 2^31 elements from the first" * doctest::test_suite("thorough"),     \
                 test_far_offsets, kernels)                                                                         \
  TILE_GEMM_TEST("large problems pass Freivalds' check" * doctest::test_suite("gpu"), test_large_problems, kernels) \
  TILE_GEMM_MODEL_TESTS(kernels)
#define TILE_GEMM_TEST(title, test, kernels) \
  TEST_CASE(title) { tile::test(tile::tried(kernels)); }

#if TILE_ON_MODEL
#define TILE_GEMM_MODEL_TESTS(kernels)                                                                                \
  TILE_GEMM_TEST("residue tiles are free of races and stray accesses" * doctest::test_suite("model"),                 \
                 test_residue_is_clean, kernels)                                                                      \
  TILE_GEMM_TEST("the launcher picks the fast kernel where it may and nowhere else" * doctest::test_suite("model"),   \
                 test_choice_of_kernel, kernels)                                                                      \
  TEST_CASE("every kernel is free of races on whole tiles" * doctest::test_suite("model thorough")) {                 \
    tile::test_whole_tiles_are_clean(kernels);                                                                        \
  }                                                                                                                   \
  TILE_GEMM_TEST(                                                                                                     \
      "every count of a site is so much a result and so much a multiply-add" * doctest::test_suite("model thorough"), \
      test_growing_counts, kernels)
#else
#define TILE_GEMM_MODEL_TESTS(kernels)
#endif

/// Names the kernels that TILE_GEMM_TESTS tests on the model: one of each group of kernels that differ only in numbers;
/// a test of the chapter's own must try all. Races on whole tiles are always checked for all kernels. On a GPU, all
/// tests run for all kernels.
#define TILE_TRIED_ON_MODEL(...) [[maybe_unused]] const bool tried_on_model = tile::try_on_model({__VA_ARGS__});
