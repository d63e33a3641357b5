#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cstdint>
#include <future>
#include <stdexcept>

#include "common/bench/rotation.hpp"
#include "common/check/operands.hpp"

namespace tile {
namespace {

// Values into device memory, as elements of a type.
void upload(const Buffer<char>& device, const std::vector<float>& values, Element type) {
  const auto copy = [&](const auto& elements) {
    check(cudaMemcpy(device.get(), elements.data(), values.size() * size_of(type), cudaMemcpyHostToDevice), "upload");
  };
  const auto narrow = [&](auto element, auto convert) {
    std::vector<decltype(element)> elements(values.size());
    std::transform(values.begin(), values.end(), elements.begin(), convert);
    copy(elements);
  };
  if (type == Element::bf16)
    narrow(__nv_bfloat16{}, [](float v) { return __float2bfloat16(v); });
  else if (type == Element::f16)
    narrow(__half{}, [](float v) { return __float2half(v); });
  else
    copy(values);
}

struct Extents {
  std::size_t A, B, C;
};

// Elements from the first of each matrix to the end of its last row.
Extents extents_of(const Problem& p) {
  return {std::size_t(p.A == Layout::rows ? p.M : p.K) * p.lda, std::size_t(p.B == Layout::rows ? p.K : p.N) * p.ldb,
          std::size_t(p.M) * p.ldc};
}

// The operands' first elements: as many of each as any of the cases has.
Extents largest_of(const std::vector<Case>& cases) {
  Extents largest{};
  for (const Case& c : cases) {
    const Case& first = cases.front();
    if (c.types != first.types || c.fill != first.fill || c.seed != first.seed)
      throw std::invalid_argument("problems with the same inputs have the same types, fill and seed");
    const Extents own = extents_of(c.problem());
    largest = {std::max(largest.A, own.A), std::max(largest.B, own.B), std::max(largest.C, own.C)};
  }
  return largest;
}

}  // namespace

Inputs::Inputs(const std::vector<Case>& cases)
    : A_(largest_of(cases).A * size_of(cases.front().types.A)),
      B_(largest_of(cases).B * size_of(cases.front().types.B)) {
  const Case& c = cases.front();
  const Extents count = largest_of(cases);
  auto B = std::async(std::launch::async, [&] { return make_values(count.B, c.fill, c.seed + 1); });
  upload(A_, make_values(count.A, c.fill, c.seed), c.types.A);
  upload(B_, B.get(), c.types.B);
}

Rotation::Rotation(const Case& c, const Inputs& inputs, L2 l2) : problem(c) {
  int l2_bytes = 0;
  check(cudaDeviceGetAttribute(&l2_bytes, cudaDevAttrL2CacheSize, 0), "L2 size");
  const Extents elements = extents_of(c.problem());
  const std::size_t a_bytes = elements.A * size_of(c.types.A), b_bytes = elements.B * size_of(c.types.B);
  const std::size_t out_bytes = elements.C * size_of(c.types.C), bytes = a_bytes + b_bytes + out_bytes;
  const std::size_t copies = l2 == L2::warm ? 1 : copies_past_l2(std::size_t(l2_bytes), bytes);
  for (std::size_t i = 0; i < copies; ++i) {
    A.emplace_back(a_bytes);
    B.emplace_back(b_bytes);
    C.emplace_back(out_bytes);
    check(cudaMemcpy(A[i].get(), inputs.A(), a_bytes, cudaMemcpyDeviceToDevice), "copy");
    check(cudaMemcpy(B[i].get(), inputs.B(), b_bytes, cudaMemcpyDeviceToDevice), "copy");
  }
  for (auto& buffer : C) check(cudaMemset(buffer.get(), 0xff, out_bytes), "poison C");  // a NaN of every type
}

Product Rotation::product(std::size_t i) const {
  return {problem.problem(), problem.alpha, A[i].get(), B[i].get(), problem.beta, C[i].get()};
}

}  // namespace tile
