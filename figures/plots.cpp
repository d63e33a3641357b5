// Data for gnuplot and tables of results, from records and from what the chapters' programs emitted.
#include <fmt/format.h>

#include <algorithm>
#include <boost/algorithm/string/case_conv.hpp>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/bench/gpu.hpp"
#include "common/bench/record.hpp"
#include "common/bench/run.hpp"
#include "common/report/facts.hpp"
#include "drawing.hpp"
#include "figures.hpp"
#include "traces.hpp"

namespace tile::figures {
namespace {

namespace fs = std::filesystem;
constexpr int ladder_size = 4096;  // the cube that every chapter of part I is timed at

}  // namespace

/// The growing table of loads per result, from the facts that the chapters emitted.
void gather_loads(const fs::path& emit, const std::string& last, const fs::path& out) {
  std::string text =
      "Loads of A and B for each element of C, and the intensities that follow. A single number means that prediction "
      "and "
      "count agree\n";
  text += "chapter\tkernel\tglobal loads\tshared loads\tFMAs per shared load\tflop per byte from L2\n";
  for (const auto& [number, chapter] : chapters_in(emit, last)) {
    const EmittedFacts facts(chapter);
    for (const std::string& kernel : kernels_of(chapter)) {
      if (facts.text(kernel + ".loads.global", "").empty()) continue;
      const auto both = [&](const char* space) {
        const std::string predicted = facts.text(kernel + ".loads." + space),
                          counted = facts.text(kernel + ".loads_per_result." + space);
        return predicted == counted ? counted : fmt::format("{} predicted, {} counted", predicted, counted);
      };
      text += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\n", number, kernel, both("global"), both("shared"),
                          facts.text(kernel + ".fmas_per_shared_load"),
                          facts.text(fmt::format("{}.{}.intensity.l2", kernel, ladder_size)));
    }
  }
  write_text(out, text);
}

namespace {

struct Measured {
  std::string chapter, kernel;
  Record run, record;
};

/// The runs at ladder_size of every chapter's kernels on the reference GPU, up to chapter `last`.
std::vector<Measured> measured_kernels(const fs::path& chapters, const std::string& last) {
  std::vector<Measured> result;
  for (const auto& [number, directory] : chapters_in(chapters, last)) {
    const fs::path measured = record_directory(directory, reference_gpu);
    if (!holds_record(measured, RecordKind::measured)) continue;
    const Record record = load_record(measured);
    for (const auto& kernel : record["kernels"])
      if (const auto* run = find_run(record, kernel["name"], ladder_size))
        result.push_back({number, kernel["name"], *run, record});
  }
  return result;
}

/// The types of a run's operands, as a table names them.
std::string types_in_words(const Record& run) {
  if (!run.contains("types")) return "FP32";
  const auto upper = [](const std::string& name) {
    return name == "f32" ? "FP32" : boost::algorithm::to_upper_copy(name);
  };
  return fmt::format("{} in, {} out", upper(run["types"].at(0)), upper(run["types"].at(2)));
}

/// Of each chapter the fastest kernel; of chapter `all_of` every kernel.
std::vector<Measured> fastest_of_each(const std::vector<Measured>& all, const std::string& all_of) {
  std::vector<Measured> fastest;
  for (const Measured& m : all) {
    const auto rival = std::find_if(fastest.begin(), fastest.end(), [&](const Measured& other) {
      return m.chapter != all_of && other.chapter == m.chapter;
    });
    if (rival == fastest.end())
      fastest.push_back(m);
    else if (rival->run["tflops"] < m.run["tflops"])
      *rival = m;
  }
  return fastest;
}

}  // namespace

void gather_ladder(const fs::path& chapters, const std::string& last, const fs::path& out) {
  std::string text;
  double cublas = 0;
  const std::vector<Measured> all = measured_kernels(chapters, last);
  std::set<std::string> shown;
  for (const Measured& m : all) shown.insert(m.chapter);
  while (shown.size() > 4) shown.erase(shown.begin());
  for (const Measured& m : all)
    if (!m.run.contains("types")) cublas = std::max(cublas, m.run["cublas_tflops"].get<double>());
  for (const Measured& m : fastest_of_each(all, last))
    if (shown.contains(m.chapter))
      text += fmt::format("\"{} {}\"\t{:.4f}\t{:.1f}%\t{}\n", m.chapter, m.kernel, m.run["tflops"].get<double>(),
                          100 * m.run["ratio"].get<double>(), m.chapter == last ? 1 : 0);
  if (cublas > 0) text += fmt::format("\"cuBLAS\"\t{:.4f}\t100%\t0\n", cublas);
  write_text(out, text.empty() ? "\"not yet measured\"\t0.001\t-\t0\n" : text);
}

// The roofs are those that chapter 00 recorded, or by the specification where it has not run yet. Where no kernel was timed, the points
// are a multiply-add that loads both of its operands, and cuBLAS.
void gather_roofline(const fs::path& chapters, const fs::path& emit, const std::string& last, const fs::path& out) {
  Record rates = Record::object();
  for (const auto& [number, directory] : chapters_in(chapters, "00"))
    if (const auto records = load_records(directory); !records.empty()) rates = records.front()["rates"];
  const GpuSpec& gpu = h200;
  const double cycles = gpu.sms * gpu.clock_ghz, peak = rates.value("ffma_tflops", gpu.peak_tflops());
  const auto tbs = [&](const char* rate, double specified) { return rates.value(rate, specified) * 1e-3; };
  const double sm = tbs("shared_read_gbs", cycles * 128), l2 = tbs("l2_read_gbs", cycles * 64),
               dram = tbs("dram_copy_gbs", gpu.dram_gbs);

  std::string text;
  const auto point = [&](const std::string& name, const char* level, double flops_per_byte, double tflops) {
    text += fmt::format("\"{}\"\t{}\t{}\t{:.4f}\n", name, level, flops_per_byte, tflops);
  };
  for (const Measured& m : measured_kernels(chapters, last))
    for (const char* level : {"sm", "dram"})
      if (const auto x = fact(emit / m.chapter, fmt::format("{}.{}.intensity.{}", m.kernel, ladder_size, level)))
        point(m.kernel, level, *x, m.run["tflops"]);
  if (text.empty()) {
    const double no_reuse = 2.0 / 8;  // flops over bytes of two operands
    point("no reuse", "sm", no_reuse, no_reuse * sm);
    point("no reuse", "dram", no_reuse, no_reuse * dram);
    const EmittedFacts facts(emit / "00");
    const auto reached = facts.value(fmt::format("rates.cublas_fp32_{}", ladder_size)),
               intensity = facts.value("h200.intensity");
    if (reached && intensity) point("cuBLAS", "dram", *intensity, *reached);
  }
  write_text(out, text);
  write_text(out.string() + ".rates", fmt::format("peak={}\nsm_tbs={}\nl2_tbs={}\ndram_tbs={}\n", peak, sm, l2, dram));
}

void print_results(const fs::path& chapters) {
  const auto all = measured_kernels(chapters, "99");
  if (all.empty()) return fmt::print("Not yet measured.\n");
  fmt::print("| chapter | kernel | ms | TFLOP/s | × cuBLAS (10–90%) | × the stronger cuBLAS (10–90%) |\n");
  fmt::print("|---|---|---:|---:|---|---|\n");
  const auto ratio = [](const Record& run, const std::string& side) {
    const auto part = [&](const char* key) { return run[side + key].get<double>(); };
    return fmt::format(" {:.3f} ({:.3f}–{:.3f}) |", part("ratio"), part("ratio_low"), part("ratio_high"));
  };
  for (const auto& [chapter, kernel, run, record] : all)
    fmt::print("| {} | {} | {:.2f} | {} |{}{}\n", chapter, kernel, run["median_ms"].get<double>(),
               format_number(run["tflops"].get<double>()), ratio(run, ""),
               run.contains("stronger_ratio") ? ratio(run, "stronger_") : " |");
  std::vector<std::string> types;  // in the order in which they come
  std::map<std::string, double> cublas, lt;
  std::set<std::string> dates;
  std::set<int> repetitions;
  for (const auto& [chapter, kernel, run, record] : all) {
    const std::string& of = types_in_words(run);
    if (!cublas.contains(of)) types.push_back(of);
    cublas[of] = std::max(cublas[of], run["cublas_tflops"].get<double>());
    lt[of] = std::max(lt[of], run.value("lt_tflops", 0.0));
    dates.insert(record["date"]);
    repetitions.insert(run["repetitions"].get<int>());
  }
  for (const std::string& of : types) {
    fmt::print("| | cuBLAS, {} | | {} | 1 | |\n", of, format_number(cublas[of]));
    if (lt[of] > 0)
      fmt::print("| | cuBLASLt, {}, the fastest of its suggestions | | {} | | |\n", of, format_number(lt[of]));
  }
  const auto from_to = [](const auto& values) {
    return values.size() == 1 ? fmt::format("{}", *values.begin())
                              : fmt::format("{} to {}", *values.begin(), *values.rbegin());
  };
  const Record& record = all.back().record;
  fmt::print("\nM = N = K = {}, one {}, {}, driver {}, CUDA {}; medians of {} interleaved repetitions.\n", ladder_size,
             record["gpu"].get<std::string>(), from_to(dates), record["driver"].get<std::string>(),
             record["cuda"].get<std::string>(), from_to(repetitions));
}

}  // namespace tile::figures
