// main() of every chapter program.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <iostream>

#include "common/report/options.hpp"

namespace tile {
namespace {

constexpr int exit_skipped = 77;  // CTest's SKIP_RETURN_CODE
constexpr int largest_extent = 65536;

std::vector<std::string> arguments;  // as given, to hand on

/// Remembers whether any test case ran and asserted anything.
class TestLog : public doctest::IReporter {
 public:
  explicit TestLog(const doctest::ContextOptions&) {}
  void report_query(const doctest::QueryData&) override {}
  void test_run_end(const doctest::TestRunStats& stats) override {
    cases = int(stats.numTestCasesPassingFilters);
    assertions = stats.numAsserts;
  }
  void test_run_start() override {}
  void test_case_start(const doctest::TestCaseData&) override {}
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_end(const doctest::CurrentTestCaseStats&) override {}
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}

  static inline int cases = 0, assertions = 0;
  static inline std::vector<std::string> skipped;  // why test cases could not be run
};
REGISTER_LISTENER("log", 1, TestLog);

/// Lists the test cases as "suite<TAB>name".
class TestNames : public TestLog {
 public:
  using TestLog::TestLog;
  void report_query(const doctest::QueryData& query) override {
    for (unsigned i = 0; i < query.num_data; ++i)
      fmt::print("{}\t{}\n", query.data[i]->m_test_suite, query.data[i]->m_name);
  }
};
REGISTER_REPORTER("names", 1, TestNames);

int list_tests() {
  const char* const argv[] = {"", "--list-test-cases", "--reporters=names"};
  return doctest::Context(3, argv).run();
}

int run_test(const std::string& name, const std::string& xml) {
  doctest::Context context;
  std::string filter = name;
  std::replace(filter.begin(), filter.end(), ',', '?');  // a comma would separate two filters
  context.setOption("test-case", filter.c_str());
  context.setOption("no-intro", true);
  if (!xml.empty()) {
    context.setOption("reporters", "xml");
    context.setOption("out", xml.c_str());
  }
  const int failed = context.run();
  if (failed != 0) return 1;
  for (const std::string& reason : TestLog::skipped) fmt::print("skipped: {}\n", reason);
  if (!TestLog::skipped.empty()) return exit_skipped;
  if (TestLog::cases == 0) throw UsageError(fmt::format("no test case is called '{}': see --list-tests", name));
  if (TestLog::assertions == 0) {
    fmt::print(stderr, "chapter{:02}: test '{}' made no assertion\n", this_chapter().number, name);
    return 1;
  }
  return 0;
}

/// Runs every test case of this machine in one process, up to the first that fails.
int run_all_tests() {
  doctest::Context context;
  context.setOption("test-suite-exclude", machine::kind() == "gpu" ? "model*" : "gpu*");
  context.setOption("abort-after", 1);
  context.setOption("no-intro", true);
  return context.run() != 0 || TestLog::assertions == 0 ? 1 : 0;
}

// Whole numbers only: CLI11 alone would take "1e3" or "12abc" for some types.
int parse_extent(const std::string& option, const std::string& text) {
  const bool digits = !text.empty() && text.size() <= 9 && text.find_first_not_of("0123456789") == std::string::npos;
  const int value = digits ? std::stoi(text) : 0;
  if (value < 1 || value > largest_extent)
    throw UsageError(fmt::format("{} takes a whole number from 1 to {}, not '{}'", option, largest_extent, text));
  return value;
}

float parse_factor(const std::string& option, const std::string& text) {
  try {
    std::size_t used = 0;
    const float value = std::stof(text, &used);
    if (used == text.size()) return value;
  } catch (const std::exception&) {
  }
  throw UsageError(fmt::format("{} takes a number, not '{}'", option, text));
}

Fill parse_data(const std::string& text) {
  for (const auto& [name, fill] :
       {std::pair{"random", Fill::random}, {"integers", Fill::integers}, {"zeros", Fill::zeros}})
    if (text == name) return fill;
  throw UsageError(fmt::format("--data takes random, integers or zeros, not '{}'", text));
}

// CLI11 takes an empty text for a value, and `--test ""` would then be no test at all, which runs everything.
void refuse_empty_values() {
  std::string before = "the command line";
  for (const std::string& argument : arguments) {
    if (argument.empty()) throw UsageError(fmt::format("{} takes a value that is not empty (see --help)", before));
    if (argument.starts_with("--") && argument.ends_with("="))
      throw UsageError(
          fmt::format("{} takes a value that is not empty (see --help)", argument.substr(0, argument.size() - 1)));
    before = argument;
  }
}

Options parse(int argc, char** argv) {
  refuse_empty_values();
  const Chapter& chapter = this_chapter();
  CLI::App app{fmt::format("Tile by Tile, chapter {:02}: {}. Without options: the chapter's tables.", chapter.number,
                           chapter.title),
               fmt::format("chapter{:02}", chapter.number)};
  Options o;
  std::string size, m, n, k, pad, alpha, beta, data;
  app.add_option("--on", o.on, "machine: gpu or model (default: gpu where there is one)");
  if (!chapter.kernels.empty()) {
    app.add_option("--size", size, "M = N = K; the model takes up to about 1024");
    app.add_option("--m", m, "rows of A and C");
    app.add_option("--n", n, "columns of B and C");
    app.add_option("--k", k, "columns of A, rows of B");
    app.add_option("--pad", pad, "elements added to every leading dimension");
    app.add_option("--alpha", alpha, "factor of A*B (default 1)");
    app.add_option("--beta", beta, "factor of C (default 0: C is not read)");
    app.add_option("--data", data, "what A and B hold: random (default), integers or zeros");
    app.add_flag("--warm", o.warm, "time one copy of the operands again and again: the L2 keeps what fits (GPU)");
    app.add_option("--kernel", o.kernel, "only this kernel");
  }
  app.add_flag("--lines", o.lines, "also print the counts beside the source lines (model)");
  app.add_option("--test", o.test, "run one test case");
  app.add_flag("--all-tests", o.all_tests, "run all test cases, up to the first that fails");
  app.add_flag("--list-tests", o.list_tests, "list the test cases");
  auto* bench = app.add_flag("--bench", o.bench, "time every kernel at its recorded sizes (GPU)");
  app.add_option("--out", o.out, "the directory to write a record into; with --test: what it finds, as XML");
  for (const Extension::Flag& flag : chapter.extension.flags)
    app.add_flag_callback(
           flag.name, [&] { o.flag = &flag; }, flag.help)
        ->excludes(bench);
  auto* once =
      app.add_flag("--once", o.once, "run every kernel, or the chosen one, once at the counted size, for a profiler");
  app.add_option("--repeat", o.repeat, "with --once: so many times")->needs(once)->check(CLI::Range(1, 100));
  app.add_option("--emit", o.emit, "write facts, tables and traces for the book into a directory");
  app.add_option("--describe", o.describe, "print what tile-record has to know of this program, or counts as well")
      ->check(CLI::IsMember({"program", "counts"}));
  app.add_option("--record", o.record)->group("");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::cout << app.help();
    std::exit(0);
  } catch (const CLI::ParseError& e) {
    throw UsageError(fmt::format("{} (see --help)", e.what()));
  }
  if (!o.on.empty() && o.on != "gpu" && o.on != "model")
    throw UsageError(fmt::format("--on takes gpu or model, not '{}'", o.on));
  if (o.warm && (o.bench || o.flag)) throw UsageError("a record is of a cold L2: leave --warm out");
  if (o.bench && o.out.empty()) throw UsageError("--bench needs --out DIRECTORY");

  if (!(size + m + n + k + pad + alpha + beta + data).empty()) {
    Case c = chapter.counted;
    if (!size.empty()) c.M = c.N = c.K = parse_extent("--size", size);
    if (!m.empty()) c.M = parse_extent("--m", m);
    if (!n.empty()) c.N = parse_extent("--n", n);
    if (!k.empty()) c.K = parse_extent("--k", k);
    if (!pad.empty() && pad != "0") c.pad = parse_extent("--pad", pad);
    if (!alpha.empty()) c.alpha = parse_factor("--alpha", alpha);
    if (!beta.empty()) c.beta = parse_factor("--beta", beta);
    if (!data.empty()) c.fill = parse_data(data);
    o.problem = c;
  }
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
  if (!options.test.empty()) return run_test(options.test, options.out);
  if (options.all_tests) return run_all_tests();
  return run_chapter(options);
}

}  // namespace

void skip_test(const std::string& reason) { TestLog::skipped.push_back(reason); }

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
        fmt::format("{0} starts other kernels: --on model --kernel {0} says which it chooses", dispatcher.name));
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
               what);  // it may be of this_chapter()
    return code;
  };
  try {
    return tile::dispatch(tile::parse(argc, argv));
  } catch (const tile::UsageError& e) {
    return complain(e.what(), 2);
  } catch (const std::bad_alloc&) {
    return complain("not enough memory for a problem of this size; choose a smaller one", 1);
  } catch (const std::exception& e) {
    return complain(e.what(), 1);
  }
}
