#include "common/sim/rewrite/rewrite_indices.hpp"

#include <set>

namespace rewrite {
namespace {

// Single variables in memory that threads share: their names alone read them.
void learn_scalars(const Code& code, Known& known) {
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (code[i] != "__shared__" && code[i] != "__device__" && code[i] != "__constant__") continue;
    const Declaration d = declaration_at(code, first_of_statement(code, i));
    if (d.is_variable && !d.is_array) known.scalars.insert(d.names.begin(), d.names.end());
  }
}

bool is_auto(const Code& code, std::size_t i) { return code[i] == "auto"; }

// What is declared as a reference: what it refers to may lie in memory that threads share, and its name alone reads it. Another name that
// stands behind an & is taken for one; that costs nothing.
std::set<std::string> references_of(const Code& code) {
  static const std::set<std::string> behind{"=", ":", ",", ")", "{", ";"};
  std::set<std::string> names;
  for (std::size_t i = 1; i + 1 < code.size(); ++i) {
    const bool and_and = code[i - 1] == "&";
    const bool typed = and_and ? i > 1 && is_auto(code, i - 2) : code.is_name(i - 1) || code[i - 1] == ">";
    if (code[i] != "&" || !typed) continue;
    if (code.is_name(i + 1) && behind.contains(code[i + 2])) names.insert(code[i + 1]);
    // auto& [a, b] = pair;
    if (code[i + 1] == "[" && is_auto(code, i - 1 - and_and))
      for (std::size_t k = i + 2; k < code.size() && code[k] != "]"; ++k)
        if (code.is_name(k)) names.insert(code[k]);
  }
  return names;
}

bool ends_operand(const Code& code, std::size_t i) {
  static const std::set<std::string> words{"return", "case", "auto", "delete", "new", "else", "co_return"};
  return (code.is_name(i) && !words.contains(code[i])) || code[i] == ")" || code[i] == "]";
}

bool is_operator(const std::string& token) {
  return token.size() == 1 && std::string("([,+-*/%&|^!~<>=?:").find(token) != std::string::npos;
}

// Whether what stands between may read memory: an element, what a pointer points to, a shared variable, what a reference refers to.
bool may_read(const Code& code, std::size_t begin, std::size_t end, const Known& known,
              const std::set<std::string>& references) {
  for (std::size_t i = begin; i < end; ++i) {
    const bool points = code.is_sign(i, "->") || (code[i] == "*" && (i == begin || is_operator(code[i - 1])));
    if (code[i] == "[" || points ||
        (code.is_name(i) && (known.scalars.contains(code[i]) || references.contains(code[i]))))
      return true;
  }
  return false;
}

bool has_comma(const Code& code, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; i = opens(code[i]) || code[i] == "[" ? behind_brackets(code, i) : i + 1)
    if (code[i] == ",") return true;
  return false;
}

// What stands behind a name in double brackets is an attribute; in braces, an index that has no type yet; and what a lambda captures may
// stand behind the ) of an if.
bool is_index(const Code& code, std::size_t open, std::size_t close) {
  return close > open + 1 && code[close] == "]" && code[open + 1] != "[" && code[open + 1] != "{" &&
         code[close + 1] != "{";
}

// An extent is none.
bool is_of_declaration(const Code& code, std::size_t open) {
  for (std::size_t i = first_of_statement(code, open); i < open; ++i)
    if (code[i] == "__shared__" || code[i] == "__constant__" || code[i] == "constexpr" || code[i] == "using")
      return true;
  return false;
}

}  // namespace

void rewrite_indices(Code& code, Known& known) {
  learn_scalars(code, known);
  const std::set<std::string> references = references_of(code);
  for (std::size_t open = 1; open < code.size(); ++open) {
    if (code[open] != "[" || !ends_operand(code, open - 1)) continue;
    const std::size_t close = behind_brackets(code, open) - 1;
    if (!is_index(code, open, close) || !may_read(code, open + 1, close, known, references)) continue;
    if (has_comma(code, open + 1, close) || is_of_declaration(code, open)) continue;
    code.add_behind(open, "simt::index_of(");
    code.add_behind(close - 1, ")");
  }
}

}  // namespace rewrite
