#include "ctest/rewrite_indices.hpp"

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

bool ends_operand(const Code& code, std::size_t i) {
  static const std::set<std::string> words{"return", "case", "auto", "delete", "new", "else", "co_return"};
  return (code.is_name(i) && !words.contains(code[i])) || code[i] == ")" || code[i] == "]";
}

bool is_operator(const std::string& token) {
  return token.size() == 1 && std::string("([,+-*/%&|^!~<>=?:").find(token) != std::string::npos;
}

// Whether what stands between may read memory: an element, what a pointer points to, a shared variable.
bool may_read(const Code& code, std::size_t begin, std::size_t end, const Known& known) {
  for (std::size_t i = begin; i < end; ++i) {
    const bool points = code.is_sign(i, "->") || (code[i] == "*" && (i == begin || is_operator(code[i - 1])));
    if (code[i] == "[" || points || (code.is_name(i) && known.scalars.contains(code[i]))) return true;
  }
  return false;
}

bool has_comma(const Code& code, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; i = opens(code[i]) || code[i] == "[" ? behind_brackets(code, i) : i + 1)
    if (code[i] == ",") return true;
  return false;
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
  for (std::size_t open = 1; open < code.size(); ++open) {
    if (code[open] != "[" || !ends_operand(code, open - 1)) continue;
    const std::size_t close = behind_brackets(code, open) - 1;
    if (close <= open + 1 || code[close] != "]") continue;
    if (!may_read(code, open + 1, close, known) || has_comma(code, open + 1, close) || is_of_declaration(code, open))
      continue;
    code.add_behind(open, "([](auto simt_index) { return simt_index; })(");
    code.add_behind(close - 1, ")");
  }
}

}  // namespace rewrite
