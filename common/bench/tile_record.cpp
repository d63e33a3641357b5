// tile-record: manages the records of measurements. It merges the output of the profiler and the disassembler into a
// record, checks a chapter's records against its program, and moves a finished one to its place. The chapter's program
// describes the chapter (`--describe`). In: the command line. Out: lines for the reader, or a record.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "common/bench/machine_code.hpp"
#include "common/bench/metrics.hpp"
#include "common/bench/record.hpp"
#include "common/bench/text.hpp"

namespace tile {
namespace {

namespace fs = std::filesystem;

constexpr int exit_not_checked = 77;  // CTest's SKIP_RETURN_CODE

struct Options {
  std::string merge, check, keep, steps, metrics, digests;  ///< what to do: one of them
  std::string counters, profile, sass;                      ///< with merge: files
  int size = 0, pad = 0;                                    ///< with profile
  std::string in;                                           ///< with keep: a chapter's directory
  std::string known;                                        ///< with metrics: what `ncu --query-metrics` printed
  std::string compiled, architecture;                       ///< with check: the chapter's program for the GPU
};

/// A chapter's program's description of itself, "program" or "counts", or one saved in a file, X.json.
Record ask(const std::string& program, const std::string& what) {
  std::string said;
  if (fs::path(program).extension() == ".json") {
    said = read_whole(program);
  } else {
    if (access(program.c_str(), X_OK) != 0) throw RecordError(program + " is not a program: build it first");
    const std::string command = fmt::format("'{}' --on model --describe {}", fs::absolute(program).string(), what);
    FILE* const pipe = popen(command.c_str(), "r");
    for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) said += char(c);
    if (pclose(pipe) != 0) throw RecordError(fmt::format("{} could not describe itself: see above", program));
  }
  return Record::parse(said);
}

void merge(const Options& o) {
  Record record = load_record(o.merge);
  if (!o.counters.empty()) add_counters(record, o.counters, "counters");
  if (!o.profile.empty()) add_counters(record, o.profile, o.pad == 0 ? "profile" : fmt::format("profile+{}", o.pad));
  if (o.size != 0) record["profiled_size"] = o.size;
  if (!o.sass.empty()) add_sass(record, o.sass);
  save_record(o.merge, record);
}

// Why a record's machine code cannot be compared with that of this nvcc for this architecture, or "".
std::string not_comparable(const Record& record, const std::string& nvcc, const Options& o) {
  const std::string made = record.at("fingerprint").value("nvcc", ""), architecture = record.value("architecture", "");
  if (o.compiled.empty()) return nvcc.empty() ? "this build has no nvcc" : "no program was given with --compiled";
  if (made == nvcc && architecture == o.architecture) return "";
  return fmt::format("it was compiled by nvcc {} for {}, this program by {} for {}", made, architecture, nvcc,
                     o.architecture);
}

int check(const Options& o) {
  const Record program = ask(o.check, "program");
  const auto compiled = o.compiled.empty() ? std::map<std::string, std::string>() : digests_of(o.compiled);
  if (!o.compiled.empty() && compiled.empty())
    throw RecordError(fmt::format("{} holds no machine code of a GPU: compile it with --no-compress", o.compiled));
  bool any_wrong = false, all_checked = true;
  for (const RecordKind kind : {RecordKind::measured, RecordKind::tuned, RecordKind::sweep})
    for (const fs::path& directory : record_directories(program.at("directory").get<std::string>(), kind)) {
      const std::string head =
          fmt::format("chapter{:02}: {}", program.at("chapter").get<int>(), fs::proximate(directory).string());
      const Record record = load_record(directory, kind);
      const std::string gpu = record.at("gpu");
      std::vector<std::string> lines;
      if (kind == RecordKind::measured && gpu == reference_gpu) lines = ask(o.check, "counts").at("unexplained");
      if (record.at("fingerprint").value("kernels", Record()).empty()) {
        lines.push_back(fmt::format("it does not say which machine code it measured: run ./tile bench on an {}", gpu));
      } else if (const std::string why = not_comparable(record, program.at("nvcc"), o); !why.empty()) {
        all_checked = false;
        fmt::print("{}: its machine code was not checked here: {}\n", head, why);
      } else {
        const std::string chosen = record.value("chosen", "");  // a tuning times the others again if they changed
        for (const std::string& kernel : changed_kernels(record.at("fingerprint"), compiled))
          if (chosen.empty() || kernel == chosen)
            lines.push_back(
                fmt::format("{} has different machine code from what was measured: run ./tile bench on an {} (if "
                            "nothing was changed, build again: nvcc does not always compile alike)",
                            kernel, gpu));
      }
      for (const std::string& line : lines) fmt::print(stderr, "{}: {}\n", head, line);
      any_wrong = any_wrong || !lines.empty();
    }
  return any_wrong ? 1 : all_checked ? 0 : exit_not_checked;
}

void keep(const fs::path& finished, const fs::path& chapter) {
  for (const RecordKind kind : {RecordKind::measured, RecordKind::sweep}) {
    if (kind == RecordKind::sweep && !holds_record(finished, kind)) continue;
    const Record record = load_record(finished, kind);
    const fs::path directory = record_directory(chapter, record.at("gpu"));
    save_record(directory, record);
    if (kind == RecordKind::measured) fmt::print("wrote {}\n", directory.string());
  }
}

// The steps of `tile bench` for this chapter: the additional step, if any, and the profiler runs.
void print_steps(const Record& program) {
  fmt::print("{}\n", program.at("step").get<std::string>());
  const std::string size = program.at("kernels") == 0 ? "" : " --size 4096";  // which fills a GPU
  fmt::print("profile{}\n", size);
  for (const int pad : program.at("profiled_pads")) fmt::print("profile{} --pad {}\n", size, pad);
}

int run(int argc, char** argv) {
  CLI::App app{"Manages the records of measurements (chapters/NN-name/measured/<gpu>).", "tile-record"};
  Options o;
  auto* actions = app.add_option_group("what to do", "one of these")->require_option(1);
  auto* merging = actions->add_option("--merge", o.merge, "merge these files into a record:");
  app.add_option("--counters", o.counters, "  ncu's counters of a run with --once (--csv --page raw)")->needs(merging);
  auto* profile = app.add_option("--profile", o.profile, "  the same for a run that fills the GPU,")->needs(merging);
  app.add_option("--size", o.size, "    with this size")->needs(profile);
  app.add_option("--pad", o.pad, "    and leading dimensions larger by this")->needs(profile);
  app.add_option("--sass", o.sass, "  the output of cuobjdump -sass")->needs(merging);
  actions->add_option("--check", o.check,
                      "compare a chapter's records with its program, or with its description X.json");
  auto* compiled = app.add_option("--compiled", o.compiled, "  and their machine code with this program's,");
  app.add_option("--architecture", o.architecture, "    compiled for this architecture, such as 90a")->needs(compiled);
  actions->add_option("--digests", o.digests, "print a digest of the machine code of each function of a program");
  auto* keeping = actions->add_option("--keep", o.keep, "move a finished record to its place,");
  auto* chapter = app.add_option("--in", o.in, "  into this chapter, such as chapters/02-coalescing");
  keeping->needs(chapter->check(CLI::ExistingDirectory));
  actions->add_option("--steps", o.steps, "print the steps of tile bench for a chapter's program");
  actions->add_option("--metrics", o.metrics, "print the metrics that ncu is to collect: counters or profile")
      ->check(CLI::IsMember({"counters", "profile"}));
  app.add_option("--known", o.known, "  the output of ncu --query-metrics, which adds metrics of newer GPUs");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);  // help
    fmt::print(stderr, "tile-record: {} (see --help)\n", e.what());
    return 2;
  }
  if (!o.check.empty()) return check(o);
  if (!o.digests.empty())
    for (const auto& [function, digest] : digests_of(o.digests)) fmt::print("{} {}\n", digest, function);
  if (!o.merge.empty()) merge(o);
  if (!o.keep.empty()) keep(o.keep, o.in);
  if (!o.steps.empty()) print_steps(ask(o.steps, "program"));
  if (!o.metrics.empty())
    fmt::print("{}\n", metrics_of(o.metrics == "counters" ? Metric::counters : Metric::profile,
                                  o.known.empty() ? "" : read_whole(o.known)));
  return 0;
}

}  // namespace
}  // namespace tile

int main(int argc, char** argv) try { return tile::run(argc, argv); } catch (const std::exception& e) {
  fmt::print(stderr, "tile-record: {}\n", e.what());
  return 1;
}
