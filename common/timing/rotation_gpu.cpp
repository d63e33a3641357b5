#include <cuda_bf16.h>

#include <algorithm>
#include <cstdint>

#include "common/timing/rotation.hpp"

namespace tile {

Rotation::Rotation(const Case& c, std::size_t element) {
  int l2 = 0;
  check(cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, 0), "L2 size");
  const std::size_t a = std::size_t(c.M) * (c.K + c.pad), b = std::size_t(c.K) * (c.N + c.pad);
  const std::size_t out = std::size_t(c.M) * (c.N + c.pad);
  const std::size_t bytes = (a + b) * element + out * 4;
  // An even number: a pair of calls takes two, and both sides see the same ones.
  const std::size_t copies = std::clamp<std::size_t>((3 * std::size_t(l2) + bytes - 1) / bytes, 4, 64) / 2 * 2;
  const auto upload = [&](std::size_t count, std::uint64_t seed) {
    const std::vector<float> values = make_values(count, c.fill, seed);
    Buffer<char> device(count * element);
    if (element == 4) {
      check(cudaMemcpy(device.get(), values.data(), count * 4, cudaMemcpyHostToDevice), "upload");
    } else {
      std::vector<__nv_bfloat16> narrow(count);
      std::transform(values.begin(), values.end(), narrow.begin(), [](float v) { return __float2bfloat16(v); });
      check(cudaMemcpy(device.get(), narrow.data(), count * 2, cudaMemcpyHostToDevice), "upload");
    }
    return device;
  };
  A.push_back(upload(a, c.seed));
  B.push_back(upload(b, c.seed + 1));
  C.emplace_back(out);
  for (std::size_t i = 1; i < copies; ++i) {
    A.emplace_back(a * element);
    B.emplace_back(b * element);
    C.emplace_back(out);
    check(cudaMemcpy(A[i].get(), A[0].get(), a * element, cudaMemcpyDeviceToDevice), "copy");
    check(cudaMemcpy(B[i].get(), B[0].get(), b * element, cudaMemcpyDeviceToDevice), "copy");
  }
  for (auto& buffer : C) check(cudaMemset(buffer.get(), 0xff, out * 4), "poison C");  // 0xffffffff is a NaN
}

Gemm Rotation::gemm(const Case& c, std::size_t i) const {
  return {c.M,
          c.N,
          c.K,
          c.alpha,
          reinterpret_cast<const float*>(A[i].get()),
          c.K + c.pad,
          reinterpret_cast<const float*>(B[i].get()),
          c.N + c.pad,
          c.beta,
          C[i].get(),
          c.N + c.pad};
}

}  // namespace tile
