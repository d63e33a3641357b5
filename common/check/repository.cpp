#include "common/check/repository.hpp"

namespace tile {

std::filesystem::path in_repository(const std::filesystem::path& file) {
  return std::filesystem::path(TILE_ROOT) / file;
}

std::filesystem::path below_repository(const std::filesystem::path& file) {
  const auto below = file.lexically_normal().lexically_relative(TILE_ROOT);
  return below.empty() || *below.begin() == ".." ? file : below;
}

}  // namespace tile
