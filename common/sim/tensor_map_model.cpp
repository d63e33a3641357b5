// Tensor maps on the model.
#include "common/cuda/asynchronous.hpp"
#include "common/cuda/boxed_matrix.hpp"

namespace tile::machine {

void encode_tensor_map(void* map, const void* base, TensorElement element, const BoxedMatrix& m) {
  const auto size = std::uint32_t(size_of(element));
  *static_cast<simt::TensorMap*>(map) = {.base = reinterpret_cast<std::uintptr_t>(base),
                                         .rows = std::uint64_t(m.rows),
                                         .cols = std::uint64_t(m.cols),
                                         .row_bytes = std::uint64_t(m.ld) * size,
                                         .element = size,
                                         .box_rows = std::uint32_t(m.box_rows),
                                         .box_cols = std::uint32_t(m.box_cols),
                                         .swizzle = std::uint32_t(m.swizzle),
                                         .encoded = true};
}

}  // namespace tile::machine
