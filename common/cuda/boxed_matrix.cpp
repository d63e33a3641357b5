#include "common/cuda/boxed_matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string>

namespace tile {

void require_encodable(const void* base, TensorElement element, const BoxedMatrix& m) {
  const int size = size_of(element), box_row_bytes = m.box_cols * size;
  const std::int64_t row_bytes = m.ld * size;
  const auto require = [&](bool holds, const std::string& why) {
    if (!holds)
      throw std::invalid_argument(
          fmt::format("a tensor map of {} x {} elements, ld {}, in boxes of {} x {}: {}",
                      m.rows, m.cols, m.ld, m.box_rows, m.box_cols, why));
  };
  require(m.rows >= 1 && m.cols >= 1, "it needs at least one row and one column");
  require(m.ld >= m.cols, "the leading dimension is less than a row");
  require(reinterpret_cast<std::uintptr_t>(base) % 16 == 0,
          "it must begin at a multiple of 16 bytes");
  const std::string row = fmt::format("a row begins {} bytes after the one before", row_bytes);
  require(row_bytes % 16 == 0, row + ", which must be a multiple of 16");
  require(row_bytes < std::int64_t(1) << 40, row + ", which must be less than 2^40");
  require(std::min(m.box_rows, m.box_cols) >= 1 && std::max(m.box_rows, m.box_cols) <= 256,
          "the extents of a box are 1 to 256");
  const std::string box_row = fmt::format("a row of the box has {} bytes", box_row_bytes);
  require(box_row_bytes % 16 == 0, box_row + ", which must be a multiple of 16");
  require(m.swizzle == Swizzle::none || box_row_bytes == int(m.swizzle),
          fmt::format("{}, and a swizzle over {} needs as many", box_row, int(m.swizzle)));
}

}  // namespace tile
