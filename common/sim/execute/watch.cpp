// The watch over untraced runs: a lane that has run for long without a stop may go round a loop for ever.
//
// The turns of loops are counted in traced runs, from the start. That takes time, so in an untraced one it begins when a quarter of a second has
// passed in which a worker went from no lane to another. From then on that lane's accesses are heard of, too: whoever touches memory gets on.
#include <atomic>
#include <chrono>

#include "common/sim/execute/execute.hpp"

namespace simt::execute {

void CloseWatch::access(Address address, std::size_t size, Op op, Address pc, bool is_volatile) {
  worker_.lane->idle_turns = 0;
  count_watched_access(worker_, pc);
  worker_.access(address, size, op, pc, is_volatile);
}

void CloseWatch::access_struct(Address address, std::size_t size, Op op, Address pc, announce::Alignment alignment) {
  worker_.lane->idle_turns = 0;
  count_watched_access(worker_, pc);
  worker_.access_struct(address, size, op, pc, alignment);
}

void CloseWatch::many_turns(Address pc) { worker_.many_turns(pc); }
void CloseWatch::refuse(Address pc, const std::string& what) { worker_.refuse(pc, what); }
void CloseWatch::refuse_index(Address pc, std::intptr_t index, const char* array_type) {
  worker_.refuse_index(pc, index, array_type);
}

void watch_until_done(Launch& launch, std::vector<Worker>& workers) {
  std::vector<std::uint64_t> slices(workers.size(), 0);
  std::unique_lock lock(launch.watch_mutex);
  while (!launch.workers_done.wait_for(lock, std::chrono::milliseconds(250),
                                       [&] { return launch.watched_workers == 0; })) {
    for (std::size_t i = 0; i < workers.size(); ++i) {
      Worker& worker = workers[i];
      const std::uint64_t now = worker.slices.load(std::memory_order_relaxed);
      // If the worker goes on to another lane right now, that one's turns are counted, or none are; then the next look will tell.
      if (now == std::exchange(slices[i], now) && worker.attention != nullptr)
        std::atomic_ref(worker.attention->turns).store(&worker.watched_turns, std::memory_order_relaxed);
    }
  }
}

void begin_watched_work(Worker& worker) {
  const std::scoped_lock lock(worker.launch->watch_mutex);
  worker.attention = &announce::attention;
}

void end_watched_work(Worker& worker) {
  const std::scoped_lock lock(worker.launch->watch_mutex);
  worker.attention = nullptr;
  if (--worker.launch->watched_workers == 0) worker.launch->workers_done.notify_one();
}

}  // namespace simt::execute
