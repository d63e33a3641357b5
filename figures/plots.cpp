// Data for gnuplot and tables of results, from records and from what the chapters' programs emitted.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/bench/gpu.hpp"
#include "common/bench/record.hpp"
#include "common/bench/run.hpp"
#include "common/report/facts.hpp"
#include "common/report/statistics.hpp"
#include "drawing.hpp"
#include "figures.hpp"
#include "traces.hpp"

namespace tile::figures {
namespace {

namespace fs = std::filesystem;
constexpr int ladder_size = 4096;  // the cube that every chapter of part I is timed at

}  // namespace

/// For the plot over the leading dimension: lda, predicted and measured milliseconds (0: not yet), from a chapter's facts.
void gather_lda(const fs::path& emitted, const fs::path& out) {
  const fs::path facts = emitted / "facts.tsv";
  struct Times {
    double rule = 0, in_turns = 0, measured = 0;
  };
  std::map<int, Times> times;
  for (const auto& row : read_tsv(facts)) {
    int lda = 0, used = 0;
    const std::string& key = row.at(0);
    if (std::sscanf(key.c_str(), "lda.%d.ms%n", &lda, &used) == 1 && used == int(key.size()))
      times[lda].rule = std::stod(row.at(2));
    else if (std::sscanf(key.c_str(), "lda.%d.in_turns.ms%n", &lda, &used) == 1 && used == int(key.size()))
      times[lda].in_turns = std::stod(row.at(2));
    else if (std::sscanf(key.c_str(), "rates.lda.%d%n", &lda, &used) == 1 && used == int(key.size()) &&
             !row.at(2).empty())
      times[lda].measured = std::stod(row.at(2));
  }
  if (times.empty()) throw std::runtime_error(fmt::format("{} has no times over lda", facts.string()));
  std::string text;
  for (const auto& [lda, ms] : times) text += fmt::format("{}\t{}\t{}\t{}\n", lda, ms.rule, ms.in_turns, ms.measured);
  write_text(out, text);
}

/// The growing table of loads per result, from the facts that the chapters emitted.
void gather_loads(const fs::path& emit, const std::string& last, const fs::path& out) {
  std::string text =
      "Loads of A and B that one result needs, and what follows from them. Where there is one number, prediction and "
      "count agree\n";
  text += "chapter\tkernel\tglobal loads\tshared loads\tFMAs per shared load\tflop per byte from L2\n";
  std::vector<fs::path> chapters;
  for (const auto& entry : fs::directory_iterator(emit))
    if (entry.path().filename().string() <= last) chapters.push_back(entry.path());
  std::sort(chapters.begin(), chapters.end());
  for (const auto& chapter : chapters) {
    std::map<std::string, std::string> facts;
    std::vector<std::string> kernels;
    for (const auto& row : read_tsv(chapter / "facts.tsv")) {
      facts[row.at(0)] = row.at(4);
      if (const auto at = row.at(0).find(".loads.global"); at != std::string::npos)
        kernels.push_back(row.at(0).substr(0, at));
    }
    for (const std::string& kernel : kernels) {
      const auto both = [&](const char* space) {
        const std::string &predicted = facts.at(kernel + ".loads." + space),
                          &counted = facts.at(kernel + ".loads_per_result." + space);
        return predicted == counted ? counted : fmt::format("{} predicted, {} counted", predicted, counted);
      };
      const auto reuse = facts.find(kernel + ".fmas_per_shared_load");
      text += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\n", chapter.filename().string(), kernel, both("global"),
                          both("shared"), reuse == facts.end() ? "-" : reuse->second,
                          facts.at(fmt::format("{}.{}.intensity.l2", kernel, ladder_size)));
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
  std::vector<fs::path> directories;
  for (const auto& entry : fs::directory_iterator(chapters)) directories.push_back(entry.path());
  std::sort(directories.begin(), directories.end());
  std::vector<Measured> result;
  for (const auto& directory : directories) {
    const std::string number = directory.filename().string().substr(0, 2);
    const fs::path measured = record_directory(directory, reference_gpu);
    if (number > last || !holds_record(measured, RecordKind::measured)) continue;
    const Record record = load_record(measured);
    for (const auto& kernel : record["kernels"])
      if (const auto* run = find_run(record, kernel["name"], ladder_size))
        result.push_back({number, kernel["name"], *run, record});
  }
  return result;
}

/// Of all chapters but the last, the kernels that are faster than the others of theirs.
std::vector<Measured> fastest_of_earlier(const std::vector<Measured>& all, const std::string& last) {
  const auto tflops = [](const Measured& m) { return m.run["tflops"].get<double>(); };
  std::vector<Measured> kept;
  for (const Measured& m : all) {
    if (m.chapter == last || kept.empty() || kept.back().chapter != m.chapter)
      kept.push_back(m);
    else if (tflops(m) > tflops(kept.back()))
      kept.back() = m;
  }
  return kept;
}

// The ratio to cuBLAS; where that of all pairs flatters, of the calls that began a round.
double fair_ratio(const Record& run) {
  const auto places = by_place(run, 1);
  return places && places->flatters() ? places->first_ratio : run["ratio"].get<double>();
}

}  // namespace

void gather_ladder(const fs::path& chapters, const std::string& last, bool fastest, const fs::path& out) {
  std::string text;
  double cublas = 0;
  const std::vector<Measured> all = measured_kernels(chapters, last);
  for (const Measured& m : all)
    if (!m.run.contains("types")) cublas = std::max(cublas, m.run["cublas_tflops"].get<double>());
  for (const Measured& m : fastest ? fastest_of_earlier(all, last) : all)
    text += fmt::format("\"{} {}\"\t{:.4f}\t{:.1f}%\t{}\n", m.chapter, m.kernel, m.run["tflops"].get<double>(),
                        100 * fair_ratio(m.run), m.chapter == last ? 1 : 0);
  if (cublas > 0) text += fmt::format("\"cuBLAS\"\t{:.4f}\t100%\t0\n", cublas);
  write_text(out, text.empty() ? "\"not yet measured\"\t0.001\t-\t0\n" : text);
}

namespace {

/// What flops per second may be bought with: the peak, and bytes from three levels of memory. TFLOP/s and TB/s.
struct Roofs {
  double peak, sm, l2, dram;
};

struct RooflinePoint {
  std::string name;   ///< or none: the plot shows another point of the same kernel
  std::string level;  ///< whose bytes are counted: "sm" or "dram"
  double x, y;        ///< flops per byte, TFLOP/s
};

// As chapter 00 recorded them, or by the specification where it has not run yet.
Roofs roofs_of(const Record& rates) {
  const GpuSpec& gpu = h200;
  const double cycles = gpu.sms * gpu.clock_ghz;
  return {rates.value("ffma_tflops", gpu.peak_tflops()), rates.value("shared_read_gbs", cycles * 128) * 1e-3,
          rates.value("l2_read_gbs", cycles * 64) * 1e-3, rates.value("dram_copy_gbs", gpu.dram_gbs) * 1e-3};
}

// Where a multiply-add that loads both of its operands stands under the roofs, and where cuBLAS does.
std::vector<RooflinePoint> points_without_kernels(const fs::path& emitted, const std::string& size,
                                                  const Roofs& roofs) {
  const double no_reuse = 2.0 / 8;  // flops over bytes of two operands
  std::vector<RooflinePoint> points{{"no reuse", "sm", no_reuse, no_reuse * roofs.sm},
                                    {"no reuse", "dram", no_reuse, no_reuse * roofs.dram}};
  const auto reached = fact(emitted, "rates.cublas_fp32_" + size), intensity = fact(emitted, "h200.intensity");
  if (reached && intensity) points.push_back({"cuBLAS", "dram", *intensity, *reached});
  return points;
}

/// Where a name begins or ends, and whether it stands to the left of its point.
struct Place {
  double x;
  bool left;
};

// Beside its point, to the right or else to the left, or as far to the left as it must so that no roof goes through it.
Place place_of(const RooflinePoint& p, const Roofs& roofs) {
  // A letter's width and half its height, as factors: the axes are logarithmic, and a decade is so many pixels.
  const double letter = std::pow(10, 7.0 / 71), high = 1.2;
  const double left_edge = 0.02, right_edge = 2000;  // of the plot, as in roofline.gp
  const double wide = std::pow(letter, double(p.name.size()));
  const auto free = [&](double from, double to) {
    if (from < left_edge || to > right_edge) return false;
    for (const double roof : {roofs.sm, roofs.l2, roofs.dram})
      if (const double at = p.y / roof; at * high > from && at / high < to) return false;
    return true;
  };
  for (const double gap : {1.3, 1.4, 1.6, 2.0})
    for (const bool left : {false, true})
      if (const double x = left ? p.x / gap : p.x * gap; free(left ? x / wide : x, left ? x : x * wide))
        return {x, left};
  return {p.x, false};
}

// For gnuplot: name, level, x, y, and the x at which its name ends (left) or begins (right); the roofs in OUT.rates.
void write_roofline(const std::vector<RooflinePoint>& points, const Roofs& roofs, const fs::path& out) {
  std::string text;
  for (const RooflinePoint& p : points) {
    const Place place = place_of(p, roofs);
    text += fmt::format("\"{}\"\t{}\t{}\t{:.4f}\t{:.4f}\t{}\n", p.name, p.level, p.x, p.y, place.x,
                        place.left ? "left" : "right");
  }
  write_text(out, text);
  write_text(out.string() + ".rates",
             fmt::format("peak={}\nsm_tbs={}\nl2_tbs={}\ndram_tbs={}\n", roofs.peak, roofs.sm, roofs.l2, roofs.dram));
}

}  // namespace

void gather_roofline(const fs::path& chapters, const fs::path& emit, const std::string& last, const fs::path& out) {
  std::vector<RooflinePoint> points;
  for (const Measured& m : measured_kernels(chapters, last))
    for (const char* level : {"sm", "dram"})
      if (const auto x = fact(emit / m.chapter, fmt::format("{}.{}.intensity.{}", m.kernel, ladder_size, level)))
        points.push_back({m.kernel, level, *x, m.run["tflops"].get<double>()});
  Record rates = Record::object();
  for (const auto& entry : fs::directory_iterator(chapters))
    if (entry.path().filename().string().starts_with("00-"))
      if (const auto records = load_records(entry.path()); !records.empty()) rates = records.front()["rates"];
  const Roofs roofs = roofs_of(rates);
  if (points.empty()) points = points_without_kernels(emit / "00", fmt::format("{}", ladder_size), roofs);
  write_roofline(points, roofs, out);
}

// For each configuration that was timed: registers a thread, resident warps of an SM, TFLOP/s, and whether it spills. In OUT.edge the
// most registers with which as many warps fit as the best configuration has.
void gather_cliff(const fs::path& chapters, const fs::path& out) {
  std::string text;
  int best_registers = 0;
  double best = 0;
  for (const auto& entry : fs::directory_iterator(chapters)) {
    const auto directory = record_directory(entry.path(), reference_gpu);
    if (!holds_record(directory, RecordKind::tuned)) continue;
    const Record record = load_record(directory, RecordKind::tuned);
    for (const auto& c : record["candidates"]) {
      const int registers = c["registers"], warps = int(c["blocks_per_sm"]) * int(c["block_threads"]) / GpuSpec::warp;
      const double tflops = c["tflops"];
      text += fmt::format("{}\t{}\t{:.4f}\t{}\n", registers, warps, tflops, int(c["spill_bytes"]) > 0 ? 1 : 0);
      if (tflops > best) best = tflops, best_registers = registers;
    }
  }
  const auto warps_with = [](int registers) { return occupancy(h200, GpuSpec::warp, registers, 0).by_registers; };
  int edge = best_registers;
  while (best_registers > 0 && warps_with(edge + 1) == warps_with(best_registers)) ++edge;
  std::string fits;
  for (int registers = 30; registers <= 255; ++registers)
    fits += fmt::format("{}\t{}\n", registers, warps_with(registers));
  write_text(out, text.empty() ? "40\t0\t0\t0\n" : text);
  write_text(out.string() + ".fits", fits);
  write_text(out.string() + ".edge",
             fmt::format("edge={}\nwarps={}\nbehind={}\n", edge, warps_with(edge), warps_with(edge + 1)));
}

namespace {

// --- Dispatch stalls over register banks ----------------------------------------------------------------------
/// A rectangle of the picture, in pixels from its upper left corner.
struct Box {
  double left, top, right, bottom;
  bool meets(const Box& other) const {
    return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
  }
};

/// A point of a plot and where its label stands: the end of the text that is next to the point, in pixels.
struct Labelled {
  std::string text;
  double x, y;
  bool right = true;  ///< the label stands to the right of the point
  double label_x = 0, label_y = 0;

  Labelled placed(bool to_the_right, double down) const {
    const double gap = 8;
    return {text, x, y, to_the_right, to_the_right ? x + gap : x - gap, y + down};
  }
  /// What the label covers. Its width is guessed: only the page knows the font.
  Box label() const {
    const double width = 6.6 * double(text.size());
    return {right ? label_x : label_x - width, label_y - half_height, right ? label_x + width : label_x,
            label_y + half_height};
  }
  static constexpr double half_height = 7;
};

/// Puts each label beside its point, or as near as it can without covering a point or another label or leaving the room, or
/// leaves it out, as it does where three points are so close to each other that nobody could tell whose it is. Of two close ones each has
/// its own side. The point that is farthest from others chooses first.
void place_labels(std::vector<Labelled>& points, const Box& room) {
  const double dot = 4, step = Labelled::half_height;
  std::vector<Box> taken;
  for (const Labelled& p : points) taken.push_back({p.x - dot, p.y - dot, p.x + dot, p.y + dot});
  const auto free = [&](const Box& box) {
    return box.left > room.left && box.top > room.top && box.right < room.right && box.bottom < room.bottom &&
           std::none_of(taken.begin(), taken.end(), [&](const Box& other) { return box.meets(other); });
  };
  const auto place = [&](const Labelled& point, bool right_first) {
    for (const double down : {0.0, -step, step})
      for (const bool right : {right_first, !right_first})
        if (const Labelled candidate = point.placed(right, down); free(candidate.label())) return candidate;
    Labelled nameless = point.placed(true, 0);
    nameless.text.clear();
    return nameless;
  };
  struct Turn {
    Labelled* point;
    double to_second;  ///< the distance of the nearest other point but one
    bool right_first;  ///< the nearest is not at its right
  };
  std::vector<Turn> turns;
  for (Labelled& point : points) {
    std::multimap<double, const Labelled*> others;
    for (const Labelled& other : points)
      if (&other != &point) others.emplace(std::hypot(other.x - point.x, other.y - point.y), &other);
    turns.push_back({&point, others.size() > 1 ? std::next(others.begin())->first : room.right,
                     others.empty() || others.begin()->second->x <= point.x || others.begin()->first >= 2 * dot});
  }
  std::stable_sort(turns.begin(), turns.end(), [](const Turn& a, const Turn& b) { return a.to_second > b.to_second; });
  for (const Turn& turn : turns) {
    if (turn.to_second >= 2 * dot)
      *turn.point = place(*turn.point, turn.right_first);
    else
      turn.point->text.clear();
    taken.push_back(turn.point->label());
  }
}

/// "06 vectorised, wide_reads; 07 default" of "06 vectorised", "06 wide_reads" and "07 default".
std::string joined(const std::vector<std::string>& kernels) {
  std::string text, chapter;
  for (const std::string& kernel : kernels) {
    const std::string number = kernel.substr(0, 2);
    text += number == chapter ? "," + kernel.substr(2) : (text.empty() ? "" : "; ") + kernel;
    chapter = number;
  }
  return text;
}

}  // namespace

// The cycles that the busier register bank needs for an instruction, and how many warps wait for dispatch when one issues:
// for every kernel up to chapter `last` whose machine code and profile are recorded. Not for microbenchmarks: those of
// chapter 00, which issue hardly anything but FFMA, from more warps, and what others vary of a kernel, "write.dram.all".
// Kernels that agree in both share a point.
void gather_dispatch(const fs::path& emit, const std::string& last, const fs::path& out) {
  const std::string banks = ".sass_loop.bank_cycles_per_instruction", waiting = ".profile.dispatch_stall";
  std::map<std::string, std::map<std::string, double>> kernels;  // "05 unrolled" -> key -> value
  for (const auto& chapter : fs::directory_iterator(emit)) {
    const std::string number = chapter.path().filename().string();
    if (number == "00" || number > last) continue;
    for (const auto& row : read_tsv(chapter.path() / "facts.tsv"))
      for (const std::string& key : {banks, waiting}) {
        if (!row.at(0).ends_with(key) || row.at(2).empty()) continue;
        const std::string kernel = row[0].substr(0, row[0].size() - key.size());
        if (kernel.find('.') == std::string::npos)
          kernels[fmt::format("{} {}", number, kernel)][key] = std::stod(row[2]);
      }
  }
  std::map<std::pair<double, double>, std::vector<std::string>> at;
  for (const auto& [name, values] : kernels)
    if (values.size() == 2) at[{values.at(banks), values.at(waiting)}].push_back(name);
  if (at.empty()) at[{1, 0}] = {"not yet measured"};

  const double width = 340, height = 400;
  const Box plot{66, 16, width - 12, height - 58};
  const double x_low = 0.98, x_high = std::max(1.1, 0.16 + at.rbegin()->first.first);
  double y_high = 0.1;
  std::vector<double> x, y;
  for (const auto& [point, names] : at) {
    x.push_back(point.first);
    y.push_back(point.second);
    y_high = std::max(y_high, 1.1 * point.second);
  }
  const double per_x = (plot.right - plot.left) / (x_high - x_low), y_low = -0.06 * y_high,
               per_y = (plot.bottom - plot.top) / (y_high - y_low);  // labels of points at 0 stand free of the axis
  std::vector<Labelled> points;
  for (const auto& [point, names] : at)
    points.push_back(
        {joined(names), plot.left + (point.first - x_low) * per_x, plot.bottom - (point.second - y_low) * per_y});
  place_labels(points, {plot.left, plot.top, width, plot.bottom});
  std::string text;
  for (const Labelled& p : points)
    text += fmt::format("\"{}\"\t{:.4f}\t{:.4f}\t{}\t{:.4f}\t{:.4f}\n", p.text, x_low + (p.x - plot.left) / per_x,
                        y_low + (plot.bottom - p.y) / per_y, p.right ? "left" : "right",
                        x_low + (p.label_x - plot.left) / per_x, y_low + (plot.bottom - p.label_y) / per_y);
  write_text(out, text);
  const std::string correlation = x.size() > 2 ? fmt::format("rank correlation {:.2f}", rank_correlation(x, y)) : "";
  write_text(out.string() + ".frame",
             fmt::format(
                 "width={}\nheight={}\nleft={}\nright={}\ntop={}\nbottom={}\nx_low={}\nx_high={}\ny_low={}\ny_high={}\n"
                 "correlation=\"{}\"\n",
                 width, height, plot.left / width, plot.right / width, 1 - plot.top / height, 1 - plot.bottom / height,
                 x_low, x_high, y_low, y_high, correlation));
}

namespace {

/// The types of a run's operands, as a table names them.
std::string types_in_words(const Record& run) {
  if (!run.contains("types")) return "FP32";
  const auto upper = [](std::string name) {
    if (name == "f32") return std::string("FP32");
    for (char& c : name) c = char(std::toupper(c));
    return name;
  };
  return fmt::format("{} in, {} out", upper(run["types"].at(0)), upper(run["types"].at(2)));
}

// Of each chapter the kernel with the highest throughput, one for each choice of operands' types.
std::vector<Measured> fastest_of_each(const std::vector<Measured>& all) {
  std::vector<Measured> fastest;
  for (const Measured& m : all) {
    const auto rival = std::find_if(fastest.begin(), fastest.end(), [&](const Measured& other) {
      return other.chapter == m.chapter && types_in_words(other.run) == types_in_words(m.run);
    });
    if (rival == fastest.end())
      fastest.push_back(m);
    else if (rival->run["tflops"] < m.run["tflops"])
      *rival = m;
  }
  return fastest;
}

}  // namespace

void print_results(const fs::path& chapters, bool only_fastest) {
  const auto all = measured_kernels(chapters, "99");
  if (all.empty()) {
    fmt::print("Not yet measured.\n");
    return;
  }
  const bool stronger = std::any_of(all.begin(), all.end(), [](auto& m) { return m.run.contains("stronger_ratio"); });
  fmt::print("| chapter | kernel | ms | TFLOP/s | × cuBLAS (10–90%) |{}\n|---|---|---:|---:|---|{}\n",
             stronger ? " × the stronger cuBLAS (10–90%) |" : "", stronger ? "---|" : "");
  struct Reached {
    double cublas = 0, lt = 0;
  };
  std::vector<std::pair<std::string, Reached>> reached;  // by types, in the order in which they come
  bool some_flatter = false;
  const auto ratio = [&](const Measured& m, const std::string& side) {
    const auto part = [&](const char* key) { return m.run[side + key].template get<double>(); };
    const auto places = side.empty() ? by_place(m.run, 1) : stronger_by_place(m.run);
    const bool flatters = places && places->flatters();
    some_flatter = some_flatter || flatters;
    return fmt::format(" {:.3f} ({:.3f}–{:.3f}){} |", part("ratio"), part("ratio_low"), part("ratio_high"),
                       flatters ? fmt::format("; first {:.3f}", places->first_ratio) : "");
  };
  for (const Measured& m : only_fastest ? fastest_of_each(all) : all) {
    const std::string to_stronger = m.run.contains("stronger_ratio") ? ratio(m, "stronger_") : " |";
    fmt::print("| {} | {} | {:.2f} | {} |{}{}\n", m.chapter, m.kernel, m.run["median_ms"].get<double>(),
               format_number(m.run["tflops"].get<double>()), ratio(m, ""), stronger ? to_stronger : "");
  }
  for (const Measured& m : all) {
    const std::string types = types_in_words(m.run);
    auto at = std::find_if(reached.begin(), reached.end(), [&](const auto& r) { return r.first == types; });
    if (at == reached.end()) at = reached.insert(at, {types, {}});
    at->second.cublas = std::max(at->second.cublas, m.run["cublas_tflops"].get<double>());
    at->second.lt = std::max(at->second.lt, m.run.value("lt_tflops", 0.0));
  }
  for (const auto& [types, most] : reached) {
    fmt::print("| | cuBLAS, {} | | {} | 1 |{}\n", types, format_number(most.cublas), stronger ? " |" : "");
    if (most.lt > 0)
      fmt::print("| | cuBLASLt, {}, the fastest that its heuristics suggest | | {} | | |\n", types,
                 format_number(most.lt));
  }
  const auto& record = all.back().record;
  const auto repetitions = [](const Measured& m) { return m.run["repetitions"].get<int>(); };
  const auto [fewest, most] = std::minmax_element(
      all.begin(), all.end(), [&](const Measured& a, const Measured& b) { return repetitions(a) < repetitions(b); });
  const int few = repetitions(*fewest), many = repetitions(*most);
  std::set<std::string> dates;
  for (const Measured& m : all) dates.insert(m.record["date"].get<std::string>());
  const std::string days =
      dates.size() == 1 ? *dates.begin() : fmt::format("{} to {}", *dates.begin(), *dates.rbegin());
  fmt::print("\nM = N = K = {}, one {}, {}, driver {}, CUDA {}; medians of {} interleaved repetitions.\n", ladder_size,
             record["gpu"].get<std::string>(), days, record["driver"].get<std::string>(),
             record["cuda"].get<std::string>(),
             few == many ? fmt::format("{}", few) : fmt::format("{} to {}", few, many));
  if (some_flatter)
    fmt::print(
        "\nFirst: cuBLAS took over one percent longer right behind this kernel than where it began a round. Of calls "
        "that "
        "began one, this is the ratio.\n");
}

}  // namespace tile::figures
