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
void test_running_again(const std::vector<Kernel>& kernels);
void test_refusals(const std::vector<Kernel>& kernels);
void test_far_offsets(const std::vector<Kernel>& kernels);
void test_large_problems(const std::vector<Kernel>& kernels);  ///< GPU only
/// Bit for bit, a result of random inputs is its products added one by one in the order of k, as C's type holds that sum. For a
/// chapter to call: kernels that share a sum among threads cannot pass.
void test_order_of_additions(const std::vector<Kernel>& kernels, const std::vector<Case>& cases);
#if TILE_ON_MODEL
void test_ragged_is_clean(const std::vector<Kernel>& kernels);
void test_choice_of_kernel(const std::vector<Kernel>& kernels);
/// Whole tiles alone, for kernels of which not all tests are asked.
void test_whole_tiles_are_clean(const std::vector<Kernel>& kernels);
void test_growing_counts(const std::vector<Kernel>& kernels);
#endif

/// Those of `kernels` that TILE_GEMM_TESTS tries: all, or on the model those that TILE_TRIED_ON_MODEL names. Throws
/// std::invalid_argument for a name that no kernel has.
std::vector<Kernel> tried(const std::vector<Kernel>& kernels);
/// What TILE_TRIED_ON_MODEL does.
bool try_on_model(std::vector<std::string> names);

/// Says why the running test case cannot be run here, or not all of it. Unless an assertion fails as well, the program
/// then exits with CTest's code for "skipped" (main.cpp).
void skip_test(const std::string& reason);

}  // namespace tile

/// The test cases that every GEMM must pass. `kernels` is a std::vector<tile::Kernel>; each takes problems of any shape.
#define TILE_GEMM_TESTS(kernels)                                                                                 \
  TEST_CASE("integers are exact at every kind of shape") { tile::test_shapes(tile::tried(kernels)); }            \
  TEST_CASE("random values stay within the error bound" * doctest::test_suite("thorough")) {                     \
    tile::test_rounding(tile::tried(kernels));                                                                   \
  }                                                                                                              \
  TEST_CASE("leading dimensions may exceed the matrix") { tile::test_leading_dimensions(tile::tried(kernels)); } \
  TEST_CASE("misaligned pointers and odd leading dimensions are computed word by word") {                        \
    tile::test_misalignment(tile::tried(kernels));                                                               \
  }                                                                                                              \
  TEST_CASE("alpha and beta have BLAS semantics") { tile::test_alpha_and_beta(tile::tried(kernels)); }           \
  TEST_CASE("with beta 0 C is not read") { tile::test_unread_C(tile::tried(kernels)); }                          \
  TEST_CASE("a prepared kernel runs again, on what its operands hold then") {                                    \
    tile::test_running_again(tile::tried(kernels));                                                              \
  }                                                                                                              \
  TEST_CASE("impossible problems are refused") { tile::test_refusals(tile::tried(kernels)); }                    \
  TEST_CASE("an element may lie more than 2^31 elements from the first" * doctest::test_suite("thorough")) {     \
    tile::test_far_offsets(tile::tried(kernels));                                                                \
  }                                                                                                              \
  TEST_CASE("large problems pass Freivalds' check" * doctest::test_suite("gpu")) {                               \
    tile::test_large_problems(tile::tried(kernels));                                                             \
  }                                                                                                              \
  TILE_GEMM_MODEL_TESTS(kernels)

#if TILE_ON_MODEL
#define TILE_GEMM_MODEL_TESTS(kernels)                                                                           \
  TEST_CASE("ragged shapes are free of races and stray accesses" * doctest::test_suite("model")) {               \
    tile::test_ragged_is_clean(tile::tried(kernels));                                                            \
  }                                                                                                              \
  TEST_CASE("the launcher picks the fast kernel where it may and nowhere else" * doctest::test_suite("model")) { \
    tile::test_choice_of_kernel(tile::tried(kernels));                                                           \
  }                                                                                                              \
  TEST_CASE("every kernel is free of races on whole tiles" * doctest::test_suite("model thorough")) {            \
    tile::test_whole_tiles_are_clean(kernels);                                                                   \
  }                                                                                                              \
  TEST_CASE("every count of a site is so much a result and so much a multiply-add" *                             \
            doctest::test_suite("model thorough")) {                                                             \
    tile::test_growing_counts(tile::tried(kernels));                                                             \
  }
#else
#define TILE_GEMM_MODEL_TESTS(kernels)
#endif

/// Names the kernels that TILE_GEMM_TESTS tries on the model, one for each part of a program whose other kernels differ from
/// these in numbers; a test of the chapter's own tries all. Whether whole tiles are free of races is asked of all. A GPU always tries all.
#define TILE_TRIED_ON_MODEL(...) [[maybe_unused]] const bool tried_on_model = tile::try_on_model({__VA_ARGS__});
