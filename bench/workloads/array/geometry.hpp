// The array, how ranks hold it, and the elements that are selected. This is arithmetic on the array
// library's values. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "array/box.hpp"
#include "array/element_type.hpp"
#include "array/regular_distribution.hpp"
#include "array/section.hpp"
#include "array/shape.hpp"
#include "common/status.hpp"
#include "interfaces/array_part.hpp"

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
  // Returns the formats of `reading` if `by` equals it, otherwise those of `writing`.
  [[nodiscard]] const std::string& formats_of(const array::RegularDistribution& by) const {
    return by.text() == reading.text() ? reading_formats : writing_formats;
  }
  // Returns the part of a rank that holds the array as `by` says.
  [[nodiscard]] Part part(const array::RegularDistribution& by, std::int64_t rank) const {
    return {type, by, formats_of(by), asked, rank};
  }
  [[nodiscard]] std::int64_t array_bytes() const { return shape.elements() * type.bytes(); }
  [[nodiscard]] std::int64_t asked_bytes() const { return asked.elements() * type.bytes(); }
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

// A distribution as the user gives it, with the names of the options for errors.
struct DistributionWords {
  const char* formats_option;
  std::string formats;
  const char* grid_option;
  std::string grid;  // empty: none is given
};
// Returns the distribution over at most `ranks` ranks.
[[nodiscard]] Result<array::RegularDistribution> distribution_of(const DistributionWords& words,
                                                                 const array::Shape& shape,
                                                                 std::int64_t ranks);

}  // namespace weir::bench::array_io
