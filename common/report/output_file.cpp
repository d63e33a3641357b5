#include "common/report/output_file.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace tile {

std::ofstream open_for_writing(const std::filesystem::path& file) {
  std::ofstream out(file);
  if (!out)
    throw std::runtime_error(fmt::format("cannot write {}: check the permissions of its directory", file.string()));
  return out;
}

}  // namespace tile
