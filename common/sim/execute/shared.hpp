// The shared memory of blocks: where it lies, and what lies where in it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "common/sim/hooks/names.hpp"

namespace simt::execute {

using announce::Address;
using announce::SharedVariable;

/// Where the shared memory of one block lies. No two blocks that have begun have the same, nor a block and one that has ended in a
/// cluster which has not.
struct Arena {
  std::byte* memory = nullptr;
  std::size_t bytes = 0;
  std::atomic<std::uint32_t> block{0};  ///< whose it is now, by Block::serial; 0: nobody's
};

/// What lies where in an arena, in steps of so many bytes: the same in all blocks of a launch.
struct SharedLayout {
  static constexpr std::size_t grain = 16;  ///< no two variables share one

  std::size_t bytes = 0;                       ///< of an arena
  const std::uint16_t* variable_at = nullptr;  ///< 1 + index of the variable, or 0
  const std::uint32_t* room_at = nullptr;      ///< bytes from there to the variable's end, or 0
  const std::uint32_t* offset_of = nullptr;    ///< by SharedVariable::number
};

/// A __shared__ variable: where it lies in an arena, and where its cells begin. One that is not the kernel's own gets cells when a lane
/// touches it.
struct PlacedVariable : SharedVariable {
  std::size_t offset = 0;
  static constexpr std::size_t nowhere = ~std::size_t(0);
  std::atomic<std::size_t> first_byte{nowhere};  ///< among the bytes of all variables
  bool is_dynamic = false;                       ///< all of the launch's dynamic shared memory

  bool placed() const { return first_byte.load(std::memory_order_relaxed) != nowhere; }
};

}  // namespace simt::execute
