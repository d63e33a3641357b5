// C++ text as tokens. In: the text of a file. Out: its tokens, which together are the text again.
#pragma once

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
