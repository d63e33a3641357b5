// How many one-line mistakes in a chapter's program do its tests see? Each mutant is compiled for the SIMT model and runs
// the program's model tests, up to the first that fails. A mutant that compiles to the same machine code as the original,
// comments and names aside, is no mistake. One that passes all tests has survived: it needs a test, or a line in the
// reviewed list that says why it does not matter.
//
// The list: [{"from", "to", "reason"}], with the changed line before and after, without comments and with single spaces.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "common/sim/rewrite/files.hpp"
#include "ctest/mutate.hpp"
#include "ctest/subprocess.hpp"

namespace {

namespace fs = std::filesystem;

using files::read_text, files::write_text;

struct Accepted {
  std::string from, to, reason;
};

std::vector<Accepted> load_accepted(const fs::path& file) {
  std::vector<Accepted> list;
  if (!fs::exists(file)) return list;  // nobody has reviewed this chapter's survivors yet
  try {
    for (const auto& entry : nlohmann::json::parse(read_text(file))) {
      list.push_back({entry.at("from"), entry.at("to"), entry.at("reason")});
      if (list.back().reason.empty()) throw std::runtime_error(fmt::format("{}: a reason is empty", file.string()));
    }
  } catch (const nlohmann::json::exception& e) {
    throw std::runtime_error(fmt::format("{}: {}", file.string(), e.what()));
  }
  return list;
}

enum class Fate { refused, same, killed, timeout, survived };

struct Outcome {
  Fate fate = Fate::survived;
  std::string by;  // the test that failed
};

/// Compiles and runs programs, all under one name in one directory, so that no path tells two of them apart. They take themselves for
/// the original, beside which a chapter finds others' records.
class Workshop {
 public:
  Workshop(const fs::path& directory, const fs::path& compiler, const fs::path& original)
      : compiler_(compiler),
        source_(directory / original.filename()),
        program_(directory / original.stem()),
        log_(directory / "log"),
        first_line_(fmt::format("#line 1 \"{}\"\n", fs::absolute(original).string())) {
    fs::create_directories(directory);
  }

  /// The original, which must pass its tests.
  void take_original(const std::string& text) {
    if (!compile(text)) throw std::runtime_error("the program itself does not compile:\n" + read_text(log_));
    original_ = machine_code();
    const auto start = std::chrono::steady_clock::now();
    if (run_tests(600) != 0) throw std::runtime_error("the program itself fails its tests:\n" + read_text(log_));
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    limit_ = 5 + int(3 * seconds);  // a loop without an end is the usual case
  }

  Outcome try_out(const Mutant& mutant) {
    if (!compile(mutant.text)) return {Fate::refused, ""};
    if (machine_code() == original_) return {Fate::same, ""};
    const int status = run_tests(limit_);
    if (status == 0) return {Fate::survived, ""};
    if (status == timed_out) return {Fate::timeout, ""};
    return {Fate::killed, failed_test()};
  }

 private:
  static constexpr int timed_out = 124;  // what timeout(1) exits with

  int run(const fs::path& program, const std::vector<std::string>& arguments,
          const std::map<std::string, std::string>& settings = {}) const {
    return subprocess::run(program, arguments, log_, settings).status;
  }

  bool compile(const std::string& text) const {
    write_text(source_, first_line_ + text);
    return run(compiler_, {source_, program_, "chapter"}) == 0;
  }

  // The workers share the cores, so each program has one thread.
  int run_tests(int seconds) const {
    return run("timeout", {"-k", "1", std::to_string(seconds), program_, "--on", "model", "--all-tests"},
               {{"SIMT_THREADS", "1"}});
  }

  std::string machine_code() const {
    const fs::path stripped = program_.string() + ".stripped";
    if (run("objcopy", {"--strip-all", "--remove-section=.note.gnu.build-id", program_, stripped}) != 0)
      throw std::runtime_error("objcopy failed: " + read_text(log_));
    return read_text(stripped);
  }

  std::string failed_test() const {
    const std::string output = read_text(log_), mark = "TEST CASE:  ";
    const auto at = output.rfind(mark);
    if (at == std::string::npos) return "before the first test";
    return output.substr(at + mark.size(), output.find('\n', at) - at - mark.size());
  }

  fs::path compiler_, source_, program_, log_;
  std::string first_line_;
  std::string original_;
  int limit_ = 0;
};

// `count` of the mutants (0: all), chosen by `seed` alone, in the order of the program.
std::vector<Mutant> sample(std::vector<Mutant> all, std::size_t count, std::uint64_t seed) {
  if (count == 0 || count >= all.size()) return all;
  std::mt19937_64 bits(seed);  // its sequence is fixed by the standard, std::sample's is not
  for (std::size_t i = 0; i < count; ++i) std::swap(all[i], all[i + bits() % (all.size() - i)]);
  all.resize(count);
  std::sort(all.begin(), all.end(),
            [](const Mutant& a, const Mutant& b) { return std::tie(a.line, a.to) < std::tie(b.line, b.to); });
  return all;
}

std::vector<Outcome> try_all(const std::vector<Mutant>& mutants, const std::string& original, const fs::path& source,
                             const fs::path& compiler, const fs::path& work) {
  std::vector<Outcome> outcomes(mutants.size());
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::string error;
  const bool shows_progress = isatty(STDERR_FILENO) == 1;
  const auto work_on = [&](unsigned worker) {
    try {
      Workshop workshop(work / std::to_string(worker), compiler, source);
      workshop.take_original(original);
      for (std::size_t i = next++; i < mutants.size(); i = next++) {
        outcomes[i] = workshop.try_out(mutants[i]);
        const std::scoped_lock lock(mutex);
        if (shows_progress) fmt::print(stderr, "\r{} of {}", i + 1, mutants.size());
      }
      workshop.take_original(
          original);  // or what was refused was refused for another reason, such as an edit in common/
    } catch (const std::exception& e) {
      const std::scoped_lock lock(mutex);
      error = e.what();
      next = mutants.size();
    }
  };
  std::vector<std::thread> threads;
  for (unsigned worker = 0; worker < std::max(1u, std::thread::hardware_concurrency()); ++worker)
    threads.emplace_back(work_on, worker);
  for (auto& thread : threads) thread.join();
  if (shows_progress) fmt::print(stderr, "\n");
  if (!error.empty()) throw std::runtime_error(error);
  return outcomes;
}

std::string in_words(const Mutant& m) { return fmt::format("line {}:\n  - {}\n  + {}\n", m.line, m.from, m.to); }

// Prints the score and what needs a look; returns how many things do.
int report(const std::vector<Mutant>& mutants, const std::vector<Outcome>& outcomes,
           const std::vector<Accepted>& accepted) {
  std::map<Fate, int> fates;
  std::map<std::string, int> killers;
  int explained = 0, unexplained = 0;
  for (std::size_t i = 0; i < mutants.size(); ++i) {
    ++fates[outcomes[i].fate];
    if (outcomes[i].fate == Fate::killed) ++killers[outcomes[i].by];
    if (outcomes[i].fate != Fate::survived) continue;
    const auto entry = std::find_if(accepted.begin(), accepted.end(), [&](const Accepted& a) {
      return a.from == mutants[i].from && a.to == mutants[i].to;
    });
    if (entry != accepted.end()) {
      ++explained;
      continue;
    }
    ++unexplained;
    fmt::print("survived, {}", in_words(mutants[i]));
  }
  for (const auto& [test, count] : killers) fmt::print("{:5} killed by: {}\n", count, test);
  const int dead = fates[Fate::killed] + fates[Fate::timeout];
  fmt::print(
      "{} mutants: {} refused by the compiler, {} the same machine code, {} killed by a test, {} hang, "
      "{} survived ({} of them with a reason)\n",
      mutants.size(), fates[Fate::refused], fates[Fate::same], fates[Fate::killed], fates[Fate::timeout],
      explained + unexplained, explained);
  fmt::print("score: {} of {} mistakes seen\n", dead, dead + unexplained);
  return unexplained;
}

// A reviewed edit that no longer exists hides nothing, but says something untrue.
void require_current(const std::vector<Mutant>& all, const std::vector<Accepted>& accepted) {
  for (const Accepted& a : accepted)
    if (std::none_of(all.begin(), all.end(), [&](const Mutant& m) { return m.from == a.from && m.to == a.to; }))
      throw std::runtime_error(
          fmt::format("the reviewed list names an edit that no mutant makes:\n  - {}\n  + {}", a.from, a.to));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Mutants of one chapter's program: which mistakes do its tests see?", "./tile mutants NN"};
  std::string source, list, compiler, work;
  std::size_t count = 100;
  std::uint64_t seed = 1;
  bool print = false;
  app.add_option("--source", source, "chapterNN.cu")->required()->group("");  // these four `tile` gives
  app.add_option("--accepted", list, "the reviewed list of survivors")->group("");
  app.add_option("--compiler", compiler, "model-cc")->group("");
  app.add_option("--work", work, "directory for copies")->group("");
  app.add_option("--count", count, "how many mutants, chosen at random; 0 for all")->capture_default_str();
  app.add_option("--seed", seed, "another seed chooses others")->capture_default_str();
  app.add_flag("--list", print, "only print the mutants");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    return app.exit(e);
  } catch (const CLI::ConversionError&) {
    fmt::print(stderr, "mutants: --count and --seed take a number; ./tile mutants NN --help lists the options\n");
    return 2;
  } catch (const CLI::ParseError& e) {
    fmt::print(stderr, "mutants: {}; ./tile mutants NN --help lists the options\n", e.what());
    return 2;
  }
  try {
    const std::string original = read_text(source);
    const std::vector<Mutant> all = mutants_of(original);
    const std::vector<Mutant> chosen = sample(all, count, seed);
    if (print) {
      for (const Mutant& m : chosen) fmt::print("{}", in_words(m));
      return 0;
    }
    const std::vector<Accepted> accepted = load_accepted(list);
    require_current(all, accepted);
    fmt::print("{}: {} of {} mutants, seed {}\n", fs::path(source).stem().string(), chosen.size(), all.size(), seed);
    std::fflush(stdout);
    const auto outcomes = try_all(chosen, original, source, compiler, work);
    return report(chosen, outcomes, accepted) == 0 ? 0 : 1;
  } catch (const std::exception& e) {
    fmt::print(stderr, "mutants: {}\n", e.what());
    return 1;
  }
}
