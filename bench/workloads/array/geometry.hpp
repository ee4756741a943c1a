// The elements of the array that each rank holds, those that are asked for, and where they lie:
// arithmetic on the array library's values. Pure.
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
  array::RegularDistribution reading;  // and when it is read
  array::Section asked;                // what is written and read in timed phases
  std::string writing_formats = {};    // the formats of both in HPF's words
  std::string reading_formats = {};

  [[nodiscard]] bool is_section() const { return asked != array::Section::of(shape.box()); }
  // Whether elements between those asked for are left out.
  [[nodiscard]] bool is_strided() const {
    return asked != array::Section::of(asked.bounding_box());
  }
  // The formats of `reading` when `by` is that one, otherwise of `writing`.
  [[nodiscard]] const std::string& formats_of(const array::RegularDistribution& by) const {
    return by.text() == reading.text() ? reading_formats : writing_formats;
  }
  [[nodiscard]] std::int64_t array_bytes() const { return shape.elements() * type.bytes(); }
  [[nodiscard]] std::int64_t asked_bytes() const { return asked.elements() * type.bytes(); }
};

// What one rank holds of the array, in its memory as a dense array in row-major order, and what of
// it is asked for. Without elements for ranks beyond the process grid.
class Part {
 public:
  Part(const Geometry& geometry, const array::RegularDistribution& distribution, std::int64_t rank);

  // The part as it is when the whole array is asked for.
  [[nodiscard]] Part whole() const;

  [[nodiscard]] const array::Region& held() const { return held_; }
  [[nodiscard]] const array::Indices& local_extents() const { return local_extents_; }
  // The asked elements, each once, as places in the array and in the rank's memory: regions of the
  // same number stand for each other. None when there is no element.
  [[nodiscard]] const std::vector<array::UniformRegion>& asked() const { return asked_; }
  [[nodiscard]] std::vector<array::UniformRegion> asked_in_memory() const;
  [[nodiscard]] bool empty() const { return asked_.empty(); }
  // Whether nothing is held beside what is asked for.
  [[nodiscard]] bool is_all_asked() const { return asked_bytes_ == held_bytes(); }
  [[nodiscard]] std::int64_t held_bytes() const { return held_.elements() * type_.bytes(); }
  [[nodiscard]] std::int64_t asked_bytes() const { return asked_bytes_; }
  [[nodiscard]] const array::Shape& shape() const { return shape_; }
  [[nodiscard]] const array::ElementType& type() const { return type_; }
  [[nodiscard]] const array::RegularDistribution& distribution() const { return distribution_; }
  [[nodiscard]] std::int64_t rank() const { return rank_; }

  // The asked elements as runs from the rank's memory to a file of the whole array in row-major
  // order: copies that together have each element once.
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

// "512x512x64": extents that multiply, each with an optional suffix k, m, g, t. `setting` names the
// option in errors.
[[nodiscard]] Result<array::Indices> parse_extents(std::string_view setting, std::string_view text);
// "BLOCK,CYCLIC(32),*": one format per dimension; one for all is allowed.
[[nodiscard]] Result<std::vector<array::DistributionFormat>> parse_formats(std::string_view setting,
                                                                           std::string_view text,
                                                                           int dimensions);
// "0:100,8:512:2": first index, the one after the last, and the stride, per dimension.
[[nodiscard]] Result<array::Section> parse_section(std::string_view text,
                                                   const array::Shape& shape);

// A section that covers half of the array, as nearly as its extents allow, and begins at odd
// indices: on no boundary of a chunk or block.
[[nodiscard]] array::Box half_section(const array::Shape& shape);

// As many processes as there are ranks, as evenly as MPI_Dims_create shares them out, over the
// dimensions that are distributed and of which `given` has 0.
[[nodiscard]] Result<array::Indices> process_grid(
    std::string_view setting, std::int64_t ranks,
    const std::vector<array::DistributionFormat>& formats, array::Indices given);

}  // namespace weir::bench::array_io
