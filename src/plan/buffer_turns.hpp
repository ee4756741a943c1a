// Buffer turns say which of its buffers an aggregator uses for a piece. Each rank with a share of
// the piece computes this by itself.
#pragma once

#include <cstdint>

#include "plan/slab.hpp"

namespace weir::plan {

class BufferTurns {
 public:
  // The number of bits of a turn. Pieces that are 2^40 turns apart are never active at the same
  // time.
  static constexpr int bits = 40;

  BufferTurns() = default;
  // `most_parts` is that of the plan.
  BufferTurns(std::int64_t most_parts, std::int64_t buffers);

  // Returns the turn of an aggregator's piece; turns ascend, with gaps.
  [[nodiscard]] std::int64_t turn_of(const PieceId& id) const;
  // Returns the number of the piece's buffer. The piece waits until that one is free, even if
  // another is.
  [[nodiscard]] std::int64_t buffer_of(const PieceId& id) const { return turn_of(id) % buffers_; }

 private:
  std::int64_t buffers_ = 1;
  // At least one for each part of a unit, and coprime to the number of buffers, so that units take
  // different buffers whichever of their elements are requested.
  std::int64_t per_step_ = 1;
};

}  // namespace weir::plan
