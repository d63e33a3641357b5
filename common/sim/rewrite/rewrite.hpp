// From CUDA C++ to what the SIMT model compiles: the same text, line for line, but for what has no meaning in C++ or
// whose reads would go uncounted. In: the text of a .cu file, or of one that it includes. Out: C++.
#pragma once

#include <functional>
#include <set>
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

/// Signs are single characters. A directive (#include ...) is one token with its continuation lines and its comments;
/// so is a string, raw or not, and a character. A backslash at the end of a line is space.
std::vector<Token> of(const std::string& text);

}  // namespace tokens

namespace rewrite {

/// What becomes of `#include "NAME"`: the name to include instead.
using Include = std::function<std::string(const std::string& name)>;

/// What the files of a program have declared so far.
struct Known {
  std::set<std::string> scalars;  ///< single variables that are __shared__, __device__ or __constant__
  int declared = 0;               ///< __shared__ variables, all of them
  std::set<std::string> qualifiers{"__device__", "__global__"};  ///< and macros that have one of these
};

/// What is rewritten, the appendix lists (book/appendix-simt-model.md); included names, as `include` says.
std::string rewritten(const std::string& text, const Include& include, Known& known);

}  // namespace rewrite
