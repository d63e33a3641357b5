// __shared__ variables for the SIMT model. `__shared__ float As[64];` becomes (common/sim/rewrite/rewrite.cpp)
//   struct simt_shared_As { float As[64]; }; auto& As = simt::shared<simt_shared_As, decltype(simt_shared_As::As), "As", 0>();
// a reference to where the variable lies in the shared memory of the running block. Such a struct is never made: it is what a
// declaration with all its extents, alignments and names can stand in as it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <typeinfo>

namespace simt {

/// A declaration of a __shared__ variable; one for each instantiation of the function that it stands in. The model finds those that
/// a program uses in its symbol table, by their names (common/sim/hooks/names.cpp).
struct SharedDeclaration {
  const char* name;
  const std::type_info* within;  ///< the struct around it, whose own name says in which function it is
  int place;                     ///< in which order they were declared
  std::size_t bytes, alignment;
  ElementType element;
  std::uint32_t number = 0;  ///< among those that the program uses, from 1 on; 0 until that is known
};

/// A name as a template's argument.
template <std::size_t BYTES>
struct SharedName {
  char text[BYTES] = {};
  constexpr SharedName(const char (&name)[BYTES]) {
    for (std::size_t i = 0; i < BYTES; ++i) text[i] = name[i];
  }
};

template <class Within, class Type, SharedName NAME, int PLACE>
inline constinit SharedDeclaration shared_declaration{.name = NAME.text,
                                                      .within = &typeid(Within),
                                                      .place = PLACE,
                                                      .bytes = sizeof(Type),
                                                      .alignment = alignof(Within),
                                                      .element = element_type<Type>()};

namespace device {
/// Where a variable lies in the shared memory of the running block. Nothing that changes while a thread runs, hence [[gnu::const]].
[[gnu::const]] void* shared(const SharedDeclaration& declaration) noexcept;
}  // namespace device

template <class Within, class Type, SharedName NAME, int PLACE>
SIMT_INLINE Type& shared() noexcept {
  return *static_cast<Type*>(device::shared(shared_declaration<Within, Type, NAME, PLACE>));
}

}  // namespace simt
