// __shared__ variables for the SIMT model. `__shared__ float As[64];` becomes (common/sim/rewrite/rewrite_shared.cpp)
//   struct simt_shared_As { float As[64]; }; auto& As = simt::shared<&simt_shared_As::As, "As", 0>();
// a reference to where the variable lies in the shared memory of the running block. Such a struct is never made: it is what a
// declaration with all its extents, alignments and names can stand in as it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <typeinfo>

namespace simt {

/// A declaration of a __shared__ variable; one for each instantiation of the function that it stands in. The model finds those that
/// a program uses in its symbol table, by their names (common/sim/hooks/names.cpp).
struct SharedDeclaration {
  static constexpr std::size_t most_extents = 8;

  const char* name;
  const std::type_info* within;  ///< the struct around it, whose own name says in which function it is
  int place;                     ///< in which order they were declared
  std::size_t bytes, alignment, element, element_alignment;
  std::size_t extents[most_extents];  ///< of an array; those behind the last are 0
  std::uint32_t number;               ///< among those that the program uses, from 1 on; 0 until that is known
};

/// A name as a template's argument.
template <std::size_t BYTES>
struct SharedName {
  char text[BYTES] = {};
  constexpr SharedName(const char (&name)[BYTES]) {
    for (std::size_t i = 0; i < BYTES; ++i) text[i] = name[i];
  }
};

template <auto MEMBER>
struct SharedMember;
template <class Struct, class Variable, Variable Struct::*MEMBER>
struct SharedMember<MEMBER> {
  using Within = Struct;
  using Type = Variable;
};

template <auto MEMBER, SharedName NAME, int PLACE>
constexpr SharedDeclaration described_shared() {
  using Type = typename SharedMember<MEMBER>::Type;
  using Within = typename SharedMember<MEMBER>::Within;
  static_assert(std::rank_v<Type> <= SharedDeclaration::most_extents,
                "an array of so many dimensions the model cannot name");
  SharedDeclaration d{NAME.text,
                      &typeid(Within),
                      PLACE,
                      sizeof(Type),
                      alignof(Within),
                      sizeof(std::remove_all_extents_t<Type>),
                      alignof(std::remove_all_extents_t<Type>),
                      {},
                      0};
  [&]<std::size_t... I>(std::index_sequence<I...>) { ((d.extents[I] = std::extent_v<Type, I>), ...); }
  (std::make_index_sequence<SharedDeclaration::most_extents>{});
  return d;
}
template <auto MEMBER, SharedName NAME, int PLACE>
inline constinit SharedDeclaration shared_declaration = described_shared<MEMBER, NAME, PLACE>();

namespace device {
/// Where a variable lies in the shared memory of the running block. Nothing that changes while a thread runs, hence [[gnu::const]].
[[gnu::const]] void* shared(const SharedDeclaration& declaration) noexcept;
}  // namespace device

template <auto MEMBER, SharedName NAME, int PLACE>
SIMT_INLINE auto& shared() noexcept {
  return *static_cast<typename SharedMember<MEMBER>::Type*>(device::shared(shared_declaration<MEMBER, NAME, PLACE>));
}

}  // namespace simt
