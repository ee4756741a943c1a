// One array of a request, checked, and what plans are asked for such arrays.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "aggregation/array_file.hpp"
#include "aggregation/collective.hpp"
#include "common/status.hpp"
#include "plan/planner.hpp"

namespace weir::aggregation {

// There may be thousands, so what each step of a request asks of an array is here, next to the
// others', and not looked up in the array again.
struct RequestedPart {
  const ArrayPart* part = nullptr;
  OpenArray* file = nullptr;
  // From the plan's files and offsets to the array's.
  std::int64_t file_shift = 0;
  std::int64_t base = 0;
  std::int64_t swapped = 1;  // OpenArray::swapped_together()
  // The array is of the same kind as the one before, and as much is asked for of it, by the same
  // distribution.
  bool like_before = false;
  bool watched = false;  // ArraySums::is_watching()

  [[nodiscard]] std::int64_t stored_file(std::int64_t planned) const {
    return planned + file_shift;
  }
};

// The plan of this rank's group for a request, as settings and files have it; settles how the
// parts' files and offsets follow from the plan's. Every rank that asks for the same gets the same,
// and the same error.
[[nodiscard]] Result<std::shared_ptr<const plan::Planned>> plan_request(
    plan::Planner& planner, const CollectiveSettings& settings, std::vector<RequestedPart>& parts,
    Direction direction);

}  // namespace weir::aggregation
