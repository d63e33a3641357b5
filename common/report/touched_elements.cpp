#include "common/report/touched_elements.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "common/check/sites.hpp"
#include "common/report/output_file.hpp"

namespace tile {
namespace {

constexpr int sampled_thread = 197;  // the one that figures of a single thread follow

// Bytes of an element by array: of A, B and C those of the kernel's types; of an array of shared memory those of the narrowest
// access to it, a word at most.
std::map<std::string, int> element_bytes(const CountedKernel& k) {
  const Types& types = k.kernel.types;
  std::map<std::string, int> bytes;
  for (const simt::Touch& t : k.counts.touches) {
    int& narrowest = bytes.try_emplace(t.array, 4).first->second;
    narrowest = std::min(narrowest, int(t.width));
  }
  bytes["A"] = int(size_of(types.A)), bytes["B"] = int(size_of(types.B)), bytes["C"] = int(size_of(types.C));
  return bytes;
}

}  // namespace

void emit_kernels(const std::vector<CountedKernel>& kernels, const std::filesystem::path& directory) {
  auto out = open_for_writing(directory / "kernels.tsv");
  for (const CountedKernel& k : kernels) {
    const auto& [kernel, problem] = std::tie(k.kernel, k.problem);
    out << fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", kernel.name, kernel.block_threads, kernel.tile.BM,
                       kernel.tile.BN, kernel.tile.BK, problem.lda(), problem.ldb(), problem.ldc());
  }
}

void emit_samples(const std::vector<CountedKernel>& kernels, const std::filesystem::path& directory) {
  auto samples = open_for_writing(directory / "samples.tsv");
  for (const CountedKernel& k : kernels) {
    std::set<std::size_t> shown;  // a lambda that is called twice makes two accesses of one site: the first will do
    for (const simt::Sample& sample : k.counts.samples) {
      if (!shown.insert(sample.site).second) continue;
      const simt::Site& s = k.counts.sites[sample.site];
      for (int lane = 0; lane < 32; ++lane) {
        if (sample.byte_offset[lane] < 0) continue;
        samples << k.kernel.name << '\t' << label_of(s) << '\t' << simt::name_of(s.space) << '\t' << s.array << '\t'
                << s.width << '\t' << lane << '\t' << sample.byte_offset[lane] / 4 << '\t' << simt::name_of(s.op)
                << '\n';
      }
    }
  }
}

void emit_touches(const std::vector<CountedKernel>& kernels, const std::filesystem::path& directory) {
  auto touches = open_for_writing(directory / "touches.tsv");
  auto threads = open_for_writing(directory / "thread.tsv");
  auto owners = open_for_writing(directory / "owners.tsv");
  for (const CountedKernel& k : kernels) {
    const std::map<std::string, int> ld{{"A", k.problem.lda()}, {"B", k.problem.ldb()}, {"C", k.problem.ldc()}};
    const std::map<std::string, int> bytes = element_bytes(k);
    std::set<std::string> seen;
    for (const simt::Touch& t : k.counts.touches) {
      const int size = bytes.at(t.array);
      for (std::int64_t element = t.byte_offset / size; element < (t.byte_offset + t.width) / size; ++element) {
        if (t.thread == sampled_thread)
          threads << fmt::format("{}\t{}\t{}\t{}\t{}\t{}\n", k.kernel.name, t.thread, t.interval, simt::name_of(t.op),
                                 t.array, element);
        if (ld.count(t.array) == 0) continue;
        if (t.array == "C" && t.op == simt::Op::store)
          owners << fmt::format("{}\t{}\t{}\t{}\n", k.kernel.name, t.thread, element / ld.at("C"),
                                element % ld.at("C"));
        const std::string line = fmt::format("{}\t{}\t{}\t{}\t{}\n", k.kernel.name, t.interval, t.array,
                                             element / ld.at(t.array), element % ld.at(t.array));
        if (seen.insert(line).second) touches << line;
      }
    }
  }
}

void emit_intervals(const std::vector<CountedKernel>& kernels, const std::filesystem::path& directory) {
  auto out = open_for_writing(directory / "intervals.tsv");
  for (const CountedKernel& k : kernels) {
    struct Touched {
      int accesses = 0;
      std::int64_t first = std::numeric_limits<std::int64_t>::max();
    };
    const std::map<std::string, int> bytes = element_bytes(k);
    std::map<std::tuple<int, std::string, std::string>, Touched> touched;
    for (const simt::Touch& t : k.counts.touches) {
      Touched& all = touched[{t.interval, simt::name_of(t.op), t.array}];
      ++all.accesses;
      all.first = std::min(all.first, t.byte_offset / bytes.at(t.array));
    }
    for (const auto& [key, all] : touched) {
      const auto& [interval, op, array] = key;
      out << fmt::format("{}\t{}\t{}\t{}\t{}\t{}\n", k.kernel.name, interval, op, array, all.accesses, all.first);
    }
  }
}

}  // namespace tile
