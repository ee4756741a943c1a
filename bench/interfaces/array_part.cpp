#include "interfaces/array_part.hpp"

#include <utility>

#include "array/layout.hpp"

namespace weir::bench {

Part::Part(const array::ElementType& type, const array::RegularDistribution& distribution,
           std::string formats, const array::Section& section, std::int64_t rank)
    : type_(type),
      distribution_(distribution),
      formats_(std::move(formats)),
      section_(section),
      rank_(rank),
      held_(distribution.part(rank)),
      local_extents_(held_.dimensions()) {
  if (held_.dimensions() == 0) {
    const array::Indices none(shape().dimensions());
    held_ = array::Region(array::Box{none, none});
  }
  local_extents_ = held_.local_extents();
  ask_for(section);
}

void Part::ask_for(const array::Section& section) {
  section_ = section;
  asked_.clear();
  asked_bytes_ = 0;
  array::CommonRegions common(held_, array::Region(section));
  for (array::Region one; common.next(one);) {
    asked_bytes_ += one.elements() * type_.bytes();
    array::UniformRegions uniform(one);
    for (array::UniformRegion part; uniform.next(part);) asked_.push_back(part);
  }
}

Part Part::whole() const {
  Part all = *this;
  all.ask_for(array::Section::of(shape().box()));
  return all;
}

std::vector<array::UniformRegion> Part::asked_in_memory() const {
  std::vector<array::UniformRegion> places;
  places.reserve(asked_.size());
  for (const array::UniformRegion& one : asked_) places.push_back(array::localized(one, held_));
  return places;
}

std::vector<array::StridedCopy> Part::runs() const {
  std::vector<array::StridedCopy> copies;
  if (empty()) return copies;
  // The settings are checked so that the bytes of the whole array fit into 63 bits.
  constexpr auto order = array::Order::row_major;
  const auto memory = array::Layout::packed(local_extents_, type_.bytes(), order);
  const auto file = array::Layout::packed(shape().extents(), type_.bytes(), order);
  for (const array::UniformRegion& one : asked_) {
    copies.push_back(array::StridedCopy::between(array::localized(one, held_), memory.value(), one,
                                                 file.value()));
  }
  return copies;
}

std::vector<array::StridedCopy> ArrayBox::runs() const {
  if (box.empty()) return {};
  array::UniformRegion in_memory;
  array::UniformRegion in_array;
  for (int d = 0; d < box.dimensions(); ++d) {
    in_memory.push_back({.start = 0, .length = box.extent[d], .stride = 1, .count = 1});
    in_array.push_back({.start = box.lower[d], .length = box.extent[d], .stride = 1, .count = 1});
  }
  // Workloads check that the bytes of the whole array fit into 63 bits.
  constexpr auto order = array::Order::row_major;
  const auto memory = array::Layout::packed(box.extent, type.bytes(), order);
  const auto whole = array::Layout::packed(extents, type.bytes(), order);
  return {array::StridedCopy::between(in_memory, memory.value(), in_array, whole.value())};
}

}  // namespace weir::bench
