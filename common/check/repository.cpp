#include "common/check/repository.hpp"

namespace tile {

std::filesystem::path in_repository(const std::filesystem::path& file) {
  return std::filesystem::path(TILE_ROOT) / file;
}

}  // namespace tile
