#include "common/bench/rates.hpp"

#include "common/bench/gpu.hpp"
#include "common/bench/record.hpp"

namespace tile {

Rates recorded_rates(const std::filesystem::path& chapters) {
  Rates rates{h200.name, h200.sms, h200.clock_ghz * 1e9, 0, 0};
  for (const auto& entry : std::filesystem::directory_iterator(chapters)) {
    if (entry.path().filename().string().rfind("00-", 0) != 0) continue;
    const auto records = load_records(entry.path());
    if (records.empty()) continue;
    const Record& record = records.front();
    rates.gpu = record["gpu"];
    rates.sms = record["sms"];
    rates.clock_hz = record["clock_hz"];
    rates.l2_bytes_per_second = record["rates"].value("l2_read_gbs", 0.0) * 1e9;
    rates.dram_bytes_per_second = record["rates"].value("dram_copy_gbs", 0.0) * 1e9;
  }
  return rates;
}

}  // namespace tile
