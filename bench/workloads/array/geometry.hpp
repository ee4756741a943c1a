// The elements of the array that each rank holds, those that are selected, and where they lie. This
// is arithmetic on the array library's values. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "array/box.hpp"
#include "array/copy.hpp"
#include "array/element_type.hpp"
#include "array/regular_distribution.hpp"
#include "array/section.hpp"
#include "array/shape.hpp"
#include "common/status.hpp"

namespace weir::bench::array_io {

struct Geometry {
  array::Shape shape;
  array::ElementType type;
  array::RegularDistribution writing;  // how ranks hold the array when it is written
  array::RegularDistribution reading;  // how ranks hold the array when it is read
  array::Section asked;                // the elements that timed phases write and read
  std::string writing_formats = {};    // the formats of `writing` in HPF's notation
  std::string reading_formats = {};

  [[nodiscard]] bool is_section() const { return asked != array::Section::of(shape.box()); }
  // Returns whether the section leaves out elements between selected ones.
  [[nodiscard]] bool is_strided() const {
    return asked != array::Section::of(asked.bounding_box());
  }
  // Returns the formats of `reading` if `by` equals it, otherwise those of `writing`.
  [[nodiscard]] const std::string& formats_of(const array::RegularDistribution& by) const {
    return by.text() == reading.text() ? reading_formats : writing_formats;
  }
  [[nodiscard]] std::int64_t array_bytes() const { return shape.elements() * type.bytes(); }
  [[nodiscard]] std::int64_t asked_bytes() const { return asked.elements() * type.bytes(); }
};

// The part of the array that one rank holds, as a dense array in row-major order in its memory, and
// the selected elements of that part. Ranks beyond the process grid have no elements.
class Part {
 public:
  Part(const Geometry& geometry, const array::RegularDistribution& distribution, std::int64_t rank);

  // Returns the part with the whole array selected.
  [[nodiscard]] Part whole() const;

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
  [[nodiscard]] const array::Shape& shape() const { return shape_; }
  [[nodiscard]] const array::ElementType& type() const { return type_; }
  [[nodiscard]] const array::RegularDistribution& distribution() const { return distribution_; }
  [[nodiscard]] std::int64_t rank() const { return rank_; }

  // Returns the selected elements as runs from the rank's memory to a file of the whole array in
  // row-major order. Together the copies contain each element once.
  [[nodiscard]] std::vector<array::StridedCopy> runs() const;

 private:
  array::Shape shape_;
  array::ElementType type_;
  array::RegularDistribution distribution_;
  std::int64_t rank_;
  array::Region held_;
  array::Indices local_extents_;
  std::vector<array::UniformRegion> asked_;
  std::int64_t asked_bytes_ = 0;

  void ask_for(const array::Region& section);
};

// Parses "512x512x64": extents that are multiplied, each with an optional suffix k, m, g or t.
// `setting` names the option in errors.
[[nodiscard]] Result<array::Indices> parse_extents(std::string_view setting, std::string_view text);
// Parses "BLOCK,CYCLIC(32),*": one format per dimension, or one format for all dimensions.
[[nodiscard]] Result<std::vector<array::DistributionFormat>> parse_formats(std::string_view setting,
                                                                           std::string_view text,
                                                                           int dimensions);
// Parses "0:100,8:512:2": the first index, the index after the last, and the stride, per dimension.
[[nodiscard]] Result<array::Section> parse_section(std::string_view text,
                                                   const array::Shape& shape);

// Returns a section that covers half of the array, as nearly as its extents allow. It begins at odd
// indices, so that it is aligned with no chunk or block.
[[nodiscard]] array::Box half_section(const array::Shape& shape);

// Returns a process grid with as many processes as there are ranks. They are shared out as evenly
// as with MPI_Dims_create over the distributed dimensions for which `given` has 0.
[[nodiscard]] Result<array::Indices> process_grid(
    std::string_view setting, std::int64_t ranks,
    const std::vector<array::DistributionFormat>& formats, array::Indices given);

}  // namespace weir::bench::array_io
