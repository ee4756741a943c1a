// One array's share of a schedule: its file or its chunks cut into units, each of which belongs to
// one aggregator, and each unit into parts that fit into a buffer.
//
//   dense     A unit is a range of the file: from byte base + u × unit_bytes on, base and
//   unit_bytes
//             multiples of the alignment. An element belongs to the unit of its first byte. Units
//             are as long as a buffer's worth of elements asked for, on average, and as many as let
//             all aggregators have equally many.
//   chunked   A unit is chunks of consecutive numbers, one or as many as fit into a buffer.
//
// Units are distributed to aggregators: contiguous (unit u to ⌊u / units per aggregator⌋), striped
// (in turn, by the stripe's number in the file), or, for chunks, by Declustering. In each case
// aggregator and step of a unit, and the unit of an aggregator and step, are in closed form.
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
  // `asked` are the elements asked for of this array. With `aggregators` 1 and a buffer of 2^62
  // bytes there is one unit (per chunk).
  Units(const Image& image, const array::Section& asked, std::int64_t aggregators,
        const Parameters& parameters);

  [[nodiscard]] const array::Section& asked() const { return asked_; }
  [[nodiscard]] std::int64_t count() const { return count_; }
  // One more than the last step.
  [[nodiscard]] std::int64_t steps() const;
  [[nodiscard]] std::int64_t aggregator_of(std::int64_t unit) const;
  [[nodiscard]] std::int64_t step_of(std::int64_t unit) const;
  // The unit of an aggregator at a step; nothing when it has none then.
  [[nodiscard]] std::optional<std::int64_t> unit_at(std::int64_t aggregator,
                                                    std::int64_t step) const;
  // The last unit that one can go on to from `unit` with the steps ascending: of its domain where
  // domains are contiguous, of all otherwise.
  [[nodiscard]] std::int64_t last_in_order(std::int64_t unit) const;

  // The first unit >= `from` with an element of `region`, which lies inside the array's bounding
  // box of what is asked for. In closed form; nothing when there is none.
  [[nodiscard]] std::optional<std::int64_t> next(const array::Region& region,
                                                 std::int64_t from) const;

  // What is asked for in a unit, as sections in the order of the file, each of them of one chunk or
  // one box of the file. `chunk` is -1 in a dense image.
  struct Content {
    array::Section section;
    std::int64_t chunk = -1;
  };
  [[nodiscard]] std::vector<Content> contents(std::int64_t unit) const;
  // Parts of at most this many elements.
  [[nodiscard]] std::int64_t elements_per_part() const { return elements_per_part_; }
  // No unit has more parts, perhaps all fewer.
  [[nodiscard]] std::int64_t most_parts() const { return most_parts_; }
  // Where the elements of a section of one content lie in the file, by its own indices; and the
  // number of the file in the image: `no_file` when the chunk is in none, and then counted from the
  // chunk's start.
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
  // Dense.
  DomainAssignment assignment_;
  std::int64_t base_ = 0;
  std::int64_t unit_bytes_ = 1;
  std::int64_t per_aggregator_ = 1;
  std::int64_t phase_ = 0;          // striped: the aggregator of unit 0
  std::int64_t first_covered_ = 0;  // elements of the file between which all that is asked for lies
  std::int64_t end_covered_ = 0;
  // Chunked.
  std::int64_t chunks_per_unit_ = 1;
  array::Declustering spread_{1};
};

// The first chunk >= `from` that holds an element of `region`; nothing when there is none. In
// closed form per dimension.
[[nodiscard]] std::optional<std::int64_t> next_chunk(const array::ChunkGrid& grid,
                                                     const array::Region& region,
                                                     std::int64_t from);

}  // namespace weir::plan
