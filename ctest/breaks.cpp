// Runs a chapter's break-it experiments: each edit of breaks.json, applied to a copy of the program and built for the
// SIMT model, must turn the test it names red, or must not compile and say why.
//
// breaks.json: [{"name", "find", "replace", and either "test" (a test case; "says" is part of its output) or
// "message" (part of the compiler's)}]. With --emit it writes the experiments for the book instead.
#include <fmt/format.h>
#include <sys/wait.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

namespace {

namespace fs = std::filesystem;

std::string read_text(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw std::runtime_error(fmt::format("cannot read {}", file.string()));
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

void write_text(const fs::path& file, const std::string& text) {
  std::ofstream out(file, std::ios::binary);
  out << text;
  if (!out.flush()) throw std::runtime_error(fmt::format("cannot write {}", file.string()));
}

std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

struct Run {
  int status;
  std::string output;
};

Run run(const std::string& command, const fs::path& log) {
  const int raw = std::system(fmt::format("{} > {} 2>&1", command, quoted(log.string())).c_str());
  return {WIFEXITED(raw) ? WEXITSTATUS(raw) : 128, read_text(log)};
}

struct Experiment {
  std::string name, find, replace, test, says, message;
};

std::vector<Experiment> load(const fs::path& file) {
  std::vector<Experiment> experiments;
  try {
    for (const auto& e : nlohmann::json::parse(read_text(file))) {
      Experiment x{e.at("name"),        e.at("find"),        e.at("replace"),
                   e.value("test", ""), e.value("says", ""), e.value("message", "")};
      if (x.test.empty() == x.message.empty())
        throw std::runtime_error(fmt::format("experiment {} needs either test or message", x.name));
      experiments.push_back(x);
    }
  } catch (const nlohmann::json::exception& e) {
    throw std::runtime_error(fmt::format("{}: {}", file.string(), e.what()));
  }
  return experiments;
}

std::string edited(const std::string& source, const Experiment& e) {
  const auto at = source.find(e.find);
  if (at == std::string::npos)
    throw std::runtime_error(fmt::format("{}: the text to edit is gone from the source", e.name));
  if (source.find(e.find, at + 1) != std::string::npos)
    throw std::runtime_error(fmt::format("{}: the text to edit occurs more than once", e.name));
  return source.substr(0, at) + e.replace + source.substr(at + e.find.size());
}

// "" when the experiment goes as it should, else what happened instead.
std::string surprise(const Experiment& e, const std::string& source, const fs::path& compiler, const fs::path& work) {
  const fs::path copy = work / (e.name + ".cu"), program = work / e.name, log = work / (e.name + ".log");
  write_text(copy, edited(source, e));
  const Run build = run(
      fmt::format("{} {} {} chapter", quoted(compiler.string()), quoted(copy.string()), quoted(program.string())), log);
  if (!e.message.empty()) {
    if (build.status == 0) return "it compiles, and must not";
    return build.output.find(e.message) != std::string::npos ? "" : "the compiler does not say: " + e.message;
  }
  if (build.status != 0) return "it does not compile:\n" + build.output;
  const Run test = run(fmt::format("{} --on model --test {}", quoted(program.string()), quoted(e.test)), log);
  fs::remove(program);
  if (test.status == 0) return fmt::format("the test '{}' still passes", e.test);
  if (test.status != 1)
    return fmt::format("the test '{}' did not run (exit {}):\n{}", e.test, test.status, test.output);
  if (test.output.find(e.says) == std::string::npos)
    return fmt::format("the test fails, but does not say '{}':\n{}", e.says, test.output);
  return "";
}

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) result += c == '\n' ? "\\n" : c == '\t' ? "\\t" : c == '\\' ? "\\\\" : std::string(1, c);
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Break-it experiments of one chapter"};
  std::string experiments, source, compiler, work, emit;
  app.add_option("--experiments", experiments, "breaks.json")->required();
  app.add_option("--source", source, "chapterNN.cu")->required();
  app.add_option("--compiler", compiler, "model-cc");
  app.add_option("--work", work, "directory for copies");
  app.add_option("--emit", emit, "write the experiments as tab-separated lines for the book");
  CLI11_PARSE(app, argc, argv);
  try {
    const auto list = load(experiments);
    const std::string text = read_text(source);
    if (!emit.empty()) {
      std::string lines;
      for (const Experiment& e : list) {
        edited(text, e);
        lines += fmt::format("{}\t{}\t{}\t{}\t{}\n", e.name, e.test.empty() ? "message" : "test", escaped(e.find),
                             escaped(e.replace), e.test.empty() ? e.message : e.test);
      }
      write_text(emit, lines);
      return 0;
    }
    fs::create_directories(work);
    int wrong = 0;
    for (const Experiment& e : list) {
      const std::string why = surprise(e, text, compiler, work);
      fmt::print("{}: {}\n", e.name, why.empty() ? "breaks as it should" : why);
      wrong += !why.empty();
    }
    fmt::print("{} experiments, {} wrong\n", list.size(), wrong);
    return wrong == 0 && !list.empty() ? 0 : 1;
  } catch (const std::exception& e) {
    fmt::print(stderr, "breaks: {}\n", e.what());
    return 1;
  }
}
