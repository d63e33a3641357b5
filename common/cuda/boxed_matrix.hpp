// A matrix in global memory that is copied box by box, as host code sees it: what a tensor map
// is made of. No CUDA words, so that both machines' sides can be compiled with it.
#pragma once

#include <cstdint>

namespace tile {

/// The span, in bytes, within which a copy permutes the 16-byte chunks of shared memory, so
/// that a column of a box does not lie in few banks.
enum class Swizzle : int { none = 0, bytes32 = 32, bytes64 = 64, bytes128 = 128 };

/// The types of elements that tensor maps are made of here.
enum class TensorElement { float32, float16, bfloat16 };
constexpr int size_of(TensorElement e) { return e == TensorElement::float32 ? 4 : 2; }

/// rows x cols elements, row-major with leading dimension ld, and the box that one copy takes.
struct BoxedMatrix {
  int rows, cols;
  std::int64_t ld;
  int box_rows, box_cols;
  Swizzle swizzle = Swizzle::none;
};

/// Throws std::invalid_argument, with one line for the first rule broken, unless a tensor map
/// of it can be made: the rules of cuTensorMapEncodeTiled, and one more: a swizzled box is as
/// wide as the span, for of narrower ones no layout is documented.
void require_encodable(const void* base, TensorElement element, const BoxedMatrix& matrix);

namespace machine {
/// Makes the tensor map, of 128 bytes, of a matrix that is encodable.
void encode_tensor_map(void* map, const void* base, TensorElement element,
                       const BoxedMatrix& matrix);
}  // namespace machine

}  // namespace tile
