// main() of every chapter program.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <map>

#include "common/report/options.hpp"

template class std::vector<tile::Kernel>;
tile::Chapter::~Chapter() = default;

namespace tile {
namespace {

constexpr int exit_skipped = 77;  // CTest's SKIP_RETURN_CODE
constexpr int largest_extent = 65536;

std::vector<std::string> arguments;  // as given; become() passes them to the model's program

std::vector<std::string> skipped;  // why test cases could not be run
int cases = 0, assertions = 0;     // that ran

/// Counts what ran, and lists test cases as "suite<TAB>name".
template <class Reporter>
struct Counting : Reporter {
  using Reporter::Reporter;
  void report_query(const doctest::QueryData& query) override {
    for (unsigned i = 0; i < query.num_data; ++i)
      fmt::print("{}\t{}\n", query.data[i]->m_test_suite, query.data[i]->m_name);
  }
  void test_run_end(const doctest::TestRunStats& stats) override {
    Reporter::test_run_end(stats);
    cases = int(stats.numTestCasesPassingFilters);
    assertions = stats.numAsserts;
  }
};
REGISTER_REPORTER("counting-console", 1, Counting<doctest::ConsoleReporter>);
REGISTER_REPORTER("counting-xml", 1, Counting<doctest::XmlReporter>);

int list_tests() {
  const char* const argv[] = {"", "--list-test-cases", "--reporters=counting-console"};
  return doctest::Context(3, argv).run();
}

int run_test(const std::string& name, const std::string& xml) {
  doctest::Context context;
  std::string filter = name;
  std::replace(filter.begin(), filter.end(), ',', '?');  // a comma would separate two filters
  context.setOption("test-case", filter.c_str());
  context.setOption("no-intro", true);
  context.setOption("reporters", xml.empty() ? "counting-console" : "counting-xml");
  if (!xml.empty()) context.setOption("out", xml.c_str());
  if (context.run() != 0) return 1;
  for (const std::string& reason : skipped) fmt::print("skipped: {}\n", reason);
  if (!skipped.empty()) return exit_skipped;
  if (cases == 0) throw UsageError(fmt::format("no test case is called '{}': see --list-tests", name));
  if (assertions == 0) fmt::print(stderr, "chapter{:02}: test '{}' made no assertion\n", this_chapter().number, name);
  return assertions == 0 ? 1 : 0;
}

/// Runs every test case of this machine in one process, up to the first that fails.
int run_all_tests() {
  doctest::Context context;
  context.setOption("test-suite-exclude", machine::kind() == "gpu" ? "model*" : "gpu*");
  context.setOption("abort-after", 1);
  context.setOption("no-intro", true);
  context.setOption("reporters", "counting-console");
  return context.run() != 0 || assertions == 0 ? 1 : 0;
}

const std::map<std::string, Fill> fills{{"random", Fill::random}, {"integers", Fill::integers}, {"zeros", Fill::zeros}};

Options parse(int argc, char** argv) {
  const Chapter& chapter = this_chapter();
  CLI::App app{fmt::format("Tile by Tile, chapter {:02}: {}. Without options: the chapter's tables.", chapter.number,
                           chapter.title),
               fmt::format("chapter{:02}", chapter.number)};
  Options o;
  app.add_option("--on", o.on, "machine: gpu or model (default: gpu if there is one)")
      ->check(CLI::IsMember({"gpu", "model"}));
  Case problem = chapter.counted;
  std::vector<CLI::Option*> of_problem, of_times;
  if (!chapter.kernels.empty()) {
    const CLI::Range extent(1, largest_extent);
    const auto cube = [&](int size) { problem.M = problem.N = problem.K = size; };
    const auto fill = [&problem](const std::string& name) { problem.fill = fills.at(name); };
    of_problem = {
        // --size first, so that options for one extent override it
        app.add_option_function<int>("--size", cube, "M = N = K; the model takes up to about 1024")->check(extent),
        app.add_option("--m", problem.M, "rows of A and C")->check(extent),
        app.add_option("--n", problem.N, "columns of B and C")->check(extent),
        app.add_option("--k", problem.K, "columns of A, rows of B")->check(extent),
        app.add_option("--pad", problem.pad, "elements added to every leading dimension")
            ->check(CLI::Range(0, largest_extent)),
        app.add_option("--alpha", problem.alpha, "factor of A*B (default 1)")->check(CLI::TypeValidator<float>()),
        app.add_option("--beta", problem.beta, "factor of C (default 0: C is not read)")
            ->check(CLI::TypeValidator<float>()),
        app.add_option_function<std::string>("--data", fill, "values of A and B: random (default), integers or zeros")
            ->check(CLI::IsMember(&fills))};
    of_times.push_back(app.add_flag("--warm", o.warm,
                                    "time a single copy of the operands, so that the L2 keeps as much as fits (GPU)"));
    app.add_option("--kernel", o.kernel, "only this kernel");
  }
  app.add_flag("--lines", o.lines, "also print the counts by source line (model)");
  app.add_option("--test", o.test, "run one test case");
  app.add_flag("--all-tests", o.all_tests, "run all test cases, up to the first that fails");
  app.add_flag("--list-tests", o.list_tests, "list the test cases");
  auto* out = app.add_option("--out", o.out, "directory for the record; with --test: file for the result, as XML");
  of_times.push_back(app.add_flag("--bench", o.bench, "time every kernel at its recorded sizes (GPU)")->needs(out));
  for (const Extension::Flag& flag : chapter.extension.flags)
    of_times.push_back(app.add_flag_callback(
        flag.name, [&] { o.flag = &flag; }, flag.help));
  for (auto* one : of_times)  // a record is measured with a cold L2, and has one kind
    for (auto* other : of_times)
      if (one != other) one->excludes(other);
  auto* once = app.add_flag("--once", o.once,
                            "run every kernel, or the chosen one, once at the counted size, for a profiler (GPU)");
  app.add_option("--repeat", o.repeat, "with --once: this many times")->needs(once)->check(CLI::Range(1, 100));
  app.add_option("--emit", o.emit, "write facts, tables and traces for the book into a directory");
  app.add_option("--describe", o.describe, "print this program's description for tile-record, with or without counts")
      ->check(CLI::IsMember({"program", "counts"}));
  app.add_option("--record", o.record, "")->group("");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::cout << app.help();
    std::exit(0);
  } catch (const CLI::ParseError& e) {
    throw UsageError(fmt::format("{} (see --help)", e.what()));
  }
  const auto given = [](const CLI::Option* option) { return option->count() > 0; };
  if (std::ranges::any_of(of_problem, given)) o.problem = problem;
  of_times.push_back(once);
  if (const auto it = std::ranges::find_if(of_times, given); it != of_times.end()) o.needs_gpu = (*it)->get_name();
  return o;
}

int dispatch(const Options& options) {
  if (options.list_tests) return list_tests();
  const std::string reason = machine::kind() == "gpu" ? machine::unavailable()
                             : options.on == "gpu"    ? "this program was built without a CUDA toolkit"
                                                      : "";
  const bool wants_model = options.on == "model" || (options.on.empty() && !reason.empty());
  if (machine::kind() == "gpu" && wants_model) {
    if (options.on.empty() && options.test.empty())
      fmt::print(stderr, "chapter{:02}: {}; running on the SIMT model\n", this_chapter().number, reason);
    become(sibling_model_program(), arguments);
  }
  if (!reason.empty()) {
    if (!options.test.empty()) {
      fmt::print("skipped: {}\n", reason);
      return exit_skipped;
    }
    throw std::runtime_error("--on gpu: " + reason + "; use --on model");
  }
  if (machine::kind() == "model" && !options.needs_gpu.empty())
    throw std::runtime_error(options.needs_gpu + " needs a GPU: the model counts but cannot time");
  if (!options.test.empty()) return run_test(options.test, options.out);
  if (options.all_tests) return run_all_tests();
  return run_chapter(options);
}

}  // namespace

void skip_test(const std::string& reason) { skipped.push_back(reason); }

std::vector<Case> timed_problems() {
  std::vector<Case> problems;
  for (const int size : this_chapter().sizes) problems.push_back({size, size, size});
  problems.insert(problems.end(), this_chapter().shapes.begin(), this_chapter().shapes.end());
  return problems;
}

std::vector<Kernel> chosen_kernels(const Options& options) {
  if (options.kernel.empty()) return this_chapter().kernels;
  std::string names;
  for (const Kernel& kernel : this_chapter().kernels) {
    if (kernel.name == options.kernel) return {kernel};
    names += (names.empty() ? "" : ", ") + kernel.name;
  }
  const Kernel& dispatcher = this_chapter().extension.dispatcher;
  if (dispatcher.name == options.kernel && machine::kind() == "gpu")
    throw UsageError(
        fmt::format("{0} launches other kernels: --on model --kernel {0} says which ones", dispatcher.name));
  if (dispatcher.name == options.kernel) return {dispatcher};
  throw UsageError(fmt::format("this chapter has no kernel '{}'; it has {}", options.kernel, names));
}

std::filesystem::path sibling_model_program() {
  auto self = std::filesystem::read_symlink("/proc/self/exe");
  self += "-model";
  return self;
}

void become(const std::filesystem::path& program, const std::vector<std::string>& with) {
  std::vector<char*> argv{const_cast<char*>(program.c_str())};
  for (const std::string& argument : with) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  std::fflush(nullptr);
  execv(program.c_str(), argv.data());
  throw std::runtime_error(fmt::format("cannot start {}: build the project again", program.string()));
}

}  // namespace tile

int main(int argc, char** argv) {
  tile::arguments.assign(argv + 1, argv + argc);
  const auto complain = [&](const std::string& what, int code) {
    std::fflush(stdout);
    fmt::print(stderr, "{}: {}\n", std::filesystem::path(argv[0]).filename().string(),
               what);  // this_chapter() itself may have thrown
    return code;
  };
  try {
    return tile::dispatch(tile::parse(argc, argv));
  } catch (const tile::UsageError& e) {
    return complain(e.what(), 2);
  } catch (const std::bad_alloc&) {
    return complain("not enough memory for a problem of this size: choose a smaller one", 1);
  } catch (const std::exception& e) {
    return complain(e.what(), 1);
  }
}
