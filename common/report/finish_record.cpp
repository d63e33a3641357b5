#include "common/report/finish_record.hpp"

#include <fmt/format.h>

#include <vector>

#include "common/records/record.hpp"
#include "common/report/profile.hpp"

namespace tile {

void merge(const Options& options) {
  const auto into = [](const std::vector<std::filesystem::path>& files, auto&& add) {
    if (files.empty()) return;
    Record record = load_record(files[0]);
    add(record, files[1]);
    save_record(files[0], record);
  };
  into(options.add_counters, [](Record& r, const auto& file) { add_counters(r, file, "counters"); });
  into(options.add_profile, [&](Record& r, const auto& file) {
    const bool padded = options.problem && options.problem->pad != 0;
    add_counters(r, file, padded ? profile_with_pad(options.problem->pad) : "profile");
    if (options.problem) r["profiled_size"] = options.problem->M;
  });
  into(options.add_sass, [](Record& r, const auto& file) { add_sass(r, file); });
  if (!options.add_registers.empty()) {
    Record record = load_record(options.add_registers[0]);
    add_registers(record, options.add_registers[1], options.add_registers[2]);
    save_record(options.add_registers[0], record);
  }
}

void keep(const std::filesystem::path& finished) {
  const Record record = load_record(finished);
  const auto file = record_file(chapter_directory(), "measured", record["gpu"]);
  save_record(file, record);
  fmt::print("wrote {}\n", std::filesystem::proximate(file).string());
}

}  // namespace tile
