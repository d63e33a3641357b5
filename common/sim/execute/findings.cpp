// What is said of a mistake: which kernel, line, block and thread.
#include <fmt/format.h>

#include <regex>
#include <utility>

#include "common/sim/execute/execute.hpp"

namespace simt {

const char* name_of(Op op) {
  constexpr const char* names[] = {"load", "store", "atomic", "bulk load", "bulk store"};
  return names[std::size_t(op)];
}
const char* name_of(Space space) {
  constexpr const char* names[] = {"global", "shared", "distributed", "constant"};
  return names[std::size_t(space)];
}

}  // namespace simt

namespace simt::execute {

namespace {

// A finding without what differs between two threads that make one mistake: threads, elements, addresses. Two instructions of a line may
// make it, of an unrolled loop for example, which no reader can tell apart.
std::string without_who_and_where(const std::string& finding) {
  static const std::regex varying(R"(\(\d+,\d+,\d+\)|\[-?\d+\]|0x[0-9a-f]+|\bindex -?\d+| from its byte \d+ on)");
  return std::regex_replace(finding, varying, "");
}

}  // namespace

void add_finding(Launch& launch, const MistakeKey& key, const std::function<std::string()>& message) {
  const std::scoped_lock lock(launch.mutex);
  if (!launch.seen.insert(key).second) return;
  if (std::string text = message(); launch.told.insert(without_who_and_where(text)).second)
    launch.findings.push_back(std::move(text));
}

std::string format_address(Address address) { return fmt::format("{:#x}", address); }

std::string line_of(Address return_address) {
  const Place place = announce::place_of(return_address);
  return fmt::format("{}:{}", place.file.substr(place.file.rfind('/') + 1), place.line);
}

std::string where(const Worker& worker, const Block& block, const Lane& lane, Address return_address) {
  const uint3 b = block.index, t = lane.thread;
  return fmt::format("{}, {}, block ({},{},{}), thread ({},{},{})", worker.launch->name, line_of(return_address), b.x,
                     b.y, b.z, t.x, t.y, t.z);
}

std::string where(const Worker& worker, const Lane& lane, Address return_address) {
  return where(worker, *worker.block, lane, return_address);
}

std::string where(const Worker& worker, Address return_address) { return where(worker, *worker.lane, return_address); }

std::string thread_name(const Worker& worker, std::uint64_t linear) {
  const dim3 b = worker.launch->block;
  return fmt::format("({},{},{})", linear % b.x, linear / b.x % b.y, linear / (b.x * b.y));
}

std::string actor_name(const Worker& w, order::Stamp by) {
  const std::uint32_t number = order::thread_of(by);
  switch (order::actor_of(by) - number) {
    case order::copies_of:
      return "an asynchronous copy of thread " + thread_name(w, number);
    case order::bulk_of:
      return "a copy in bulk of thread " + thread_name(w, number);
    case order::mbarrier_of:
      return "a copy for " +
             (order::block_of(by) == w.block->serial ? name_of_numbered_mbarrier(w, number) : "an mbarrier");
    default:
      return "thread " + thread_name(w, number);
  }
}

const char* verb_of(Op op) { return op == Op::load ? "reads" : op == Op::store ? "writes" : "updates"; }

void Worker::refuse(Address pc, const std::string& what) {
  report(*this, Mistake::unsupported, pc, 0, [&] { return fmt::format("unsupported: {} {}", where(*this, pc), what); });
  abandon_block(*this);
}

void Worker::refuse_index(Address pc, std::intptr_t index, const char* array_type) {
  report(*this, Mistake::bounds, pc, 0, [&] {
    constexpr std::intptr_t below = std::intptr_t(1) << 32;
    return fmt::format("out of bounds: {} uses index {} of an array of type {}{}", where(*this, pc), index, array_type,
                       index < below && index >= below - below / 64 ? ": an index without a sign went below 0" : "");
  });
  abandon_block(*this);
}

}  // namespace simt::execute
