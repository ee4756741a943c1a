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

struct RequestedPart {
  const ArrayPart* part = nullptr;
  OpenArray* file = nullptr;
  std::int64_t first_file = 0;  // the number of its file 0 in the plan
};

// The plan of this rank's group for a request, as settings and files have it; numbers the files of
// the parts. Every rank that asks for the same gets the same, and the same error.
[[nodiscard]] Result<std::shared_ptr<const plan::Planned>> plan_request(
    plan::Planner& planner, const CollectiveSettings& settings, std::vector<RequestedPart>& parts,
    plan::Direction direction);

}  // namespace weir::aggregation
