// Tests of the checks for operands other than row-major FP32: 16-bit elements, layouts, kernels that are prepared.
#include <unistd.h>

#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "chapters/21-bf16/number_format.hpp"
#include "common/bench/record.hpp"
#include "common/check/operands.hpp"
#include "common/report/findings.hpp"
#include "ctest/model_tests.hpp"

MODEL_TESTS("tests of operands")
TEST_SUITE_BEGIN("model");

// One thread per element; A and B are row-major or column-major. `skipped` of the K products are left out.
template <class Input, class Output>
__global__ void multiply_narrow(tile::Problem p, float alpha, const Input* A, const Input* B, float beta, Output* C,
                                int skipped) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= p.M || col >= p.N) return;
  const auto at = [](tile::Layout layout, int i, int j, int ld) {
    return layout == tile::Layout::rows ? std::size_t(i) * ld + j : std::size_t(j) * ld + i;
  };
  float sum = 0;
  for (int k = 0; k < p.K - skipped; ++k) sum += float(A[at(p.A, row, k, p.lda)]) * float(B[at(p.B, k, col, p.ldb)]);
  Output& c = C[std::size_t(row) * p.ldc + col];
  c = alpha * sum + (beta != 0 ? beta * float(c) : 0.0f);
}

template <class Input, class Output, int skipped>
class NarrowProduct : public tile::BoundKernel {
 public:
  explicit NarrowProduct(const tile::Product& product) : product_(product) { tile::require_valid(product); }
  void run() override {
    const tile::Problem& p = product_.problem;
    tile::launch(multiply_narrow<Input, Output>, dim3(tile::ceil_div(p.N, 8), tile::ceil_div(p.M, 8)), dim3(8, 8), 0, p,
                 product_.alpha, static_cast<const Input*>(product_.A), static_cast<const Input*>(product_.B),
                 product_.beta, static_cast<Output*>(product_.C), skipped);
  }

 private:
  tile::Product product_;
};

template <class Input, class Output, int skipped = 0>
tile::Kernel narrow_kernel(const char* name, tile::Types types) {
  const auto* address = reinterpret_cast<const void*>(multiply_narrow<Input, Output>);
  tile::Kernel kernel{name, nullptr, address, 64, {8, 8, 1, tile::Alignment::any}};
  kernel.prepare = [](const tile::Product& product) -> std::unique_ptr<tile::BoundKernel> {
    return std::make_unique<NarrowProduct<Input, Output, skipped>>(product);
  };
  kernel.types = types;
  return kernel;
}

constexpr auto f32 = tile::Element::f32, bf16 = tile::Element::bf16, f16 = tile::Element::f16;

static std::vector<tile::Kernel> narrow_kernels() {
  return {narrow_kernel<__nv_bfloat16, float>("bf16", {bf16, bf16, f32}),
          narrow_kernel<__half, float>("f16", {f16, f16, f32}),
          narrow_kernel<__nv_bfloat16, __nv_bfloat16>("all bf16", {bf16, bf16, bf16}),
          narrow_kernel<__half, __half>("all f16", {f16, f16, f16})};
}

TEST_CASE("inputs may be column-major") {
  for (const tile::Kernel& kernel : narrow_kernels())
    for (const tile::Layout A : {tile::Layout::rows, tile::Layout::columns})
      for (const tile::Layout B : {tile::Layout::rows, tile::Layout::columns}) {
        tile::Case c{20, 30, 10, 1, 2, 3, tile::Fill::integers};
        c.layout_A = A;
        c.layout_B = B;
        CHECK_NOTHROW(tile::traced_run(kernel, c));
        c.fill = tile::Fill::random;
        CHECK(tile::check(kernel, c).message == "");
      }
}

TEST_CASE("a wrong 16-bit result does not pass") {
  const auto wrong = narrow_kernel<__nv_bfloat16, __nv_bfloat16, 1>("one short", {bf16, bf16, bf16});
  CHECK_FALSE(tile::check(wrong, {16, 16, 8, 1, 0, 0, tile::Fill::integers}).ok());
  CHECK_FALSE(tile::check(wrong, {16, 16, 8}).ok());
  // A product that is correct in FP32, except for its last bits, loses more when rounded to 16 bits.
  auto as_bf16 = narrow_kernel<__nv_bfloat16, float>("bf16", {bf16, bf16, f32});
  CHECK(tile::check(as_bf16, {16, 16, 64}).worst_error < 1e-5);
  CHECK(tile::check(narrow_kernels()[2], {16, 16, 64}).worst_error > 1e-3);
  as_bf16.types = {f16, f16, f32};  // bits interpreted as another type
  CHECK_FALSE(tile::check(as_bf16, {16, 16, 8}).ok());
}

TEST_CASE("stores around a 16-bit C are detected") {
  for (const auto& [first, complaint] : {std::pair(-1, "wrote 1 elements before C"),
                                         {12, "wrote C's padding at row 0, column 12"},
                                         {10 * 16, "wrote 1 elements after C"}}) {
    tile::Case c{10, 12, 4, 1, 0, 4};
    c.types = {f32, f32, bf16};
    const tile::Operands operands(c);
    CHECK(operands.overwritten() == "");
    static_cast<__nv_bfloat16*>(operands.product().C)[first] = __float2bfloat16(0);
    CHECK(operands.overwritten() == complaint);
  }
}

TEST_CASE("an FP32 kernel rejects other operands") {
  tile::Case c{4, 4, 4};
  c.types.A = bf16;
  CHECK_THROWS_WITH_AS(tile::Launchable([](const tile::Gemm&) {}).prepare(tile::Operands(c).product()),
                       "4.bf16,f32,f32: this kernel takes only f32, f32 and f32, row-major", std::invalid_argument);
}

TEST_CASE("formats of any number of bits are decoded and encoded as by the compiler") {
  const auto same = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
  int wrong = 0;
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const double as_bf16 = tile::decoded(tile::bf16_format, bits), as_f16 = tile::decoded(tile::fp16_format, bits);
    wrong += !same(as_bf16, std::bit_cast<float>(bits << 16));
    wrong += !same(as_f16, double(std::bit_cast<_Float16>(std::uint16_t(bits))));
    wrong += !std::isnan(as_bf16) && tile::encoded(tile::bf16_format, as_bf16) != bits;
    wrong += !std::isnan(as_f16) && tile::encoded(tile::fp16_format, as_f16) != bits;
  }
  std::uint32_t word = 1;
  for (int i = 0; i < 200000; ++i) {
    word = word * 1664525u + 1013904223u;
    const auto value = std::bit_cast<float>(word);
    if (std::isnan(value)) continue;
    wrong += tile::encoded(tile::fp32_format, value) != word;
    wrong += tile::encoded(tile::tf32_format, value) != (word + 0xfffu + (word >> 13 & 1u)) >> 13;
    wrong += tile::decoded(tile::bf16_format, tile::encoded(tile::bf16_format, value)) != tile::rounded_to(bf16, value);
    wrong += tile::decoded(tile::fp16_format, tile::encoded(tile::fp16_format, value)) != tile::rounded_to(f16, value);
  }
  CHECK(wrong == 0);
  CHECK(tile::encoded(tile::bf16_format, NAN) == 0x7fff);
  CHECK(tile::encoded(tile::fp16_format, 65519.99) == 0x7bff);  // the largest
  CHECK(tile::encoded(tile::fp16_format, 65520) == 0x7c00);     // infinity from half-way to the next value on
  CHECK(tile::encoded(tile::fp16_format, 0x1p-25) == 0);        // half-way between 0 and the smallest value: 0 is even
  CHECK(tile::encoded(tile::fp16_format, 0x1.8p-25) == 1);
  CHECK(tile::fp16_format.largest() == 65504);
  CHECK(tile::tf32_format.bits() == 19);
}

TEST_CASE("touched elements are counted by their size in bytes") {
  const tile::Kernel kernel = narrow_kernels()[0];
  tile::CountedKernel counted{kernel, {4, 8, 6}, {}};
  // Two of B's second row, of 8 elements; one of C, of 4 bytes; the second half of a word of shared memory.
  counted.counts.touches = {
      {.interval = 0, .thread = 197, .op = simt::Op::load, .array = "B", .byte_offset = 20, .width = 4},
      {.interval = 0, .thread = 197, .op = simt::Op::store, .array = "C", .byte_offset = 36, .width = 4},
      {.interval = 0, .thread = 197, .op = simt::Op::load, .array = "As", .byte_offset = 8, .width = 8},
      {.interval = 0, .thread = 197, .op = simt::Op::store, .array = "As", .byte_offset = 6, .width = 2}};
  const auto directory = std::filesystem::temp_directory_path() / ("touched." + std::to_string(getpid()));
  std::filesystem::create_directories(directory);
  tile::emit_traces({counted}, directory);
  const auto text_of = [&](const char* file) {
    std::ifstream in(directory / file);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  CHECK(text_of("thread.tsv") ==
        "bf16\t197\t0\tload\tB\t10\nbf16\t197\t0\tload\tB\t11\nbf16\t197\t0\tstore\tC\t9\n"
        "bf16\t197\t0\tload\tAs\t4\nbf16\t197\t0\tload\tAs\t5\nbf16\t197\t0\tload\tAs\t6\n"
        "bf16\t197\t0\tload\tAs\t7\nbf16\t197\t0\tstore\tAs\t3\n");
  std::filesystem::remove_all(directory);
}

TEST_SUITE_END();
