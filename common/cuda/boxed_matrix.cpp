#include "common/cuda/boxed_matrix.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace tile {

void require_encodable(const void* base, TensorElement element, const BoxedMatrix& m) {
  const auto refuse = [&](const std::string& why) {
    throw std::invalid_argument(
        fmt::format("a tensor map of {} x {} elements, ld {}, in boxes of {} x {}: {}", m.rows,
                    m.cols, m.ld, m.box_rows, m.box_cols, why));
  };
  const int size = size_of(element);
  const std::int64_t row_bytes = m.ld * size;
  const int box_row_bytes = m.box_cols * size;
  if (m.rows < 1 || m.cols < 1) refuse("it needs at least one row and one column");
  if (m.ld < m.cols) refuse("the leading dimension is less than a row");
  if (reinterpret_cast<std::uintptr_t>(base) % 16 != 0)
    refuse("it must begin at a multiple of 16 bytes");
  if (row_bytes % 16 != 0)
    refuse(fmt::format(
        "a row begins {} bytes after the one before, which must be a multiple of 16",
        row_bytes));
  if (row_bytes >= std::int64_t(1) << 40)
    refuse(
        fmt::format("a row begins {} bytes after the one before, which must be less than 2^40",
                    row_bytes));
  if (m.box_rows < 1 || m.box_cols < 1 || m.box_rows > 256 || m.box_cols > 256)
    refuse("the extents of a box are 1 to 256");
  if (box_row_bytes % 16 != 0)
    refuse(fmt::format("a row of the box has {} bytes, which must be a multiple of 16",
                       box_row_bytes));
  if (m.swizzle != Swizzle::none && box_row_bytes != int(m.swizzle))
    refuse(fmt::format("a row of the box has {} bytes, and a swizzle over {} needs as many",
                       box_row_bytes, int(m.swizzle)));
}

}  // namespace tile
