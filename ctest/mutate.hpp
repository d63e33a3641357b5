// One-line mistakes that one could make in a chapter's program: what `mutants` tries.
#pragma once

#include <string>
#include <vector>

/// A copy of a program with one small mistake.
struct Mutant {
  std::string text;      ///< the whole program
  int line;              ///< where the mistake is
  std::string from, to;  ///< the line or lines before and after, without comments and with single spaces
};

/// All mistakes of a fixed catalogue in the program's configuration, index maps, kernels and launcher: from its first
/// `[snippet ...]` to the end of region `launch`, or of the last region before its registration where there is none.
/// Comments, messages and preprocessor lines are left alone. Always in the same order.
std::vector<Mutant> mutants_of(const std::string& program);
