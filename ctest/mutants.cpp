// How many one-line mistakes in a chapter's program do its tests catch? Each mutant is compiled for the SIMT model and runs
// the program's model tests, up to the first that fails. A mutant with the same machine code as the original, apart from
// names, is not counted as a mistake. One that passes all tests has survived: it needs a test, or a line in the
// reviewed list that says why it does not matter.
//
// The list: {"chapterNN": [{"from", "to", "reason"}]}, with the changed line before and after, without comments and with single spaces.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <random>
#include <regex>
#include <set>
#include <sstream>
#include <thread>

#include "common/sim/rewrite/files.hpp"
#include "ctest/subprocess.hpp"

namespace {

namespace fs = std::filesystem;

using files::read_text, files::write_text;

/// A copy of a program with one small mistake.
struct Mutant {
  std::string text;      ///< the whole program
  int line;              ///< of the mistake
  std::string from, to;  ///< the line or lines before and after, without comments and with single spaces
};

/// Replaces `length` characters at `at` by `replacement`.
struct Edit {
  std::size_t at, length;
  std::string replacement;
  auto operator<=>(const Edit&) const = default;
};
using Edits = std::set<Edit>;

// --- What may be edited ------------------------------------------------------------------------------------------
void blank(std::string& text, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i)
    if (text[i] != '\n') text[i] = ' ';
}

// The position after the parenthesis that closes the one at `open`.
std::size_t after_parentheses(const std::string& text, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    depth += text[i] == '(';
    depth -= text[i] == ')';
    if (depth == 0) return i + 1;
  }
  return text.size();
}

// The program with comments, strings and preprocessor lines blanked; every other character keeps its position.
std::string without_comments(const std::string& program) {
  static const std::regex left_out(R"(//[^\n]*|/\*[\s\S]*?\*/|"(\\[\s\S]|[^"\\])*"|#[^\n]*)");
  std::string code = program;
  for (std::sregex_iterator it(program.begin(), program.end(), left_out), end; it != end; ++it)
    blank(code, std::size_t(it->position()), std::size_t(it->position() + it->length()));
  return code;
}

// The region that a mutant may change; everything else is blank. Static assertions are not changed: they are tested by
// mistakes in the code that they check.
std::string editable(const std::string& program) {
  const std::size_t begin = program.find("// [snippet ");
  const std::size_t registration = program.find("\nTILE_CHAPTER(");
  if (begin == std::string::npos || registration == std::string::npos)
    throw std::runtime_error("no [snippet ...] before a TILE_CHAPTER: not a chapter's program");
  std::size_t end = program.find("// [/snippet launch]");
  if (end == std::string::npos) end = program.rfind("// [/snippet ", registration);
  std::string code = without_comments(program);
  blank(code, 0, begin);
  blank(code, end, code.size());
  for (std::size_t at = 0; (at = code.find("static_assert(", at)) != std::string::npos;)
    blank(code, at, after_parentheses(code, at + std::string("static_assert").size()));
  return code;
}

// Calls visit(match) for every match of `pattern`.
template <class Visit>
void for_each_match(const std::string& code, const char* pattern, Visit visit) {
  const std::regex regex(pattern);
  for (std::sregex_iterator it(code.begin(), code.end(), regex), end; it != end; ++it) visit(*it);
}

std::size_t at(const std::smatch& match, int group) { return std::size_t(match.position(std::size_t(group))); }

// --- The catalogue -----------------------------------------------------------------------------------------------
// clang-format puts spaces around binary operators only.
void exchange_operators(const std::string& code, Edits& edits) {
  static const std::map<std::string, std::vector<std::string>> instead{
      {"+", {"-"}},   {"-", {"+"}},   {"*", {"/", "+"}}, {"/", {"*", "%"}}, {"%", {"/", "*"}},
      {"<", {"<="}},  {"<=", {"<"}},  {">", {">="}},     {">=", {">"}},     {"==", {"!="}},
      {"!=", {"=="}}, {"&&", {"||"}}, {"||", {"&&"}},    {"+=", {"-="}},    {"-=", {"+="}}};
  for_each_match(code, R"( ([-+*/%<>=!&|]{1,2})(?=\s))", [&](const std::smatch& match) {
    const auto others = instead.find(match.str(1));
    if (others == instead.end()) return;
    for (const std::string& other : others->second) edits.insert({at(match, 1), match.str(1).size(), other});
  });
}

// a && b: without a, and without b.
void drop_terms(const std::string& code, Edits& edits) {
  const auto ends_term = [&](std::size_t i) {
    return std::string(";,?{}").find(code[i]) != std::string::npos || code.compare(i, 2, "&&") == 0 ||
           code.compare(i, 2, "||") == 0;
  };
  for_each_match(code, R"(&&|\|\|)", [&](const std::smatch& match) {
    const std::size_t op = at(match, 0);
    std::size_t end = op + 2;
    for (int depth = 0; end < code.size() && (depth > 0 || !ends_term(end)); ++end) {
      depth += code[end] == '(';
      if (code[end] == ')' && depth-- == 0) break;
    }
    std::size_t begin = op;
    while (code[begin - 1] == ' ') --begin;
    edits.insert({begin, end - begin, ""});
    for (int depth = 0; begin > 0; --begin) {
      const char before = code[begin - 1];
      depth += before == ')';
      if (before == '(' && depth-- == 0) break;
      if (depth == 0 && (ends_term(begin - 1) || before == '=' || code.compare(begin - 1, 7, "return ") == 0)) break;
    }
    if (code[begin - 1] == '&' || code[begin - 1] == '|') return;  // in the middle: dropped as a right side already
    if (code.compare(begin - 1, 7, "return ") == 0) begin += 6;
    const std::size_t rest = code.find_first_not_of(' ', op + 2);
    const bool begins_line = code[begin] == '\n';
    if (begins_line) begin = code.find_first_not_of(" \n", begin);
    edits.insert({begin, rest - begin, begins_line || code[begin - 1] == '(' ? "" : " "});
  });
}

void drop_casts(const std::string& code, Edits& edits) {
  for_each_match(code, R"(std::size_t\()", [&](const std::smatch& match) { edits.insert({at(match, 0), 11, ""}); });
}

void change_constants(const std::string& code, Edits& edits) {
  for_each_match(code, R"((^|[^\w.])(\d+)(?![\w.]))", [&](const std::smatch& match) {
    const int value = std::stoi(match.str(2));
    for (const int other : {value - 1, value + 1})
      if (other >= 0) edits.insert({at(match, 2), match.str(2).size(), std::to_string(other)});
  });
  for_each_match(code, R"(\d\.\df)", [&](const std::smatch& match) {
    edits.insert({at(match, 0), 4, match.str() == "0.0f" ? "1.0f" : "0.0f"});
  });
}

// Statements of one line that declare nothing.
void drop_statements(const std::string& code, Edits& edits) {
  static const std::regex declares(
      R"((alignas|auto|bool|char|class|const|constexpr|dim3|double|else|enum|float|float4|int|return|static|struct|template|typename|using|__shared__)\b.*)");
  for_each_match(code, R"(\n *([A-Za-z_*][^\n]*;)(?= *\n))", [&](const std::smatch& match) {
    const std::string statement = match.str(1);
    if (std::regex_match(statement, declares)) return;
    if (std::count(statement.begin(), statement.end(), '(') != std::count(statement.begin(), statement.end(), ')'))
      return;
    edits.insert({at(match, 1), statement.size(), ";"});
  });
}

// Replaces one occurrence of a name by a related name.
void exchange_names(const std::string& code, Edits& edits) {
  std::istringstream pairs(
      "M N N K BM BN BN BK TM TN WM WN WSUBM WSUBN WMITER WNITER lda ldb ldb ldc A B As Bs "
      "nextA nextB row col firstRow firstCol threadRow threadCol rowA colA rowB colB warpRow warpCol "
      "blockRow blockCol i j wm wn x y threadX threadY regM regN ROWS_A ROWS_B rowOfAs rowOfBs "
      "load_A_of load_B_of");
  std::vector<std::pair<std::string, std::string>> sisters;
  for (std::string one, other; pairs >> one >> other;) sisters.emplace_back(one, other);
  static const std::regex declared(
      R"(\b(auto|bool|class|const|dim3|double|float|float4|int|Position|typename)[*&]* $)");
  for_each_match(code, R"([A-Za-z_]\w*)", [&](const std::smatch& match) {
    const std::string name = match.str();
    const std::size_t begin = at(match, 0);
    const std::string before = code.substr(begin - std::min<std::size_t>(begin, 12), std::min<std::size_t>(begin, 12));
    if (std::regex_search(before, declared)) return;
    if (code.compare(begin + name.size(), 3, " = ") == 0) return;  // the second declarator of several
    for (const auto& [one, other] : sisters) {
      if (name == one) edits.insert({begin, name.size(), other});
      if (name == other) edits.insert({begin, name.size(), one});
    }
  });
}

void negate_conditions(const std::string& code, Edits& edits) {
  for_each_match(code, R"(\bif (constexpr )?\()", [&](const std::smatch& match) {
    const std::size_t open = at(match, 0) + match.str().size() - 1, end = after_parentheses(code, open);
    edits.insert({open, end - open, "(!" + code.substr(open, end - open) + ")"});
  });
  for_each_match(code, R"([\w:]+(<[^<>]*>)?(\([^()]*\))?(?= \? ))", [&](const std::smatch& match) {
    edits.insert({at(match, 0), 0, "!"});
  });
  for_each_match(code, R"(!(?=\w))", [&](const std::smatch& match) { edits.insert({at(match, 0), 1, ""}); });
}

std::string with_single_spaces(const std::string& text) {
  std::istringstream words(text);
  std::string joined;
  for (std::string word; words >> word;) joined += (joined.empty() ? "" : " ") + word;
  return joined;
}

/// All mistakes of a fixed catalogue in the program's configuration, index maps, kernels and launcher: from its first
/// `[snippet ...]` to the end of region `launch`, or if there is none, of the last region before its registration.
/// Comments, messages and preprocessor lines are not changed. The order is always the same.
std::vector<Mutant> mutants_of(const std::string& program) {
  const std::string code = editable(program), plain = without_comments(program);
  Edits edits;
  for (const auto rule : {exchange_operators, drop_terms, drop_casts, change_constants, drop_statements, exchange_names,
                          negate_conditions})
    rule(code, edits);
  std::vector<Mutant> mutants;
  for (const Edit& edit : edits) {
    const auto edited = [&](std::string text) { return text.replace(edit.at, edit.length, edit.replacement); };
    const std::size_t begin = program.rfind('\n', edit.at) + 1, end = program.find('\n', edit.at + edit.length);
    std::string lines = plain.substr(begin, end - begin), changed = lines;
    changed.replace(edit.at - begin, edit.length, edit.replacement);
    mutants.push_back({edited(program),
                       1 + int(std::count(program.begin(), program.begin() + std::ptrdiff_t(edit.at), '\n')),
                       with_single_spaces(lines), with_single_spaces(changed)});
  }
  return mutants;
}

// --- Trying them -------------------------------------------------------------------------------------------------
/// The reviewed survivors: the line before and after.
using Accepted = std::set<std::pair<std::string, std::string>>;

Accepted load_accepted(const fs::path& file, const std::string& program) {
  Accepted list;
  if (!fs::exists(file)) return list;  // no survivors have been reviewed
  try {
    for (const auto& entry : nlohmann::json::parse(read_text(file)).value(program, nlohmann::json::array())) {
      if (entry.at("reason").get<std::string>().empty())
        throw std::runtime_error(file.string() + ": a reason is empty");
      list.emplace(entry.at("from").get<std::string>(), entry.at("to").get<std::string>());
    }
  } catch (const nlohmann::json::exception& e) {
    throw std::runtime_error(file.string() + ": " + e.what());
  }
  return list;
}

enum class Fate { refused, same, killed, timeout, survived };

struct Outcome {
  Fate fate = Fate::survived;
  std::string by{};  // the test that failed
};

/// Compiles and runs programs, all under one name in one directory, so that paths do not differ between them. #line makes them appear
/// to be the original, beside which a chapter finds its records.
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
    limit_ = 5 + int(3 * seconds);  // usually exceeded by an endless loop
  }

  Outcome try_out(const Mutant& mutant) {
    if (!compile(mutant.text)) return {Fate::refused};
    if (machine_code() == original_) return {Fate::same};
    const int status = run_tests(limit_);
    if (status == 0) return {Fate::survived};
    if (status == timed_out) return {Fate::timeout};
    return {Fate::killed, failed_test()};
  }

 private:
  static constexpr int timed_out = 124;  // exit code of timeout(1)

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

// `count` of the mutants (0: all), chosen only by `seed`, in the order of the program.
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
      workshop.take_original(original);  // checks that no edit of common/ meanwhile has rejected the mutants
    } catch (const std::exception& e) {
      const std::scoped_lock lock(mutex);
      error = e.what();
      next = mutants.size();
    }
  };
  {
    std::vector<std::jthread> threads;
    for (unsigned worker = 0; worker < std::max(1u, std::thread::hardware_concurrency()); ++worker)
      threads.emplace_back(work_on, worker);
  }
  if (shows_progress) fmt::print(stderr, "\n");
  if (!error.empty()) throw std::runtime_error(error);
  return outcomes;
}

std::string in_words(const Mutant& m) { return fmt::format("line {}:\n  - {}\n  + {}\n", m.line, m.from, m.to); }

// Prints the score and what needs attention; returns how many mutants do.
int report(const std::vector<Mutant>& mutants, const std::vector<Outcome>& outcomes, const Accepted& accepted) {
  std::map<Fate, int> fates;
  std::map<std::string, int> killers;
  int unexplained = 0;
  for (std::size_t i = 0; i < mutants.size(); ++i) {
    ++fates[outcomes[i].fate];
    if (outcomes[i].fate == Fate::killed) ++killers[outcomes[i].by];
    if (outcomes[i].fate != Fate::survived || accepted.contains({mutants[i].from, mutants[i].to})) continue;
    ++unexplained;
    fmt::print("survived, {}", in_words(mutants[i]));
  }
  for (const auto& [test, count] : killers) fmt::print("{:5} killed by: {}\n", count, test);
  const int dead = fates[Fate::killed] + fates[Fate::timeout];
  fmt::print(
      "{} mutants: {} refused by the compiler, {} the same machine code, {} killed by a test, {} hang, "
      "{} survived ({} of them with a reason)\n",
      mutants.size(), fates[Fate::refused], fates[Fate::same], fates[Fate::killed], fates[Fate::timeout],
      fates[Fate::survived], fates[Fate::survived] - unexplained);
  fmt::print("score: {} of {} mistakes seen\n", dead, dead + unexplained);
  return unexplained;
}

// Throws if the list has an edit that no longer exists, and so is out of date.
void require_current(const std::vector<Mutant>& all, const Accepted& accepted) {
  for (const auto& [from, to] : accepted)
    if (std::none_of(all.begin(), all.end(), [&](const Mutant& m) { return m.from == from && m.to == to; }))
      throw std::runtime_error(
          fmt::format("the reviewed list names an edit that no mutant makes:\n  - {}\n  + {}", from, to));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Mutants of one chapter's program: which mistakes do its tests catch?", "./tile mutants NN"};
  std::string source, list, compiler, work;
  std::size_t count = 100;
  std::uint64_t seed = 1;
  bool print = false;
  app.add_option("--source", source, "chapterNN.cu")->required()->group("");  // `tile` passes these four
  app.add_option("--accepted", list, "the reviewed list of survivors")->group("");
  app.add_option("--compiler", compiler, "model-cc")->group("");
  app.add_option("--work", work, "directory for copies")->group("");
  app.add_option("--count", count, "how many mutants, chosen at random; 0 for all")->capture_default_str();
  app.add_option("--seed", seed, "another seed chooses other mutants")->capture_default_str();
  app.add_flag("--list", print, "only print the mutants");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    return app.exit(e);
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
    const std::string program = fs::path(source).stem();
    const Accepted accepted = load_accepted(list, program);
    require_current(all, accepted);
    fmt::print("{}: {} of {} mutants, seed {}\n", program, chosen.size(), all.size(), seed);
    std::fflush(stdout);
    const auto outcomes = try_all(chosen, original, source, compiler, work);
    return report(chosen, outcomes, accepted) == 0 ? 0 : 1;
  } catch (const std::exception& e) {
    fmt::print(stderr, "mutants: {}\n", e.what());
    return 1;
  }
}
