// tile-record: looks after the records of measurements. Reads one, merges into it what the profiler and the disassembler print,
// checks a chapter's against its program, and puts a finished one in its place. What it has to know of a chapter, the chapter's
// program says (`--describe`). In: the command line. Out: lines to read, or a record, whole or not at all.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <boost/process/args.hpp>
#include <boost/process/child.hpp>
#include <boost/process/exe.hpp>
#include <boost/process/io.hpp>
#include <boost/process/pipe.hpp>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "common/bench/check.hpp"
#include "common/bench/machine_code.hpp"
#include "common/bench/merge.hpp"
#include "common/bench/metrics.hpp"
#include "common/bench/problem.hpp"
#include "common/bench/program.hpp"
#include "common/bench/record.hpp"
#include "common/bench/whole_file.hpp"

namespace tile {
namespace {

namespace fs = std::filesystem;

constexpr int size_that_fills_a_gpu = 4096;
constexpr int exit_not_checked = 77;  // CTest's SKIP_RETURN_CODE

/// A mistake of the person at the keyboard: one line, exit code 2.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Options {
  std::string show, merge, check, keep, steps, metrics;  ///< what to do: one of them
  std::string counters, profile, sass, registers;        ///< with merge: files
  std::string architecture;                              ///< with registers
  int size = 0, pad = 0;                                 ///< with profile
  std::string in;                                        ///< with keep: a chapter's directory
  std::string known;                                     ///< with metrics: what `ncu --query-metrics` printed
  std::string compiled;                                  ///< with check: the chapter's program for the GPU
  std::string digests;                                   ///< a program whose digests to print
};

/// What a program prints when it is asked to describe itself; "program" or "counts".
std::string said_by(const std::string& program, const std::string& what) {
  namespace bp = boost::process;
  bp::ipstream out;
  std::string said;
  int status = 0;
  try {
    bp::child child(bp::exe = fs::absolute(program).string(),
                    bp::args = std::vector<std::string>{"--on", "model", "--describe", what}, bp::std_out > out);
    said.assign(std::istreambuf_iterator<char>(out), {});
    child.wait();
    status = child.exit_code();
  } catch (const bp::process_error& e) {
    throw RecordError(fmt::format("cannot start {}: {}", program, e.code().message()));
  }
  if (status != 0) throw RecordError(fmt::format("{} could not say what it is: see above", program));
  return said;
}

/// What a chapter's program says of itself, or has said in a file, X.json.
Program ask(const std::string& program, const std::string& what) {
  if (!fs::is_regular_file(program)) throw RecordError(fmt::format("{} is no program: build it first", program));
  try {
    return program_of(fs::path(program).extension() == ".json" ? read_whole(program) : said_by(program, what));
  } catch (const RecordError& e) {
    throw RecordError(fmt::format("{}: {}", program, e.what()));
  }
}

/// The directory that a finished record of this kind goes to, below its chapter's.
const char* kind_of(const Record& record) { return record.contains("sweep") ? "sweep" : "measured"; }

// --- show -----------------------------------------------------------------------------------------------------------

/// "2 runs (4096, 8192); counters, profile, sass".
std::string contents_of(const Record& kernel) {
  std::vector<std::string> runs, parts;
  for (const Record& run : kernel.at("runs")) runs.push_back(key_of(problem_of(run)));
  for (const auto& [key, value] : kernel.items())
    if (value.is_object()) parts.push_back(key);
  return fmt::format("{} run{} ({}); {}", runs.size(), runs.size() == 1 ? "" : "s", fmt::join(runs, ", "),
                     parts.empty() ? "nothing merged" : fmt::format("{}", fmt::join(parts, ", ")));
}

void show(const fs::path& file) {
  const Record record = load_record(file);
  const auto text = [&](const char* key) { return record.at(key).get<std::string>(); };
  fmt::print("{}, {}, driver {}, CUDA {}; its place is {}/{}.json\n", text("gpu"), text("date"), text("driver"),
             text("cuda"), kind_of(record), slug(text("gpu")));
  fmt::print("{} rates\n", record.at("rates").size());
  for (const Record& kernel : record.at("kernels"))
    fmt::print("{}: {}\n", kernel.at("name").get<std::string>(), contents_of(kernel));
}

// --- merge ----------------------------------------------------------------------------------------------------------

void merge(const Options& o) {
  if (o.counters.empty() && o.profile.empty() && o.sass.empty() && o.registers.empty())
    throw UsageError("--merge needs something to merge: --counters, --profile, --sass or --registers");
  if (o.registers.empty() != o.architecture.empty())
    throw UsageError("--registers and --architecture go together: which architecture the registers are of");
  if (o.profile.empty() && (o.size != 0 || o.pad != 0)) throw UsageError("--size and --pad say what --profile is of");
  Record record = load_record(o.merge);
  if (!o.counters.empty()) add_counters(record, o.counters, "counters");
  if (!o.profile.empty()) {
    add_counters(record, o.profile, profile_with_pad(o.pad));
    if (o.size != 0) record["profiled_size"] = o.size;
  }
  if (!o.sass.empty()) add_sass(record, o.sass);
  if (!o.registers.empty()) add_registers(record, o.registers, o.architecture);
  save_record(o.merge, record);
}

// --- check ----------------------------------------------------------------------------------------------------------

// A file as one would name it here.
std::string shown(const fs::path& file) {
  const std::string near = fs::proximate(file).string();
  return near.starts_with("..") ? file.string() : near;
}

/// Compares the machine code that a record is of with `compiled`, of this architecture; without, and for what another nvcc compiled,
/// only says that it was not compared.
std::vector<std::string> other_machine_code(const Record& record, const std::map<std::string, std::string>& compiled,
                                            const std::string& nvcc, const std::string& architecture,
                                            std::string& not_checked) {
  const Record& made = record.at("fingerprint");
  const std::string gpu = record.at("gpu");
  if (made.value("kernels", Record()).empty())
    return {fmt::format("it does not say of which machine code it is: run ./tile bench on an {}", gpu)};
  if (compiled.empty())
    not_checked = "this build is without nvcc";
  else if (made.at("nvcc") != nvcc || record.value("architecture", "") != architecture)
    not_checked = fmt::format("it was compiled by nvcc {} for {}, this program by {} for {}",
                              made.at("nvcc").get<std::string>(), record.value("architecture", ""), nvcc, architecture);
  if (!not_checked.empty()) return {};
  std::vector<std::string> lines;
  for (const std::string& kernel : changed_kernels(made, compiled))
    lines.push_back(
        fmt::format("{} has other machine code than was measured: run ./tile bench on an {} (if nothing was changed, "
                    "build again: nvcc does not always spill alike)",
                    kernel, gpu));
  return lines;
}

int check(const Options& o) {
  const std::string& path = o.check;
  const Program program = ask(path, "program");
  const auto compiled = o.compiled.empty() ? std::map<std::string, std::string>() : digests_of(o.compiled);
  std::size_t wrong = 0;
  bool all_checked = true;
  const auto report = [&](const fs::path& file, const Record& record, const std::vector<std::string>& lines) {
    std::string not_checked;
    const auto changed = other_machine_code(record, compiled, program.nvcc, o.architecture, not_checked);
    for (const auto& wrong_lines : {lines, changed})
      for (const std::string& line : wrong_lines)
        fmt::print(stderr, "chapter{:02}: {}: {}\n", program.chapter, shown(file), line);
    wrong += lines.size() + changed.size();
    if (not_checked.empty()) return;
    all_checked = false;
    fmt::print("chapter{:02}: {}: its machine code was not checked here: {}\n", program.chapter, shown(file),
               not_checked);
  };
  for (const auto& file : record_files(program.directory(), "measured")) {
    const Record record = load_record(file);
    report(file, record, wrong_with_record(file.stem(), record, program, [&] { return ask(path, "counts"); }));
  }
  for (const auto& file : record_files(program.directory(), "tuned")) {
    const Record tuning = load_tuning(file);
    report(file, tuning, wrong_with_tuning(file.stem(), tuning, program));
  }
  for (const auto& file : record_files(program.directory(), "sweep")) {
    const Record sweep = load_sweep(file);
    report(file, sweep, wrong_with_sweep(file.stem(), sweep, program));
  }
  return wrong != 0 ? 1 : all_checked ? 0 : exit_not_checked;
}

// --- keep -----------------------------------------------------------------------------------------------------------

void keep(const fs::path& finished, const fs::path& chapter) {
  if (chapter.empty()) throw UsageError("--keep needs --in, the chapter's directory");
  if (!fs::is_directory(chapter)) throw RecordError(fmt::format("{} is no directory", chapter.string()));
  const Record record = load_record(finished);
  const fs::path file = record_file(chapter, kind_of(record), record.at("gpu"));
  save_record(file, record);
  fmt::print("wrote {}\n", shown(file));
}

// --- steps, metrics -------------------------------------------------------------------------------------------------

// What `tile bench` does for this chapter besides timing it: a word, and what differs from chapter to chapter.
void print_steps(const std::string& path) {
  const Program program = ask(path, "program");
  if (!program.candidates.empty()) fmt::print("tune\n");
  if (!program.sweep.problems.empty()) fmt::print("sweep\n");
  const std::string size =
      program.kernels.empty() ? "" : fmt::format(" --size {}", size_that_fills_a_gpu);  // of those that take one
  fmt::print("profile{}\n", size);
  for (const int pad : program.profiled_pads) fmt::print("profile{} --pad {}\n", size, pad);
  for (const int architecture : program.compiled_for) fmt::print("registers {}\n", architecture);
}

void print_metrics(const std::string& run, const std::string& known) {
  const std::string all = known.empty()  ? ""
                          : known == "-" ? std::string(std::istreambuf_iterator<char>(std::cin), {})
                                         : read_whole(known);
  fmt::print("{}\n", metrics_of(run == "counters" ? Metric::counters : Metric::profile, all));
}

// --- command line -----------------------------------------------------------------------------------------------------

Options parse(int argc, char** argv) {
  CLI::App app{"Looks after the records of measurements (chapters/NN-name/measured/<gpu>.json).", "tile-record"};
  Options o;
  app.add_option("--show", o.show, "say what a record holds");
  app.add_option("--merge", o.merge, "add to a record what these files hold:");
  app.add_option("--counters", o.counters, "  ncu's counters of a run with --once (--csv --page raw)");
  app.add_option("--profile", o.profile, "  the same of a run that fills the GPU,");
  app.add_option("--size", o.size, "    whose size was this")->check(CLI::Range(1, 65536));
  app.add_option("--pad", o.pad, "    and whose leading dimensions were so much larger")->check(CLI::Range(0, 65536));
  app.add_option("--sass", o.sass, "  what cuobjdump -sass printed");
  app.add_option("--registers", o.registers, "  what cuobjdump -res-usage printed");
  app.add_option("--architecture", o.architecture, "    of this architecture, such as 86; also with --compiled");
  app.add_option("--check", o.check, "check a chapter's records against its program, or against what it said, X.json");
  app.add_option("--compiled", o.compiled, "  and the machine code that they are of against this program,");
  app.add_option("--digests", o.digests, "print a digest of the machine code of each function of a program");
  app.add_option("--keep", o.keep, "put a finished record where it belongs");
  app.add_option("--in", o.in, "  of this chapter, such as chapters/02-coalescing");
  app.add_option("--steps", o.steps, "print what tile bench has to do for a chapter's program");
  app.add_option("--metrics", o.metrics, "print what ncu is asked for: counters or profile")
      ->check(CLI::IsMember({"counters", "profile"}));
  app.add_option("--known", o.known,
                 "  with what ncu --query-metrics printed (-: on stdin), metrics of newer GPUs, too");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::cout << app.help();
    std::exit(0);
  } catch (const CLI::ParseError& e) {
    throw UsageError(fmt::format("{} (see --help)", e.what()));
  }
  int actions = 0;
  for (const std::string* action : {&o.show, &o.merge, &o.check, &o.keep, &o.steps, &o.metrics, &o.digests})
    actions += !action->empty();
  if (actions != 1)
    throw UsageError("choose one of --show, --merge, --check, --digests, --keep, --steps and --metrics (see --help)");
  return o;
}

int run(const Options& o) {
  if (!o.check.empty()) return check(o);
  if (!o.digests.empty())
    for (const auto& [function, digest] : digests_of(o.digests)) fmt::print("{} {}\n", digest, function);
  if (!o.show.empty()) show(o.show);
  if (!o.merge.empty()) merge(o);
  if (!o.keep.empty()) keep(o.keep, o.in);
  if (!o.steps.empty()) print_steps(o.steps);
  if (!o.metrics.empty()) print_metrics(o.metrics, o.known);
  return 0;
}

}  // namespace
}  // namespace tile

int main(int argc, char** argv) {
  const auto complain = [](const char* what, int code) {
    std::fflush(stdout);
    fmt::print(stderr, "tile-record: {}\n", what);
    return code;
  };
  try {
    return tile::run(tile::parse(argc, argv));
  } catch (const tile::UsageError& e) {
    return complain(e.what(), 2);
  } catch (const std::exception& e) {
    return complain(e.what(), 1);
  }
}
