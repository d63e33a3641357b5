// A chapter's break-it experiments: each edit of breaks.json, applied to a copy of the program and built for the SIMT
// model, must turn the test it names red, or must not compile and say why.
//
// breaks.json is a list of
//   "name"     small letters, digits and dashes
//   "find"     text of the program, which occurs in it once; or a list of such texts
//   "replace"  what takes its place; or a list, as long
// and either
//   "test"     the test case that must fail, and
//   "says"     what it must find, "KIND: DETAIL": "race: sgemm_shared", "check: a == b", "wrong result" (findings.hpp)
// or
//   "message"  the compiler's error; of a static assertion, its text.
//
// breaks build    makes the edited copy, without the program's other tests, and compiles it; with --whole, the other tests stay
// breaks try      runs the test that must fail, where it was built, and keeps what it says
// breaks capture  writes what was said, for the book
// breaks judge    says whether all went as it should
// breaks emit     writes the experiments for the book
// breaks compare  says whether the messages that are kept beside breaks.json, messages.tsv, are those that were captured
// Ninja builds, tries and captures when something has changed (breaks.cmake); to judge is a test.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <boost/crc.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "common/sim/rewrite/files.hpp"
#include "ctest/findings.hpp"
#include "ctest/one_test.hpp"
#include "ctest/subprocess.hpp"

namespace {

namespace fs = std::filesystem;

using files::read_text, files::write_text;
using subprocess::run;

struct Edit {
  std::string find, replace;
};

struct Experiment {
  std::string name;
  std::vector<Edit> edits;
  std::string test, says, message;
};

std::vector<std::string> texts(const nlohmann::json& one_or_more) {
  if (one_or_more.is_string()) return {one_or_more.get<std::string>()};
  return one_or_more.get<std::vector<std::string>>();
}

Experiment experiment_from(const nlohmann::json& e) {
  Experiment x{e.at("name"), {}, e.value("test", ""), e.value("says", ""), e.value("message", "")};
  const auto refuse = [&](const std::string& why) {
    throw std::runtime_error(fmt::format("experiment {} {}", x.name, why));
  };
  const auto find = texts(e.at("find")), replace = texts(e.at("replace"));
  if (find.empty() || find.size() != replace.size()) refuse("needs as many texts in replace as in find");
  for (std::size_t i = 0; i < find.size(); ++i) x.edits.push_back({find[i], replace[i]});
  if (x.test.empty() == x.message.empty()) refuse("needs either test or message");
  const std::string why = x.test.empty() ? "" : findings::complaint_about(x.says);
  if (!why.empty()) refuse(why);
  return x;
}

std::vector<Experiment> load(const fs::path& file) {
  std::vector<Experiment> experiments;
  try {
    const auto parsed = nlohmann::json::parse(read_text(file));
    for (const auto& e : parsed) experiments.push_back(experiment_from(e));
  } catch (const std::exception& e) {
    throw std::runtime_error(fmt::format("{}: {}", file.string(), e.what()));
  }
  return experiments;
}

const Experiment& named(const std::vector<Experiment>& experiments, const std::string& name) {
  for (const Experiment& e : experiments)
    if (e.name == name) return e;
  throw std::runtime_error(fmt::format("no experiment is called {}", name));
}

struct EditError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::string edited(const std::string& source, const Experiment& e) {
  std::string text = source;
  for (const Edit& edit : e.edits) {
    if (edit.find == edit.replace) throw EditError("the edit changes nothing");
    const auto at = text.find(edit.find);
    if (at == std::string::npos) throw EditError("the text to edit is gone from the source");
    if (text.find(edit.find, at + 1) != std::string::npos) throw EditError("the text to edit occurs more than once");
    text.replace(at, edit.find.size(), edit.replace);
  }
  return text;
}

/// Eight digits that an edited program can be told by, or "gone" where the edit cannot be made.
std::string sum_of(const std::string& source, const Experiment& e) {
  try {
    const std::string text = edited(source, e);
    boost::crc_32_type crc;
    crc.process_bytes(text.data(), text.size());
    return fmt::format("{:08x}", crc.checksum());
  } catch (const EditError&) {
    return "gone";
  }
}

// --- build ----------------------------------------------------------------------------------------------------------

/// What building came to is the first line of PROGRAM.log; which program it was of, the second; the compiler's output follows.
const std::string outcome_built = "built", outcome_compiler = "does not compile", outcome_edit = "cannot be edited";

struct Build {
  fs::path source, compiler, program;
  bool whole = false;  ///< with all tests of the program, as a reader's edit leaves it
};

std::string in_makefile(const fs::path& path) {
  std::string result;
  for (const char c : path.string()) result += c == ' ' ? std::string("\\ ") : std::string(1, c);
  return result;
}

/// Writes PROGRAM.log, the program if it compiles, and what they depend on in PROGRAM.d. That an experiment does not
/// compile is a result like any other, to be judged by `run`; but when the compiler gives no error, as when it is killed,
/// there is none.
void build(const Experiment& e, const Build& b) {
  const auto beside = [&](const char* extension) { return fs::path(b.program.string() + extension); };
  const fs::path copy = beside(".cu"), log = beside(".log"), headers = beside(".headers");
  fs::create_directories(b.program.parent_path());
  fs::remove(b.program);
  fs::remove(headers);
  std::string depends = fmt::format("{}: {}", in_makefile(log), in_makefile(b.source));
  const std::string source = read_text(b.source), sum = sum_of(source, e);
  try {
    const std::string text = edited(source, e);
    write_text(copy, e.test.empty() || b.whole ? text : one_test::only(text, e.test));
    const auto compiled = run(b.compiler, {copy, b.program, "chapter", headers}, log);
    if (compiled.status != 0 && compiled.output.find(": error: ") == std::string::npos) {
      fs::remove(log);
      throw std::runtime_error(fmt::format("{} was not compiled:\n{}", e.name, compiled.output));
    }
    write_text(log, fmt::format("{}\n{}\n{}", compiled.status == 0 ? outcome_built : outcome_compiler, sum, compiled.output));
    if (fs::exists(headers)) {  // not when the first error came early
      const std::string rule = read_text(headers);
      depends += rule.substr(rule.find(':') + 1);
    }
  } catch (const EditError& error) {
    write_text(log, fmt::format("{}\n{}\n{}\n", outcome_edit, sum, error.what()));
  }
  write_text(beside(".d"), depends + "\n");
}

// --- try ----------------------------------------------------------------------------------------------------------

/// Writes PROGRAM.out: the test's exit status, and in the lines below what it says; nothing where there is no program.
void try_out(const Experiment& e, const fs::path& program) {
  const fs::path out = program.string() + ".out", raw = program.string() + ".raw";
  std::string text;
  if (!e.test.empty() && fs::exists(program)) {
    const auto test = run("timeout", {"120", program.string(), "--on", "model", "--test", e.test}, raw);
    text = fmt::format("{}\n{}", test.status, test.output);
    fs::remove(raw);
  }
  write_text(out, text);
}

// --- judge ----------------------------------------------------------------------------------------------------------

/// The compiler's first error, of a static assertion its text.
std::string first_error(const std::string& output) {
  static const std::string error = ": error: ", assertion = "static assertion failed: ";
  const auto at = output.find(error);
  if (at == std::string::npos) return "";
  const std::string line = output.substr(at + error.size(), output.find('\n', at) - at - error.size());
  return line.starts_with(assertion) ? line.substr(assertion.size()) : line;
}

/// What building an experiment came to, as its log has it.
struct Built {
  std::string outcome, sum, output;
};

Built built_as(const fs::path& program) {
  const std::string log = read_text(program.string() + ".log");
  const auto first = log.find('\n'), second = log.find('\n', first + 1);
  return {log.substr(0, first), log.substr(first + 1, second - first - 1), log.substr(second + 1)};
}

/// What came of an experiment.
struct Result {
  std::string surprise;  ///< "" when it went as it should, else what happened instead
  std::string message;   ///< when it did, what the reader of the test's or the compiler's output sees
};

Result result_of(const Experiment& e, const fs::path& program) {
  const auto& [outcome, sum, output] = built_as(program);
  if (outcome == outcome_edit) return {output, ""};
  if (!e.message.empty()) {
    if (outcome == outcome_built) return {"it compiles, and must not", ""};
    const std::string error = first_error(output);
    if (error == e.message) return {"", "error: " + error};
    return {fmt::format("the compiler does not say '{}' but '{}'", e.message, error), ""};
  }
  if (outcome != outcome_built) return {"it does not compile:\n" + output, ""};
  const std::string out = read_text(program.string() + ".out");
  const std::string status = out.substr(0, out.find('\n')), said = out.substr(status.size() + 1);
  if (status == "0") return {fmt::format("the test '{}' still passes", e.test), ""};
  if (status != "1")
    return {fmt::format("the test '{}' did not run to its end (exit {}):\n{}", e.test, status, said), ""};
  const auto found = findings::found_in(said);
  return {findings::mismatch(e.says, found), findings::text_of(e.says, found)};
}

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text)
    result += c == '\f' ? "\\f" : c == '\n' ? "\\n" : c == '\t' ? "\\t" : c == '\\' ? "\\\\" : std::string(1, c);
  return result;
}

/// A line of captured.tsv, for the book: the experiment, the sum of the edited program, and what its test or the compiler said. Places are
/// named as in the source that a reader would edit, `source`.
std::string captured(const Experiment& e, const std::string& sum, std::string message, const std::string& source) {
  const std::string copy = e.name + ".cu:";
  for (std::size_t at = 0; (at = message.find(copy, at)) != std::string::npos; at += source.size())
    message.replace(at, copy.size(), source + ":");
  while (message.ends_with('\n')) message.pop_back();
  return fmt::format("{}\t{}\t{}\n", e.name, sum, escaped(message));
}

/// Pages are woven anew when this file is newer than they are.
void write_if_different(const fs::path& file, const std::string& text) {
  if (!fs::exists(file) || read_text(file) != text) write_text(file, text);
}

/// Leaves out the experiments that did not go as they should.
void capture_all(const std::vector<Experiment>& experiments, const fs::path& built) {
  std::string messages;
  for (const Experiment& e : experiments)
    if (const Result result = result_of(e, built / e.name); result.surprise.empty())
      messages += captured(e, built_as(built / e.name).sum, result.message, built.filename().string() + ".cu");
  write_if_different(built / "captured.tsv", messages);
}

int judge_all(const std::vector<Experiment>& experiments, const fs::path& built) {
  int wrong = 0;
  for (const Experiment& e : experiments) {
    const Result result = result_of(e, built / e.name);
    const bool as_it_should = result.surprise.empty();
    fmt::print("{}: {}\n", e.name, as_it_should ? "breaks as it should" : result.surprise);
    wrong += !as_it_should;
  }
  fmt::print("{} experiments, {} wrong\n", experiments.size(), wrong);
  return wrong == 0 && !experiments.empty() ? 0 : 1;
}

/// Whether the messages that are kept are those that were captured; if not, says how to keep these.
int compare(const fs::path& kept, const fs::path& built) {
  const fs::path captured = built / "captured.tsv";
  if (fs::exists(kept) && read_text(kept) == read_text(captured)) return 0;
  fmt::print("{} has not what the experiments say now: it is for readers who have not run them. If it is to stay so:\n"
             "cp '{}' '{}'\n", kept.string(), captured.string(), kept.string());
  return 1;
}

// --- emit -----------------------------------------------------------------------------------------------------------

/// Name, sum of the edited program, "test" or "message", old text, new text, the test or the message, what the test says; several edits
/// are ended by \\f.
std::string line_for_the_book(const Experiment& e, const std::string& source) {
  std::string find, replace;
  for (const Edit& edit : e.edits) {
    find += (find.empty() ? "" : "\f") + edit.find;
    replace += (&edit == &e.edits.front() ? "" : "\f") + edit.replace;
  }
  const bool test = !e.test.empty();
  return fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\n", e.name, sum_of(source, e), test ? "test" : "message", escaped(find), escaped(replace),
                     test ? e.test : e.message, e.says);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Break-it experiments of one chapter"};
  std::string experiments, name, built, output;
  Build b;
  auto* building = app.add_subcommand("build", "build one experiment");
  building->add_option("--experiments", experiments, "breaks.json")->required();
  building->add_option("--name", name, "which of them")->required();
  building->add_option("--source", b.source, "chapterNN.cu")->required();
  building->add_option("--compiler", b.compiler, "model-cc")->required();
  building->add_option("--program", b.program, "the program to write, beside its log")->required();
  building->add_flag("--whole", b.whole, "leave the program's other tests in: must they compile as well?");
  auto* trying = app.add_subcommand("try", "run one experiment that was built");
  trying->add_option("--experiments", experiments, "breaks.json")->required();
  trying->add_option("--name", name, "which of them")->required();
  trying->add_option("--program", b.program, "its program")->required();
  auto* capturing = app.add_subcommand("capture", "write what the experiments that were tried said to captured.tsv");
  auto* judging = app.add_subcommand("judge", "judge the experiments that were tried");
  for (auto* all : {capturing, judging}) {
    all->add_option("--experiments", experiments, "breaks.json")->required();
    all->add_option("--built", built, "directory with their programs")->required();
  }
  auto* emitting = app.add_subcommand("emit", "write the experiments as tab-separated lines");
  emitting->add_option("--experiments", experiments, "breaks.json")->required();
  emitting->add_option("--source", b.source, "chapterNN.cu")->required();
  emitting->add_option("--output", output, "file to write")->required();
  auto* comparing = app.add_subcommand("compare", "compare the messages that are kept with those that were captured");
  std::string kept;
  comparing->add_option("--kept", kept, "messages.tsv")->required();
  comparing->add_option("--built", built, "directory with captured.tsv")->required();
  app.require_subcommand(1);
  CLI11_PARSE(app, argc, argv);
  try {
    if (*comparing) return compare(kept, built);
    const auto list = load(experiments);
    if (*judging) return judge_all(list, built);
    if (*building) build(named(list, name), b);
    if (*trying) try_out(named(list, name), b.program);
    if (*capturing) capture_all(list, built);
    if (*emitting) {
      std::string lines;
      const std::string source = read_text(b.source);
      for (const Experiment& e : list) lines += line_for_the_book(e, source);
      write_text(output, lines);
    }
    return 0;
  } catch (const std::exception& e) {
    fmt::print(stderr, "breaks: {}\n", e.what());
    return 1;
  }
}
