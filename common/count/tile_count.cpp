// `tile count`: counts the kernels of files, and prints counts, bounds and advice.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/wait.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <regex>
#include <sstream>
#include <stdexcept>

#include "common/bench/ceilings.hpp"
#include "common/bench/text.hpp"
#include "common/check/repository.hpp"
#include "common/count/counting.hpp"
#include "common/report/facts.hpp"
#include "common/sim/rewrite/files.hpp"

namespace tile::counting {
namespace {

namespace fs = std::filesystem;

// --- Text ------------------------------------------------------------------------------------------------------------

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// "transpose.cu:14"
std::string place_of(const simt::Site& site) { return fmt::format("{}:{}", file_name(site.file), site.line); }

// A site as a row; cells that do not apply to its space are "-".
std::vector<std::string> row_of(const simt::Site& s, const std::string& place, double share) {
  const bool bulk = simt::is_bulk(s.op), global = s.space == simt::Space::global, atomic = s.op == simt::Op::atomic;
  const std::string about = s.estimated ? "~" : "";
  const auto per_request = [&](bool known, double sum) {
    return known ? about + format_number(sum / double(s.requests)) : "-";
  };
  const auto percent = [&](bool known, double part) { return known ? fmt::format("{:.0f}%", 100 * part) : "-"; };
  return {place,
          simt::name_of(s.op),
          fmt::format("{} ({})", s.array, simt::name_of(s.space)),
          bulk ? per_request(true, double(s.bytes())) : std::to_string(s.width),
          about + format_number(double(s.requests)),
          per_request(global, double(s.sectors)),
          per_request(global && !bulk, double(s.lines)),
          per_request(global && !bulk, double(s.tag_passes)),
          !bulk && s.space == simt::Space::distributed
              ? "unknown"
              : (s.at_least ? ">=" : "") + per_request(!bulk, double(global ? s.l1_wavefronts : s.wavefronts)),
          (global && !atomic ? about : "") + percent(global && !atomic, double(s.bytes()) / (32 * double(s.sectors))),
          percent(share >= 0, share)};
}

// The sum over all sites of a member, or of a function of a site.
template <class Part>
double sum(const simt::Counts& counts, Part part) {
  double sum = 0;
  for (const simt::Site& site : counts.sites) sum += double(std::invoke(part, site));
  return sum;
}

void print_sites(const simt::Counts& c, const Verdict& verdict) {
  const bool one_file =
      !c.sites.empty() && std::ranges::count(c.sites, c.sites.front().file, &simt::Site::file) == std::ssize(c.sites);
  Table table{"",
              wrapped("", fmt::format("{}<<<({},{},{}), ({},{},{})>>>, {} bytes of shared memory per block{}", c.kernel,
                                      c.grid.x, c.grid.y, c.grid.z, c.block.x, c.block.y, c.block.z,
                                      format_number(double(c.static_shared_bytes + c.dynamic_shared_bytes)),
                                      one_file ? "; lines of " + file_name(c.sites.front().file) : "")),
              {"line", "op", "array", "bytes", "requests", "sectors", "lines", "tags", "waves", "useful", "share"},
              {}};
  double shares = 0;
  for (std::size_t i = 0; i < c.sites.size(); ++i) {
    const simt::Site& s = c.sites[i];
    table.rows.push_back(row_of(s, one_file ? std::to_string(s.line) : place_of(s), verdict.shares[i]));
    shares += std::max(0.0, verdict.shares[i]);
  }
  table.rows.push_back({"sums", "", "", "", format_number(sum(c, &simt::Site::requests)),
                        format_number(sum(c, &simt::Site::sectors)), format_number(sum(c, &simt::Site::lines)),
                        format_number(sum(c, &simt::Site::tag_passes)), format_number(sum(c, bank_wavefronts)), "",
                        verdict.hottest.empty() ? "-" : fmt::format("{:.0f}%", 100 * shares)});
  table.print(columns());
  if (sum(c, &simt::Site::estimated) > 0)
    fmt::print("  ~ lanes of a warp came here after different numbers of loop iterations; their grouping is a guess\n");
}

void print_bounds(const Verdict& v, const Rates& rates) {
  if (v.bounds.empty()) return;
  const double seconds = v.cycles() / rates.clock_hz;
  const std::string cycles = format_number(v.cycles());
  fmt::print("\n  at least {} cycle{} ({} us) on {} of the {} SMs of an {}", cycles, cycles == "1" ? "" : "s",
             format_number(seconds * 1e6), v.sms, rates.sms, rates.gpu);
  if (v.flops > 0) fmt::print(", at most {} TFLOP/s", format_number(v.flops / seconds * 1e-12));
  std::string bounds;
  for (std::size_t i = 0; i < v.bounds.size(); ++i) {
    bounds += i == 0 ? "" : i + 1 == v.binding ? " and " : ", ";
    bounds += fmt::format("{} {}", v.bounds[i].resource, format_number(v.bounds[i].cycles));
    if (i + 1 == v.binding) bounds += v.binding == 1 ? " (binds)" : " (a tie)";
  }
  fmt::print(":\n{}\n", wrapped("            ", bounds));
}

void print_occupancy(const simt::Counts& c, const Verdict& v, const Rates& rates) {
  const Occupancy& o = v.occupancy;
  const double blocks = double(c.grid.x) * c.grid.y * c.grid.z, wave = double(rates.sms) * o.blocks;
  const std::string idle = v.sms < rates.sms ? fmt::format("; {} of {} SMs have no block", rates.sms - v.sms, rates.sms)
                           : blocks < wave   ? fmt::format("; {} blocks of the {} of one wave", blocks, wave)
                                             : "";
  fmt::print("{}\n",
             wrapped("  occupancy ", fmt::format("{} of {} on an SM ({:.0f}%), limited by {}; {}{}",
                                                 simt::counted(std::uint64_t(o.blocks), "block"),
                                                 simt::counted(c.block.x * c.block.y * c.block.z, "thread"),
                                                 100 * o.fraction, o.limiter(),
                                                 v.registers > 0 ? fmt::format("{} registers per thread", v.registers)
                                                                 : "registers are not known: --registers N",
                                                 idle)));
}

void print_hottest(const simt::Counts& counts, const Verdict& verdict) {
  if (verdict.bounds.empty()) return;
  if (verdict.hottest.empty()) {
    fmt::print("  hottest   none: {} binds, and no access to memory has 1% of it\n", verdict.binds);
    return;
  }
  const std::size_t first = verdict.hottest.front(), others = verdict.hottest.size() - 1;
  const simt::Site& site = counts.sites[first];
  fmt::print("{}\n",
             wrapped("  hottest   ",
                     fmt::format("{}: {}, {} of {}, {:.0f}%{}: {}", verdict.binds, place_of(site),
                                 simt::name_of(site.op), site.array, 100 * verdict.shares[first],
                                 others == 0 ? "" : fmt::format(", a tie with {} more", others), verdict.advice)));
}

// "L1", or "L1 and banks, a tie"; "-" if nothing binds.
std::string what_binds(const Verdict& verdict) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < verdict.binding; ++i) names.push_back(verdict.bounds[i].resource);
  if (names.empty()) return "-";
  return fmt::format("{}{}", fmt::join(names, " and "), names.size() > 1 ? ", a tie" : "");
}

// Prints totals and bounds of the runs, each summed over its launches; for two runs, also their quotient.
void print_side_by_side(const std::vector<Run>& runs, const Rates& rates, int registers) {
  Table table{"", "Side by side (resources in cycles)", {""}, {}};
  std::vector<std::map<std::string, double>> values;
  std::string names;
  for (const Run& run : runs) {
    std::map<std::string, double>& of_run = values.emplace_back();
    std::string binds;
    for (const simt::Counts& counts : run.kernels) {
      of_run["requests"] += sum(counts, &simt::Site::requests);
      of_run["bytes"] += sum(counts, &simt::Site::bytes);
      of_run["sectors"] += sum(counts, &simt::Site::sectors);
      of_run["waves"] += sum(counts, bank_wavefronts);
      const Verdict verdict = verdict_of(run, counts, rates, registers);
      for (const Bound& b : verdict.bounds) of_run[b.resource] += b.cycles;
      of_run["at least"] += verdict.cycles();
      const std::string binding = what_binds(verdict);
      binds = binds.empty() || binds == binding ? binding : "one resource in one launch, another in another";
    }
    table.rows.push_back({fmt::format("({})", values.size())});
    names += wrapped(fmt::format("  ({}) ", values.size()),
                     fmt::format("{}: {}{}", file_name(run.file), run.title,
                                 run.error.empty()   ? fmt::format("; what binds: {}", binds)
                                 : run.title.empty() ? "failed"
                                                     : " (failed)")) +
             "\n";
  }
  const bool both = runs.size() == 2 && runs[0].error.empty() && runs[1].error.empty();
  if (both) table.rows.push_back({"(2) / (1)"});
  for (const std::string name : {"requests", "bytes", "sectors", "waves", "FFMA issue", "issue slots", "L1", "banks",
                                 "atomics", "L2 bytes", "DRAM bytes", "at least"}) {
    if (std::all_of(values.begin(), values.end(), [&](auto& of_run) { return of_run[name] == 0; })) continue;
    table.header.push_back(name == "at least" ? name : name.substr(0, name.find(' ')));
    for (std::size_t r = 0; r < runs.size(); ++r)
      table.rows[r].push_back(runs[r].error.empty() ? format_number(values[r][name]) : "-");
    const double first = values[0][name];
    if (both) table.rows[2].push_back(first == 0 ? "-" : format_number(values[1][name] / first));
  }
  table.print(columns());
  fmt::print("{}", names);
}

void print_legend() {
  std::istringstream paragraphs(files::read_text(in_repository("common/count/legend.txt")));
  fmt::print("\n");
  for (std::string text; std::getline(paragraphs, text);) fmt::print("{}\n", wrapped("", text));
}

// --- Runs ------------------------------------------------------------------------------------------------------------

struct Options {
  std::vector<std::string> files;
  std::string compiler;
  bool verbose = false;
  int registers = 0, arch = 900;
};

std::string quoted(const std::string& word) { return "'" + std::regex_replace(word, std::regex("'"), R"('\'')") + "'"; }

// Prints a run. Its errors go to stderr, line by line; a line without a source location gets the run's title.
void show(const Run& run, const Rates& rates, int registers) {
  static const std::regex place(R"(\w:\d+|^\.\.\.)");
  if (!run.title.empty()) fmt::print("\n== {}\n", run.title);
  for (const simt::Counts& counts : run.kernels) {
    const Verdict verdict = verdict_of(run, counts, rates, registers);
    print_sites(counts, verdict);
    print_bounds(verdict, rates);
    print_occupancy(counts, verdict, rates);
    print_hottest(counts, verdict);
  }
  std::string whose;
  if (!run.error.empty() && !run.title.empty()) {
    fmt::print("  failed: {}; stderr has the findings\n", run.error.substr(0, run.error.find(": ")));
    whose = fmt::format("{}, \"{}\": ", file_name(run.file), run.title);
  }
  std::fflush(stdout);
  std::istringstream lines(run.error);
  for (std::string line; std::getline(lines, line);)
    fmt::print(stderr, "count: {}{}\n", std::regex_search(line, place) ? "" : whose, line);
}

// Why a file cannot be compiled; "" if it can.
std::string unreadable(const std::string& file) {
  if (!std::ifstream(file)) return fmt::format("cannot read {}: {}", file, std::strerror(errno));
  if (!std::regex_search(file, std::regex(R"(\.(cuh?|cpp|cc|cxx|hpp|h)$)")))
    return fmt::format("{} is not a .cu file", file);
  return "";
}

// Compiles a file to `program` and performs its runs; calls `tell` with each run, or with the file's error.
void count(const Options& options, const std::string& file, const std::string& program,
           const std::function<void(Run)>& tell) {
  const auto reject = [&](const std::string& why) { tell({.file = file, .title = "", .error = why, .kernels = {}}); };
  if (const std::string why = unreadable(file); !why.empty()) return reject(why);
  const std::string none = fmt::format("{}: the file describes no run: add a TILE_COUNT (see the README)", file);
  const std::string said = program + "-said", counted = program + "-counted";
  if (std::system(fmt::format("LC_ALL=C TILE_ARCH={} exec {} {} {} count >{} 2>&1", options.arch,
                              quoted(options.compiler), quoted(file), quoted(program), quoted(said))
                      .c_str()) != 0) {
    const std::string errors = files::read_text(said);
    if (options.verbose) fmt::print(stderr, "{}", errors);
    const bool describes = files::read_text(file).find("TILE_COUNT") != std::string::npos;
    return reject(errors_in_lines(errors, file) + (describes ? "" : none));
  }
  fs::remove(counted);
  std::fflush(stdout);
  const int status = std::system(fmt::format("exec {} {}", quoted(program), quoted(counted)).c_str());
  std::size_t told = 0;
  std::ifstream runs(counted);
  for (std::string line; std::getline(runs, line); ++told) {
    Run run = Json::parse(line);
    run.file = file;
    tell(run);
  }
  if (WIFSIGNALED(status))
    reject(fmt::format("{}: run {} ended with a signal ({}), and the rest of the file was not run", file, told + 1,
                       strsignal(WTERMSIG(status))));
  else if (told == 0)
    reject(none);
}

int run(const Options& options) {
  const Rates rates = reference_rates();
  std::string directory = (fs::temp_directory_path() / "tile-count-XXXXXX").string();
  if (mkdtemp(directory.data()) == nullptr) throw std::runtime_error("cannot make a directory " + directory);
  const std::unique_ptr<const std::string, void (*)(const std::string*)> removed(
      &directory, [](const std::string* name) { fs::remove_all(*name); });
  std::vector<Run> runs;
  for (const std::string& file : options.files)
    count(options, file, directory + "/program", [&](const Run& run) {
      runs.push_back(run);
      show(run, rates, options.registers);
    });
  if (std::any_of(runs.begin(), runs.end(), [](const Run& r) { return !r.kernels.empty(); })) {
    if (runs.size() > 1) print_side_by_side(runs, rates, options.registers);
    print_legend();
  }
  return std::any_of(runs.begin(), runs.end(), [](const Run& r) { return !r.error.empty(); }) ? 1 : 0;
}

}  // namespace
}  // namespace tile::counting

int main(int argc, char** argv) {
  CLI::App app{
      "Shows what the kernels in files would cost on a GPU, line by line. Each file describes its launches in\n"
      "TILE_COUNTs; the README has a template.",
      "./tile count"};
  tile::counting::Options options;
  app.add_option("FILE.cu", options.files, "several are compared side by side")->required();
  app.add_option("--registers", options.registers, "registers per thread, as reported by nvcc -Xptxas -v")
      ->check(CLI::Range(1, 255));
  app.add_option("--arch", options.arch, "__CUDA_ARCH__ in device code (default: 900); host functions do not see it")
      ->check(CLI::Range(500, 1300));
  app.add_flag("--verbose", options.verbose, "if a file does not compile, show all of the compiler's messages");
  app.add_option("--compiler", options.compiler, "the model-cc to compile with")->required()->group("");
  try {
    app.parse(argc, argv);
    return tile::counting::run(options);
  } catch (const CLI::Success& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    fmt::print(stderr, "count: {}; ./tile count --help lists the options\n", e.what());
    return 2;
  } catch (const std::exception& e) {
    fmt::print(stderr, "count: {}\n", e.what());
    return 1;
  }
}
