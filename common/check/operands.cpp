#include "common/check/operands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
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
  std::memcpy(&bits, image.data() + index * size_of(element),
              size_of(element));  // the lower bytes come first
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

// Its rows, of elements of which bits_of_element(row, col) are the bits, and what of their padding is guarded.
template <class BitsOfElement>
void write_rows(const Stored& m, void* memory, BitsOfElement bits_of_element) {
  Bytes row_image = repeated(m.element, m.band, std::size_t(m.cols) + guarded_padding(m.ld, m.cols));
  for (int row = 0; row < m.rows; ++row) {
    for (int col = 0; col < m.cols; ++col) put(m.element, row_image, std::size_t(col), bits_of_element(row, col));
    upload(m.begin(memory) + std::size_t(row) * std::size_t(m.ld) * size_of(m.element), row_image);
  }
}

// Memory for the matrix in which nothing but the bands around it is written.
void* reserve(const Stored& m) {
  const std::size_t extent = std::size_t(m.rows) * std::size_t(m.ld), size = size_of(m.element);
  void* memory = machine::allocate((m.first + extent + guard) * size, size, m.name);
  machine::declare_matrix(memory, m.first, std::size_t(m.rows), std::size_t(m.cols), std::size_t(m.ld));
  upload(memory, repeated(m.element, m.band, m.first));
  upload(m.begin(memory) + extent * size, repeated(m.element, m.band, guard));
  return memory;
}

// An input of which `values` are the elements, row by row; in memory it may be the transpose.
void write_input(const Stored& m, void* memory, const std::vector<float>& values, Layout layout) {
  write_rows(m, memory, [&](int row, int col) {
    return bits_of(m.element,
                   values[layout == Layout::rows ? std::size_t(row) * m.cols + col : std::size_t(col) * m.rows + row]);
  });
}

// A, B and C of a case as they lie in memory.
std::array<Stored, 3> stored(const Case& c) {
  const Problem p = c.problem();
  const auto [A, B, C] = p.types;
  const auto first = [&](int offset) { return guard + std::size_t(c.offset + offset); };
  std::array<Stored, 3> all{Stored{"A", A, poison_of(A).A, p.M, p.K, p.lda, first(c.offsets.A)},
                            Stored{"B", B, poison_of(B).B, p.K, p.N, p.ldb, first(c.offsets.B)},
                            Stored{"C", C, poison_of(C).C, p.M, p.N, p.ldc, first(c.offsets.C)}};
  if (p.A == Layout::columns) std::swap(all[0].rows, all[0].cols);
  if (p.B == Layout::columns) std::swap(all[1].rows, all[1].cols);
  return all;
}

std::vector<float> values_of(Element element, std::size_t count, Fill fill, std::uint64_t seed) {
  std::vector<float> values = make_values(count, fill, seed);
  for (float& value : values) value = rounded_to(element, value);
  return values;
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

void require_valid(const Product& product) {
  const Problem &p = product.problem, packed = p.packed();
  if (p.M < 1 || p.N < 1 || p.K < 1)
    throw std::invalid_argument(fmt::format("M, N and K must be at least 1, not {} x {} x {}", p.M, p.N, p.K));
  if (p.lda < packed.lda || p.ldb < packed.ldb || p.ldc < packed.ldc)
    throw std::invalid_argument(
        fmt::format("leading dimensions must cover the rows: lda {} >= {} {}, ldb {} >= {} {}, ldc {} >= N {}", p.lda,
                    p.A == Layout::rows ? "K" : "M", packed.lda, p.ldb, p.B == Layout::rows ? "N" : "K", packed.ldb,
                    p.ldc, packed.ldc));
}

void require_valid(const Gemm& g) { require_valid(product_of(g)); }

Operands::Operands(const Case& c) : case_(c), product_{c.problem(), c.alpha, nullptr, nullptr, c.beta, nullptr} {
  require_valid(product_);
  const Problem& p = product_.problem;
  const auto [a, b, out] = stored(c);
  A = values_of(a.element, std::size_t(c.M) * c.K, c.fill, c.seed);
  B = values_of(b.element, std::size_t(c.K) * c.N, c.fill, c.seed + 1);
  const Bits unread = poison_of(out.element).unread;
  C = c.beta == 0.0f ? std::vector<float>(std::size_t(c.M) * c.N, value_of(out.element, unread))
                     : values_of(out.element, std::size_t(c.M) * c.N, c.fill, c.seed + 2);
  try {
    device_[0] = reserve(a);
    device_[1] = reserve(b);
    device_[2] = reserve(out);
  } catch (...) {
    release();
    throw;
  }
  write_input(a, device_[0], A, p.A);
  write_input(b, device_[1], B, p.B);
  write_rows(out, device_[2], [&](int row, int col) {
    return c.beta == 0.0f ? unread : bits_of(out.element, C[std::size_t(row) * c.N + col]);
  });
  product_.A = a.begin(device_[0]);
  product_.B = b.begin(device_[1]);
  product_.C = out.begin(device_[2]);
  if (p.types == Types{} && p.A == Layout::rows && p.B == Layout::rows) gemm_ = gemm_of(product_);
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
  A = values_of(product_.problem.types.A, A.size(), fill, seed);
  write_input(stored(case_)[0], device_[0], A, product_.problem.A);
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
  const Stored m = stored(case_)[2];
  const std::size_t rows = std::size_t(m.rows), ld = std::size_t(m.ld), size = size_of(m.element);
  // The position in a band, `first` elements after the allocation's begin, of the first element that has changed, or
  // -1.
  const auto changed = [&](std::size_t first, std::size_t count) {
    Bytes band(count * size);
    machine::copy_to_host(band.data(), static_cast<const std::byte*>(device_[2]) + first * size, band.size());
    for (std::size_t i = 0; i < count; ++i)
      if (bits_at(m.element, band, i) != m.band) return std::ptrdiff_t(i);
    return std::ptrdiff_t(-1);
  };
  if (const auto at = changed(0, m.first); at >= 0)
    return fmt::format("wrote {} elements before C", m.first - std::size_t(at));
  const std::size_t padding = guarded_padding(m.ld, m.cols);
  for (std::size_t row = 0; padding > 0 && row < rows; ++row)
    if (const auto at = changed(m.first + row * ld + std::size_t(m.cols), padding); at >= 0)
      return fmt::format("wrote C's padding at row {}, column {}", row, m.cols + at);
  if (const auto at = changed(m.first + rows * ld, guard); at >= 0)
    return fmt::format("wrote {} elements after C", at + 1);
  return "";
}

BoundCase::BoundCase(const Launchable& launchable, const Case& c)
    : problem([&] {
        Case own = c;
        own.types = launchable.types();
        return own;
      }()),
      operands(problem),
      kernel(launchable.prepare(operands.product())) {}

}  // namespace tile
