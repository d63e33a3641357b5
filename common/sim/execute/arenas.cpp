// Arenas: where the shared memory of blocks lies.
#include <sys/mman.h>

#include <algorithm>
#include <mutex>
#include <new>

#include "common/sim/execute/execute.hpp"

namespace simt::execute {
namespace {

// Pages that nobody touches cost nothing, so there may be room before and behind what a launch asks for, for addresses that miss it, and
// arenas may have but a few sizes.
constexpr std::size_t room_before = 64 * 1024, room_behind = 256 * 1024, unit = 1024 * 1024;

/// Arenas that there are, reused from launch to launch.
class ArenaPool {
 public:
  Arena* take(std::size_t bytes) {
    const std::scoped_lock lock(mutex_);
    const auto fits = [&](const Arena* arena) { return arena->bytes >= bytes + room_behind; };
    const auto found = std::find_if(free_.begin(), free_.end(), fits);
    if (found == free_.end()) return map(bytes);
    Arena* const arena = *found;
    free_.erase(found);
    return arena;
  }
  void give(Arena* arena) {
    const std::scoped_lock lock(mutex_);
    free_.push_back(arena);
  }
  const Arena* at(Address address) {
    const std::scoped_lock lock(mutex_);
    for (const auto& arena : all_)
      if (address - reinterpret_cast<Address>(arena->memory) + room_before < arena->bytes + room_before)
        return arena.get();
    return nullptr;
  }

 private:
  Arena* map(std::size_t bytes) {
    const std::size_t mapped = (room_before + bytes + room_behind + unit - 1) / unit * unit;
    void* const memory =
        mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    madvise(memory, mapped, MADV_NOHUGEPAGE);  // nor must a touch cost a page of 2 MiB
    all_.push_back(std::make_unique<Arena>());
    all_.back()->memory = static_cast<std::byte*>(memory) + room_before;
    all_.back()->bytes = mapped - room_before;
    return all_.back().get();
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<Arena>> all_;
  std::vector<Arena*> free_;
};
ArenaPool& pool() {
  static ArenaPool instance;
  return instance;
}

}  // namespace

Arena* take_arena(std::size_t bytes) { return pool().take(bytes); }
void give_arena(Arena* arena) {
  arena->block = 0;
  pool().give(arena);
}
const Arena* arena_at(Address address) { return pool().at(address); }

}  // namespace simt::execute
