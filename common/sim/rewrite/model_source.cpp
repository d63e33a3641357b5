// Writes the C++ source that the SIMT model compiles for one .cu file (rewrite.hpp).
//
// CMake compiles a file as one language per directory, hence the copy; #line keeps file names and line numbers those of the .cu.
// Usage: model-source SOURCE.cu OUTPUT.cpp [DIRECTORY]
// With a DIRECTORY, files that SOURCE includes by "name" are rewritten as well, into it, but for those of this repository.
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <map>

#include "common/sim/rewrite/files.hpp"
#include "common/sim/rewrite/rewrite.hpp"

namespace {

namespace fs = std::filesystem;

class Sources {
 public:
  Sources(const fs::path& top, const fs::path& directory)
      : top_(fs::absolute(top).parent_path()), directory_(directory) {}

  void write(const fs::path& source, const fs::path& output) {
    const std::string text = rewrite::rewritten(
        files::read_text(source),
        [&](const std::string& name) {
          return directory_.empty() ? name : included(name, fs::absolute(source).parent_path());
        },
        known_);
    // What has not changed need not be compiled again.
    const std::string written = fmt::format("#line 1 \"{}\"\n{}", source.string(), text);
    if (!fs::exists(output) || files::read_text(output) != written) files::write_text(output, written);
  }

 private:
  std::string included(const std::string& name, const fs::path& beside) {
    for (const fs::path& from : {beside, top_}) {
      std::error_code none;
      const fs::path file = fs::canonical(from / name, none);
      if (none || !fs::is_regular_file(file)) continue;
      if (file.string().starts_with(std::string(TILE_ROOT) + "/common/")) return name;
      const auto [at, fresh] =
          written_.try_emplace(file, directory_ / fmt::format("{}-{}", written_.size(), file.filename().string()));
      const fs::path output = at->second;
      if (fresh) write(file, output);
      return output.string();
    }
    return name;
  }

  fs::path top_, directory_;
  std::map<fs::path, fs::path> written_;
  rewrite::Known known_;
};

}  // namespace

int main(int argc, char** argv) {
  try {
    Sources(argv[1], argc > 3 ? argv[3] : "").write(argv[1], argv[2]);
    return 0;
  } catch (const std::exception& e) {
    fmt::print(stderr, "model-source: {}\n", e.what());
    return 1;
  }
}
