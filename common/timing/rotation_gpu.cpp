#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cstdint>

#include "common/check/operands.hpp"
#include "common/timing/rotation.hpp"

namespace tile {

namespace {

// Values as elements of a type, in device memory.
Buffer<char> uploaded(const std::vector<float>& values, Element type) {
  Buffer<char> device(values.size() * size_of(type));
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
  return device;
}

}  // namespace

Rotation::Rotation(const Case& c) : problem(c) {
  int l2 = 0;
  check(cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, 0), "L2 size");
  const Problem p = c.problem();
  const std::size_t a = std::size_t(p.A == Layout::rows ? p.M : p.K) * p.lda;
  const std::size_t b = std::size_t(p.B == Layout::rows ? p.K : p.N) * p.ldb, out = std::size_t(p.M) * p.ldc;
  const std::size_t a_bytes = a * size_of(p.types.A), b_bytes = b * size_of(p.types.B);
  const std::size_t out_bytes = out * size_of(p.types.C), bytes = a_bytes + b_bytes + out_bytes;
  // An even number: a pair of calls takes two, and both sides see the same ones.
  const std::size_t copies = std::clamp<std::size_t>((3 * std::size_t(l2) + bytes - 1) / bytes, 4, 64) / 2 * 2;
  A.push_back(uploaded(make_values(a, c.fill, c.seed), p.types.A));
  B.push_back(uploaded(make_values(b, c.fill, c.seed + 1), p.types.B));
  C.emplace_back(out_bytes);
  for (std::size_t i = 1; i < copies; ++i) {
    A.emplace_back(a_bytes);
    B.emplace_back(b_bytes);
    C.emplace_back(out_bytes);
    check(cudaMemcpy(A[i].get(), A[0].get(), a_bytes, cudaMemcpyDeviceToDevice), "copy");
    check(cudaMemcpy(B[i].get(), B[0].get(), b_bytes, cudaMemcpyDeviceToDevice), "copy");
  }
  for (auto& buffer : C) check(cudaMemset(buffer.get(), 0xff, out_bytes), "poison C");  // a NaN of every type
}

Product Rotation::product(std::size_t i) const {
  return {problem.problem(), problem.alpha, A[i].get(), B[i].get(), problem.beta, C[i].get()};
}

}  // namespace tile
