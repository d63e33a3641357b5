#include "ctest/mutate.hpp"

#include <algorithm>
#include <map>
#include <regex>
#include <stdexcept>
#include <tuple>

namespace {

/// `length` characters at `at` become `replacement`.
struct Edit {
  std::size_t at, length;
  std::string replacement;
  auto operator<=>(const Edit&) const = default;
};
using Edits = std::vector<Edit>;

// --- What may be edited ------------------------------------------------------------------------------------------
void blank(std::string& text, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i)
    if (text[i] != '\n') text[i] = ' ';
}

std::size_t end_of_line(const std::string& text, std::size_t at) { return std::min(text.find('\n', at), text.size()); }

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

// The program without comments, strings and preprocessor lines; every other character stays where it was.
std::string without_comments(const std::string& program) {
  std::string code = program;
  for (std::size_t i = 0; i < code.size();) {
    std::size_t end = i + 1;
    if (code.compare(i, 2, "//") == 0) {
      end = end_of_line(code, i);
    } else if (code.compare(i, 2, "/*") == 0) {
      end = std::min(code.find("*/", i + 2), code.size() - 2) + 2;
    } else if (code[i] == '"') {
      while (end < code.size() && code[end] != '"') end += code[end] == '\\' ? 2 : 1;
      end = std::min(end + 1, code.size());
    } else if (code[i] == '#') {
      end = end_of_line(code, i);
    } else {
      ++i;
      continue;
    }
    blank(code, i, end);
    i = end;
  }
  return code;
}

// The region that a mutant may touch; everything else is blank. Static assertions stay as they are: what they ask for
// is tested by mistakes in what they are about.
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
// clang-format puts spaces around a binary operator, and none around what only looks like one.
void exchange_operators(const std::string& code, Edits& edits) {
  static const std::map<std::string, std::vector<std::string>> instead{
      {"+", {"-"}},   {"-", {"+"}},   {"*", {"/", "+"}}, {"/", {"*", "%"}}, {"%", {"/", "*"}},
      {"<", {"<="}},  {"<=", {"<"}},  {">", {">="}},     {">=", {">"}},     {"==", {"!="}},
      {"!=", {"=="}}, {"&&", {"||"}}, {"||", {"&&"}},    {"+=", {"-="}},    {"-=", {"+="}}};
  for_each_match(code, R"( ([-+*/%<>=!&|]{1,2})(?=\s))", [&](const std::smatch& match) {
    const auto others = instead.find(match.str(1));
    if (others == instead.end()) return;
    for (const std::string& other : others->second) edits.push_back({at(match, 1), match.str(1).size(), other});
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
    edits.push_back({begin, end - begin, ""});
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
    edits.push_back({begin, rest - begin, begins_line || code[begin - 1] == '(' ? "" : " "});
  });
}

void drop_casts(const std::string& code, Edits& edits) {
  for_each_match(code, R"(std::size_t\()", [&](const std::smatch& match) { edits.push_back({at(match, 0), 11, ""}); });
}

void change_constants(const std::string& code, Edits& edits) {
  for_each_match(code, R"((^|[^\w.])(\d+)(?![\w.]))", [&](const std::smatch& match) {
    const int value = std::stoi(match.str(2));
    for (const int other : {value - 1, value + 1})
      if (other >= 0) edits.push_back({at(match, 2), match.str(2).size(), std::to_string(other)});
  });
  for_each_match(code, R"(\d\.\df)", [&](const std::smatch& match) {
    edits.push_back({at(match, 0), 4, match.str() == "0.0f" ? "1.0f" : "0.0f"});
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
    edits.push_back({at(match, 1), statement.size(), ";"});
  });
}

// One occurrence of a name becomes that of its sister.
void exchange_names(const std::string& code, Edits& edits) {
  static const std::vector<std::pair<std::string, std::string>> sisters{{"M", "N"},
                                                                        {"N", "K"},
                                                                        {"BM", "BN"},
                                                                        {"BN", "BK"},
                                                                        {"TM", "TN"},
                                                                        {"WM", "WN"},
                                                                        {"WSUBM", "WSUBN"},
                                                                        {"WMITER", "WNITER"},
                                                                        {"lda", "ldb"},
                                                                        {"ldb", "ldc"},
                                                                        {"A", "B"},
                                                                        {"As", "Bs"},
                                                                        {"nextA", "nextB"},
                                                                        {"row", "col"},
                                                                        {"firstRow", "firstCol"},
                                                                        {"threadRow", "threadCol"},
                                                                        {"rowA", "colA"},
                                                                        {"rowB", "colB"},
                                                                        {"warpRow", "warpCol"},
                                                                        {"blockRow", "blockCol"},
                                                                        {"i", "j"},
                                                                        {"wm", "wn"},
                                                                        {"x", "y"},
                                                                        {"threadX", "threadY"},
                                                                        {"regM", "regN"},
                                                                        {"ROWS_A", "ROWS_B"},
                                                                        {"rowOfAs", "rowOfBs"},
                                                                        {"load_A_of", "load_B_of"}};
  static const std::regex declared(
      R"(\b(auto|bool|class|const|dim3|double|float|float4|int|Position|typename)[*&]* $)");
  for_each_match(code, R"([A-Za-z_]\w*)", [&](const std::smatch& match) {
    const std::string name = match.str();
    const std::size_t begin = at(match, 0);
    const std::string before = code.substr(begin - std::min<std::size_t>(begin, 12), std::min<std::size_t>(begin, 12));
    if (std::regex_search(before, declared)) return;
    if (code.compare(begin + name.size(), 3, " = ") == 0) return;  // the second declarator of several
    for (const auto& [one, other] : sisters) {
      if (name == one) edits.push_back({begin, name.size(), other});
      if (name == other) edits.push_back({begin, name.size(), one});
    }
  });
}

void negate_conditions(const std::string& code, Edits& edits) {
  for_each_match(code, R"(\bif (constexpr )?\()", [&](const std::smatch& match) {
    const std::size_t open = at(match, 0) + match.str().size() - 1, end = after_parentheses(code, open);
    edits.push_back({open, end - open, "(!" + code.substr(open, end - open) + ")"});
  });
  for_each_match(code, R"([\w:]+(<[^<>]*>)?(\([^()]*\))?(?= \? ))", [&](const std::smatch& match) {
    edits.push_back({at(match, 0), 0, "!"});
  });
  for_each_match(code, R"(!(?=\w))", [&](const std::smatch& match) { edits.push_back({at(match, 0), 1, ""}); });
}

std::string with_single_spaces(const std::string& text) {
  const std::string joined = std::regex_replace(text, std::regex(R"(\s+)"), " ");
  const std::size_t first = joined.find_first_not_of(' '), last = joined.find_last_not_of(' ');
  return first == std::string::npos ? "" : joined.substr(first, last + 1 - first);
}

}  // namespace

std::vector<Mutant> mutants_of(const std::string& program) {
  const std::string code = editable(program), plain = without_comments(program);
  Edits edits;
  for (const auto rule : {exchange_operators, drop_terms, drop_casts, change_constants, drop_statements, exchange_names,
                          negate_conditions})
    rule(code, edits);
  std::sort(edits.begin(), edits.end());
  edits.erase(std::unique(edits.begin(), edits.end()), edits.end());
  std::vector<Mutant> mutants;
  for (const Edit& edit : edits) {
    const auto edited = [&](std::string text) { return text.replace(edit.at, edit.length, edit.replacement); };
    const std::size_t begin = program.rfind('\n', edit.at) + 1, end = end_of_line(program, edit.at + edit.length);
    std::string lines = plain.substr(begin, end - begin), changed = lines;
    changed.replace(edit.at - begin, edit.length, edit.replacement);
    mutants.push_back({edited(program),
                       1 + int(std::count(program.begin(), program.begin() + std::ptrdiff_t(edit.at), '\n')),
                       with_single_spaces(lines), with_single_spaces(changed)});
  }
  return mutants;
}
