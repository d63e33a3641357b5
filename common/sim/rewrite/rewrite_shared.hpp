// What becomes of declarations of __shared__ variables, when a .cu file is rewritten for the SIMT model.
#pragma once

#include <string>
#include <vector>

#include "common/sim/rewrite/code.hpp"
#include "common/sim/rewrite/rewrite.hpp"

namespace rewrite {

/// Makes of each __shared__ variable a reference to where it lies in the shared memory of the running block, on the same line; so that
/// functions see those outside functions, too, and lambdas all of them, they are declared in the former and captured by the latter.
/// `outside` is as outside_of(code) has it.
void rewrite_shared(Code& code, const std::vector<bool>& outside, Known& known);

}  // namespace rewrite
