#include "common/sim/rewrite/rewrite.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <map>
#include <regex>

namespace tokens {
namespace {

using Kind = Token::Kind;

bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)); }
bool is_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// The position after the first `end` from `from` on, or the end of the text.
std::size_t end_after(const std::string& text, const std::string& end, std::size_t from) {
  const auto found = text.find(end, from);
  return found == std::string::npos ? text.size() : found + end.size();
}

// The position of the first `end` from `at` on, or the end of the line. Escaped characters are skipped, also newlines.
std::size_t end_in_line(const std::string& text, std::size_t at, char end = '\n') {
  while (at < text.size() && text[at] != end && text[at] != '\n') at += text[at] == '\\' ? 2 : 1;
  return std::min(at, text.size());
}

std::size_t end_of_number(const std::string& text, std::size_t at) {
  const auto goes_on = [&](std::size_t i) {
    const bool exponent = (text[i] == '+' || text[i] == '-') && std::string("eEpP").find(text[i - 1]) < 4;
    return is_of_name(text[i]) || text[i] == '.' || exponent || (text[i] == '\'' && is_of_name(text[i + 1]));
  };
  do ++at;
  while (at < text.size() && goes_on(at));
  return at;
}

}  // namespace

std::vector<Token> of(const std::string& text) {
  std::vector<Token> tokens;
  bool line_begins = true;  // only space so far
  for (std::size_t at = 0, end = 0; at < text.size(); at = end) {
    const char c = text[at];
    const auto starts = [&](const char* what) { return text.compare(at, 2, what) == 0; };
    Kind kind = Kind::sign;
    end = at + 1;
    if (is_space(c)) {
      kind = Kind::space;
      while (end < text.size() && is_space(text[end])) ++end;
    } else if (starts("\\\n")) {
      kind = Kind::space, end = at + 2;
    } else if (starts("//") || starts("/*")) {
      kind = Kind::comment, end = starts("//") ? end_in_line(text, at) : end_after(text, "*/", at + 2);
    } else if (c == '#' && line_begins) {
      kind = Kind::directive, end = end_in_line(text, at);
    } else if (c == '"' || c == '\'') {
      kind = Kind::text, end = std::min(end_in_line(text, at + 1, c) + 1, text.size());
    } else if (std::isdigit(static_cast<unsigned char>(c))) {
      kind = Kind::number, end = end_of_number(text, at);
    } else if (is_of_name(c)) {
      kind = Kind::name;
      while (end < text.size() && is_of_name(text[end])) ++end;
      if (end < text.size() && text[end] == '"' && text[end - 1] == 'R' && end - at <= 3) {  // a raw string
        const auto open = std::min(text.find('(', end), text.size());
        kind = Kind::text, end = end_after(text, ")" + text.substr(end + 1, open - end - 1) + "\"", open);
      }
    }
    tokens.push_back({kind, text.substr(at, end - at)});
    line_begins = kind == Kind::space && (line_begins || tokens.back().text.find('\n') != std::string::npos);
  }
  return tokens;
}

}  // namespace tokens

namespace rewrite {
namespace {

using tokens::Kind;
using Names = std::set<std::string>;

// --- Code as tokens --------------------------------------------------------------------------------------------------

// The significant tokens of a text. Edits change their texts; space and comments between them, and so the lines, stay.
class Code {
 public:
  explicit Code(const std::string& text) : all_(tokens::of(text)), inserted_(all_.size()) {
    for (std::size_t i = 0; i < all_.size(); ++i)
      if (all_[i].counts()) seen_.push_back(i);
  }
  std::size_t size() const { return seen_.size(); }
  // A token's text; "" beyond the last.
  const std::string& operator[](std::size_t i) const { return i < size() ? all_[seen_[i]].text : none_; }
  bool is_name(std::size_t i) const { return i < size() && all_[seen_[i]].kind == Kind::name; }
  bool is_directive(std::size_t i) const { return i < size() && all_[seen_[i]].kind == Kind::directive; }
  // Whether the operator `sign`, such as ->, begins at token i.
  bool is_sign(std::size_t i, const std::string& sign) const {
    for (std::size_t k = 0; k < sign.size(); ++k)
      if ((*this)[i + k] != std::string(1, sign[k]) || seen_[i + k] != seen_[i] + k) return false;
    return true;
  }
  // Whether one of the tokens [begin, end) is `word`.
  bool has(std::size_t begin, std::size_t end, const std::string& word) const {
    while (begin < end && (*this)[begin] != word) ++begin;
    return begin < end;
  }
  void set(std::size_t i, const std::string& text) { all_[seen_[i]].text = text; }
  void insert_after(std::size_t i, const std::string& text) { inserted_[seen_[i]] += text; }
  void remove(std::size_t begin, std::size_t end) {
    while (begin < end) set(begin++, "");
  }
  // The tokens [begin, end) on one line.
  std::string between(std::size_t begin, std::size_t end) const {
    std::string text;
    for (std::size_t i = seen_[begin]; i < (end < size() ? seen_[end] : all_.size()); ++i)
      text += all_[i].counts() ? all_[i].text : " ";
    return text;
  }
  std::string text() const {
    std::string text;
    for (std::size_t i = 0; i < all_.size(); ++i) text += all_[i].text + inserted_[i];
    return text;
  }

 private:
  std::vector<tokens::Token> all_;
  std::vector<std::string> inserted_;  // text to insert after each
  std::vector<std::size_t> seen_;
  const std::string none_;
};

bool opens(const std::string& t) { return t == "(" || t == "[" || t == "{"; }
bool closes(const std::string& t) { return t == ")" || t == "]" || t == "}"; }
bool is_alignment(const std::string& t) { return t == "__align__" || t == "alignas"; }

// The token after the bracket that closes the one at `open`.
std::size_t after_brackets(const Code& code, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < code.size(); ++i) {
    depth += opens(code[i]) - closes(code[i]);
    if (depth == 0) return i + 1;
  }
  return code.size();
}

// Skips template arguments, from the < after a name to its >.
std::size_t after_angles(const Code& code, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < code.size() && code[i] != ";" && code[i] != "{"; ++i) {
    depth += (code[i] == "<") - (code[i] == ">");
    if (depth == 0) return i + 1;
  }
  return open + 1;
}

// The position of the directive's keyword if it is `word`; else npos.
std::size_t word_of_directive(const std::string& directive, const std::string& word) {
  const auto at = directive.find_first_not_of(" \t", 1);
  return at != std::string::npos && directive.compare(at, word.size(), word) == 0 ? at : std::string::npos;
}

// A function definition: the tokens at which its declaration, its body and the code after it begin.
struct Function {
  std::size_t begin, open, end;
  bool on_device;  // by a qualifier, a macro that has one, or a lambda; also if it is not sure to be host code
};
struct Outline {
  std::vector<bool> outside;  // for each token, whether it is at namespace scope
  std::vector<Function> functions;
};
Outline outline_of(const Code& code, Known& known) {
  Outline outline{std::vector<bool>(code.size()), {}};
  std::vector<bool> is_namespace;  // for each open bracket
  for (std::size_t i = 0, begin = 0; i < code.size(); ++i) {
    outline.outside[i] = std::ranges::count(is_namespace, false) == 0;
    if (const std::string& t = code[i]; code.is_directive(i)) {
      const auto word = word_of_directive(t, "define");
      if (word != std::string::npos && std::regex_search(t, std::regex("__(device|global)__")))
        known.qualifiers.insert(Code(t.substr(word))[1]);
      begin += begin == i;
    }
    if (code[i] == ";" || code[i] == "}") begin = i + 1;
    if (code[i] == "}" && !is_namespace.empty()) is_namespace.pop_back();
    if (code[i] != "{") continue;
    // After a braced initialiser, the tokens may be the rest of a function.
    bool is_function = begin == i || !code.is_name(begin), on_device = is_function;
    for (std::size_t k = begin; k < i; ++k) {
      is_function = is_function || (code[k] == "(" && !is_alignment(code[k - 1]));
      on_device = on_device || known.qualifiers.contains(code[k]);
    }
    is_function = is_function && !code.has(begin, i, "namespace");  // after a macro
    if (is_function) {
      const std::size_t end = after_brackets(code, i);
      outline.functions.push_back({begin, i, end, on_device || code.has(i, end, "__device__")});
      i = end - 1;
    } else {
      is_namespace.push_back(code.has(begin, i, "namespace") || (i > 1 && code[i - 2] == "extern"));
    }
    begin = i + 1;
  }
  return outline;
}

// In host code gridDim and blockDim are ordinary names, and __CUDA_ARCH__ is not defined. At namespace scope, the
// device's branch of such conditionals is compiled.
void rewrite_host_code(Code& code, const std::vector<Function>& functions) {
  auto f = functions.begin();
  for (std::size_t i = 0; i < code.size(); ++i) {
    while (f != functions.end() && f->end <= i) ++f;
    const bool in_function = f != functions.end() && f->begin <= i;
    if (code[i] == "NULL") code.set(i, "nullptr");  // which stays a null pointer constant when forwarded
    if (in_function && f->on_device) continue;
    if (code[i] == "gridDim" || code[i] == "blockDim") code.set(i, "host_" + code[i]);
    if (in_function && code.is_directive(i))
      code.set(i, std::regex_replace(code[i], std::regex("__CUDA_ARCH__"), "SIMT_NO_ARCH"));
  }
}

// The end of the scope of a declaration at `i`: that of its block.
std::size_t end_of_scope(const Code& code, std::size_t i) {
  int depth = 0;
  for (; i < code.size() && depth >= 0; ++i) depth += (code[i] == "{") - (code[i] == "}");
  return i;
}

// A declaration that begins with qualifiers, and the variables that it declares.
struct Declaration {
  bool is_variable = false, is_constant = false, is_constexpr = false, is_array = false;
  std::vector<std::string> names;
  std::size_t end = 0;  // its ;
};
Declaration declaration_at(const Code& code, std::size_t begin) {
  Declaration d;
  std::size_t i = begin;
  std::string last;  // name before the current token
  bool in_value = false;
  while (i < code.size() && code[i] != ";") {
    const std::string& t = code[i];
    d.is_constant = d.is_constant || (!in_value && t == "const");
    d.is_constexpr = d.is_constexpr || (!in_value && t == "constexpr");
    if (t == "operator" || t == "template" || closes(t)) return {};
    if (t == "[" || t == "=" || t == "{" || t == ",") {
      if (!last.empty()) d.names.push_back(last);
      last.clear();
      d.is_array = d.is_array || (t == "[" && !in_value);
      in_value = t != "," && (in_value || t != "[");
      i = opens(t) ? after_brackets(code, i) : i + 1;
      if (t == "{" && code[i] != ";" && code[i] != ",") return {};  // no initialiser: a function or a class
    } else if (t == "(") {
      const bool of_qualifier = is_alignment(last) || last == "decltype" || last == "__attribute__";
      if (!in_value && !of_qualifier) return {};
      i = after_brackets(code, i);
      if (of_qualifier) last.clear();
    } else if (t == "<" && !in_value && !last.empty()) {
      i = after_angles(code, i);
    } else {
      if (!in_value) last = code.is_name(i) ? t : "";
      ++i;
    }
  }
  if (!last.empty()) d.names.push_back(last);
  d.is_variable = i < code.size() && !d.names.empty();
  d.end = i;
  return d;
}

// The first token of the statement that token i is part of.
std::size_t first_of_statement(const Code& code, std::size_t i) {
  while (i > 0 && code[i - 1] != ";" && code[i - 1] != "{" && code[i - 1] != "}" && code[i - 1] != ">" &&
         !code.is_directive(i - 1))
    --i;
  return i;
}

// --- Variables of the device -----------------------------------------------------------------------------------------

void rewrite_device_variables(Code& code, const std::vector<bool>& outside) {
  for (std::size_t i = 0; i < code.size(); ++i) {
    const bool constant_memory = code[i] == "__constant__", local_static = code[i] == "static" && !outside[i];
    if (!constant_memory && !local_static && code[i] != "__device__") continue;
    const std::size_t first = first_of_statement(code, i);
    const Declaration d = declaration_at(code, first);
    if (!d.is_variable) continue;
    if (d.is_array && (d.is_constexpr || (d.is_constant && !constant_memory))) {
      code.set(first, "SIMT_NO_TABLE " + code[first]);
      i = d.end;
    } else if (outside[i]) {
      for (std::size_t k = first; k < d.end; ++k)
        if (constant_memory && code[k] == "const") code.set(k, "");
      code.set(i, "SIMT_DEVICE_VARIABLE");
      for (const std::string& name : d.names)
        code.insert_after(d.end, " static const simt::DeviceVariable simt_variable_" + name + "(\"" + name + "\", " +
                                     name + (constant_memory ? ", true" : "") + ");");
      i = d.end;
    }
  }
}

// Rejects a kernel parameter that is a tensor map without __grid_constant__, which gives each thread a copy of its own.
void refuse_own_tensor_maps(Code& code, const std::vector<Function>& functions) {
  for (const Function& f : functions)
    for (std::size_t i = f.begin; i < f.open; ++i)
      if (code[i] == "CUtensorMap" && code.is_name(i + 1) && !code.has(i - 2, i, "__grid_constant__") &&
          code.has(f.begin, i, "__global__"))
        code.set(f.begin, "SIMT_NO_GRID_CONSTANT " + code[f.begin]);
}

// --- __shared__ variables --------------------------------------------------------------------------------------------

// Whether token i is a use of the variable `name`, not of a member or of a name in another namespace.
bool is_use(const Code& code, std::size_t i, const std::string& name) {
  return code[i] == name && i > 1 && code[i - 1] != "." && !code.is_sign(i - 2, "->") && !code.is_sign(i - 2, "::");
}

// The body of the lambda whose captures begin at `open`, and where it ends; {0, 0} if it is not a lambda.
struct Lambda {
  std::size_t body = 0, end = 0;
};
Lambda lambda_at(const Code& code, std::size_t open) {
  static const Names follow{"(", "{", "<", "-", "mutable", "noexcept", "constexpr", "__device__", "__host__"};
  const std::string& before = code[open - 1];
  const bool is_operand = code.is_name(open - 1) && before != "return";
  if (is_operand || before == ")" || before == "]" || before == "[" || code[open + 1] == "[") return {};
  std::size_t i = after_brackets(code, open);
  if (!follow.contains(code[i])) return {};
  while (i < code.size() && code[i] != "{" && code[i] != ";")
    i = code[i] == "<" ? after_angles(code, i) : code[i] == "(" ? after_brackets(code, i) : i + 1;
  return code[i] == "{" ? Lambda{i, after_brackets(code, i)} : Lambda{};
}

// The names that were added to the captures of lambdas, by where the captures begin.
using Captured = std::map<std::size_t, Names>;

// In CUDA, lambdas use a __shared__ variable without a capture; the reference that replaces it needs one.
void capture(Code& code, std::size_t begin, const std::string& name, Captured& captured) {
  const std::size_t end = end_of_scope(code, begin);
  for (std::size_t open = begin; open < end; ++open) {
    if (code[open] != "[") continue;
    const Lambda lambda = lambda_at(code, open);
    const std::size_t close = after_brackets(code, open) - 1;
    bool used = false, hidden = false;
    for (std::size_t i = open; i < lambda.end; ++i) (i < lambda.body ? hidden : used) |= is_use(code, i, name);
    const bool by_reference = code[open + 1] == "&" && (code[open + 2] == "," || code[open + 2] == "]");
    if (!used || hidden || by_reference) continue;
    const bool first = close == open + 1 && captured[open].empty();
    if (captured[open].insert(name).second) code.insert_after(close - 1, (first ? "&" : ", &") + name);
  }
}

// extern __shared__ T name[];
void rewrite_dynamic(Code& code, std::size_t first, const Declaration& d, Captured& captured) {
  const std::string& name = d.names.front();
  const std::regex others(R"(\b(extern|__shared__|(__align__|alignas)\s*\([^)]*\)))");
  const std::string type = std::regex_replace(code.between(first, d.end - 3), others, "");
  code.remove(first, d.end);
  code.set(first,
           "auto* const " + name + " = static_cast<" + type + "*>(simt::device::dynamic_shared(\"" + name + "\"))");
  capture(code, d.end, name, captured);
}

void rewrite_static(Code& code, std::size_t first, const Declaration& d, Captured& captured, Known& known) {
  const std::string scope = "simt_shared_" + d.names.front();
  for (std::size_t k = first; k < d.end; ++k)
    if (code[k] == "__shared__" || code[k] == "static") code.set(k, "");
  code.set(first, "struct " + scope + " { " + code[first]);
  code.insert_after(d.end, " };");
  for (const std::string& name : d.names) {
    code.insert_after(d.end, " auto& " + name + " = simt::shared<" + scope + ", decltype(" + scope + "::" + name +
                                 "), \"" + name + "\", " + std::to_string(known.declared++) + ">();");
    capture(code, d.end + 1, name, captured);
  }
}

// Turns each __shared__ variable into a reference to its address in the shared memory of the running block, on the same
// line. Lambdas that use it capture it.
void rewrite_shared(Code& code, const std::vector<bool>& outside, Known& known) {
  Captured captured;
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (code[i] != "__shared__") continue;
    const std::size_t first = first_of_statement(code, i);
    const Declaration d = declaration_at(code, first);
    const bool is_dynamic = code.has(first, d.end, "extern");
    if (outside[i] || !d.is_variable || code.has(first, d.end, "=") || (is_dynamic && code[d.end - 2] != "[")) {
      code.set(i, R"(_Pragma("GCC error \"declare a __shared__ variable in the kernel or function that uses it, as )"
                  R"(__shared__ type name; or __shared__ type name[extent]; with one or more names, no initialiser, )"
                  R"(and a type that has a name\"") )");
      continue;
    }
    is_dynamic ? rewrite_dynamic(code, first, d, captured) : rewrite_static(code, first, d, captured, known);
    i = d.end;
  }
}

// --- Indices that are read from memory, and values to choose from ----------------------------------------------------

// Names whose mere use may read shared or global memory: single variables there, and everything declared as a
// reference, because it may refer to such memory. Other names that follow an & are included, which does no harm.
Names names_that_read(const Code& code, Known& known) {
  static const Names follow{"=", ":", ",", ")", "{", ";"};
  Names references;
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (code[i] == "__shared__" || code[i] == "__device__" || code[i] == "__constant__") {
      const Declaration d = declaration_at(code, first_of_statement(code, i));
      if (d.is_variable && !d.is_array) known.scalars.insert(d.names.begin(), d.names.end());
    }
    if (i == 0 || code[i] != "&") continue;
    const bool and_and = code[i - 1] == "&", of_auto = code[i - 1 - and_and] == "auto";
    const bool typed = and_and ? of_auto : code.is_name(i - 1) || code[i - 1] == ">";
    if (typed && code.is_name(i + 1) && follow.contains(code[i + 2])) references.insert(code[i + 1]);
    // auto& [a, b] = pair;
    if (of_auto && code[i + 1] == "[")
      for (std::size_t k = i + 2; k < code.size() && code[k] != "]"; ++k)
        if (code.is_name(k)) references.insert(code[k]);
  }
  references.insert(known.scalars.begin(), known.scalars.end());
  return references;
}

bool ends_operand(const Code& code, std::size_t i) {
  static const Names words{"return", "case", "auto", "delete", "new", "else", "co_return"};
  return (code.is_name(i) && !words.contains(code[i])) || code[i] == ")" || code[i] == "]";
}

// Whether the tokens [begin, end) may read memory: an array element, a dereferenced pointer, or one of the names.
bool may_read(const Code& code, std::size_t begin, std::size_t end, const Names& names) {
  for (std::size_t i = begin; i < end; ++i) {
    const bool is_prefix = i == begin || (code[i - 1].size() == 1 &&
                                          std::string("([,+-*/%&|^!~<>=?:").find(code[i - 1]) != std::string::npos);
    if (code[i] == "[" || code.is_sign(i, "->") || (code[i] == "*" && is_prefix) ||
        (code.is_name(i) && names.contains(code[i])))
      return true;
  }
  return false;
}

// Whether [open, close] is one index. It is not if it is an attribute (double brackets), an index in braces, which has
// no type, the captures of a lambda, which may follow the ) of an if, or an extent in a declaration.
bool is_index(const Code& code, std::size_t open, std::size_t close) {
  if (close == open + 1 || code[close] != "]" || code[open + 1] == "[" || code[open + 1] == "{" ||
      code[close + 1] == "{")
    return false;
  for (std::size_t i = open + 1; i < close; i = opens(code[i]) ? after_brackets(code, i) : i + 1)
    if (code[i] == ",") return false;
  const std::size_t first = first_of_statement(code, open);
  for (const char* word : {"__shared__", "__constant__", "constexpr", "using"})
    if (code.has(first, open, word)) return false;
  return true;
}

// For `table[index[i]]`, where the compiler knows the extent of `table`, g++ -fsanitize=bounds loads `index[i]` twice,
// once to compare it with the extent. So an index that may be read from memory is passed through a call, which is
// evaluated once. Reads of members by their bare names, in member functions, are missed.
void rewrite_indices(Code& code, Known& known) {
  const Names names = names_that_read(code, known);
  for (std::size_t open = 1; open < code.size(); ++open) {
    if (code[open] != "[" || !ends_operand(code, open - 1)) continue;
    const std::size_t close = after_brackets(code, open) - 1;
    if (!may_read(code, open + 1, close, names) || !is_index(code, open, close)) continue;
    code.insert_after(open, "simt::once(");
    code.insert_after(close - 1, ")");
  }
}

// For structs, `out[i] = c ? f() : g()` is two stores with g++ 12, one with g++ 14, and always one through a call.
void rewrite_choices(Code& code) {
  for (std::size_t i = 2; i < code.size(); ++i) {
    const std::size_t first = first_of_statement(code, i);
    const bool to_memory = code[i - 1] == "]" || code[i - 2] == "." || code.is_sign(i - 3, "->") || code[first] == "*";
    if (code[i] != "=" || code[i + 1] == "=" || !ends_operand(code, i - 1) || !to_memory || code.has(first, i, "auto"))
      continue;
    std::size_t end = i + 1;
    bool is_choice = false;
    for (; end < code.size() && code[end] != ";" && code[end] != "," && !closes(code[end]);
         end = opens(code[end]) ? after_brackets(code, end) : end + 1)
      is_choice = is_choice || code[end] == "?";
    if (!is_choice || code[end] == ",") continue;  // the comma may separate template arguments
    code.insert_after(i, " simt::once(");
    code.insert_after(end - 1, ")");
  }
}

// --- Launches --------------------------------------------------------------------------------------------------------

// kernel<<<grid, block>>>(...) becomes kernel->*tile::Launch(grid, block)(...).
void rewrite_launches(Code& code) {
  for (std::size_t open = 0; open < code.size(); ++open) {
    if (const std::string directive = code[open]; code.is_directive(open)) {
      const auto word = word_of_directive(directive, "define");
      if (word == std::string::npos || directive.find("<<<") == std::string::npos) continue;
      Code body(directive.substr(word));
      rewrite_launches(body);
      code.set(open, directive.substr(0, word) + body.text());
    }
    if (!code.is_sign(open, "<<<")) continue;
    std::size_t close = open + 3;
    while (close < code.size() && !code.is_sign(close, ">>>") && code[close] != ";")
      close = opens(code[close]) ? after_brackets(code, close) : close + 1;
    if (!code.is_sign(close, ">>>") || code[close + 3] != "(") continue;
    code.set(open, "->*tile::Launch(");
    code.set(close, ")");
    for (const std::size_t i : {open, close}) code.remove(i + 1, i + 3);
  }
}

// --- Included files --------------------------------------------------------------------------------------------------

void rewrite_includes(Code& code, const Include& include) {
  for (std::size_t i = 0; i < code.size(); ++i) {
    const std::string& t = code[i];
    if (!code.is_directive(i) || word_of_directive(t, "include") == std::string::npos) continue;
    const auto open = t.find_first_of("\"<"), close = t.find_first_of("\">", open + 1);
    if (close == std::string::npos) continue;
    code.set(i, t.substr(0, open + 1) + include(t.substr(open + 1, close - open - 1)) + t.substr(close));
  }
}

}  // namespace

std::string rewritten(const std::string& text, const Include& include, Known& known) {
  Code code(text);
  rewrite_includes(code, include);  // first, so that their declarations are known
  const Outline outline = outline_of(code, known);
  rewrite_host_code(code, outline.functions);
  rewrite_indices(code, known);
  rewrite_choices(code);
  rewrite_shared(code, outline.outside, known);
  rewrite_device_variables(code, outline.outside);
  refuse_own_tensor_maps(code, outline.functions);
  rewrite_launches(code);
  return code.text();
}

}  // namespace rewrite
