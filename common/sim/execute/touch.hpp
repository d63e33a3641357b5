// What files of this room need of each other where an access is looked at: touch.cpp looks at it, wrong_access.cpp says what is
// wrong with one.
#pragma once

#include "common/sim/execute/execute.hpp"

namespace simt::execute {

/// Where an access falls: in an array of elements.
struct Target {
  const std::string* array;
  std::size_t element;  // bytes
  Address begin;
  const Block* of = nullptr;               // if not the running one: whose shared memory it is
  const announce::Shape* shape = nullptr;  // of a __shared__ array, if that is known
};

/// An access to one place. Small enough to be handed on in registers.
struct Touched {
  Address address;
  std::uint32_t at;  // the instruction, as an offset into the program
  Op op;
  bool by_copy = false;  // not by the thread itself, but by Worker::copying
  bool strong =
      false;  // atomic, or through volatile as far as that counts: such accesses of several threads are no race
  bool may_poll = false;  // a load through volatile of a block's own shared memory

  Address pc() const { return announce::image_base() + at; }
};

// --- touch.cpp -------------------------------------------------------------------------------------------------------------
/// What follows from the running lane's last access, once it has been made.
void settle(Worker& worker);
/// Whether so many bytes lie in one __shared__ array or allocation.
bool is_in_bounds(Worker& worker, Address address, std::size_t size);
/// An access, if it is to the shared memory of another block of the cluster; else returns false.
bool touch_distributed(Worker& worker, std::size_t size, Touched t);
/// Ends the running lane unless they do.
void require_in_bounds(Worker& worker, Address address, std::size_t size, Op op, Address pc);
/// An access of a copy in bulk to `size` bytes that are in bounds: whether it is in order with what threads do.
void touch_in_bulk(Worker& worker, Address address, std::size_t size, Op op, Address pc, const order::By& by);
/// The store of a copy in bulk to the shared memory of any block of the cluster.
void touch_in_bulk_of(Worker& worker, Block& owner, Address address, std::size_t size, Address pc, const order::By& by);
void start_copy(Worker& worker, void* to, const void* from, std::size_t bytes, Address pc);
/// Lets the copies of groups up to `group` arrive.
void deliver_copies(Lane& lane, order::Epoch group);

// --- wrong_access.cpp ------------------------------------------------------------------------------------------------------
/// "As[7]", or "C[1][3]" where the region is a matrix or the array has two dimensions.
std::string element_name(const Target& target, const Region* region, Address address);
void report_race(Worker& worker, Touched t, const Target& target, const Region* region, const order::Conflict& other);
/// These end the running lane, which would touch `size` bytes that are not its own, or not at once.
[[noreturn]] void report_out_of_bounds(Worker& worker, std::size_t size, Touched t);
[[noreturn]] void report_misaligned(Worker& worker, std::size_t size, Touched t);

}  // namespace simt::execute
