// What the chapters' programs emitted, as the figures take it: files and columns are those of common/report/emitted.tsv.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/sim/rules.hpp"

namespace tile::figures {

std::vector<std::vector<std::string>> read_tsv(const std::filesystem::path& file);

/// What a chapter's program says of the sizes of a kernel, see kernels.tsv.
struct Sizes {
  int threads, BM, BN, BK;
  long lda, ldb, ldc;
};
Sizes sizes_of(const std::filesystem::path& emitted, const std::string& kernel);

/// A number among a chapter's facts, if it is there.
std::optional<double> fact(const std::filesystem::path& emitted, const std::string& key);

/// A kernel of some chapter, written NN/KERNEL.
struct Kernel {
  std::string chapter, name;
  std::filesystem::path emitted;  ///< what its chapter's program wrote
  std::string title() const { return name == "cublas" ? "cuBLAS" : chapter + " " + name; }
};
Kernel kernel_of(const std::filesystem::path& emit, const std::string& written);

/// A warp's first access at a site, as a chapter's trace has it.
struct SampledAccess {
  std::string array;
  bool shared = false, load = false;
  simt::WarpAccess access;  ///< addresses count from the beginning of the array
};
SampledAccess read_sample(const std::filesystem::path& emitted, const std::string& kernel, const std::string& tag);

/// What one thread did in one round of the loop over K. Intervals between barriers: 2r copies the tiles of round r,
/// 2r + 1 multiplies; C is written after the last.
struct ThreadTrace {
  std::map<std::string, std::set<long>> loaded, stored, read;  // array -> elements; `loaded` from global memory
  std::set<long> results;
};
ThreadTrace read_thread(const std::filesystem::path& emitted, const std::string& kernel, int round);

/// Which elements of C, by row and column, each thread of the traced block stored.
using Elements = std::set<std::pair<long, long>>;
std::map<int, Elements> read_owners(const std::filesystem::path& emitted, const std::string& kernel);

struct Rectangle {
  long row, col, rows, cols;
};

/// Cuts a set of (row, column) elements into rectangles, in reading order.
std::vector<Rectangle> rectangles(Elements elements);

}  // namespace tile::figures
