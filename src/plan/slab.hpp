// A slab is the unit of a schedule: a section of one array that is packed in an aggregator's buffer
// and has one layout in one file. A piece consists of the slabs that are in a buffer together.
//
//     array         requested rows of one chunk or one range of the file
//       │ section
//     slab index    0 <= i[d] < section.count[d]
//       │ in_buffer: packed, in the order of the file        │ in_file: at strides
//     buffer  [slab|slab|slab]                             file  ..[row]..[row]..[row]..
//
// Buffers hold only requested elements. The holes of a section therefore cost neither memory nor
// messages; they appear only between the extents of the file.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "array/layout.hpp"
#include "array/section.hpp"

namespace weir::plan {

// The file number of elements that are in no file: reading them gives the fill value, and writing
// them is an error.
inline constexpr std::int64_t no_file = -1;

struct Slab {
  int array = 0;            // number of the array in the request
  array::Section section;   // the slab's elements; never empty
  std::int64_t file = 0;    // in the caller's list of files, or no_file
  array::Layout in_file;    // offsets in the file, by slab index
  array::Layout in_buffer;  // offsets in the piece's buffer, by slab index

  [[nodiscard]] std::int64_t bytes() const {
    return section.elements() * in_buffer.element_bytes();
  }
};

// A list of slabs that its copies share.
class SlabList {
 public:
  SlabList() = default;
  explicit SlabList(std::vector<Slab> slabs)
      : slabs_(std::make_shared<const std::vector<Slab>>(std::move(slabs))) {}

  [[nodiscard]] std::size_t size() const { return slabs_ == nullptr ? 0 : slabs_->size(); }
  [[nodiscard]] bool empty() const { return size() == 0; }
  [[nodiscard]] const Slab& operator[](std::size_t number) const { return (*slabs_)[number]; }
  [[nodiscard]] const Slab* begin() const { return slabs_ == nullptr ? nullptr : slabs_->data(); }
  [[nodiscard]] const Slab* end() const { return begin() + size(); }

 private:
  std::shared_ptr<const std::vector<Slab>> slabs_;
};

// Identifies a piece, equally on all ranks. An aggregator processes its pieces in ascending order
// of (array, unit, part), which for each array is the order of the disk. `step` ascends in the same
// order, and tells which pieces of different aggregators are processed at about the same time.
struct PieceId {
  std::int64_t step = 0;
  std::int64_t aggregator = 0;  // 0 <= aggregator < Plan::aggregators()
  int array = 0;                // for a bundle, its first array
  std::int64_t unit = 0;        // of the array's file or chunks
  std::int64_t part = 0;        // of the unit, if the unit does not fit into a buffer

  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 takes the comparison's 0 for a pointer
  friend auto operator<=>(const PieceId&, const PieceId&) = default;
};

struct Piece {
  PieceId id;
  SlabList slabs;          // in the order of the buffer and of the file
  std::int64_t bytes = 0;  // of the buffer: at most Parameters::buffer_bytes, except with direct
};

}  // namespace weir::plan
