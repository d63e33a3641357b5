// From CUDA C++ to the C++ that the SIMT model compiles: the same text, line for line, except for constructs that are
// not C++ or whose reads would not be counted. In: the text of a .cu file, or of one that it includes. Out: C++.
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
  /// Whether it is significant to the grammar.
  bool counts() const { return kind != Kind::space && kind != Kind::comment; }
};

/// Splits a text into tokens. Operators are single characters. A directive (#include ...) is one token, including its
/// continuation lines and comments; so is a string, raw or not, and a character. A backslash before a newline is space.
std::vector<Token> of(const std::string& text);

}  // namespace tokens

namespace rewrite {

/// Maps the NAME of `#include "NAME"` to the name to include instead.
using Include = std::function<std::string(const std::string& name)>;

/// The declarations seen so far in the files of a program.
struct Known {
  std::set<std::string> scalars;  ///< __shared__, __device__ and __constant__ variables that are not arrays
  int declared = 0;               ///< the number of __shared__ variables
  std::set<std::string> qualifiers{"__device__", "__global__"};  ///< and macros that contain one
};

/// The rewritten text; book/appendix-simt-model.md lists what is rewritten. `include` maps the names of included files.
std::string rewritten(const std::string& text, const Include& include, Known& known);

}  // namespace rewrite
