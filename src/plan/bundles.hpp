// Small arrays of a request that go through buffers together: a thousand variables of a few
// kilobytes each would otherwise take a turn of a buffer and a call each.
//
// A bundle is arrays next to each other in their files, as many as let all aggregators have about
// equally much, and no more than a buffer holds. Each of them is in one bundle whole. In a plan a
// bundle is one unit of one part, which has the name of its first array.
#pragma once

#include <cstdint>
#include <vector>

#include "array/section.hpp"
#include "plan/parameters.hpp"
#include "plan/request.hpp"

namespace weir::plan {

// Arrays of a request by file and place, at least two.
using Bundle = std::vector<int>;

// Whether an array, of which `asked` is asked for, goes into a bundle when there are others.
[[nodiscard]] bool is_small(const ArrayRequest& request, const array::Section& asked,
                            std::int64_t buffer_bytes);

// `asked` are the elements asked for of each array; those that are not small are left out.
[[nodiscard]] std::vector<Bundle> bundles_of(const Request& request,
                                             const std::vector<array::Section>& asked,
                                             std::int64_t aggregators,
                                             const Parameters& parameters);

}  // namespace weir::plan
