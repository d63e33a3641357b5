// What the chapters' programs emitted, as the figures take it: files and columns are those of common/report/emitted.tsv.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/sim/rules.hpp"

namespace tile::figures {

/// The directories NN or NN-NAME of the chapters up to `last`, in order, by their numbers.
std::map<std::string, std::filesystem::path> chapters_in(const std::filesystem::path& directory,
                                                         const std::string& last = "99");

using Rows = std::vector<std::vector<std::string>>;
Rows read_tsv(const std::filesystem::path& file);
/// The rows of one kernel, whose name is in the first column. Throws where there is none.
Rows rows_of(const std::filesystem::path& file, const std::string& kernel);
/// The names of a chapter's kernels, in their order.
std::vector<std::string> kernels_of(const std::filesystem::path& emitted);

/// Block size, tile and leading dimensions of a kernel, see kernels.tsv.
struct Sizes {
  int threads, BM, BN, BK;
  long lda, ldb, ldc;
};
Sizes sizes_of(const std::filesystem::path& emitted, const std::string& kernel);

/// A chapter's facts by their keys.
class EmittedFacts {
 public:
  explicit EmittedFacts(const std::filesystem::path& emitted);
  /// The value, if the key is there and has one.
  std::optional<double> value(const std::string& key) const;
  /// The text, or `otherwise` for an unknown key.
  std::string text(const std::string& key, const char* otherwise = "-") const;

 private:
  std::map<std::string, std::vector<std::string>> facts_;
};
inline std::optional<double> fact(const std::filesystem::path& emitted, const std::string& key) {
  return EmittedFacts(emitted).value(key);
}

/// A warp's first access at a site, as a chapter's trace has it.
struct SampledAccess {
  std::string array;
  bool shared = false, load = false;
  simt::WarpAccess access;  ///< addresses count from the beginning of the array
};
SampledAccess read_sample(const std::filesystem::path& emitted, const std::string& kernel, const std::string& tag);

}  // namespace tile::figures
