// Moves pieces between an aggregator's buffers and the files.
//
// A buffer holds what was asked for, packed; in the file there may be holes between. Long runs are
// moved by a call each. Short ones that lie close together go through a window of the file (data
// sieving): reading, the window is read and the runs are taken out; writing, it is read, changed
// and written back. That is done only where nobody else can write into the window meanwhile:
//   - one group of aggregators writes the file. Each piece lies in a unit of the file that is its
//     aggregator's alone, a window between two runs of the piece, and an aggregator moves one piece
//     at a time;
//   - the request has the file once, as other arrays of it have units of their own.
// The next request begins when this one has ended on all ranks. Otherwise runs are written alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "aggregation/move.hpp"
#include "common/status.hpp"
#include "plan/piece_extents.hpp"

namespace weir::aggregation {

class PieceTransfer {
 public:
  // `context` outlives this.
  explicit PieceTransfer(const MoveContext& context);
  // Writes or reads the extents, which are of `piece`; adds to the context's figures.
  Status move(const plan::Piece& piece, plan::PieceExtents extents, std::byte* buffer);

 private:
  Status move_window(const RequestedPart& part, std::byte* buffer);
  Status move_run(const RequestedPart& part, const plan::FileExtent& run, std::byte* buffer);
  [[nodiscard]] bool fits_window(const plan::FileExtent& run) const;
  [[nodiscard]] bool may_change_windows(const RequestedPart& part) const;

  const MoveContext& context_;
  std::int64_t widest_gap_ = 0;         // that is moved rather than passed over by another call
  std::vector<plan::FileExtent> runs_;  // of the window, ascending
  std::vector<std::byte> window_;
  storage::FileTraffic traffic_;
};

}  // namespace weir::aggregation
