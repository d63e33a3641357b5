#include "common/check/operands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <random>
#include <stdexcept>

#include "common/cuda/machine.hpp"

namespace tile {
namespace {

constexpr std::size_t guard = 1024;  // elements before and after a matrix, and of a row's padding at most

using Bytes = std::vector<std::byte>;
using Bits = std::uint32_t;  // of one element, in its lower bits

/// What lies around A, B and C are signalling NaNs: arithmetic with one changes its bits, a copy takes it elsewhere. C
/// before a run that must not read it holds a fourth.
struct Poison {
  Bits A, B, C, unread;
};
constexpr Poison poison_of(Element element) {
  if (element == Element::f32) return {0x7fa0000a, 0x7fa0000b, 0x7fa0000c, 0x7fa000dd};
  if (element == Element::bf16) return {0x7faa, 0x7fab, 0x7fac, 0x7fbd};
  return {0x7d0a, 0x7d0b, 0x7d0c, 0x7ddd};
}

Bits bits_of(Element element, float value) {
  if (element == Element::f16) return std::bit_cast<std::uint16_t>(static_cast<_Float16>(value));
  const Bits word = std::bit_cast<Bits>(rounded_to(element, value));
  return element == Element::f32 ? word : word >> 16;
}

float value_of(Element element, Bits bits) {
  if (element == Element::f16) return float(std::bit_cast<_Float16>(std::uint16_t(bits)));
  return std::bit_cast<float>(element == Element::f32 ? bits : bits << 16);
}

Bits bits_at(Element element, const Bytes& image, std::size_t index) {
  Bits bits = 0;
  std::memcpy(&bits, image.data() + index * size_of(element), size_of(element));  // the lower bytes come first
  return bits;
}

void put(Element element, Bytes& image, std::size_t index, Bits bits) {
  std::memcpy(image.data() + index * size_of(element), &bits, size_of(element));
}

Bytes repeated(Element element, Bits bits, std::size_t count) {
  Bytes image(count * size_of(element));
  for (std::size_t i = 0; i < count; ++i) put(element, image, i, bits);
  return image;
}

std::size_t guarded_padding(int ld, int cols) { return std::min(std::size_t(ld - cols), guard); }

void upload(void* device, const Bytes& image) { machine::copy_to_device(device, image.data(), image.size()); }

/// A matrix as it lies in memory: rows x cols elements, leading dimension ld, `first` elements after a boundary.
struct Stored {
  const char* name;
  Element element;
  Bits band;
  int rows, cols, ld;
  std::size_t first;

  std::byte* begin(void* memory) const { return static_cast<std::byte*>(memory) + first * size_of(element); }
};

// Such a matrix in device memory: elements of which bits_of_element(row, col) are the bits, and bands around them.
template <class BitsOfElement>
void* place(const Stored& m, BitsOfElement bits_of_element) {
  const std::size_t extent = std::size_t(m.rows) * std::size_t(m.ld), size = size_of(m.element);
  void* memory = machine::allocate((m.first + extent + guard) * size, size, m.name);
  machine::declare_matrix(memory, m.first, std::size_t(m.rows), std::size_t(m.cols), std::size_t(m.ld));
  upload(memory, repeated(m.element, m.band, m.first));
  upload(m.begin(memory) + extent * size, repeated(m.element, m.band, guard));
  Bytes row_image = repeated(m.element, m.band, std::size_t(m.cols) + guarded_padding(m.ld, m.cols));
  for (int row = 0; row < m.rows; ++row) {
    for (int col = 0; col < m.cols; ++col) put(m.element, row_image, std::size_t(col), bits_of_element(row, col));
    upload(m.begin(memory) + std::size_t(row) * std::size_t(m.ld) * size, row_image);
  }
  return memory;
}

// As it lies in memory: row by row, or as the transpose that columns are.
Stored laid_out(Stored m, Layout layout) {
  if (layout == Layout::columns) std::swap(m.rows, m.cols);
  return m;
}

// An input of which `values` are the elements, row by row; `m` is it as it lies in memory.
void* place_input(const Stored& m, const std::vector<float>& values, Layout layout) {
  if (layout == Layout::rows)
    return place(m, [&](int row, int col) { return bits_of(m.element, values[std::size_t(row) * m.cols + col]); });
  return place(m, [&](int row, int col) { return bits_of(m.element, values[std::size_t(col) * m.rows + row]); });
}

std::vector<float> values_of(Element element, std::size_t count, Fill fill, std::uint64_t seed) {
  std::vector<float> values = make_values(count, fill, seed);
  for (float& value : values) value = rounded_to(element, value);
  return values;
}

void require_valid_problem(const Problem& p) {
  const Problem packed = p.packed();
  if (p.M < 1 || p.N < 1 || p.K < 1)
    throw std::invalid_argument(fmt::format("M, N and K must be at least 1, not {} x {} x {}", p.M, p.N, p.K));
  if (p.lda < packed.lda || p.ldb < packed.ldb || p.ldc < packed.ldc)
    throw std::invalid_argument(
        fmt::format("leading dimensions must cover the rows: lda {} >= {} {}, ldb {} >= {} {}, "
                    "ldc {} >= N {}",
                    p.lda, p.A == Layout::rows ? "K" : "M", packed.lda, p.ldb, p.B == Layout::rows ? "N" : "K",
                    packed.ldb, p.ldc, packed.ldc));
}

}  // namespace

std::vector<float> make_values(std::size_t count, Fill fill, std::uint64_t seed) {
  std::mt19937_64 bits(seed);  // its sequence is fixed by the standard; distributions are not, so none is used
  std::vector<float> values(count);
  if (fill == Fill::zeros) return values;
  for (float& value : values) {
    const std::uint64_t word = bits();
    value = fill == Fill::integers ? float(int((word >> 32) % 7) - 3) : float(std::int32_t(word >> 32)) * 0x1p-31f;
  }
  return values;
}

void require_valid(const Product& product) { require_valid_problem(product.problem); }

void require_valid(const Gemm& g) { require_valid(product_of(g)); }

Operands::Operands(const Case& c) : first_of_C_(guard + std::size_t(c.offset + c.offsets.C)) {
  product_ = {c.problem(), c.alpha, nullptr, nullptr, c.beta, nullptr};
  const Problem& p = product_.problem;
  require_valid(product_);
  const Types& types = p.types;
  const Stored a =
      laid_out({"A", types.A, poison_of(types.A).A, c.M, c.K, p.lda, guard + std::size_t(c.offset + c.offsets.A)}, p.A);
  const Stored b =
      laid_out({"B", types.B, poison_of(types.B).B, c.K, c.N, p.ldb, guard + std::size_t(c.offset + c.offsets.B)}, p.B);
  const Stored out{"C", types.C, poison_of(types.C).C, c.M, c.N, p.ldc, first_of_C_};
  try {
    A = values_of(types.A, std::size_t(c.M) * c.K, c.fill, c.seed);
    B = values_of(types.B, std::size_t(c.K) * c.N, c.fill, c.seed + 1);
    device_[0] = place_input(a, A, p.A);
    device_[1] = place_input(b, B, p.B);
    const Bits unread = poison_of(types.C).unread;
    C = c.beta == 0.0f ? std::vector<float>(std::size_t(c.M) * c.N, value_of(types.C, unread))
                       : values_of(types.C, std::size_t(c.M) * c.N, c.fill, c.seed + 2);
    device_[2] = place(out, [&](int row, int col) {
      return c.beta == 0.0f ? unread : bits_of(types.C, C[std::size_t(row) * c.N + col]);
    });
  } catch (...) {
    release();
    throw;
  }
  product_.A = a.begin(device_[0]);
  product_.B = b.begin(device_[1]);
  product_.C = out.begin(device_[2]);
  if (types == Types{} && p.A == Layout::rows && p.B == Layout::rows) gemm_ = gemm_of(product_);
}

Operands::~Operands() { release(); }

void Operands::release() {
  for (void* memory : device_)
    if (memory != nullptr) machine::release(memory);
}

const Gemm& Operands::gemm() const {
  if (gemm_.C == nullptr) throw std::invalid_argument("these operands are not FP32, row by row: use product()");
  return gemm_;
}

void Operands::refill_A(Fill fill, std::uint64_t seed) {
  const Problem& p = product_.problem;
  const Element type = p.types.A;
  const bool rows = p.A == Layout::rows;
  A = values_of(type, A.size(), fill, seed);
  Bytes line(std::size_t(rows ? p.K : p.M) * size_of(type));  // a row, or a column
  auto* to = static_cast<std::byte*>(const_cast<void*>(product_.A));
  for (int i = 0; i < (rows ? p.M : p.K); ++i, to += std::size_t(p.lda) * size_of(type)) {
    for (int j = 0; j < (rows ? p.K : p.M); ++j)
      put(type, line, std::size_t(j), bits_of(type, A[rows ? std::size_t(i) * p.K + j : std::size_t(j) * p.K + i]));
    upload(to, line);
  }
}

std::vector<float> Operands::download_C() const {
  const Problem& p = product_.problem;
  const Element type = p.types.C;
  std::vector<float> result(C.size());
  Bytes row_image(std::size_t(p.N) * size_of(type));
  for (int row = 0; row < p.M; ++row) {
    const auto* device =
        static_cast<const std::byte*>(product_.C) + std::size_t(row) * std::size_t(p.ldc) * size_of(type);
    machine::copy_to_host(row_image.data(), device, row_image.size());
    for (int col = 0; col < p.N; ++col)
      result[std::size_t(row) * p.N + col] = value_of(type, bits_at(type, row_image, std::size_t(col)));
  }
  return result;
}

std::string Operands::overwritten() const {
  const Problem& p = product_.problem;
  const Element type = p.types.C;
  const auto* begin = static_cast<const std::byte*>(product_.C) - first_of_C_ * size_of(type);
  // The position of the first element of a band, `first` elements after the allocation's begin, that has changed, or -1.
  const auto changed = [&](std::size_t first, std::size_t count) {
    Bytes band(count * size_of(type));
    machine::copy_to_host(band.data(), begin + first * size_of(type), band.size());
    for (std::size_t i = 0; i < count; ++i)
      if (bits_at(type, band, i) != poison_of(type).C) return std::ptrdiff_t(i);
    return std::ptrdiff_t(-1);
  };
  if (const auto at = changed(0, first_of_C_); at >= 0)
    return fmt::format("wrote {} elements before C", first_of_C_ - std::size_t(at));
  const std::size_t padding = guarded_padding(p.ldc, p.N);
  for (int row = 0; padding > 0 && row < p.M; ++row)
    if (const auto at = changed(first_of_C_ + std::size_t(row) * std::size_t(p.ldc) + std::size_t(p.N), padding);
        at >= 0)
      return fmt::format("wrote C's padding at row {}, column {}", row, p.N + at);
  if (const auto at = changed(first_of_C_ + std::size_t(p.M) * std::size_t(p.ldc), guard); at >= 0)
    return fmt::format("wrote {} elements after C", at + 1);
  return "";
}

namespace {

Case of_types(Case c, const Types& types) {
  c.types = types;
  return c;
}

}  // namespace

Ready::Ready(const Runnable& runnable, const Case& c)
    : problem(of_types(c, runnable.types())),
      operands(problem),
      kernel(runnable.prepare(operands.product())) {}

}  // namespace tile
