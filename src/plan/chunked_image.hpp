// An array in chunks. Each chunk has a slot of equal size in one of the image's files; inside it
// the chunk's elements are packed in the image's order (an edge chunk is smaller and leaves the end
// of its slot unwritten, a hole where the file system has them).
//
//     one shared file      chunk c in slot c of file 0
//     subfiles             chunk c in slot ⌊c / files⌋ of file deal(c): array/spread_dealing.hpp
//     one file per rank    chunk c in the file of the rank that holds it, slots in the order of the
//                          rank's own chunks; for natural chunks alone
//
// Where a chunk lies is arithmetic: there is no table, and the number of ranks or aggregators that
// read has nothing to do with it.
#pragma once

#include <cstdint>
#include <optional>

#include "array/chunk_grid.hpp"
#include "array/element_type.hpp"
#include "array/regular_distribution.hpp"
#include "array/spread_dealing.hpp"
#include "common/status.hpp"

namespace weir::plan {

struct ChunkPlacement {
  std::int64_t offset = 0;          // of the first slot in each file, bytes
  std::int64_t slot_alignment = 1;  // slots are a multiple of so many bytes: stripes, blocks
  std::int64_t files = 1;           // 1: shared; more: subfiles
  // As spread_dealing.hpp has it: of files that are there; nothing: the best for the grid.
  std::optional<std::uint64_t> turn_per_group = std::nullopt;
};

class ChunkedImage {
 public:
  // Fails on a negative offset, an alignment or number of files below 1, and when the last byte's
  // offset does not fit into 63 bits.
  static Result<ChunkedImage> create(const array::ChunkGrid& grid, const array::ElementType& type,
                                     array::Order order, const ChunkPlacement& placement);
  // The natural chunks of `owners`, one file per rank.
  static Result<ChunkedImage> per_rank(const array::RegularDistribution& owners,
                                       const array::ElementType& type, array::Order order,
                                       std::int64_t offset, std::int64_t slot_alignment);

  [[nodiscard]] const array::ChunkGrid& grid() const { return grid_; }
  [[nodiscard]] const array::Shape& shape() const { return grid_.shape(); }
  [[nodiscard]] array::Order order() const { return order_; }
  [[nodiscard]] std::int64_t element_bytes() const { return element_bytes_; }
  [[nodiscard]] std::int64_t files() const { return files_; }
  [[nodiscard]] std::int64_t offset() const { return offset_; }
  [[nodiscard]] std::int64_t slot_bytes() const { return slot_bytes_; }
  // How many slots a file has, so that its length is offset() + slots × slot_bytes() at most.
  [[nodiscard]] std::int64_t slots(std::int64_t file) const;

  struct Place {
    std::int64_t file = 0;
    std::int64_t offset = 0;  // bytes from the start of the file

    friend bool operator==(const Place&, const Place&) = default;
  };
  [[nodiscard]] Place place_of(std::int64_t chunk) const;

  friend bool operator==(const ChunkedImage& a, const ChunkedImage& b);

 private:
  ChunkedImage(const array::ChunkGrid& grid, std::int64_t element_bytes, array::Order order)
      : grid_(grid), element_bytes_(element_bytes), order_(order) {}
  Status settle_slots(std::int64_t slot_alignment);
  [[nodiscard]] std::int64_t chunks_of(std::int64_t rank) const;

  array::ChunkGrid grid_;
  std::int64_t element_bytes_;
  array::Order order_;
  std::int64_t offset_ = 0;
  std::int64_t slot_bytes_ = 0;
  std::int64_t files_ = 1;
  array::SpreadDealing dealing_{1};
  std::optional<array::RegularDistribution> owners_;  // one file per rank
};

}  // namespace weir::plan
