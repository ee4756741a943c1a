// Every rank moves its own elements: contiguous ranges of the file from or to pieces of memory.
//
// Rows that follow each other in the file go in one system call, also when they lie apart in
// memory (as between ghost cells).
#pragma once

#include <cstddef>
#include <vector>

#include "aggregation/move.hpp"
#include "array/chunk_grid.hpp"
#include "array/copy.hpp"
#include "array/region.hpp"
#include "storage/engines/slices.hpp"

namespace weir::aggregation {

class DirectMove final : public Move {
 public:
  DirectMove(std::vector<RequestedPart> parts, Way way, int rank, CollectiveFigures& figures);

  bool step() override;
  [[nodiscard]] bool done() const override { return part_ == parts_.size(); }
  [[nodiscard]] const Status& status() const override { return status_; }

 private:
  // Moves what one piece of memory has in one chunk.
  void move_chunk(std::int64_t chunk);
  void move_runs(const array::StridedCopy& runs, std::byte* memory, std::int64_t file,
                 std::int64_t chunk_offset);
  void flush(std::int64_t file);
  void next_piece();

  std::vector<RequestedPart> parts_;
  Way way_;
  std::int64_t rank_;
  CollectiveFigures& figures_;
  Status status_;

  // Where it is: a part, a piece of memory, and the regions that it has in common with the section.
  std::size_t part_ = 0;
  std::size_t piece_ = 0;
  array::Region held_;
  std::vector<std::int64_t> chunks_;
  std::size_t chunk_ = 0;

  std::vector<storage::Slice> slices_;  // contiguous in the file, from batch_offset_ on
  std::int64_t batch_offset_ = 0;
  std::int64_t batch_end_ = 0;
};

}  // namespace weir::aggregation
