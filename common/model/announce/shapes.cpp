#include "common/model/announce/shapes.hpp"

#include <dwarf.h>

#include <optional>

namespace simt::announce {
namespace {

// Where a thread-local variable lies: a constant, and an operation that makes an address of it.
std::optional<std::size_t> offset_of(Dwarf_Die& variable) {
  Dwarf_Attribute attribute;
  Dwarf_Op* operations = nullptr;
  std::size_t count = 0;
  if (dwarf_attr_integrate(&variable, DW_AT_location, &attribute) == nullptr ||
      dwarf_getlocation(&attribute, &operations, &count) != 0 || count != 2)
    return {};
  const auto then = operations[1].atom;
  if (then != DW_OP_GNU_push_tls_address && then != DW_OP_form_tls_address) return {};
  return operations[0].number;
}

std::optional<Dwarf_Die> type_of(Dwarf_Die& die) {
  Dwarf_Attribute attribute;
  Dwarf_Die type, bare;
  if (dwarf_formref_die(dwarf_attr_integrate(&die, DW_AT_type, &attribute), &type) == nullptr ||
      dwarf_peel_type(&type, &bare) != 0)
    return {};
  return bare;
}

std::optional<std::size_t> extent_of(Dwarf_Die& dimension) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  if (dwarf_formudata(dwarf_attr(&dimension, DW_AT_upper_bound, &attribute), &value) == 0) return value + 1;
  if (dwarf_formudata(dwarf_attr(&dimension, DW_AT_count, &attribute), &value) == 0) return value;
  return {};
}

Shape shape_of(Dwarf_Die& variable) {
  Shape shape;
  auto type = type_of(variable);
  if (!type || dwarf_tag(&*type) != DW_TAG_array_type) return {};
  Dwarf_Die dimension;
  for (int more = dwarf_child(&*type, &dimension); more == 0; more = dwarf_siblingof(&dimension, &dimension)) {
    const auto extent = extent_of(dimension);
    if (!extent) return {};
    shape.extents.push_back(*extent);
  }
  auto element = type_of(*type);
  Dwarf_Word bytes = 0;
  if (element && dwarf_aggregate_size(&*element, &bytes) == 0) shape.element = bytes;
  return shape;
}

void collect(Dwarf_Die die, std::map<std::size_t, Shape>& found) {
  Dwarf_Die child;
  for (int more = dwarf_child(&die, &child); more == 0; more = dwarf_siblingof(&child, &child)) {
    if (dwarf_tag(&child) == DW_TAG_variable) {
      if (const auto offset = offset_of(child))
        if (const Shape shape = shape_of(child); shape.known()) found[*offset] = shape;
    }
    collect(child, found);
  }
}

}  // namespace

std::map<std::size_t, Shape> shapes_in(Dwarf_Die unit) {
  std::map<std::size_t, Shape> found;
  collect(unit, found);
  return found;
}

}  // namespace simt::announce
