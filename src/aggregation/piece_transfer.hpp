// Moves pieces between an aggregator's buffers and the files: long extents by a call each, short
// ones through windows (plan/file_windows.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "aggregation/move.hpp"
#include "common/status.hpp"
#include "plan/file_windows.hpp"

namespace weir::aggregation {

class PieceTransfer {
 public:
  // `context` outlives this.
  explicit PieceTransfer(const MoveContext& context) : context_(context) {}
  // Writes or reads the extents, which are of `piece`; adds to the context's figures.
  Status move(const plan::Piece& piece, plan::PieceExtents extents, std::byte* buffer);

 private:
  Status move_extent(const RequestedPart& part, const plan::FileExtent& extent, std::byte* buffer);
  Status move_window(const RequestedPart& part, std::byte* buffer);

  const MoveContext& context_;
  plan::FileWindow window_;
  std::vector<std::byte> window_data_;
  storage::FileTraffic traffic_;
};

}  // namespace weir::aggregation
