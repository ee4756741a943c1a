// One rank's part of an array in a file: the elements that it holds, those of them that are
// selected, and where they lie; or, of a file with several arrays, the boxes that it holds. This is
// arithmetic on the array library's values. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "array/box.hpp"
#include "array/copy.hpp"
#include "array/element_type.hpp"
#include "array/odometer.hpp"
#include "array/per_dimension.hpp"
#include "array/region.hpp"
#include "array/regular_distribution.hpp"
#include "array/section.hpp"
#include "array/shape.hpp"

namespace weir::bench {

// The part of the array that one rank holds, as a dense array in row-major order in its memory, and
// the selected elements of that part. Ranks beyond the process grid have no elements.
class Part {
 public:
  // `formats` are those of `distribution` in HPF's notation. `section` has the selected elements of
  // the whole array.
  Part(const array::ElementType& type, const array::RegularDistribution& distribution,
       std::string formats, const array::Section& section, std::int64_t rank);

  // Returns the part with the whole array selected.
  [[nodiscard]] Part whole() const;

  [[nodiscard]] const array::Section& section() const { return section_; }
  [[nodiscard]] bool is_section() const { return section_ != array::Section::of(shape().box()); }
  // Returns whether the section leaves out elements between selected ones.
  [[nodiscard]] bool is_strided() const {
    return section_ != array::Section::of(section_.bounding_box());
  }
  [[nodiscard]] const array::Region& held() const { return held_; }
  [[nodiscard]] const array::Indices& local_extents() const { return local_extents_; }
  // Returns the selected elements, each once. asked() and asked_in_memory() return them as places
  // in the array and in the rank's memory; regions with the same index correspond. Both are empty
  // if there is no element.
  [[nodiscard]] const std::vector<array::UniformRegion>& asked() const { return asked_; }
  [[nodiscard]] std::vector<array::UniformRegion> asked_in_memory() const;
  [[nodiscard]] bool empty() const { return asked_.empty(); }
  // Returns whether all elements of the part are selected.
  [[nodiscard]] bool is_all_asked() const { return asked_bytes_ == held_bytes(); }
  [[nodiscard]] std::int64_t held_bytes() const { return held_.elements() * type_.bytes(); }
  [[nodiscard]] std::int64_t asked_bytes() const { return asked_bytes_; }
  [[nodiscard]] std::int64_t array_bytes() const { return shape().elements() * type_.bytes(); }
  [[nodiscard]] const array::Shape& shape() const { return distribution_.shape(); }
  [[nodiscard]] const array::ElementType& type() const { return type_; }
  [[nodiscard]] const array::RegularDistribution& distribution() const { return distribution_; }
  [[nodiscard]] const std::string& formats() const { return formats_; }
  [[nodiscard]] std::int64_t rank() const { return rank_; }

  // Returns the selected elements as runs from the rank's memory to a file of the whole array in
  // row-major order. Together the copies contain each element once.
  [[nodiscard]] std::vector<array::StridedCopy> runs() const;

 private:
  array::ElementType type_;
  array::RegularDistribution distribution_;
  std::string formats_;
  array::Section section_;
  std::int64_t rank_;
  array::Region held_;
  array::Indices local_extents_;
  std::vector<array::UniformRegion> asked_;
  std::int64_t asked_bytes_ = 0;

  void ask_for(const array::Section& section);
};

// One of the arrays of a file that has several, and this rank's box of it, which lies packed in the
// rank's memory in row-major order.
struct ArrayBox {
  std::string name;
  array::ElementType type;
  array::Indices extents;                    // of the whole array
  std::vector<std::string> dimension_names;  // one per dimension
  array::Box box;                            // may be empty
  // The number of the ranks' division of the array. Where extents and division of two arrays are
  // equal, each rank has the same box of both.
  int division = 0;
  // The names of the members of a record, for formats that have them (array/record_members.hpp).
  std::string members = {};

  [[nodiscard]] std::int64_t bytes() const { return box.elements() * type.bytes(); }
  [[nodiscard]] std::int64_t array_bytes() const {
    return array::Box{array::Indices(extents.size()), extents}.elements() * type.bytes();
  }
  // Returns the box as runs from the rank's memory to the whole array in row-major order.
  [[nodiscard]] std::vector<array::StridedCopy> runs() const;
};

// Calls `visit(memory_offset, file_offset, bytes)` for every run, in ascending order of file offset
// within each copy, until a call returns false. Returns whether all were visited.
template <typename Visit>
bool for_each_run(const std::vector<array::StridedCopy>& copies, Visit visit) {
  for (const array::StridedCopy& copy : copies) {
    if (copy.bytes == 0) continue;
    array::PerDimension<std::int64_t, array::max_levels> counts;
    for (const array::CopyLevel& level : copy.levels) counts.push_back(level.count);
    for (array::Odometer<array::max_levels> place(counts); place.valid(); place.advance()) {
      std::int64_t from = copy.from_offset;
      std::int64_t to = copy.to_offset;
      for (int i = 0; i < copy.levels.size(); ++i) {
        from += place.digits()[i] * copy.levels[i].from_stride;
        to += place.digits()[i] * copy.levels[i].to_stride;
      }
      if (!visit(from, to, copy.bytes)) return false;
    }
  }
  return true;
}

}  // namespace weir::bench
