#include "common/check/which_blocks.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

namespace tile {
namespace {

// Below 1.
double part_of_one(Random& random) { return random() * 0x1p-32; }

uint3 block_number(std::uint64_t number, const dim3& grid) {
  return {unsigned(number % grid.x), unsigned(number / grid.x % grid.y), unsigned(number / grid.x / grid.y)};
}

// So many places along an axis in any order: each at least once if there are enough, else spread over it.
std::vector<unsigned> places_along(unsigned extent, unsigned count, Random& random) {
  std::vector<unsigned> places;
  for (unsigned i = 0; i < count; ++i)
    places.push_back(extent <= count ? i % extent : unsigned((i + part_of_one(random)) / count * extent));
  for (std::size_t i = places.size(); i > 1; --i)
    std::swap(places[i - 1], places[std::size_t(part_of_one(random) * double(i))]);
  return places;
}

}  // namespace

std::vector<Kind> kinds_by_edges(const dim3& grid) {
  std::vector<Kind> kinds;
  for (const unsigned y : std::set{0u, grid.y - 1})
    for (const unsigned x : std::set{0u, grid.x - 1})
      kinds.push_back({{x, y, 0}, dim3(x == grid.x - 1 ? 1 : grid.x - 1, y == grid.y - 1 ? 1 : grid.y - 1)});
  return kinds;
}

std::vector<uint3> spread_over(const Kind& kind) {
  constexpr int between = 7;
  std::set<std::array<unsigned, 3>> places;
  const dim3 e = kind.extent;
  const auto along = [](unsigned extent) { return std::set{0u, std::min(1u, extent - 1), extent - 1}; };
  for (const unsigned z : along(e.z))
    for (const unsigned y : along(e.y))
      for (const unsigned x : along(e.x)) places.insert({z, y, x});
  const auto part = [](unsigned extent, double step) { return unsigned(extent * (step - std::floor(step))); };
  for (int i = 1; i <= between; ++i) places.insert({part(e.z, i * 0.55), part(e.y, i * 0.57), part(e.x, i * 0.755)});
  std::vector<uint3> blocks;
  for (const auto& [z, y, x] : places) blocks.push_back(kind.at(x, y, z));
  return blocks;
}

std::vector<uint3> drawn_from(const dim3& grid, std::uint64_t parts, Random& random) {
  std::vector<uint3> blocks;
  for (std::uint64_t i = 0; i < parts; ++i) {
    const double place = (double(i) + part_of_one(random)) / double(parts) * double(blocks_of(grid));
    blocks.push_back(block_number(std::min(std::uint64_t(place), blocks_of(grid) - 1), grid));
  }
  return blocks;
}

std::vector<uint3> in_rows_and_columns(const dim3& grid, Random& random) {
  const unsigned count = std::min(most_rows_and_columns, std::max({grid.x, grid.y, grid.z}));
  const auto x = places_along(grid.x, count, random), y = places_along(grid.y, count, random),
             z = places_along(grid.z, count, random);
  std::vector<uint3> blocks;
  for (std::size_t i = 0; i < count; ++i) blocks.push_back({x[i], y[i], z[i]});
  return blocks;
}

void add_new(const std::vector<uint3>& more, std::vector<uint3>& blocks) {
  std::set<std::array<unsigned, 3>> known;
  for (const uint3& b : blocks) known.insert({b.x, b.y, b.z});
  for (const uint3& b : more)
    if (known.insert({b.x, b.y, b.z}).second) blocks.push_back(b);
}

double share_that_may_be_missed(std::uint64_t drawn) { return 1 - std::pow(0.05, 1 / double(drawn)); }

}  // namespace tile
