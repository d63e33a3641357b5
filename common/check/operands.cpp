#include "common/check/operands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <random>
#include <stdexcept>

namespace tile {
namespace {

constexpr std::size_t guard = 1024;  // elements before and after a matrix, and the most of a row's padding

using Bits = std::uint32_t;  // of one element, in its lower bits

// The signalling NaNs around A, B and C: arithmetic with one changes its bits, and a copy puts it in another place. A
// fourth one, `which` D, fills C before a run that must not read it.
constexpr Bits poison_of(Element element, char which) {
  return (element == Element::f32 ? 0x7fa00000 : element == Element::bf16 ? 0x7fa0 : 0x7d00) + Bits(which - 'A' + 10);
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

std::vector<float> values_of(Element element, std::size_t count, Fill fill, std::uint64_t seed) {
  std::vector<float> values = make_values(count, fill, seed);
  for (float& value : values) value = rounded_to(element, value);
  return values;
}

}  // namespace

std::vector<float> make_values(std::size_t count, Fill fill, std::uint64_t seed) {
  std::mt19937_64 bits(seed);  // its sequence is fixed by the standard; those of distributions are not
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

/// A matrix in device memory: rows x cols elements, leading dimension ld, between guard bands of which the first has
/// `first` elements. Positions count elements from the start of the allocation.
struct Operands::Matrix {
  Element element;
  Bits poison;
  std::size_t rows, cols, ld, first;
  std::unique_ptr<void, void (*)(void*)> memory{nullptr, machine::release};

  std::byte* at(std::size_t position) const {
    return static_cast<std::byte*>(memory.get()) + position * size_of(element);
  }
  std::size_t guarded_padding() const { return std::min(ld - cols, guard); }

  void upload(std::size_t position, const std::vector<Bits>& elements) const {
    std::vector<std::byte> image(elements.size() * size_of(element));
    for (std::size_t i = 0; i < elements.size(); ++i)  // little-endian: the lower bytes come first
      std::memcpy(image.data() + i * size_of(element), &elements[i], size_of(element));
    machine::copy_to_device(at(position), image.data(), image.size());
  }
  std::vector<Bits> download(std::size_t position, std::size_t count) const {
    std::vector<std::byte> image(count * size_of(element));
    machine::copy_to_host(image.data(), at(position), image.size());
    std::vector<Bits> elements(count);
    for (std::size_t i = 0; i < count; ++i)
      std::memcpy(&elements[i], image.data() + i * size_of(element), size_of(element));
    return elements;
  }

  // Allocates memory, and writes the guard bands.
  void allocate(const char* name) {
    memory.reset(machine::allocate((first + rows * ld + guard) * size_of(element), size_of(element), name));
    machine::declare_matrix(memory.get(), first, rows, cols, ld);
    upload(0, std::vector<Bits>(first, poison));
    upload(first + rows * ld, std::vector<Bits>(guard, poison));
  }
  // Writes the rows, where bits_at(row, col) are the bits of an element, and the guarded part of their padding.
  template <class BitsAt>
  void write_rows(BitsAt bits_at) const {
    std::vector<Bits> elements(cols + guarded_padding(), poison);
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t col = 0; col < cols; ++col) elements[col] = bits_at(row, col);
      upload(first + row * ld, elements);
    }
  }
  // The same for `values`, which are row-major; in memory the matrix may be their transpose.
  void write(const std::vector<float>& values, Layout layout) const {
    write_rows([&](std::size_t row, std::size_t col) {
      return bits_of(element, values[layout == Layout::rows ? row * cols + col : col * rows + row]);
    });
  }
};

Operands::Operands(const Case& c) : problem(c), product_{c.problem(), c.alpha, nullptr, nullptr, c.beta, nullptr} {
  require_valid(product_);
  const Problem& p = product_.problem;
  const auto add = [&](const char* name, Element element, int rows, int cols, int ld, int offset) {
    matrices_.push_back({element, poison_of(element, *name), std::size_t(rows), std::size_t(cols), std::size_t(ld),
                         guard + std::size_t(c.offset + offset)});
    matrices_.back().allocate(name);
    return matrices_.back().at(matrices_.back().first);
  };
  const bool A_by_rows = p.A == Layout::rows, B_by_rows = p.B == Layout::rows;
  const auto [type_A, type_B, type_C] = p.types;
  product_.A = add("A", type_A, A_by_rows ? p.M : p.K, A_by_rows ? p.K : p.M, p.lda, c.offsets.A);
  product_.B = add("B", type_B, B_by_rows ? p.K : p.N, B_by_rows ? p.N : p.K, p.ldb, c.offsets.B);
  product_.C = add("C", type_C, p.M, p.N, p.ldc, c.offsets.C);
  A = values_of(type_A, std::size_t(c.M) * c.K, c.fill, c.seed);
  B = values_of(type_B, std::size_t(c.K) * c.N, c.fill, c.seed + 1);
  matrices_[0].write(A, p.A);
  matrices_[1].write(B, p.B);
  if (c.beta != 0.0f) {
    C = values_of(type_C, std::size_t(c.M) * c.N, c.fill, c.seed + 2);
    matrices_[2].write(C, Layout::rows);
  } else {
    const Bits unread = poison_of(type_C, 'D');
    C.assign(std::size_t(c.M) * c.N, value_of(type_C, unread));
    matrices_[2].write_rows([&](auto...) { return unread; });
  }
}

Operands::~Operands() = default;

const void* Operands::allocation_of_C() const { return matrices_[2].memory.get(); }

void Operands::refill_A(Fill fill, std::uint64_t seed) {
  A = values_of(problem.types.A, A.size(), fill, seed);
  matrices_[0].write(A, problem.layout_A);
}

std::vector<float> Operands::download_C() const {
  const Matrix& m = matrices_[2];
  std::vector<float> result;
  for (std::size_t row = 0; row < m.rows; ++row)
    for (const Bits bits : m.download(m.first + row * m.ld, m.cols)) result.push_back(value_of(m.element, bits));
  return result;
}

std::string Operands::overwritten() const {
  const Matrix& m = matrices_[2];
  // The number of untouched elements from a position on; `count` if all are.
  const auto untouched = [&](std::size_t position, std::size_t count) {
    const std::vector<Bits> band = m.download(position, count);
    return std::size_t(std::ranges::find_if(band, [&](Bits bits) { return bits != m.poison; }) - band.begin());
  };
  if (const auto i = untouched(0, m.first); i < m.first) return fmt::format("wrote {} elements before C", m.first - i);
  const std::size_t padding = m.guarded_padding();
  for (std::size_t row = 0; padding > 0 && row < m.rows; ++row)
    if (const auto i = untouched(m.first + row * m.ld + m.cols, padding); i < padding)
      return fmt::format("wrote C's padding at row {}, column {}", row, m.cols + i);
  if (const auto i = untouched(m.first + m.rows * m.ld, guard); i < guard)
    return fmt::format("wrote {} elements after C", i + 1);
  return "";
}

}  // namespace tile
