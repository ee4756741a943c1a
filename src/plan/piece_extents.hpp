// The extents of the file that a piece goes to or comes from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "array/copy.hpp"
#include "array/odometer.hpp"
#include "plan/plan.hpp"

namespace weir::plan {

struct FileExtent {
  std::int64_t file = 0;    // in the caller's list of files
  std::int64_t offset = 0;  // bytes from the start of the file
  std::int64_t bytes = 0;
  std::int64_t buffer_offset = 0;  // where they are in the piece's buffer

  friend bool operator==(const FileExtent&, const FileExtent&) = default;
};

// The runs of a copy one after the other, from both sides.
class CopyRuns {
 public:
  explicit CopyRuns(const array::StridedCopy& copy);
  // False when there is none left.
  bool next(std::int64_t& from, std::int64_t& to);
  [[nodiscard]] std::int64_t bytes() const { return copy_.bytes; }

 private:
  array::StridedCopy copy_;
  array::Odometer<array::max_levels> place_;
  std::int64_t from_ = 0;
  std::int64_t to_ = 0;
};

// By slab; within a slab ascending, disjoint and as long as can be: extents that touch are one,
// also across slabs. Where the contributors leave holes in a piece, only what they hold is covered,
// so that a write changes nothing else.
class PieceExtents {
 public:
  // All of a piece.
  explicit PieceExtents(const Piece& piece);
  // What `contributors`, those of the piece, hold.
  PieceExtents(const Plan& plan, const Piece& piece, const std::vector<Contributor>& contributors);
  // The extents that another PieceExtents gave.
  explicit PieceExtents(std::vector<FileExtent> known) : known_(std::move(known)) {}
  // False when there is none left.
  bool next(FileExtent& extent);

 private:
  struct Source {
    CopyRuns runs;
    FileExtent next;
  };
  // Copies from buffer to file, each with the file.
  struct Copy {
    std::int64_t file = 0;
    std::size_t slab = 0;
    array::StridedCopy copy;
  };

  void begin_slab();
  bool next_run(FileExtent& run);

  std::vector<Copy> copies_;  // by slab
  std::size_t next_copy_ = 0;
  std::vector<Source> sources_;  // of the slab
  // The offset of each source's next run, and its number: the least comes first.
  using Next = std::pair<std::int64_t, std::size_t>;
  std::priority_queue<Next, std::vector<Next>, std::greater<>> order_;
  std::vector<FileExtent> known_;
  std::size_t next_known_ = 0;
  FileExtent waiting_;  // the next extent, as far as known
  bool has_waiting_ = false;
};

}  // namespace weir::plan
