// Who contributes what to a piece of the file.
#pragma once

#include <cstdint>
#include <vector>

#include "array/distribution.hpp"
#include "array/region.hpp"
#include "plan/file_image.hpp"

namespace weir::plan {

struct Contribution {
  array::Distribution::Piece piece;  // of which rank's part
  std::int64_t elements = 0;

  friend bool operator==(const Contribution&, const Contribution&) = default;
};

// The pieces of ranks' parts that hold elements of `asked_for` in a range of the file, by rank,
// then piece, each once. The work is in proportion to the pieces that meet the range's few boxes.
[[nodiscard]] std::vector<Contribution> contributions(const array::Distribution& distribution,
                                                      const array::Region& asked_for,
                                                      const FileImage& image,
                                                      const ElementRange& range);

}  // namespace weir::plan
