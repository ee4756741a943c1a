// The extents of a file to which a piece is written or from which it is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "array/copy.hpp"
#include "array/copy_runs.hpp"
#include "plan/plan.hpp"

namespace weir::plan {

struct FileExtent {
  std::int64_t file = 0;    // in the caller's list of files
  std::int64_t offset = 0;  // bytes from the start of the file
  std::int64_t bytes = 0;
  std::int64_t buffer_offset = 0;  // position of the bytes in the piece's buffer

  friend bool operator==(const FileExtent&, const FileExtent&) = default;
};

// Generates the extents of a piece by slab. Within a slab they are ascending, disjoint and as long
// as possible: adjacent extents are merged, also across slabs. If the contributors leave holes in a
// piece, the extents cover only what they hold, so that a write changes nothing else.
class PieceExtents {
 public:
  // Generates all extents of a piece.
  explicit PieceExtents(const Piece& piece);
  // Generates the extents of what `contributors`, which are those of the piece, hold.
  PieceExtents(const Plan& plan, const Piece& piece, const std::vector<Contributor>& contributors);
  // Generates extents that another PieceExtents has generated, and that outlive this object.
  explicit PieceExtents(std::span<const FileExtent> known) : known_(known) {}
  // Returns false if no extent is left.
  bool next(FileExtent& extent);

 private:
  struct Source {
    array::CopyRuns runs;
    FileExtent next;
  };
  // A copy from buffer to file, with the file.
  struct Copy {
    std::int64_t file = 0;
    std::size_t slab = 0;
    array::StridedCopy copy;
  };

  void begin_slab();
  bool next_run(FileExtent& run);

  std::vector<Copy> copies_;  // by slab
  std::size_t next_copy_ = 0;
  std::vector<Source> sources_;  // of the current slab
  // The offset of each source's next run, and the source's number; the smallest offset comes first.
  using Next = std::pair<std::int64_t, std::size_t>;
  std::priority_queue<Next, std::vector<Next>, std::greater<>> order_;
  std::span<const FileExtent> known_;
  std::size_t next_known_ = 0;
  FileExtent waiting_;  // the part of the next extent that is known so far
  bool has_waiting_ = false;
};

}  // namespace weir::plan
