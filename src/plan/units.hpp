// Divides one array's share of a schedule: its file or its chunks are cut into units, each of which
// belongs to one aggregator, and each unit into parts that fit into a buffer.
//
// clang-format off
//   dense     A unit is a range of the file. Unit u begins at byte base + u × unit_bytes; base and
//             unit_bytes are multiples of the alignment. An element belongs to the unit of its
//             first byte. On average a unit contains about a buffer's worth of requested elements,
//             and all aggregators have equal numbers of units.
//   chunked   A unit is one chunk, or as many chunks of consecutive numbers as fit into a buffer.
// clang-format on
//
// Units are assigned to aggregators in one of three ways: contiguously (unit u to ⌊u / units per
// aggregator⌋), striped (round-robin, by the stripe's number in the file), or, for chunks, by
// Declustering. In each case the aggregator and step of a unit, and the unit of an aggregator and
// step, have closed forms.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "array/declustering.hpp"
#include "array/region.hpp"
#include "array/section.hpp"
#include "plan/image.hpp"
#include "plan/parameters.hpp"
#include "plan/slab.hpp"

namespace weir::plan {

class Units {
 public:
  // `asked` are the requested elements of this array. With `aggregators` = 1 and a buffer of 2^62
  // bytes, there is one unit (per chunk).
  Units(const Image& image, const array::Section& asked, std::int64_t aggregators,
        const Parameters& parameters);

  [[nodiscard]] const array::Section& asked() const { return asked_; }
  [[nodiscard]] std::int64_t count() const { return count_; }
  // Returns the last step plus one.
  [[nodiscard]] std::int64_t steps() const;
  [[nodiscard]] std::int64_t aggregator_of(std::int64_t unit) const;
  [[nodiscard]] std::int64_t step_of(std::int64_t unit) const;
  // Returns the unit of an aggregator at a step, or nothing if it has no unit at that step.
  [[nodiscard]] std::optional<std::int64_t> unit_at(std::int64_t aggregator,
                                                    std::int64_t step) const;
  // Returns the last unit that can be reached from `unit` with ascending steps: the last unit of
  // its domain if domains are contiguous, the last of all units otherwise.
  [[nodiscard]] std::int64_t last_in_order(std::int64_t unit) const;

  // Returns the first unit >= `from` with an element of `region`, or nothing if there is none.
  // `region` must lie inside the bounding box of the array's requested elements. The result has a
  // closed form.
  [[nodiscard]] std::optional<std::int64_t> next(const array::Region& region,
                                                 std::int64_t from) const;

  // The requested elements of a unit, as sections in the order of the file. Each section belongs to
  // one chunk or is one box of the file. `chunk` is -1 in a dense image.
  struct Content {
    array::Section section;
    std::int64_t chunk = -1;
  };
  [[nodiscard]] std::vector<Content> contents(std::int64_t unit) const;
  // Returns the same elements as few sections, some of them of many chunks, in the order of their
  // numbers. How many there are depends only on the number of dimensions.
  [[nodiscard]] std::vector<array::Section> sections(std::int64_t unit) const;
  // Returns the numbers of a unit's chunks; none in a dense image.
  [[nodiscard]] array::Interval chunks(std::int64_t unit) const;
  // Returns the contents of the first `most` of the chunks with these numbers that have a requested
  // element.
  [[nodiscard]] std::vector<Content> contents(const array::Interval& numbers,
                                              std::int64_t most) const;
  // Largest number of elements in a part.
  [[nodiscard]] std::int64_t elements_per_part() const { return elements_per_part_; }
  // Upper bound for the number of parts of a unit; possibly no unit has as many.
  [[nodiscard]] std::int64_t most_parts() const { return most_parts_; }
  // Returns the layout in the file of the elements of a content's section, by the section's own
  // indices. Sets `file` to the number of the file in the image, or to `no_file` if the chunk is in
  // no file; offsets are then relative to the start of the chunk.
  [[nodiscard]] array::Layout layout(const Content& content, std::int64_t& file) const;

 private:
  [[nodiscard]] std::int64_t aligned_unit(std::int64_t span, const Parameters& parameters) const;
  void cut_at_rows(const FileImage& dense, std::int64_t span, const Parameters& parameters);
  void cut_file(const FileImage& dense, const Parameters& parameters);
  void group_chunks(const ChunkedImage& chunked, const Parameters& parameters);
  [[nodiscard]] std::int64_t first_element(const FileImage& dense, std::int64_t unit) const;

  Image image_;
  array::Section asked_;
  std::int64_t aggregators_;
  std::int64_t elements_per_part_;
  std::int64_t count_ = 0;
  std::int64_t most_parts_ = 1;
  // Used for dense images.
  DomainAssignment assignment_;
  std::int64_t base_ = 0;
  std::int64_t unit_bytes_ = 1;
  std::int64_t per_aggregator_ = 1;
  std::int64_t phase_ = 0;          // striped: the aggregator of unit 0
  std::int64_t first_covered_ = 0;  // all requested elements of the file are in [first, end)
  std::int64_t end_covered_ = 0;
  // Used for chunked images.
  std::int64_t chunks_per_unit_ = 1;
  array::Declustering spread_{1};
};

// Returns the first chunk >= `from` that holds an element of `region`, or nothing if there is none.
// The result has a closed form per dimension.
[[nodiscard]] std::optional<std::int64_t> next_chunk(const array::ChunkGrid& grid,
                                                     const array::Region& region,
                                                     std::int64_t from);

}  // namespace weir::plan
