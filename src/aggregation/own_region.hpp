// A rank's own region of an array, which differs from rank to rank: what it is, what all ranks'
// are, and how one rank moves its own by itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "aggregation/array_file.hpp"
#include "aggregation/collective.hpp"
#include "array/section.hpp"
#include "array/shape.hpp"
#include "common/status.hpp"
#include "plan/request.hpp"

namespace weir::aggregation {

// Every rank's region of an array, as one gather gave them.
class RankRegions {
 public:
  // `numbers`: for each rank, the region's starts, counts and strides along each dimension.
  static Result<std::shared_ptr<RankRegions>> create(const array::Shape& shape,
                                                     std::vector<std::int64_t> numbers);

  // The boxes around the regions, one per rank. Where no region has strides, they are the regions.
  [[nodiscard]] const plan::SharedDistribution& boxes() const { return boxes_; }
  [[nodiscard]] bool strided() const { return !numbers_.empty(); }
  // Strided: whether another rank's region has an element in common with `rank`'s. Each rank looks
  // at its own, as all of them together look at every pair.
  [[nodiscard]] Status check_apart(std::int64_t rank) const;

 private:
  RankRegions(plan::SharedDistribution boxes, std::vector<std::int64_t> numbers)
      : boxes_(std::move(boxes)), numbers_(std::move(numbers)) {}
  [[nodiscard]] array::Section region(std::int64_t rank) const;

  plan::SharedDistribution boxes_;
  std::vector<std::int64_t> numbers_;  // none where no region has strides
};

// The numbers of one region, as RankRegions::create() takes them.
[[nodiscard]] std::vector<std::int64_t> numbers_of(const array::Section& region);

// Writes or reads a region of what requests on the array move at the moment, without the other
// ranks: through the system's page cache, by files that this rank opens for itself. Writing is
// refused where it needs the other ranks: encoded chunks, and files with checksums. So is all but
// reading from files that nobody writes where the caches of the session's nodes are not coherent.
[[nodiscard]] Status move_alone(OpenArray& file, plan::Direction direction,
                                const array::Section& region, const MemoryPiece& memory);

}  // namespace weir::aggregation
