// One array of a request, checked, and what plans are asked for such arrays.
#pragma once

#include <cstdint>
#include <vector>

#include "aggregation/array_file.hpp"
#include "aggregation/collective.hpp"
#include "common/status.hpp"
#include "plan/request.hpp"

namespace weir::aggregation {

struct RequestedPart {
  const ArrayPart* part = nullptr;
  OpenArray* file = nullptr;
  std::int64_t first_file = 0;  // the number of its file 0 in the plan
};

// What a plan is made of; numbers the files of the parts. Fails on an array that the plan cannot
// describe, alike on every rank.
Result<plan::Request> request_for(std::vector<RequestedPart>& parts, plan::Direction direction);

}  // namespace weir::aggregation
