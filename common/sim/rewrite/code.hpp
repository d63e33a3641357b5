// The text of a .cu file as what rewrite.cpp changes: tokens that the grammar sees, and what can be told of them without a compiler.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tokens {

struct Token {
  enum class Kind { space, comment, directive, text, number, name, sign } kind;
  std::string text;

  bool is(const char* what) const { return text == what; }
  /// Whether the grammar sees it.
  bool counts() const { return kind != Kind::space && kind != Kind::comment; }
};

/// Signs are single characters. A directive (#include ...) is one token with the lines that it is continued on, a comment in it
/// included; so are strings, raw ones too, and characters. A backslash that ends a line is space.
std::vector<Token> of(const std::string& text);

}  // namespace tokens

namespace rewrite {

/// The tokens of a text that the grammar sees. Edits change their texts; what lies between them, lines too, stays.
class Code {
 public:
  explicit Code(const std::string& text) : all_(tokens::of(text)), inserted_(all_.size()) {
    for (std::size_t i = 0; i < all_.size(); ++i)
      if (all_[i].counts()) seen_.push_back(i);
  }
  std::size_t size() const { return seen_.size(); }
  /// A token's text; "" after the last.
  const std::string& operator[](std::size_t i) const { return i < size() ? all_[seen_[i]].text : none_; }
  bool is_name(std::size_t i) const { return i < size() && all_[seen_[i]].kind == tokens::Token::Kind::name; }
  bool is_directive(std::size_t i) const { return i < size() && all_[seen_[i]].kind == tokens::Token::Kind::directive; }
  /// Whether token i is the first of signs that stand together.
  bool is_sign(std::size_t i, const std::string& sign) const {
    for (std::size_t k = 0; k < sign.size(); ++k)
      if ((*this)[i + k] != std::string(1, sign[k]) || seen_[i + k] != seen_[i] + k) return false;
    return true;
  }
  /// Whether one of the tokens [begin, end) is this word.
  bool has(std::size_t begin, std::size_t end, const std::string& word) const {
    while (begin < end && (*this)[begin] != word) ++begin;
    return begin < end;
  }
  void set(std::size_t i, const std::string& text) { all_[seen_[i]].text = text; }
  void insert_after(std::size_t i, const std::string& text) { inserted_[seen_[i]] += text; }
  void remove(std::size_t begin, std::size_t end) {
    while (begin < end) set(begin++, "");
  }
  std::string text() const {
    std::string text;
    for (std::size_t i = 0; i < all_.size(); ++i) text += all_[i].text + inserted_[i];
    return text;
  }

 private:
  std::vector<tokens::Token> all_;
  std::vector<std::string> inserted_;  // what is inserted after each
  std::vector<std::size_t> seen_;
  const std::string none_;
};

/// The brackets ( [ {.
bool opens(const std::string& token);
bool closes(const std::string& token);
/// After the bracket that closes the one at `open`.
std::size_t after_brackets(const Code& code, std::size_t open);
/// Skips template arguments: the < after a name up to its >.
std::size_t after_angles(const Code& code, std::size_t open);
/// Of each token, whether only namespaces are open there.
std::vector<bool> outside_of(const Code& code);
/// Where what is declared at `i` ends to be visible: with its block, or, for a parameter, with the next one.
std::size_t end_of_scope(const Code& code, std::size_t i, bool is_parameter);
/// alignas or __align__.
bool is_alignment(const std::string& token);

/// A declaration that begins with qualifiers: what it declares, as far as that are variables.
struct Declaration {
  bool is_variable = false, is_constant = false, is_constexpr = false, is_array = false;
  std::vector<std::string> names;
  std::size_t end = 0;  ///< of its ;
};
Declaration declaration_at(const Code& code, std::size_t begin);
/// The first token of the statement that token i is part of.
std::size_t first_of_statement(const Code& code, std::size_t i);

}  // namespace rewrite
