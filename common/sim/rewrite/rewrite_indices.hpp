// What becomes of an index that is read from memory, when a .cu file is rewritten for the SIMT model.
#pragma once

#include "common/sim/rewrite/code.hpp"
#include "common/sim/rewrite/rewrite.hpp"

namespace rewrite {

/// Of `table[index[i]]`, where the compiler knows the extent of `table`, g++ -fsanitize=bounds makes two loads of `index[i]`: one to compare
/// it with that extent. So an index that may be read from memory is handed through a call, which is made once. A member of the struct around a function
/// is not seen to be read, where its name stands alone.
void rewrite_indices(Code& code, Known& known);

}  // namespace rewrite
