// What the lanes of a warp, or the threads of a block, find out together, beyond the shuffles and votes of vocabulary.hpp.
#pragma once

namespace simt::device {

void reduce_add(unsigned mask, Slot* const* slots);
void reduce_min(unsigned mask, Slot* const* slots);
void reduce_max(unsigned mask, Slot* const* slots);
void reduce_min_signed(unsigned mask, Slot* const* slots);
void reduce_max_signed(unsigned mask, Slot* const* slots);
void reduce_and(unsigned mask, Slot* const* slots);
void reduce_or(unsigned mask, Slot* const* slots);
void reduce_xor(unsigned mask, Slot* const* slots);
void match_any(unsigned mask, Slot* const* slots);
void meet_active(unsigned mask, Slot* const* slots);

/// The lanes of the warp that come to this call while the others cannot go on.
unsigned active_lanes();
/// __syncthreads, and how many threads of the block came with `predicate`.
int block_vote(bool predicate);

template <class T>
SIMT_INLINE std::uint64_t bits_of(T value) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "lanes compare values of 4 or 8 bytes");
  return std::bit_cast<std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>>(value);
}

}  // namespace simt::device

#define SIMT_REDUCE(name, T, function) \
  SIMT_INLINE T name(unsigned mask, T value) { return T(simt::device::together(mask, function, unsigned(value))); }
SIMT_REDUCE(__reduce_add_sync, unsigned, simt::device::reduce_add)
SIMT_REDUCE(__reduce_add_sync, int, simt::device::reduce_add)
SIMT_REDUCE(__reduce_min_sync, unsigned, simt::device::reduce_min)
SIMT_REDUCE(__reduce_min_sync, int, simt::device::reduce_min_signed)
SIMT_REDUCE(__reduce_max_sync, unsigned, simt::device::reduce_max)
SIMT_REDUCE(__reduce_max_sync, int, simt::device::reduce_max_signed)
SIMT_REDUCE(__reduce_and_sync, unsigned, simt::device::reduce_and)
SIMT_REDUCE(__reduce_or_sync, unsigned, simt::device::reduce_or)
SIMT_REDUCE(__reduce_xor_sync, unsigned, simt::device::reduce_xor)
#undef SIMT_REDUCE

template <class T>
SIMT_INLINE unsigned __match_any_sync(unsigned mask, T value) {
  return unsigned(simt::device::together(mask, simt::device::match_any, simt::device::bits_of(value)));
}
template <class T>
SIMT_INLINE unsigned __match_all_sync(unsigned mask, T value, int* all) {
  *all = __match_any_sync(mask, value) == mask;
  return *all ? mask : 0;
}
SIMT_INLINE unsigned __activemask() { return simt::device::active_lanes(); }

SIMT_INLINE int __syncthreads_count(int predicate) { return simt::device::block_vote(predicate != 0); }
SIMT_INLINE int __syncthreads_or(int predicate) { return simt::device::block_vote(predicate != 0) != 0; }
SIMT_INLINE int __syncthreads_and(int predicate) { return simt::device::block_vote(predicate == 0) == 0; }
