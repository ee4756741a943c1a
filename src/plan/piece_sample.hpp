// A sample of an aggregator's pieces, because a plan may have millions. It has one piece of each of
// so many equal stretches, at a scattered place: at equal distances, all of them could have the
// same ranks' data.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/plan.hpp"

namespace weir::plan {

struct SampledPiece {
  PieceId id;
  double times = 1;  // how many of the aggregator's pieces it stands for
};

// Returns a number that is equal in every run. Such numbers are spread over [0, end).
[[nodiscard]] std::int64_t scattered(std::int64_t number, std::int64_t end);

// Returns the number of units of an array that an aggregator has; these are the units of its first
// steps.
[[nodiscard]] std::int64_t units_of(const Plan& plan, std::int64_t aggregator, int array);

// Returns the number of parts of a unit; 0 if no element of it is requested.
[[nodiscard]] std::int64_t parts_of(const Units& units, std::int64_t unit);

// Some slabs of a piece, because a piece of small chunks may have hundreds of thousands.
struct SlabSample {
  std::vector<Piece> stretches;  // each has slabs that follow each other in the piece
  std::int64_t bytes = 0;        // of the whole piece
  double times = 1;              // how many bytes of the piece a byte of these slabs stands for
};

// Returns all slabs of a piece, as one stretch, if it has at most `most` chunks, is not of chunks,
// or is a bundle; otherwise at most `most` slabs, from scattered places. The work depends on `most`
// and not on the number of chunks.
[[nodiscard]] SlabSample slab_sample(const Plan& plan, const PieceId& id, std::int64_t most);

// Returns at most `most` pieces of an aggregator: those of some of its units, or all pieces if
// there is room for the parts of the longest unit times the number of units.
[[nodiscard]] std::vector<SampledPiece> piece_sample(const Plan& plan, std::int64_t aggregator,
                                                     std::int64_t most);

}  // namespace weir::plan
