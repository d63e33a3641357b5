// What the machine code of a kernel consists of. In: a kernel's entry of a record. Out: facts.
#pragma once

#include <string>

#include "common/bench/record.hpp"
#include "common/report/facts.hpp"

namespace tile {

/// Facts `<name>.sass.*` of the whole function and `<name>.sass_loop.*` of its main loop; not yet measured where `entry`, which
/// may be null, does not say. Where it has a profile as well: `turn_cycles`, what a turn of the loop took a warp if its
/// instructions took as long as the average of the kernel; `bank_cycles_of_all_warps`, what the busier register bank needs
/// meanwhile, since every warp of the scheduler makes a turn; `cycles_beyond_banks`, the difference. `sms`: of the GPU.
void add_machine_code_facts(Facts& facts, const std::string& name, const Record* entry, int sms);

}  // namespace tile
