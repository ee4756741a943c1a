// Every rank moves its own elements: contiguous ranges of the file from or to pieces of memory.
//
// Rows that follow each other in the file are moved in one system call, even if they are apart in
// memory (as between ghost cells). sections/file_copier.hpp does so for any request on one process.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "aggregation/move.hpp"
#include "plan/meeting_blocks.hpp"
#include "plan/rank_pieces.hpp"
#include "sections/file_copier.hpp"

namespace weir::aggregation {

class DirectMove final : public Move, private storage::CopiedFiles {
 public:
  // The plan must have Strategy::direct.
  explicit DirectMove(MoveContext context);

  bool step() override;
  [[nodiscard]] bool done() const override { return done_; }
  [[nodiscard]] const Status& status() const override { return status_; }

 private:
  Status move_piece(const plan::Piece& piece);
  Status move_block(const plan::MeetingBlock& block, const plan::Slab& slab);
  void begin_array(int array);
  void count();

  // The files of the array under way; their numbers and offsets are those of the plan.
  Result<bool> read(const storage::StoredRange& range) override;
  Status write(const storage::StoredRange& range) override;
  Status write_rows(std::int64_t file, std::span<const storage::PlacedSlice> rows,
                    std::int64_t& bytes) override;
  bool is_cold(std::int64_t file, std::int64_t offset) override;
  // Returns the range with the number and the offset that it has in the array's files.
  [[nodiscard]] storage::StoredRange stored(const storage::StoredRange& range) const;
  // Calls transfer(traffic), and adds its time and traffic to the figures.
  template <typename Transfer>
  Status moved(const Transfer& transfer);

  MoveContext context_;
  plan::RankPieces pieces_;
  bool done_ = false;
  Status status_;
  int array_ = -1;  // under way
  const RequestedPart* part_ = nullptr;
  storage::FileCopier copier_;
  storage::FileCopyAccount counted_;  // the part of the copier's account that has been counted
  // Rows of one call of write_rows().
  std::vector<storage::Slice> row_slices_;
  std::vector<storage::StoredRange> row_ranges_;
};

}  // namespace weir::aggregation
