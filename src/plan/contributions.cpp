#include "plan/contributions.hpp"

#include <algorithm>
#include <utility>

#include "array/linear_range.hpp"

namespace weir::plan {

std::vector<Contribution> contributions(const array::Distribution& distribution,
                                        const array::Region& asked_for, const FileImage& image,
                                        const ElementRange& range) {
  std::vector<Contribution> found;
  array::RangeBoxes boxes(image.shape(), image.order(), range.first, range.last);
  for (array::Box box; boxes.next(box);) {
    const array::Region wanted = asked_for.clipped(box);
    for (const array::Distribution::Piece& piece : distribution.pieces_meeting(wanted)) {
      found.push_back(
          {piece, array::common_elements(distribution.piece(piece.rank, piece.number), wanted)});
    }
  }
  std::sort(found.begin(), found.end(), [](const Contribution& a, const Contribution& b) {
    return std::pair(a.piece.rank, a.piece.number) < std::pair(b.piece.rank, b.piece.number);
  });
  // One entry per piece, whatever number of boxes it meets.
  std::vector<Contribution> merged;
  for (const Contribution& one : found) {
    if (!merged.empty() && merged.back().piece == one.piece) {
      merged.back().elements += one.elements;
    } else {
      merged.push_back(one);
    }
  }
  return merged;
}

}  // namespace weir::plan
