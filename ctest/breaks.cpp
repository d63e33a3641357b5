// A chapter's break-it experiments: each edit of breaks.json, applied to a copy of the program and built for the SIMT
// model, must make the named test fail, or must not compile, with the given message.
//
// breaks.json is a list of
//   "name"     lower-case letters, digits and dashes
//   "in"       the header of common/ that is edited, if not the program: the copy then has its text in the place of its #include
//   "find"     a text that occurs once in the program; or a list of such texts
//   "replace"  its replacement; or a list of as many
//   "less"     optional: replacements by text, not shown in the book, that leave out what the test does not need, to compile faster
// and either
//   "test"     the test case that must fail,
//   "says"     the expected finding, "KIND: DETAIL": "race: sgemm_shared", "check: a == b", "wrong result" (see mismatch), and
//   "message"  what the test says, for the book; `breaks capture` fills it in
// or only
//   "message"  the compiler's error; for a static assertion, its text.
//
// breaks try      makes the edited copy, without the program's other tests, compiles it, runs the test, and keeps the result
// breaks judge    says whether all results were as expected
// breaks capture  writes breaks.json with the messages, without line numbers, which other edits of the source would change
// breaks emit     writes the experiments for the book
// Ninja runs try and capture if something has changed (breaks.cmake); judge is a test.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/algorithm/string/trim.hpp>
#include <boost/property_tree/xml_parser.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>

#include "common/sim/rewrite/files.hpp"
#include "common/sim/rewrite/rewrite.hpp"
#include "ctest/subprocess.hpp"

namespace {

namespace fs = std::filesystem;

using files::read_text, files::write_text;
using subprocess::run;

struct Edit {
  std::string find, replace;
  bool shown = true;
};

struct Experiment {
  std::string name, file;
  std::vector<Edit> edits;
  std::string test, says, message;
};

std::vector<std::string> texts(const nlohmann::json& one_or_more) {
  if (one_or_more.is_string()) return {one_or_more.get<std::string>()};
  return one_or_more.get<std::vector<std::string>>();
}

Experiment experiment_from(const nlohmann::json& e) {
  Experiment x{e.at("name"), e.value("in", ""), {}, e.value("test", ""), e.value("says", ""), e.value("message", "")};
  const auto refuse = [&](const std::string& why) {
    throw std::runtime_error(fmt::format("experiment {} {}", x.name, why));
  };
  const auto find = texts(e.at("find")), replace = texts(e.at("replace"));
  if (find.empty() || find.size() != replace.size()) refuse("needs as many texts in replace as in find");
  for (std::size_t i = 0; i < find.size(); ++i) x.edits.push_back({find[i], replace[i]});
  for (const auto& [text, instead] : e.value("less", std::map<std::string, std::string>{}))
    x.edits.push_back({text, instead, false});
  if (x.test.empty() && x.message.empty()) refuse("needs a test that fails, or the compiler's message");
  if (!x.test.empty() && x.says.empty()) refuse("needs says: the kind of the finding, as in \"race: sgemm_shared\"");
  if (!x.test.empty() && x.says != "wrong result" && x.says.find(": ") == std::string::npos)
    refuse(fmt::format("says '{}', which names no kernel, expression or message: \"KIND: DETAIL\"", x.says));
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

// --- the edited program ---------------------------------------------------------------------------------------------

struct EditError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// `header` is the text of the file that the experiment names, if any.
std::string edited(const std::string& source, const std::string& header, const Experiment& e) {
  std::string text = source;
  if (!e.file.empty()) {
    const std::string include = fmt::format("#include \"{}\"\n", e.file), once = "#pragma once\n";
    const auto at = text.find(include), mark = header.find(once);
    if (at == std::string::npos || mark == std::string::npos) throw EditError("the program does not include " + e.file);
    text.replace(at, include.size(), header.substr(mark + once.size()));
  }
  for (const Edit& edit : e.edits) {
    if (edit.find == edit.replace) throw EditError("the edit changes nothing");
    const auto at = text.find(edit.find);
    if (at == std::string::npos) throw EditError("the text to edit is gone from the source");
    if (text.find(edit.find, at + 1) != std::string::npos) throw EditError("the text to edit occurs more than once");
    text.replace(at, edit.find.size(), edit.replace);
  }
  return text;
}

using At = std::vector<tokens::Token>::const_iterator;

// The end of the next group in these brackets.
At end_of_group(At at, At end, const char* open, const char* close) {
  for (int depth = 0; at != end; ++at) {
    depth += at->is(open) - at->is(close);
    if (depth == 0 && at->is(close)) return at + 1;
  }
  return end;
}

// The first string of a macro's arguments, with adjacent strings concatenated.
std::string first_string(At at, At end) {
  std::string text;
  for (; at != end && (text.empty() || !at->counts() || at->kind == tokens::Token::Kind::text); ++at)
    if (at->kind == tokens::Token::Kind::text) text += at->text.substr(1, at->text.size() - 2);
  return text;
}

/// A use of TEST_CASE with its block, TILE_GEMM_TESTS, or TILE_CHAPTER.
struct Definition {
  At begin, end;
  std::string test;  ///< the title of a test case
};

std::vector<Definition> definitions_in(const std::vector<tokens::Token>& all) {
  std::vector<Definition> found;
  for (At at = all.begin(); at != all.end(); ++at) {
    const bool test = at->is("TEST_CASE");
    if (!test && !at->is("TILE_GEMM_TESTS") && !at->is("TILE_CHAPTER")) continue;
    const At arguments = end_of_group(at, all.end(), "(", ")");
    found.push_back(
        {at, test ? end_of_group(arguments, all.end(), "{", "}") : arguments, test ? first_string(at, arguments) : ""});
    at = std::prev(found.back().end);
  }
  return found;
}

// The program with one of its tests, or with none if `name` is ""; line numbers stay. Most of the time goes into compiling kernels
// that other tests launch, so if the test is one of the chapter's own and does not use the registered kernels, none are registered.
// The rest of the file is in an anonymous namespace, where unused functions cost nothing.
std::string with_one_test(const std::string& text, const std::string& name) {
  const auto all = tokens::of(text);
  const auto definitions = definitions_in(all);
  const auto own = std::ranges::find(definitions, name, &Definition::test);
  const bool is_own = name.empty() || own != definitions.end();
  const bool alone =
      name.empty() ||
      (is_own && std::none_of(own->begin, own->end, [](const tokens::Token& t) { return t.is("this_chapter"); }));
  std::string result;
  At at = all.begin();
  const auto copy_to = [&](At end) {
    for (; at != end; ++at) result += at->text;
  };
  for (const Definition& d : definitions) {
    copy_to(d.begin);
    const bool registration = d.begin->is("TILE_CHAPTER");
    if (!registration && (d.begin->is("TEST_CASE") ? !name.empty() && d.test == name : !is_own)) {
      copy_to(d.end);
      continue;
    }
    bool named = false;  // `.predict = predict`: what only the report calls is not compiled
    if (registration && !alone)
      for (; at != d.end; ++at) result += at->is("predict") && std::exchange(named, true) ? "nullptr" : at->text;
    else if (registration)
      result += R"(TILE_CHAPTER(.number = 0, .title = "", .kernels = {}, .counted = {1, 1, 1}, .sizes = {}))";
    if (registration) result += " namespace {";
    for (; at != d.end; ++at) result.append(std::size_t(std::ranges::count(at->text, '\n')), '\n');
  }
  copy_to(all.end());
  return result + "}\n";
}

// --- what a test finds ----------------------------------------------------------------------------------------------

/// A failure that a test found. Its kind is that of the model ("race", "out of bounds", "barrier", ...), or
/// "wrong result", "check" (any other assertion), "exception" (one that is not a finding of the model) or "crash".
struct Finding {
  std::string kind;
  std::string detail;  ///< for the model: kernel, line and so on; for a check: its expression; otherwise the message
  std::string text;    ///< as shown in the output
};

// The findings in a text: the model's lines, "KIND: KERNEL, FILE:LINE, block (...", or otherwise a wrong element of C.
std::vector<Finding> told_in(const std::string& text) {
  static const std::regex model(R"(([a-z][a-z ]*): ([A-Za-z_][^\n]*, [^ ,\n]+:\d+, block \([^\n]*))");
  static const std::regex missing(R"(missing: \d+ of \d+ elements of (\w+[^\n]*))");
  static const std::regex element(R"(\w+\[\d+\]\[\d+\] is \S+, the reference [^\n]*?\(bound [^)\n]*\))");
  static const std::regex outside(R"(: (wrote (?:\d+ elements (?:before|after) C|C's padding [^=\n]*)))");
  std::vector<Finding> found;
  std::smatch match;
  for (auto it = std::sregex_iterator(text.begin(), text.end(), model); it != std::sregex_iterator(); ++it)
    found.push_back({(*it)[1], (*it)[2], it->str()});
  if (std::regex_search(text, match, missing)) found.push_back({"missing", match[1], match.str()});
  if (found.empty() && std::regex_search(text, match, element))
    found.push_back({"wrong result", match.str(), match.str()});
  if (found.empty() && std::regex_search(text, match, outside)) found.push_back({"wrong result", match[1], match[1]});
  return found;
}

// The text of an element of doctest's report, or "".
std::string text_of(const boost::property_tree::ptree& element, const char* name) {
  return boost::trim_copy(element.get<std::string>(name, ""));
}

std::vector<Finding> thrown(std::string what) {
  boost::trim_if(what, boost::is_any_of("\" \n"));
  auto found = told_in(what);
  if (found.empty()) found.push_back({"exception", what.substr(0, what.find('\n')), what.substr(0, what.find('\n'))});
  return found;
}

// The findings of a failed assertion.
std::vector<Finding> failed(const boost::property_tree::ptree& assertion) {
  if (assertion.get_child_optional("Exception")) return thrown(text_of(assertion, "Exception"));
  std::string values = text_of(assertion, "Expanded"), told = values;
  for (const auto& [name, element] : assertion)
    if (name == "Info") told += "\n" + element.data();
  if (const auto found = told_in(told); !found.empty() && found.front().kind == "wrong result") return found;
  const std::string type = assertion.get<std::string>("<xmlattr>.type"), expression = text_of(assertion, "Original");
  if (values.ends_with("=="))
    values = boost::trim_copy(values.substr(0, values.size() - 2));  // a text that should be empty
  else
    values = fmt::format("{}( {} )", type, values);
  if (values.find("{?}") != std::string::npos) values.clear();  // doctest cannot print them
  return {{"check", expression,
           fmt::format("{}( {} ) is NOT correct!{}", type, expression, values.empty() ? "" : "\n  values: " + values)}};
}

void add_findings(const boost::property_tree::ptree& of, std::vector<Finding>& found) {
  for (const auto& [name, element] : of) {
    std::vector<Finding> more;
    if (name == "Expression" && !element.get<bool>("<xmlattr>.success"))
      more = failed(element);
    else if (name == "Exception")
      more = thrown(element.data());
    else if (name == "TestSuite" || name == "TestCase" || name == "SubCase")
      add_findings(element, found);
    found.insert(found.end(), more.begin(), more.end());
  }
}

/// The findings of a test, from doctest's report.
std::vector<Finding> found_in(const fs::path& report) {
  boost::property_tree::ptree root;
  boost::property_tree::read_xml(report.string(), root);
  std::vector<Finding> found;
  add_findings(root.get_child("doctest"), found);
  return found;
}

std::string family(const std::string& kind) {
  if (kind == "check" || kind == "wrong result") return "assertion";
  return kind == "exception" ? kind : "model";
}

bool is_of_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// A check must have the detail of `says` as its expression, any other detail must start with it, at the end of a word ("race:
// sgemm_shared" is a race in that kernel or an instance of it). A wrong result needs no detail.
bool matches(const Finding& finding, const std::string& says) {
  const auto colon = says.find(": ");
  const std::string kind = says.substr(0, colon), start = colon == std::string::npos ? "" : says.substr(colon + 2);
  const std::string& detail = finding.detail;
  if (finding.kind != kind) return false;
  if (kind == "check") return detail == start;
  if (!detail.starts_with(start)) return false;
  return start.empty() || detail.size() == start.size() || !is_of_word(start.back()) ||
         !is_of_word(detail[start.size()]);
}

/// "" if the findings include the one that `says` expects, otherwise what is wrong. Other findings are allowed if they are of the same
/// family: a missing barrier is a race and an uninitialised read; but an experiment on races must not end with an exception.
std::string mismatch(const std::string& says, const std::vector<Finding>& found) {
  std::set<std::string> lines;
  for (const Finding& finding : found) lines.insert(fmt::format("\n  {}: {}", finding.kind, finding.detail));
  const std::string list = fmt::format("{}", fmt::join(lines, ""));
  const auto announced = std::ranges::find_if(found, [&](const Finding& f) { return matches(f, says); });
  if (announced == found.end()) return fmt::format("it fails, but not with '{}':{}", says, list);
  if (std::ranges::any_of(found, [&](const Finding& f) { return family(f.kind) != family(announced->kind); }))
    return fmt::format("it fails with '{}', but for another reason as well:{}", says, list);
  return "";
}

// --- try ------------------------------------------------------------------------------------------------------------

/// The result of an experiment.
struct Result {
  std::string surprise;  ///< "" if it was as expected, otherwise what happened instead
  std::string message;   ///< if so, the message of the test or the compiler
};

/// The compiler's first error; for a static assertion, its text.
std::string first_error(const std::string& output) {
  static const std::string error = ": error: ", assertion = "static assertion failed: ";
  const auto at = output.find(error);
  if (at == std::string::npos) return "";
  const std::string line = output.substr(at + error.size(), output.find('\n', at) - at - error.size());
  return line.starts_with(assertion) ? line.substr(assertion.size()) : line;
}

/// The inputs of an edited program, and its outputs: files beside PROGRAM.
struct Build {
  fs::path source, compiler, program;

  fs::path beside(const char* extension) const { return program.string() + extension; }
};

Result result_of_test(const Experiment& e, const Build& b) {
  const fs::path report = b.beside(".xml");
  fs::remove(report);
  // With one host thread, the findings about a broken kernel are the same in each run: the book shows them.
  const auto test =
      run("timeout", {"120", b.program.string(), "--on", "model", "--test", e.test, "--out", report.string()},
          b.beside(".out"), {{"SIMT_THREADS", "1"}});
  if (test.status == 0) return {fmt::format("the test '{}' still passes", e.test), ""};
  if (test.status != 1)
    return {fmt::format("the test '{}' did not run to its end (exit {}):\n{}", e.test, test.status, test.output), ""};
  const auto found = found_in(report);
  const auto announced = std::ranges::find_if(found, [&](const Finding& f) { return matches(f, e.says); });
  return {mismatch(e.says, found), announced == found.end() ? "" : announced->text};
}

/// Builds the edited program and runs its test. A compiler error is a result; throws if the compiler fails without an error, as when
/// it is killed. Writes the program's dependencies to PROGRAM.d.
Result result_of(const Experiment& e, const Build& b) {
  const fs::path copy = b.beside(".cu"), headers = b.beside(".headers");
  const std::string source = read_text(b.source);
  fs::path header;
  if (!e.file.empty())
    for (fs::path root = b.source.parent_path(); !fs::exists(header = root / e.file); root = root.parent_path())
      if (root == root.parent_path()) throw std::runtime_error("no file " + e.file);
  std::string depends = b.beside(".result").string() + ": " + b.source.string() + " " + header.string();
  depends = std::regex_replace(depends, std::regex(" (?=[^/])"), "\\ ");
  fs::remove(headers);
  const auto try_out = [&]() -> Result {
    const std::string text = edited(source, e.file.empty() ? "" : read_text(header), e);
    write_text(copy, with_one_test(text, e.test));
    const auto compiled = run(b.compiler, {copy, b.program, "chapter", headers}, b.beside(".log"));
    const std::string error = first_error(compiled.output);
    if (compiled.status != 0 && error.empty())
      throw std::runtime_error(fmt::format("{} was not compiled:\n{}", e.name, compiled.output));
    if (fs::exists(headers)) {  // not when the first error came early
      const std::string rule = read_text(headers);
      depends += rule.substr(rule.find(':') + 1);
    }
    if (!e.test.empty())
      return compiled.status == 0 ? result_of_test(e, b) : Result{"it does not compile:\n" + compiled.output, ""};
    if (compiled.status == 0) return {"it compiles, and must not", ""};
    if (error == e.message) return {"", "error: " + error};
    return {fmt::format("the compiler does not say '{}' but '{}'", e.message, error), ""};
  };
  Result result;
  try {
    result = try_out();
  } catch (const EditError& error) {
    result = {error.what(), ""};
  }
  write_text(b.beside(".d"), depends + "\n");
  return result;
}

// --- the book ---------------------------------------------------------------------------------------------------------

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text)
    result += c == '\f' ? "\\f" : c == '\n' ? "\\n" : c == '\t' ? "\\t" : c == '\\' ? "\\\\" : std::string(1, c);
  return result;
}

/// The message to keep: locations are named after the `source` that a reader would edit, without lines, and without addresses, which
/// differ from run to run.
std::string kept(const Experiment& e, std::string message, const std::string& source) {
  const std::pair<std::regex, std::string> changes[] = {
      {std::regex("\\b" + e.name + R"(\.cu\b)"), source},
      {std::regex(R"((\.(?:cu|hpp)):\d+)"), "$1"},
      {std::regex(R"( \(address 0x[0-9a-f]+\))"), ""},
      {std::regex(R"(at address 0x[0-9a-f]+, which)"), "at an address that"}};
  for (const auto& [from, to] : changes) message = std::regex_replace(message, from, to);
  return boost::trim_right_copy(message);
}

/// Name, old text, new text, the test, its finding, the message, the file; several edits are separated by \\f.
std::string line_for_the_book(const Experiment& e) {
  std::vector<std::string> find, replace;
  for (const Edit& edit : e.edits)
    if (edit.shown) find.push_back(edit.find), replace.push_back(edit.replace);
  return fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\n", e.name, escaped(fmt::format("{}", fmt::join(find, "\f"))),
                     escaped(fmt::format("{}", fmt::join(replace, "\f"))), e.test, e.says,
                     escaped(e.test.empty() ? "error: " + e.message : e.message), e.file);
}

// The kept result of an experiment.
Result tried(const Experiment& e, const fs::path& built) {
  const auto json = nlohmann::json::parse(read_text(built / (e.name + ".result")));
  return {json.at("surprise"), json.at("message")};
}

int judge(const std::vector<Experiment>& experiments, const fs::path& built) {
  int wrong = 0;
  for (const Experiment& e : experiments) {
    const std::string surprise = tried(e, built).surprise;
    fmt::print("{}: {}\n", e.name, surprise.empty() ? "breaks as expected" : surprise);
    wrong += !surprise.empty();
  }
  fmt::print("{} experiments, {} wrong\n", experiments.size(), wrong);
  return wrong == 0 && !experiments.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Break-it experiments of one chapter"};
  std::string experiments, built, output;
  Build b;
  auto* trying = app.add_subcommand("try", "build and run one experiment");
  trying->add_option("--experiment", experiments, "a file with one entry of breaks.json")->required();
  trying->add_option("--source", b.source, "chapterNN.cu")->required();
  trying->add_option("--compiler", b.compiler, "model-cc")->required();
  trying->add_option("--program", b.program, "the program to write, beside PROGRAM.result")->required();
  auto* capturing =
      app.add_subcommand("capture", "write breaks.json with the messages of tests that failed as expected");
  auto* judging = app.add_subcommand("judge", "judge the results of the experiments");
  for (auto* all : {capturing, judging}) all->add_option("--built", built, "directory with their programs")->required();
  auto* emitting = app.add_subcommand("emit", "write the experiments as tab-separated lines");
  for (auto* all : {capturing, judging, emitting})
    all->add_option("--experiments", experiments, "breaks.json")->required();
  for (auto* writing : {capturing, emitting}) writing->add_option("--output", output, "file to write")->required();
  app.require_subcommand(1);
  CLI11_PARSE(app, argc, argv);
  try {
    if (*trying) {
      fs::create_directories(b.program.parent_path());
      const Experiment e = experiment_from(nlohmann::json::parse(read_text(experiments)));
      const auto [surprise, message] = result_of(e, b);
      write_text(b.beside(".result"),
                 nlohmann::json{{"surprise", surprise}, {"message", kept(e, message, b.source.filename())}}.dump());
      return 0;
    }
    const auto list = load(experiments);
    if (*judging) return judge(list, built);
    std::string lines;
    auto entries = nlohmann::ordered_json::parse(read_text(experiments));
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (*emitting)
        lines += line_for_the_book(list[i]);
      else if (const Result result = tried(list[i], built); result.surprise.empty() && !list[i].test.empty())
        entries[i]["message"] = result.message;
    }
    write_text(output, *emitting ? lines : entries.dump(2) + '\n');
    return 0;
  } catch (const std::exception& e) {
    fmt::print(stderr, "breaks: {}\n", e.what());
    return 1;
  }
}
