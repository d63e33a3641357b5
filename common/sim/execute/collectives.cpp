// What the lanes of a warp compute together: each function reads the slots of the lanes of a mask and writes their results.
#include "common/cuda/vocabulary.hpp"

namespace simt::device {
namespace {

// Calls f(lane, slot) for the lanes of a mask.
template <class F>
void for_each(unsigned mask, Slot* const* slots, F f) {
  for (int lane = 0; lane < 32; ++lane)
    if (mask >> lane & 1u) f(lane, *slots[lane]);
}

// source(own, first of the segment, slot) is the lane whose value is taken.
template <class Source>
void take_from(unsigned mask, Slot* const* slots, Source source) {
  for_each(mask, slots, [&](int own, Slot& slot) {
    const int from = source(own, own / slot.width * slot.width, slot);
    if (from < 32 && (mask >> from & 1u))
      slot.result = slots[from]->value;
    else
      slot.missing_lane = from;
  });
}

unsigned votes_of(unsigned mask, Slot* const* slots) {
  unsigned votes = 0;
  for_each(mask, slots, [&](int lane, const Slot& slot) { votes |= unsigned(slot.value != 0) << lane; });
  return votes;
}

void answer(unsigned mask, Slot* const* slots, std::uint64_t result) {
  for_each(mask, slots, [&](int, Slot& slot) { slot.result = result; });
}

// Combines the 32-bit values of all lanes by f and gives the result to each.
template <class F>
void combine(unsigned mask, Slot* const* slots, F f) {
  bool first = true;
  std::uint32_t result = 0;
  for_each(mask, slots, [&](int, const Slot& slot) {
    result = first ? std::uint32_t(slot.value) : f(result, std::uint32_t(slot.value));
    first = false;
  });
  answer(mask, slots, result);
}

}  // namespace

void sync(unsigned, Slot* const*) {}

void shuffle(unsigned mask, Slot* const* slots) {
  take_from(mask, slots, [](int, int first, const Slot& s) { return first + (s.operand & (s.width - 1)); });
}
void shuffle_up(unsigned mask, Slot* const* slots) {
  take_from(mask, slots,
            [](int own, int first, const Slot& s) { return own - s.operand >= first ? own - s.operand : own; });
}
void shuffle_down(unsigned mask, Slot* const* slots) {
  take_from(mask, slots, [](int own, int first, const Slot& s) {
    return own + s.operand < first + s.width ? own + s.operand : own;
  });
}
void shuffle_xor(unsigned mask, Slot* const* slots) {
  take_from(mask, slots, [](int own, int first, const Slot& s) {
    return (own ^ s.operand) < first + s.width ? own ^ s.operand : own;
  });
}
void ballot(unsigned mask, Slot* const* slots) { answer(mask, slots, votes_of(mask, slots)); }
void any(unsigned mask, Slot* const* slots) { answer(mask, slots, votes_of(mask, slots) != 0); }
void all(unsigned mask, Slot* const* slots) { answer(mask, slots, votes_of(mask, slots) == mask); }

void reduce_add(unsigned mask, Slot* const* slots) {
  combine(mask, slots, [](std::uint32_t a, std::uint32_t b) { return a + b; });
}
void reduce_min(unsigned mask, Slot* const* slots) {
  combine(mask, slots, [](std::uint32_t a, std::uint32_t b) { return a < b ? a : b; });
}
void reduce_max(unsigned mask, Slot* const* slots) {
  combine(mask, slots, [](std::uint32_t a, std::uint32_t b) { return a > b ? a : b; });
}
void reduce_min_signed(unsigned mask, Slot* const* slots) {
  combine(mask, slots, [](std::uint32_t a, std::uint32_t b) { return std::int32_t(a) < std::int32_t(b) ? a : b; });
}
void reduce_max_signed(unsigned mask, Slot* const* slots) {
  combine(mask, slots, [](std::uint32_t a, std::uint32_t b) { return std::int32_t(a) > std::int32_t(b) ? a : b; });
}
void reduce_and(unsigned mask, Slot* const* slots) {
  combine(mask, slots, [](std::uint32_t a, std::uint32_t b) { return a & b; });
}
void reduce_or(unsigned mask, Slot* const* slots) {
  combine(mask, slots, [](std::uint32_t a, std::uint32_t b) { return a | b; });
}
void reduce_xor(unsigned mask, Slot* const* slots) {
  combine(mask, slots, [](std::uint32_t a, std::uint32_t b) { return a ^ b; });
}
void match_any(unsigned mask, Slot* const* slots) {
  for_each(mask, slots, [&](int, Slot& own) {
    for_each(mask, slots, [&](int lane, const Slot& other) {
      if (other.value == own.value) own.result |= 1u << lane;
    });
  });
}
void meet_active(unsigned mask, Slot* const* slots) { answer(mask, slots, mask); }

}  // namespace simt::device
