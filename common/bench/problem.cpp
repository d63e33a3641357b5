#include "common/bench/problem.hpp"

#include <fmt/format.h>

namespace tile {
namespace {

const char* name_of(Layout layout) { return layout == Layout::rows ? "rows" : "columns"; }

// Which of `all` has this name.
template <class Kind, std::size_t count>
Kind named(const std::string& name, const Kind (&all)[count]) {
  for (const Kind kind : all)
    if (name == name_of(kind)) return kind;
  throw RecordError(fmt::format("a problem of '{}': there is no such type or layout", name));
}

Element element_of(const Record& name) {
  return named(name.get<std::string>(), {Element::f32, Element::bf16, Element::f16});
}
Layout layout_of(const Record& name) { return named(name.get<std::string>(), {Layout::rows, Layout::columns}); }

}  // namespace

Record to_json(const Problem& p) {
  Record json{{"M", p.M}, {"N", p.N}, {"K", p.K}};
  if (p != p.packed()) json.update({{"lda", p.lda}, {"ldb", p.ldb}, {"ldc", p.ldc}});
  if (p.A != Layout::rows || p.B != Layout::rows) json["layouts"] = {name_of(p.A), name_of(p.B)};
  if (p.types != Types{}) json["types"] = {name_of(p.types.A), name_of(p.types.B), name_of(p.types.C)};
  return json;
}

Problem problem_of(const Record& run) {
  Problem p = Problem::plain(run.at("M"), run.at("N"), run.at("K"));
  if (run.contains("layouts")) {
    p.A = layout_of(run["layouts"].at(0));
    p.B = layout_of(run["layouts"].at(1));
  }
  if (run.contains("types"))
    p.types = {element_of(run["types"].at(0)), element_of(run["types"].at(1)), element_of(run["types"].at(2))};
  p = p.packed();
  if (run.contains("lda")) {
    p.lda = run["lda"];
    p.ldb = run.at("ldb");
    p.ldc = run.at("ldc");
  }
  return p;
}

const Record* find_run(const Record& record, const std::string& kernel, const Problem& problem) {
  if (const Record* entry = find_kernel(record, kernel))
    for (const auto& run : entry->at("runs"))
      if (problem_of(run).of({}) == problem.of({})) return &run;
  return nullptr;
}

}  // namespace tile
