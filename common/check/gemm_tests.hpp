// What every GEMM must pass, once for all chapters.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "common/check/gemm.hpp"
#include "common/cuda/cuda.hpp"

namespace tile {

// Each makes doctest assertions about every kernel of a list; TILE_GEMM_TESTS says what they are.
void test_shapes(const std::vector<Kernel>& kernels);
void test_rounding(const std::vector<Kernel>& kernels);
void test_leading_dimensions(const std::vector<Kernel>& kernels);
void test_misalignment(const std::vector<Kernel>& kernels);
void test_alpha_and_beta(const std::vector<Kernel>& kernels);
void test_unread_C(const std::vector<Kernel>& kernels);
void test_refusals(const std::vector<Kernel>& kernels);
void test_far_offsets(const std::vector<Kernel>& kernels);
void test_large_problems(const std::vector<Kernel>& kernels);  ///< GPU only
#if TILE_ON_MODEL
void test_ragged_is_clean(const std::vector<Kernel>& kernels);
void test_choice_of_kernel(const std::vector<Kernel>& kernels);
#endif

/// Says why the running test case cannot be run here, or not all of it. Unless an assertion fails as well, the program
/// then exits with CTest's code for "skipped" (main.cpp).
void skip_test(const std::string& reason);

}  // namespace tile

/// The test cases that every GEMM must pass. `kernels` is a std::vector<tile::Kernel>; each takes problems of any shape.
#define TILE_GEMM_TESTS(kernels)                                                                             \
  TEST_CASE("integers are exact at every kind of shape") { tile::test_shapes(kernels); }                     \
  TEST_CASE("random values stay within the error bound") { tile::test_rounding(kernels); }                   \
  TEST_CASE("leading dimensions may exceed the matrix") { tile::test_leading_dimensions(kernels); }          \
  TEST_CASE("misaligned pointers and odd leading dimensions are computed word by word") {                    \
    tile::test_misalignment(kernels);                                                                        \
  }                                                                                                          \
  TEST_CASE("alpha and beta have BLAS semantics") { tile::test_alpha_and_beta(kernels); }                    \
  TEST_CASE("with beta 0 C is not read") { tile::test_unread_C(kernels); }                                   \
  TEST_CASE("impossible problems are refused") { tile::test_refusals(kernels); }                             \
  TEST_CASE("an element may lie more than 2^31 elements from the first" * doctest::test_suite("thorough")) { \
    tile::test_far_offsets(kernels);                                                                         \
  }                                                                                                          \
  TEST_CASE("large problems pass Freivalds' check" * doctest::test_suite("gpu")) {                           \
    tile::test_large_problems(kernels);                                                                      \
  }                                                                                                          \
  TILE_GEMM_MODEL_TESTS(kernels)

#if TILE_ON_MODEL
#define TILE_GEMM_MODEL_TESTS(kernels)                                                                           \
  TEST_CASE("ragged shapes are free of races and stray accesses" * doctest::test_suite("model")) {               \
    tile::test_ragged_is_clean(kernels);                                                                         \
  }                                                                                                              \
  TEST_CASE("the launcher picks the fast kernel where it may and nowhere else" * doctest::test_suite("model")) { \
    tile::test_choice_of_kernel(kernels);                                                                        \
  }
#else
#define TILE_GEMM_MODEL_TESTS(kernels)
#endif
