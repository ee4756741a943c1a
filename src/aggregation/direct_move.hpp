// Every rank moves its own elements: contiguous ranges of the file from or to pieces of memory.
//
// Rows that follow each other in the file are moved in one system call, even if they are apart in
// memory (as between ghost cells).
#pragma once

#include <cstddef>
#include <vector>

#include "aggregation/move.hpp"
#include "array/copy.hpp"
#include "engines/engine.hpp"
#include "plan/rank_pieces.hpp"
#include "system/slices.hpp"

namespace weir::aggregation {

class DirectMove final : public Move {
 public:
  // The plan must have Strategy::direct.
  explicit DirectMove(MoveContext context);

  bool step() override;
  [[nodiscard]] bool done() const override { return done_; }
  [[nodiscard]] const Status& status() const override { return status_; }

 private:
  void move_piece(const plan::Piece& piece);
  void move_runs(const array::StridedCopy& copy, std::byte* memory);
  [[nodiscard]] bool joins(std::int64_t offset);
  void flush();
  Status flush_into_files();
  // Counts the slices that have been moved; `moved` includes holes.
  void count(std::int64_t moved);
  // Move numbers of the other byte order, one part at a time. A read swaps numbers while they are
  // in a cache; a write swaps them in memory of this object, since the caller's memory must not
  // change.
  Status read_swapped(std::int64_t swapped, storage::FileTraffic& traffic);
  Status write_swapped(std::int64_t swapped, storage::FileTraffic& traffic);

  MoveContext context_;
  plan::RankPieces pieces_;
  bool done_ = false;
  Status status_;

  // State of the piece under way.
  const RequestedPart* part_ = nullptr;
  std::int64_t file_ = 0;               // number within its array
  std::vector<storage::Slice> slices_;  // contiguous in the file, starting at batch_offset_
  bool reads_holes_ = false;            // when reading from storage
  std::int64_t batch_offset_ = 0;
  std::int64_t batch_end_ = 0;
  std::vector<std::byte> hole_;  // destination of bytes between runs
  std::vector<std::byte> swapped_data_;
};

}  // namespace weir::aggregation
