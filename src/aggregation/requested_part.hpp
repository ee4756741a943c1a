// One array of a request, after checking, and the plans for requests of such arrays.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "aggregation/array_file.hpp"
#include "aggregation/collective.hpp"
#include "common/status.hpp"
#include "plan/planner.hpp"

namespace weir::aggregation {

// A request may have thousands of arrays. All data that each step of a request needs about an array
// are therefore stored here, next to those of the other arrays, and not looked up in the array
// again.
struct RequestedPart {
  const ArrayPart* part = nullptr;
  OpenArray* file = nullptr;
  // Differences between the plan's and the array's file numbers and offsets.
  std::int64_t file_shift = 0;
  std::int64_t base = 0;
  std::int64_t swapped = 1;  // OpenArray::swapped_together()
  // The array is of the same kind as the previous one, and the same section of it is requested,
  // with the same distribution.
  bool like_before = false;
  bool watched = false;  // ArraySums::is_watching()

  [[nodiscard]] std::int64_t stored_file(std::int64_t planned) const {
    return planned + file_shift;
  }
};

// Returns the plan of this rank's group for a request, according to settings and files, and
// determines how the parts' files and offsets follow from the plan's. All ranks with the same
// request get the same result or the same error.
[[nodiscard]] Result<std::shared_ptr<const plan::Planned>> plan_request(
    plan::Planner& planner, const CollectiveSettings& settings, std::vector<RequestedPart>& parts,
    Direction direction);

}  // namespace weir::aggregation
