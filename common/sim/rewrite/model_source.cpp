// Writes the C++ source that the SIMT model compiles for one .cu file (rewrite.hpp).
//
// Usage: model-source SOURCE.cu OUTPUT.cpp [DIRECTORY]. #line keeps the file names and lines of the .cu. With a DIRECTORY,
// files that SOURCE includes as "name" are rewritten into it, except for headers of this repository.
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <map>

#include "common/sim/rewrite/files.hpp"
#include "common/sim/rewrite/rewrite.hpp"

namespace {

namespace fs = std::filesystem;

struct Sources {
  fs::path top, directory;
  std::map<fs::path, fs::path> written{};
  rewrite::Known known{};

  void write(const fs::path& source, const fs::path& output) {
    const fs::path beside = fs::absolute(source).parent_path();
    const std::string text = fmt::format(
        "#line 1 \"{}\"\n{}", source.string(),
        rewrite::rewritten(
            files::read_text(source), [&](const std::string& name) { return included(name, beside); }, known));
    // An unchanged file keeps its time, and need not be compiled again.
    if (!fs::exists(output) || files::read_text(output) != text) files::write_text(output, text);
  }

  std::string included(const std::string& name, const fs::path& beside) {
    if (directory.empty()) return name;
    const fs::path root = name.ends_with(".cu") ? TILE_ROOT : top;  // a chapter may include the kernels of another
    for (const fs::path& from : {beside, top, root}) {
      std::error_code none;
      const fs::path file = fs::canonical(from / name, none);
      if (none || !fs::is_regular_file(file)) continue;
      if (file.string().starts_with(std::string(TILE_ROOT) + "/common/")) return name;
      const auto [at, fresh] =
          written.try_emplace(file, directory / fmt::format("{}-{}", written.size(), file.filename().string()));
      const fs::path output = at->second;
      if (fresh) write(file, output);
      return output.string();
    }
    return name;
  }
};

}  // namespace

int main(int argc, char** argv) {
  try {
    Sources{fs::absolute(argv[1]).parent_path(), argc > 3 ? argv[3] : ""}.write(argv[1], argv[2]);
    return 0;
  } catch (const std::exception& e) {
    fmt::print(stderr, "model-source: {}\n", e.what());
    return 1;
  }
}
